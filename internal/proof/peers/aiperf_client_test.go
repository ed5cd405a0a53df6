//go:build peers

package peers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// aiperf is NVIDIA's AIPerf.
type aiperf struct{ places }

func (a aiperf) name() string { return "AIPerf " + packageVersion(a.python(), "aiperf") }

func (a aiperf) python() string  { return filepath.Join(a.venv("aiperf"), "python") }
func (a aiperf) program() string { return filepath.Join(a.venv("aiperf"), "aiperf") }

func (a aiperf) command(l load, base, dir string) ([]string, error) {
	argv := []string{a.program(), "profile", "--model", modelName, "--tokenizer", hubName, "--url", base,
		"--endpoint-type", "completions", "--streaming", "--extra-inputs", "ignore_eos:true",
		"--artifact-dir", filepath.Join(dir, "artifacts"), "--ui", "none"}
	if l.trace != nil {
		path := filepath.Join(dir, "trace.jsonl")
		return append(argv, "--input-file", path, "--custom-dataset-type", "mooncake_trace", "--fixed-schedule"),
			mooncakeFile(path, l.trace, 1000)
	}
	argv = append(argv, "--request-count", fmt.Sprint(l.count),
		"--synthetic-input-tokens-mean", fmt.Sprint(promptTokens), "--synthetic-input-tokens-stddev", "0",
		"--output-tokens-mean", fmt.Sprint(l.tokens), "--output-tokens-stddev", "0")
	if l.streams > 0 {
		return append(argv, "--concurrency", fmt.Sprint(l.streams)), nil
	}
	return append(argv, "--request-rate", fmt.Sprint(l.rate), "--arrival-pattern", "constant"), nil
}

func (a aiperf) said(dir string) (s saying, err error) {
	file, err := os.Open(filepath.Join(dir, "artifacts", "profile_export.jsonl"))
	if err != nil {
		return s, err
	}
	defer file.Close()
	var begin, end int64
	in := bufio.NewScanner(file)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var row struct {
			Metadata struct {
				Begin int64 `json:"request_start_ns"`
				End   int64 `json:"request_end_ns"`
			}
			Metrics struct {
				TTFT struct{ Value *float64 } `json:"time_to_first_token"`
				TPOT struct{ Value *float64 } `json:"inter_token_latency"` // per request: (latency - TTFT) / (tokens - 1)
			}
			Error json.RawMessage
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			return s, err
		}
		if row.Metrics.TTFT.Value == nil {
			s.failed++
			continue
		}
		s.ttft = append(s.ttft, *row.Metrics.TTFT.Value/1000)
		if row.Metrics.TPOT.Value != nil {
			s.tpot = append(s.tpot, *row.Metrics.TPOT.Value/1000)
		}
		if begin == 0 || row.Metadata.Begin < begin {
			begin = row.Metadata.Begin
		}
		end = max(end, row.Metadata.End)
	}
	s.took = float64(end-begin) / 1e9
	return s, in.Err()
}
