//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// What was collected later replaces what was there, under the name that it has; an older copy is refused, and another service stands beside it.
func TestWhatWasCollectedGrows(t *testing.T) {
	w := open(t)
	text := must.Get(os.ReadFile("../fixtures/metrics/chat.prometheus.jsonl"))(t)
	lines := strings.SplitAfter(string(text), "\n")
	path := filepath.Join(t.TempDir(), "chat.prometheus.jsonl")
	state := func(lines ...string) string {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
		return path
	}
	sources := func(want string) {
		t.Helper()
		if got := fmt.Sprint(table(t, w, "select name, kind, rows_kept, (select count(*) from raw.metrics where metrics.source_id = sources.source_id) from raw.sources order by all")); got != want {
			t.Errorf("got the sources %s, want %s", got, want)
		}
	}
	load(t, w, state(lines[:2]...), ingest.Options{})
	sources("[[chat.prometheus metrics 4 4]]")
	result := load(t, w, state(lines...), ingest.Options{})
	must.Say(t, strings.Join(result.Notes, "\n"), "replaces an earlier state of what was collected")
	sources("[[chat.prometheus metrics 6 6]]")
	if again := load(t, w, path, ingest.Options{}); !again.AlreadyKnown {
		t.Errorf("the same: got %+v", again)
	}
	refused(t, w, state(lines[:2]...), ingest.Options{}, "a later state of what was collected, as chat.prometheus")
	load(t, w, state(strings.Replace(lines[0], `"collect_id":"chat"`, `"collect_id":"other"`, 1), lines[1]), ingest.Options{Name: "other"})
	sources("[[chat.prometheus metrics 6 6] [other metrics 4 4]]")
	// Begun again, with less behind it and as much before it.
	load(t, w, state(lines[0], lines[2]), ingest.Options{})
	sources("[[chat.prometheus metrics 3 3] [other metrics 4 4]]")
	load(t, w, state(lines...), ingest.Options{})
	for _, c := range []struct{ why, text, says string }{
		{"another version's", strings.Replace(string(text), "collect/1", "collect/2", 1), "its schema is not tidemark.collect/1"},
		{"no answer", lines[0], "no answer in it holds a series"},
		{"a header without an instant", strings.Replace(string(text), "started_at", "began_at", 1), "started_at are missing"},
	} {
		refused(t, w, state(c.text), ingest.Options{Name: "x"}, c.says)
	}
	// The counter grew by 15 in a minute; the bucket by one in a quarter, though its bound is spelled in two ways.
	got := fmt.Sprint(table(t, w, `select name, until_s - from_s, increase from staging.metric_intervals
		where source_name = 'chat.prometheus' and not is_first order by all`))
	if want := "[[vllm:prompt_tokens_total 60.0 0.0] [vllm:prompt_tokens_total 60.0 15.0] [vllm:time_to_first_token_seconds_bucket 900.0 1.0]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
