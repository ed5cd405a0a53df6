//go:build duckdb_arrow

package analysis

import (
	"math"
	"strings"
	"testing"
)

// 1, 3 and 11, 13: means 2 and 12, variances 2, so that each mean has a squared standard error of 1 and both together sqrt(2), with two
// degrees of freedom: 10 +- 2.920 * 1.414.
func TestWelch(t *testing.T) {
	low, high, freedom := welch([]float64{1, 3}, []float64{11, 13})
	if freedom != 2 || math.Abs(low-5.8706) > 1e-3 || math.Abs(high-14.1294) > 1e-3 {
		t.Errorf("welch: got %.4f to %.4f, want 5.8706 to 14.1294, with %v degrees of freedom of 2", low, high, freedom)
	}
	if low, high, _ := welch([]float64{1, 1}, []float64{2, 2}); low != 1 || high != 1 {
		t.Errorf("without any spread: got %v to %v, want 1 to 1", low, high)
	}
}

// Differences of 9, 10 and 11: a mean of 10 with a variance of 1 and a standard error of 0.5774, with two degrees of freedom: 10 +- 2.920 * 0.5774. What
// the draws of traffic do to both sides, 1 to 100, is not in it.
func TestPaired(t *testing.T) {
	low, high, freedom := paired([]float64{1, 50, 100}, []float64{10, 60, 111})
	if freedom != 2 || math.Abs(low-8.3141) > 1e-3 || math.Abs(high-11.6859) > 1e-3 {
		t.Errorf("paired: got %.4f to %.4f, want 8.3141 to 11.6859, with %v degrees of freedom of 2", low, high, freedom)
	}
}

func TestChange(t *testing.T) {
	for _, c := range []struct {
		ratio any
		want  string
	}{{1.05, "+5.00 %"}, {0.5, "-50.0 %"}, {1.00001, "0 %"}, {nil, "-"}} {
		if got := Change(c.ratio); got != c.want {
			t.Errorf("Change(%v): got %s, want %s", c.ratio, got, c.want)
		}
	}
}

// A second run on a server that was warm from the first was faster, and "no setting differs" was all that was said.
func TestTheCacheIsSaid(t *testing.T) {
	c := Comparison{
		Settings: Table{Columns: []string{"setting", "value", "other_value"}, Rows: [][]any{{"cached_prompt_ratio", "0.388, 0.391", "0.602"}}},
		Results: Table{
			Columns: []string{"metric", "statistic", "ratio", "low_ratio", "high_ratio", "is_different"},
			Rows:    [][]any{{"tpot_s", "p50", 0.8, 0.7, 0.9, true}},
		},
	}
	const want = "p50 TPOT -20.0 % (-30.0 % to -10.0 %); the server had 38.8 %, 39.1 % of the prompt tokens in its cache, then 60.2 % (replay --cache reset empties it first)"
	if got := c.FirstLine(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c.isReset = true // an experiment resets the cache before each row: what differs came from the run's own prompts
	if got, want := c.FirstLine(), strings.Replace(want, "replay --cache reset empties it first", "no run found what was there before it", 1); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	c.isReset = false
	c.Unusable = []string{"run-1: invalid: p99 lateness 58.0 ms is above 10.0 ms"}
	if got, want := c.FirstLine(), "1 run is invalid or failed, so this shows nothing: "+want; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
