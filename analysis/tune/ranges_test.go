package tune

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/hint"
)

func rangeFile(t *testing.T, space string) (File, error) {
	t.Helper()
	return Parse([]byte("schema: tidemark.tune/1\nname: a\ntraffic: t\nslo: s\ndeployment: {gpu: H100, model: llama-3.1-8b}\nspace:\n" + space +
		"\nserver: {start: [a, \"{flags}\"], base_url: \"http://h:1\", model: m}\n"))
}

// From 0.85 to 0.95 by hundredths, where up to 0.91 starts: the ends, then 0.9, 0.92 and 0.91. Whatever the limit is, the search finds it.
func TestTheHighestThatStartsIsFoundByHalving(t *testing.T) {
	tried := func(space string, limit float64) (found string, tried []string) {
		f, err := rangeFile(t, space)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.NewRanging()
		if err != nil {
			t.Fatal(err)
		}
		for wasKilled := false; ; {
			c, isDone, fails, err := r.Next()
			switch {
			case err != nil:
				t.Fatal(err)
			case fails != "":
				return "none", tried
			case isDone:
				return f.Knobs[0].Values[0], tried
			}
			value := c.Values[0]
			tried = append(tried, value)
			try := Try{Candidate: c.Key(), Outcome: Served}
			if number, _ := strconv.ParseFloat(value, 64); number > limit {
				try.Failed(NotReady, "ran out of memory", nil)
			}
			r.Tries = append(r.Tries, try)
			if at := len(r.Tries) / 2; len(r.Tries) == 4 && !wasKilled { // a kill: what is known comes from the journal
				again, err := f.NewRanging()
				if err != nil {
					t.Fatal(err)
				}
				again.Tries, r = r.Tries[:at:at], again
				tried, wasKilled = tried[:at], true
			}
		}
	}
	const memory = "  gpu_memory_utilization: {from: 0.85, to: 0.95, search: highest that starts}"
	if found, values := tried(memory, 0.91); found != "0.91" || !slices.Equal(values, []string{"0.95", "0.85", "0.9", "0.92", "0.91"}) {
		t.Errorf("found %s by %q", found, values)
	}
	for limit := 84; limit <= 96; limit++ {
		want := strconv.FormatFloat(min(0.95, float64(limit)/100), 'f', -1, 64)
		if limit < 85 {
			want = "none"
		}
		if found, values := tried(memory, float64(limit)/100); found != want || len(values) > 6 {
			t.Errorf("limit 0.%d: found %s by %q", limit, found, values)
		}
	}
	if found, values := tried("  max_model_len: {from: 1000, to: 10000, step: 4000, search: highest that starts}", 9999); found != "9000" || values[0] != "10000" {
		t.Errorf("the top is tried although no step ends there: found %s by %q", found, values)
	}
	if found, values := tried("  max_num_seqs: {from: 1, to: 2, search: highest that starts}", 1); found != "1" || len(values) != 2 {
		t.Errorf("one step: found %s by %q", found, values)
	}
}

func TestRangesThatAreNone(t *testing.T) {
	for space, want := range map[string]string{
		"  max_num_seqs: {from: 5, to: 5, search: highest that starts}":                           "from 5 is not below to 5",
		"  max_num_seqs: {from: 1, to: 5.5, search: highest that starts}":                         "is not a whole number",
		"  max_num_seqs: {from: 1, to: 5, search: lowest}":                                        "search",
		"  max_num_seqs: {from: 1, search: highest that starts}":                                  "to",
		"  max_num_seqs: {from: 1, to: 5, values: [1], search: highest that starts}":              "values",
		"  max_num_seqs: {from: 1, to: 5, step: 0, search: highest that starts}":                  "a number above 0",
		"  max_num_seqs: {from: .nan, to: 5, search: highest that starts}":                        "a number",
		"  gpu_memory_utilization: {from: 0.5, to: 1.5, search: highest that starts}":             "gpu_memory_utilization",
		"  enable_prefix_caching: {from: 0, to: 1, search: highest that starts}":                  "must be true or false",
		"  nothing: {from: 0, to: 1, search: highest that starts}":                                "not a setting that is known",
		"  a: {flag: --a, from: 0, to: 1, step: 1e-9, search: highest that starts}":               "more than a million steps",
		"  max_num_seqs: [1]\nlive: {x: {from: 1, to: 2, search: highest that starts, set: [a]}}": "is of what a start sets",
	} {
		if _, err := rangeFile(t, space); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", space, err, want)
		}
	}
	f, err := rangeFile(t, "  max_model_len: {from: 1024, to: 131072, search: highest that starts}")
	if err != nil || f.CheckRanges(false) != nil {
		t.Fatal(err, f.CheckRanges(false))
	}
	if err := f.CheckRanges(true); !hint.IsMisuse(err) || !strings.Contains(err.Error(), "nothing is started") {
		t.Errorf("rehearsed: %v", err)
	}
	f.Budget.Starts = 8 // the two ends, five halvings of 32 steps, the baseline and a candidate
	if err := f.CheckRanges(false); !hint.IsMisuse(err) || !strings.Contains(err.Error(), "may take 7") {
		t.Errorf("a small budget: %v", err)
	}
	f.Budget.Starts = 9
	if err := f.CheckRanges(false); err != nil {
		t.Error(err)
	}
}
