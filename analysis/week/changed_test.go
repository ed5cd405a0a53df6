//go:build duckdb_arrow

package week

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Of a service whose traffic is a trace nothing is known of the system, and the sentence says so.
func TestOfATraceOnlyTheWorkloadIsKnown(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	begin := time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC)
	hours := func(days int, more float64) (all []Hour) {
		for h := range 24 * days {
			n := 1000 + rnd.Int64N(100)
			if h >= 24*9 {
				n = int64(float64(n) * more)
			}
			all = append(all, Hour{Start: begin.Add(time.Duration(h) * time.Hour), Requests: &n, InputTokens: new(500 * n), OutputTokens: new(100 * n)})
		}
		return all
	}
	for _, one := range []struct {
		days    int
		more    float64
		verdict string
		says    string
	}{
		{21, 1.5, "workload", "The workload changed on 2026-10-14: requests +"},
		{21, 1, "unknown", "No change of the workload shown; whether the system changed is not known"},
	} {
		c := ChangedIn(hours(one.days, one.more), nil, nil, time.UTC)
		if c.Verdict != one.verdict || !strings.HasPrefix(c.Sentence, one.says) || !strings.Contains(c.Sentence, "not known") {
			t.Errorf("times %v: %s: %s", one.more, c.Verdict, c.Sentence)
		}
	}
	if c := ChangedIn(hours(7, 1), nil, nil, time.UTC); c.isKnown() {
		t.Errorf("of one week: %s", c.Sentence)
	}
}
