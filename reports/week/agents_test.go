package week

import (
	"strings"
	"testing"

	"tidemark/analysis/week"
	"tidemark/internal/proof/must"
)

// A week of agents says its sessions, their rounds and waits, on the page and in the summary; one without says which input would.
func TestAWeekOfAgents(t *testing.T) {
	f := &facts{Report: &week.Report{Sums: week.Sums{Requests: 1500}}}
	must.Say(t, f.sessions(), "not known", "session_id")
	f.Agents = &week.Agents{Sessions: 100, Rounds: 1400, Waits: 1300, P50WaitS: new(3.25), P90WaitS: new(41.0)}
	if got, want := strings.ReplaceAll(f.sessions(), "\u00a0", " "), "100 sessions of 14.0 rounds on average; between rounds 3.25 s pass at p50, 41.0 s at p90; 100 requests name no session"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	f.Agents = &week.Agents{Sessions: 1500, Rounds: 1500}
	if got := strings.ReplaceAll(f.sessions(), "\u00a0", " "); !strings.HasSuffix(got, "1.00 rounds on average; the waits between rounds are not known") {
		t.Errorf("without waits: %q", got)
	}
}
