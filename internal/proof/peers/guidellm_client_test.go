//go:build peers

package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// guidellm is vLLM's GuideLLM.
type guidellm struct{ places }

func (g guidellm) name() string { return "GuideLLM " + packageVersion(g.python(), "guidellm") }

func (g guidellm) python() string  { return filepath.Join(g.venv("guidellm"), "python") }
func (g guidellm) program() string { return filepath.Join(g.venv("guidellm"), "guidellm") }

func (g guidellm) command(l load, base, dir string) ([]string, error) {
	argv := []string{g.program(), "run",
		"--backend", "kind=openai_http,target=" + base + ",model=" + modelName + ",request_format=/v1/completions",
		"--tokenizer", "kind=huggingface_auto,model=" + g.tokenizer,
		"--output", "kind=json,path=" + filepath.Join(dir, "report.json"), "--output", "kind=console", "--disable-progress"}
	if l.trace != nil {
		path := filepath.Join(dir, "trace.jsonl") // its timestamps are seconds
		return append(argv, "--profile", "kind=replay,schedule_turn=timestamp",
			"--data", "kind=mooncake,source.kind=json_file,source.path="+path), mooncakeFile(path, l.trace, 1)
	}
	argv = append(argv, "--constraint", fmt.Sprintf("kind=max_requests,count=%d", l.count),
		"--data", fmt.Sprintf("kind=synthetic_text,prompt_tokens=%d,output_tokens=%d", promptTokens, l.tokens))
	if l.streams > 0 {
		return append(argv, "--profile", fmt.Sprintf("kind=concurrent,streams=%d", l.streams)), nil
	}
	return append(argv, "--profile", fmt.Sprintf("kind=constant,rate=%g", l.rate)), nil
}

func (g guidellm) said(dir string) (s saying, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return s, err
	}
	type request struct {
		Begin float64  `json:"request_start_time"` // Unix seconds
		End   float64  `json:"request_end_time"`
		TTFT  *float64 `json:"time_to_first_token_ms"`
		// Its "time per output token" counts the first token and the wait for it; this one is what
		// everybody else calls so: (last - first) / (tokens - 1).
		TPOT *float64 `json:"inter_token_latency_ms"`
	}
	var report struct {
		Benchmarks []struct {
			Requests struct{ Successful, Errored, Incomplete []request }
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return s, err
	}
	var begin, end float64
	for _, b := range report.Benchmarks {
		s.failed += len(b.Requests.Errored) + len(b.Requests.Incomplete)
		for _, r := range b.Requests.Successful {
			if r.TTFT != nil {
				s.ttft = append(s.ttft, *r.TTFT/1000)
			}
			if r.TPOT != nil {
				s.tpot = append(s.tpot, *r.TPOT/1000)
			}
			if begin == 0 || r.Begin < begin {
				begin = r.Begin
			}
			end = max(end, r.End)
		}
	}
	s.took = end - begin
	return s, nil
}
