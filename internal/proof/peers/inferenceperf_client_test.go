//go:build peers

package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// inferencePerf is the Kubernetes project's inference-perf.
type inferencePerf struct{ places }

func (p inferencePerf) name() string {
	return "inference-perf " + packageVersion(p.python(), "inference-perf")
}

func (p inferencePerf) python() string { return filepath.Join(p.venv("inference-perf"), "python") }
func (p inferencePerf) program() string {
	return filepath.Join(p.venv("inference-perf"), "inference-perf")
}

// Its constant rate draws random gaps without a seed, so rates are given as a trace
// of even gaps, in the one trace format that it reads.
func (p inferencePerf) command(l load, base, dir string) ([]string, error) {
	if l.isRecorded {
		return nil, cannot("it replays traces in the format of Azure's only, which knows no shared blocks")
	}
	var work string
	if l.streams > 0 {
		lengths := func(n int) string {
			return fmt.Sprintf("{min: %d, max: %d, mean: %d, std_dev: 0, total_count: %d}", n, n, n, l.count)
		}
		work = fmt.Sprintf("data:\n  type: random\n  input_distribution: %s\n  output_distribution: %s\n"+
			"load:\n  type: concurrent\n  stages:\n  - {num_requests: %d, concurrency_level: %d}\n",
			lengths(promptTokens), lengths(l.tokens), l.count, l.streams)
	} else {
		trace := filepath.Join(dir, "trace.csv")
		if err := azureFile(trace, l.rows()); err != nil {
			return nil, err
		}
		dues := l.dues()
		seconds := int(dues[len(dues)-1]) + 1 // a stage wants both, and takes their product for a count
		work = fmt.Sprintf("data:\n  type: random\n  trace: {file: %[1]s, format: AzurePublicDataset}\n"+
			"load:\n  type: trace_replay\n  trace: {file: %[1]s, format: AzurePublicDataset}\n  stages:\n  - {rate: %[2]g, duration: %[3]d}\n",
			trace, float64(l.count)/float64(seconds), seconds)
	}
	path := filepath.Join(dir, "config.yml")
	text := "api: {type: completion, streaming: true}\n" + work +
		"server: {type: vllm, model_name: " + modelName + ", base_url: " + base + ", ignore_eos: true}\n" +
		"tokenizer: {pretrained_model_name_or_path: " + p.tokenizer + "}\n" +
		"report: {request_lifecycle: {per_request: true, per_request_fields: {request: false, response: false, info: true, response_chunks: false, computed_metrics: true}}}\n" +
		"storage: {local_storage: {path: " + filepath.Join(dir, "report") + "}}\n"
	return []string{p.program(), "-c", path}, os.WriteFile(path, []byte(text), 0o644)
}

func (p inferencePerf) said(dir string) (s saying, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "report", "per_request_lifecycle_metrics.json"))
	if err != nil {
		return s, err
	}
	var rows []struct {
		Begin   float64 `json:"start_time"` // monotonic seconds
		End     float64 `json:"end_time"`
		Error   json.RawMessage
		Metrics struct {
			TTFT *float64 `json:"time_to_first_token"`
			TPOT *float64 `json:"time_per_output_token"`
		} `json:"computed_metrics"`
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return s, err
	}
	var begin, end float64
	for _, r := range rows {
		if len(r.Error) > 0 && string(r.Error) != "null" || r.Metrics.TTFT == nil {
			s.failed++
			continue
		}
		s.ttft = append(s.ttft, *r.Metrics.TTFT)
		if r.Metrics.TPOT != nil {
			s.tpot = append(s.tpot, *r.Metrics.TPOT)
		}
		if begin == 0 || r.Begin < begin {
			begin = r.Begin
		}
		end = max(end, r.End)
	}
	s.took = end - begin
	return s, nil
}
