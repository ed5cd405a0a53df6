//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

const searchFile = "azure-conv-5f3a9c21.capacity.jsonl"

// searchLines are the lines of the search in fixtures: its header, five starts and ends of runs, and the answer.
func searchLines(t *testing.T) []string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join("..", "fixtures", "searches", searchFile)))(t)
	lines := strings.SplitAfter(string(text), "\n")
	return lines[:len(lines)-1]
}

func TestASearchIsTakenIn(t *testing.T) {
	w := open(t)
	path := write(t, searchFile, []byte(strings.Join(searchLines(t), "")))
	result := load(t, w, path, ingest.Options{})
	if result.Name != "azure-conv-5f3a9c21.capacity" || result.Format != "capacity" || result.RowsKept != 1 || len(result.Notes) > 0 {
		t.Errorf("got %+v", result)
	}
	got := table(t, w, "select search_id, source_name, outcome, scale, scale_low, scale_high, runs, load_s, started_at, ended_at from marts.capacities")
	want := "[[azure-conv-5f3a9c21 azure-conv found 1.84 1.76 1.92 5 1020.0 2026-11-20 12:00:00+00 2026-11-20 12:19:00+00]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := number(t, w, "select count(*) from raw.capacities where runs::varchar like '%sent_us%'"); n != 0 {
		t.Error("the lists of single requests were kept")
	}
	if broken := table(t, w, "select * from checks.rows_add_up"); len(broken) > 0 {
		t.Errorf("checks.rows_add_up: %v", broken)
	}
	if again := load(t, w, path, ingest.Options{}); !again.AlreadyKnown {
		t.Errorf("a second time: got %+v, want known", again)
	}
}

// The file grows while the search goes on. What is taken in of it later replaces what was there.
func TestASearchThatGoesOnReplacesItsEarlierState(t *testing.T) {
	w, lines := open(t), searchLines(t)
	path := filepath.Join(t.TempDir(), searchFile)
	state := func(lines ...string) string {
		t.Helper()
		must.Do(t, os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600))
		return path
	}
	more := strings.NewReplacer("12:00:30Z", "12:30:00Z").Replace(lines[1]) // another run, after the answer
	for _, c := range []struct {
		why, name, note string
		lines           []string
		want            string
	}{
		{"a header alone", "tuesday", "no run and no answer", lines[:1], "[[ 0  0.0]]"},
		{"a run that has ended and one that has not", "", "has not ended", lines[:4], "[[ 1  60.0]]"},
		{"a last line that was cut", "", "ends in the middle of a line", append(slices.Clone(lines[:5]), lines[5][:40]), "[[ 2  180.0]]"},
		{"the answer", "", "replaces an earlier state", lines, "[[found 5 1.84 1020.0]]"},
		{"a larger budget: it goes on", "", "has not ended", append(slices.Clone(lines), more), "[[ 5  1020.0]]"},
	} {
		result := load(t, w, state(c.lines...), ingest.Options{Name: c.name})
		must.Say(t, strings.Join(result.Notes, "\n"), c.note)
		if got := fmt.Sprint(table(t, w, "select outcome, runs, scale, load_s from marts.capacities")); got != c.want {
			t.Errorf("%s: got %s, want %s", c.why, got, c.want)
		}
		if got := fmt.Sprint(table(t, w, "select name, rows_kept from raw.sources")); got != "[[tuesday 1]]" {
			t.Errorf("%s: got the sources %s, want one, with the name of the first", c.why, got)
		}
	}
	other := slices.Clone(lines[:3]) // the same search with another model of the server, which passes over what was before
	for i := 1; i < 3; i++ {
		other[i] = strings.NewReplacer("0f1e2d3c", "ffffffff", "2026-11-20T12:0", "2026-11-20T13:0").Replace(other[i])
	}
	load(t, w, state(append(slices.Clone(lines), other[1:]...)...), ingest.Options{})
	if got := fmt.Sprint(table(t, w, "select outcome, runs, load_s from marts.capacities")); got != "[[ 1 60.0]]" {
		t.Errorf("another question: got %s, want its one run", got)
	}
	err := refused(t, w, state(lines[:8]...), ingest.Options{}, "a later state of this search, as tuesday")
	must.Say(t, hint.Of(err), "tidemark warehouse purge tuesday")
	anew := strings.NewReplacer("2026-11-20T12:00:00Z", "2026-11-21T08:00:00Z").Replace(lines[0])
	load(t, w, state(anew), ingest.Options{Name: "wednesday"}) // --fresh
	if got := fmt.Sprint(table(t, w, "select name from raw.sources")); got != "[[wednesday]]" {
		t.Errorf("started again: got the sources %s", got)
	}
}

func TestADamagedSearchIsRefused(t *testing.T) {
	w, lines := open(t), searchLines(t)
	for _, c := range []struct {
		why   string
		line  int // from 1
		text  string
		words []string
	}{
		{"another version's", 1, strings.Replace(lines[0], "capacity/1", "capacity/2", 1), []string{"line 1", "tidemark.capacity/1"}},
		{"no objectives", 1, strings.Replace(lines[0], `"objectives"`, `"goals"`, 1), []string{"line 1", "objectives"}},
		{"a header whose rate is a word", 1, strings.Replace(lines[0], `5.67`, `"fast"`, 1), []string{"line 1", "window.rate_per_s is a string"}},
		{"a line that was cut in the middle", 3, lines[2][:50] + "\n", []string{"line 3"}},
		{"a run without load", 3, strings.Replace(lines[2], `"load_s"`, `"load"`, 1), []string{"line 3", "load_s"}},
		{"a run whose multiple is a word", 3, strings.Replace(lines[2], `"scale":1.4`, `"scale":"much"`, 1), []string{"line 3", "scale is a string"}},
		{"an event of no kind", 4, strings.Replace(lines[3], `"kind":"start"`, `"kind":""`, 1), []string{"line 4", "kind"}},
		{"an answer without outcome", 12, strings.Replace(lines[11], `"outcome"`, `"came_out"`, 1), []string{"line 12", "outcome"}},
		{"an answer whose interval is a word", 12, strings.Replace(lines[11], `1.76`, `"low"`, 1), []string{"line 12", "scale_low is a string"}},
	} {
		damaged := slices.Clone(lines)
		damaged[c.line-1] = c.text
		err := refused(t, w, write(t, searchFile, []byte(strings.Join(damaged, ""))), ingest.Options{}, c.words...)
		if hint.Of(err) == "" {
			t.Errorf("%s: no hint", c.why)
		}
	}
}
