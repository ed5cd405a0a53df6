//go:build peers

package peers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// ours is tidemark as a user runs it: the trace is taken in and planned beforehand.
type ours struct {
	binary string
	// isWhole plans while the clock runs: the source is named, not a plan.
	isWhole bool
}

func (o ours) name() string    { return "tidemark" }
func (o ours) program() string { return o.binary }

func (o ours) command(l load, base, dir string) ([]string, error) {
	warehouse := filepath.Join(dir, "w.duckdb")
	trace := filepath.Join(dir, "trace.csv")
	write := azureFile
	if l.isRecorded {
		trace = filepath.Join(dir, "trace.jsonl")
		write = func(path string, rows []arrival) error { return mooncakeFile(path, rows, 1000) }
	}
	if err := write(trace, l.rows()); err != nil {
		return nil, err
	}
	plan := filepath.Join(dir, "plan.jsonl.zst")
	before := [][]string{
		{"ingest", trace, "--name", "trace", "--warehouse", warehouse, "--quiet"},
		{"plan", "trace", "--output", plan, "--warehouse", warehouse, "--quiet"},
	}
	for _, argv := range before {
		if out, err := exec.Command(o.binary, argv...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("tidemark %s: %w: %s", argv[0], err, out)
		}
	}
	what := plan
	if o.isWhole {
		what = "trace"
	}
	return []string{o.binary, "replay", what, "--base-url", base, "--model", modelName, "--name", "peers",
		"--runs", filepath.Join(dir, "runs"), "--warehouse", warehouse}, nil
}

func (o ours) said(dir string) (s saying, err error) {
	found, err := filepath.Glob(filepath.Join(dir, "runs", "*", "requests.jsonl.zst"))
	if err != nil || len(found) != 1 {
		return s, fmt.Errorf("%d runs in %s", len(found), dir)
	}
	file, err := os.Open(found[0])
	if err != nil {
		return s, err
	}
	defer file.Close()
	rows, err := zstd.NewReader(file)
	if err != nil {
		return s, err
	}
	defer rows.Close()
	var begin, end float64
	in := bufio.NewScanner(rows)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var r struct {
			Sent    *float64 `json:"sent_s"`
			First   *float64 `json:"first_token_s"`
			Last    *float64 `json:"last_token_s"`
			Done    *float64 `json:"done_s"`
			Tokens  int      `json:"output_tokens_reported"`
			Failure string
		}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return s, err
		}
		if r.Failure != "" || r.Sent == nil || r.First == nil || r.Last == nil {
			s.failed++
			continue
		}
		s.ttft = append(s.ttft, *r.First-*r.Sent)
		if r.Tokens > 1 {
			s.tpot = append(s.tpot, (*r.Last-*r.First)/float64(r.Tokens-1))
		}
		if begin == 0 || *r.Sent < begin {
			begin = *r.Sent
		}
		end = max(end, *r.Last)
	}
	s.took = end - begin
	return s, in.Err()
}
