//go:build vllm

package realvllm

import (
	"fmt"
	"testing"
)

// turn is a request of a session, with what the one before it was.
type turn struct {
	Seq     int     `json:"seq"`
	Turn    int     `json:"turn"`
	Input   int     `json:"input_tokens"`
	Output  int     `json:"output_tokens"`
	Cached  *int    `json:"cached_tokens"`
	DueS    float64 `json:"due_s"`
	BeforeS float64 `json:"before_done_s"`
	Before  int     `json:"before_tokens"` // its prompt and answer
}

const askTurns = `
with turns as (
    select
        requests.*,
        lag(done_s) over session as before_done_s,
        lag(requests.input_tokens + requests.output_tokens) over session as before_tokens
    from staging.requests as requests
    join staging.runs as runs using (run_id)
    where runs.name = '%s' and requests.class = 'talk'
    window session as (partition by session_id order by turn)
)
select seq, turn, input_tokens, output_tokens, cached_tokens, due_s, before_done_s, before_tokens
from turns
where turn > 0
order by seq`

// answeredSessions: a turn that repeats what the server really answered finds
// it in the server's cache: all of the turn before but its last token, in whole
// blocks. A turn that repeats what was planned in its place would not.
func answeredSessions(t *testing.T, s *server, program *tidemark) {
	r := replayed(t, s, program, absolute(t, "testdata/sessions.yaml"), "--mode", "sessions", "--history", "answered",
		"--cache", "reset", "--name", "real-sessions")
	r.requestsAsPlanned(t)
	r.countersEqual(t)
	block := blockTokens(t, r.server.after)
	turns := sql[turn](t, program, fmt.Sprintf(askTurns, "real-sessions"))
	if len(turns) == 0 {
		t.Fatal("no session has a second turn")
	}
	table := newTable("seq", "turn", "prompt", "turn before", "cached: want", "cached: server", "think, s")
	for _, q := range turns {
		want := min(q.Before-1, q.Input-1) / block * block
		table.row(q.Seq, q.Turn, q.Input, q.Before, want, show(q.Cached), q.DueS-q.BeforeS)
		if q.Cached == nil || *q.Cached != want {
			t.Errorf("seq %d: cached tokens: server %s, want %d", q.Seq, show(q.Cached), want)
		}
		if think := q.DueS - q.BeforeS; think < 0.2-1e-6 || think > 0.2+1e-6 {
			t.Errorf("seq %d: due %.6f s after the turn before had ended, want 0.2", q.Seq, think)
		}
	}
	t.Logf("server blocks of %d tokens\n%s", block, table)
}

// coldRow: with a salt for each request the server's cache gives nothing, though
// it holds the very same prompts.
func coldRow(t *testing.T, s *server, program *tidemark) {
	r := replayed(t, s, program, absolute(t, "testdata/sessions.yaml"), "--mode", "closed", "--max-concurrency", "2",
		"--cache", "cold", "--name", "real-cold")
	r.requestsAsPlanned(t)
	r.countersEqual(t)
	for _, q := range r.requests {
		if q.Cached == nil || *q.Cached != 0 {
			t.Errorf("seq %d: cached tokens %s, want 0", q.Seq, show(q.Cached))
		}
	}
}

// chatOfRightLength: text has as many tokens as planned by the server's own
// count, template and all.
func chatOfRightLength(t *testing.T, s *server, program *tidemark) {
	r := replayed(t, s, program, absolute(t, "testdata/sessions.yaml"), "--endpoint", "/v1/chat/completions", "--name", "real-chat")
	r.requestsAsPlanned(t)
	r.countersEqual(t)
}

// timing is how our clock and the server's own agree on one run.
type timing struct {
	Requests     int     `json:"requests"`
	OffTPOT      float64 `json:"off_tpot"`
	HTTPAndQueue float64 `json:"http_s"`
}

// serversOwnTimes: the per-request metrics of the server against our own clock.
func serversOwnTimes(t *testing.T, program *tidemark, name string) {
	times := sql[timing](t, program, fmt.Sprintf(`
select
    count(*) as requests,
    median(tpot_s / server_tpot_s) - 1 as off_tpot,
    median(ttft_s - server_queue_s - server_ttft_s) as http_s
from staging.requests
join staging.runs using (run_id)
where staging.runs.name = '%s' and server_tpot_s > 0`, name))
	if len(times) != 1 || times[0].Requests == 0 {
		t.Fatalf("run %s: no times of the server's own: %+v", name, times)
	}
	got := times[0]
	t.Logf("%d requests: TPOT off the server's own by %+.2f %% (median); TTFT longer by %.2f ms of HTTP (median)",
		got.Requests, 100*got.OffTPOT, 1e3*got.HTTPAndQueue)
	if got.OffTPOT > 0.03 || got.OffTPOT < -0.03 || got.HTTPAndQueue < 0 {
		t.Errorf("run %s: %+v: the server's own times are others", name, got)
	}
}
