//go:build duckdb_arrow

package workload_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/analysis/workload"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// Three sessions of a folder: two without a start, one with a sub-agent; and two
// days of one dated log.
const collections = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, block_tokens, collection, reader_version, ingested_at) values
    (1, 'a', 'arrivals', 'agentic', 'f/a.json', 'aa', 10, 2, 2, 0, null, false, 's', 64, 'agents', 1, now()),
    (2, 'b', 'arrivals', 'agentic', 'f/b.json', 'bb', 10, 2, 2, 0, null, false, 's', 64, 'agents', 1, now()),
    (3, 'c', 'arrivals', 'agentic', 'f/c.json', 'cc', 10, 1, 1, 0, null, false, 's', 64, 'agents', 1, now()),
    (4, 'monday', 'arrivals', 'azure', 'l/m.csv', 'dd', 10, 1, 1, 0, timestamptz '2025-01-06 23:00:00+00', true, 'datetime', null, 'log', 1, now()),
    (5, 'tuesday', 'arrivals', 'azure', 'l/t.csv', 'ee', 10, 1, 1, 0, timestamptz '2025-01-07 01:00:00+00', true, 'datetime', null, 'log', 1, now()),
    (6, 'agents-lengths', 'lengths', 'lengths', 'f/l.csv', 'ff', 10, 1, 1, 0, null, false, null, null, 'agents', 1, now());
insert into raw.arrivals values
    (1, 1, 0, 100, 10, 'a', 0, 'main', [1]),
    (1, 2, 60000000000, 200, 10, 'a', 1, 'main', [1, 2]),
    (2, 1, 5000000000, 300, 10, 'b', 0, 'main', null),
    (2, 2, 6000000000, 310, 10, 'b/x', 0, 'Explore', null),
    (3, 1, 0, 400, 10, 'c', 0, 'main', null),
    (4, 1, 0, 1, 1, null, null, null, null),
    (5, 1, 0, 2, 1, null, null, null, null);
insert into raw.arrival_details (source_id, line, think_s) values (1, 2, 42.5);
`

func collectFrom(t *testing.T, name string, starts workload.Starts) ([]plan.Request, workload.SourceStats) {
	t.Helper()
	requests, stats, err := workload.Arrivals(context.Background(), open(t, collections), name, workload.Window{}, starts)
	if err != nil {
		t.Fatalf("Arrivals(%s, %+v): %v", name, starts, err)
	}
	all := must.All(requests)(t)
	return all, stats
}

// All sessions begin, whole, each at a time of its own; the same seed gives the
// same times.
func TestStartsOfACollectionAreDrawn(t *testing.T) {
	got, stats := collectFrom(t, "agents", workload.Starts{RatePerS: 0.1, Seed: 7})
	due := map[int]time.Duration{}
	for i, r := range got {
		due[r.InputTokens] = r.Due
		if r.Seq != int64(i) || i > 0 && r.Due < got[i-1].Due {
			t.Errorf("request %d out of order: %+v", i, got)
		}
	}
	if len(got) != 5 || due[200]-due[100] != time.Minute || due[310]-due[300] != time.Second {
		t.Errorf("sessions are not whole: %v", due)
	}
	begins := []time.Duration{due[100], due[300], due[400]}
	slices.Sort(begins)
	if begins[0] != 0 || begins[1] == 0 || begins[2] == begins[1] {
		t.Errorf("begins: got %v, want the first at 0 and no two together", begins)
	}
	if stats.SessionRatePerS != 0.1 || stats.DrawnSessions != 3 || len(stats.SHA256) != 64 {
		t.Errorf("stats: got %+v", stats)
	}
	if again, _ := collectFrom(t, "agents", workload.Starts{RatePerS: 0.1, Seed: 7}); brief(again) != brief(got) {
		t.Error("the same seed gave other starts")
	}
	if other, _ := collectFrom(t, "agents", workload.Starts{RatePerS: 0.1, Seed: 8}); brief(other) == brief(got) {
		t.Error("another seed gave the same starts")
	}
	// Twice the rate is half the gaps, drawn by the same seed.
	faster, _ := collectFrom(t, "agents", workload.Starts{RatePerS: 0.2, Seed: 7})
	for _, r := range faster {
		if r.InputTokens == 400 && r.Due != due[400]/2 {
			t.Errorf("at twice the rate: begins at %v, want half of %v", r.Due, due[400])
		}
	}
}

// A think time that the trace tells is the plan's; where it tells none there is none.
func TestThinkTimesAreTheTraces(t *testing.T) {
	got, _ := collectFrom(t, "a", workload.Starts{})
	if got[0].Think != nil || got[1].Think == nil || *got[1].Think != 42500*time.Millisecond {
		t.Errorf("think times: got %v and %v, want none and 42.5s", got[0].Think, got[1].Think)
	}
}

// Dated files of one collection lie on their own clock.
func TestDatedCollectionsKeepTheirClock(t *testing.T) {
	got, stats := collectFrom(t, "log", workload.Starts{})
	if brief(got) != "1@0s 2@2h0m0s" || stats.SessionRatePerS != 0 {
		t.Errorf("got %s, %+v", brief(got), stats)
	}
}

func TestStartsThatCannotBe(t *testing.T) {
	w := open(t, collections)
	for _, test := range []struct {
		name       string
		starts     workload.Starts
		text, hint string
	}{
		{"agents", workload.Starts{}, "source agents: its 3 sessions have no absolute start", "--session-rate 0.1"},
		{"a", workload.Starts{RatePerS: 1}, "source a: --session-rate: its requests have times of their own", "--request-rate"},
		{"log", workload.Starts{RatePerS: 1}, "source log: --session-rate: its requests have times of their own", "--request-rate"},
		{"agents", workload.Starts{RatePerS: 1e-300}, "over centuries", "higher"},
		{"nobody", workload.Starts{RatePerS: 1}, `no source named "nobody"`, "known sources are a, agents, agents-lengths, b, c, log, monday, tuesday"},
	} {
		_, _, err := workload.Arrivals(context.Background(), w, test.name, workload.Window{}, test.starts)
		must.Fail(t, err, test.text, test.hint)
	}
}

// Lengths need no starts.
func TestLengthsOfACollection(t *testing.T) {
	lengths, err := workload.Lengths(context.Background(), open(t, collections).DB(), "agents", workload.Window{})
	if err != nil || len(lengths.Pairs) != 5 {
		t.Errorf("got %+v, %v; want 5 pairs", fmt.Sprint(lengths.Pairs), err)
	}
}
