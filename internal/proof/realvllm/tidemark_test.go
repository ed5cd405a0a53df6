//go:build vllm

package realvllm

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const exitInvalid = 3 // the run's own lateness is above its limit

// tidemark is the program, built anew, with a folder to work in.
type tidemark struct {
	binary string
	folder string // of the warehouse and the runs
	core   string // that it keeps to; empty: all
}

func build(t *testing.T) *tidemark {
	t.Helper()
	folder := t.TempDir()
	binary := filepath.Join(folder, "tidemark")
	cmd := exec.Command("go", "build", "-tags", "duckdb_arrow", "-o", binary, "tidemark/cmd/tidemark")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return &tidemark{binary: binary, folder: folder}
}

// run is one command as a user gives it. Its talk goes to the test's log.
func (p *tidemark) run(t *testing.T, arguments ...string) (stdout string, exit int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), p.binary, arguments...)
	pin(cmd, p.core)
	cmd.Dir = p.folder
	cmd.Env = append(os.Environ(), "TIDEMARK_WAREHOUSE="+filepath.Join(p.folder, "tidemark.duckdb"))
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	err := cmd.Run()
	if arguments[0] != "sql" {
		t.Logf("$ tidemark %s\n%s%s", strings.Join(arguments, " "), talk.String(), out.String())
	}
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("tidemark %s: %v", arguments[0], err)
	}
	if err != nil && arguments[0] == "sql" {
		t.Fatalf("tidemark sql: exit %d: %s\n%s", failed.ExitCode(), talk.String(), arguments[2])
	}
	return out.String(), cmd.ProcessState.ExitCode()
}

func (p *tidemark) must(t *testing.T, arguments ...string) string {
	t.Helper()
	out, exit := p.run(t, arguments...)
	if exit != 0 {
		t.Fatalf("tidemark %s: exit %d", arguments[0], exit)
	}
	return out
}

// sql asks the warehouse and reads the rows into a slice of structs.
func sql[Row any](t *testing.T, p *tidemark, query string) []Row {
	t.Helper()
	out := p.must(t, "sql", "--json", query)
	var rows []Row
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatalf("tidemark sql --json: %v\n%s\n%s", err, query, out)
	}
	return rows
}

// request is a row of staging.requests. Durations in seconds.
type request struct {
	Seq           int      `json:"seq"`
	IsSent        bool     `json:"is_sent"`
	IsSuccess     bool     `json:"is_success"`
	Failure       *string  `json:"failure"`
	Input         int      `json:"input_tokens"`
	Output        int      `json:"output_tokens"`
	InputReport   *int     `json:"input_tokens_reported"`
	OutputReport  *int     `json:"output_tokens_reported"`
	Cached        *int     `json:"cached_tokens"`
	Shared        *int     `json:"shared_tokens"`
	LatenessS     *float64 `json:"lateness_s"`
	TTFT          *float64 `json:"ttft_s"`
	TPOT          *float64 `json:"tpot_s"`
	E2E           *float64 `json:"e2e_s"`
	Chunks        *int     `json:"chunk_count"`
	CountedTokens *int     `json:"output_tokens_counted"`
}

const askRequests = `
select
    requests.seq, requests.is_sent, requests.is_success, requests.failure,
    requests.input_tokens, requests.output_tokens, requests.input_tokens_reported, requests.output_tokens_reported,
    requests.cached_tokens, requests.shared_tokens,
    requests.lateness_s, requests.ttft_s, requests.tpot_s, requests.e2e_s, requests.chunk_count,
    raw_requests.output_tokens_counted
from staging.requests as requests
join raw.requests as raw_requests using (run_id, seq)
join staging.runs as runs using (run_id)
where runs.name = '%s'
order by requests.seq`
