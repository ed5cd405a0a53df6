package week

import (
	"fmt"
	"math"
	"slices"

	"tidemark/analysis/week"
	"tidemark/internal/show"
)

// felt is the dot of 60_felt.html.
type felt struct {
	Figure  *figure
	Lacks   *lacks
	Metrics *table
	Facts   []fact
}

// mostHours is how many single hours a folded table shows.
const mostHours = 8

func feltView(f *facts) (any, string, error) {
	if len(f.Felt) == 0 {
		return felt{Lacks: f.byCollect("Latencies of production are not known for this week, so what users felt is not known either. This command fetches them from Prometheus:")}, "Latencies of production are not known", nil
	}
	figure, err := drawn("felt", f)
	if err != nil {
		return nil, "", err
	}
	figure.From, figure.Notes = "staging.service_weeks", "histograms of production by hour: a quantile lies within its bucket"
	figure.Queries = []string{f.ofFelt(), f.ofWeek("within_slo_ratio", "low_within_slo_ratio", "high_within_slo_ratio", "is_met", "broken_hours")}
	figure.Tables = []table{f.worstHours()}
	return felt{Figure: figure, Metrics: f.metrics(), Facts: keepFacts(fact{"Errors", f.lost(func(h *week.Felt) *float64 { return h.Errors })}, fact{"Rejected", f.lost(func(h *week.Felt) *float64 { return h.Rejected })})}, figure.Title, nil
}

// worstHours are the hours that broke the SLO, then those with the longest p99 TTFT, in the order of time.
func (f *facts) worstHours() table {
	var shown []*week.Felt
	for i := range f.Felt {
		if h := &f.Felt[i]; h.Metric == "ttft" {
			shown = append(shown, h)
		}
	}
	slices.SortStableFunc(shown, func(a, b *week.Felt) int {
		if a.IsBroken != b.IsBroken {
			return map[bool]int{true: -1, false: 1}[a.IsBroken]
		}
		return -compare(tail(a), tail(b))
	})
	broken := slices.IndexFunc(shown, func(h *week.Felt) bool { return !h.IsBroken })
	if broken < 0 {
		broken = len(shown)
	}
	all := shown
	shown = shown[:min(len(shown), max(mostHours, min(broken, 24)))]
	caption := fmt.Sprintf("The %d hours with the longest p99 TTFT; bounds of its bucket", len(shown))
	if n := len(shown); n < len(all) && tail(all[n-1]) == tail(all[n]) { // else a tie would read as a ranking
		caption += ": others are as long as the last of them"
	}
	slices.SortFunc(shown, func(a, b *week.Felt) int { return a.Start.Compare(b.Start) })
	t := table{Class: "stack", Caption: caption, Heads: []head{words("Hour"), numbers("Requests", ""),
		numbers("p50", "s"), numbers("p95", "s"), numbers("p99", "s"), numbers("Within", "%"), numbers("Rejected", "/s")}}
	for _, h := range shown {
		r := cells(f.hour(h.Start), count(h.Count), bounds(h.P50, exact), bounds(h.P95, exact), p99(h, exact), within(h.Within), of(h.Rejected, figures))
		if h.IsBroken {
			r.Class, r.Cells[0].Mark = "broken", crossed("broke")
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// tail is the upper end of an hour's p99, for sorting.
func tail(h *week.Felt) float64 {
	switch {
	case h.P99 == nil:
		return -1
	case h.P99.High == nil:
		return math.Inf(1)
	}
	return *h.P99.High
}

// p99 is withheld below 100 requests.
func p99(h *week.Felt, write func(float64) string) string {
	if h.P99 == nil {
		return "withheld"
	}
	return bounds(h.P99, write)
}

// metrics has one row a latency: its longest hour and how often it broke its limit.
func (f *facts) metrics() *table {
	t := &table{Class: "fit", Title: "The longest p99 of each latency", Caption: "A p99 of fewer than 100 requests is withheld", Heads: []head{words("Latency"), numbers("Limit", ""), numbers("Longest p99", ""), words("Hour"), numbers("Broke", "of hours")}}
	for _, metric := range []string{"ttft", "tpot", "queue", "e2e"} {
		var worst *week.Felt
		n, broke := 0, 0
		for i := range f.Felt {
			h := &f.Felt[i]
			if h.Metric != metric {
				continue
			}
			n++
			if h.IsBroken {
				broke++
			}
			if worst == nil || tail(h) > tail(worst) {
				worst = h
			}
		}
		if worst == nil {
			continue
		}
		r := cells(upper(metricName(metric)), of(worst.Limit, setting), inUnit(worst.P99), f.hour(worst.Start), count(broke)+" of "+count(n))
		if worst.Limit == nil {
			r.Cells[4].Text = unknown + " of " + count(n)
		}
		if broke > 0 {
			r.Class, r.Cells[0].Mark = "broken", crossed("broke")
		}
		t.Rows = append(t.Rows, r)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// within is the share within the limit, by the bounds that the buckets give it.
func within(b *week.Bounds) string {
	if b == nil || b.High == nil || *b.High == b.Low {
		return bounds(b, share)
	}
	return shares(b.Low, *b.High)
}

// inUnit writes a bucket with its unit: 0.75 to 1 s, 50 to 75 ms.
func inUnit(b *week.Bounds) string {
	if b == nil {
		return "withheld"
	}
	longest := b.Low
	if b.High != nil {
		longest = *b.High
	}
	unit := show.UnitOf(longest)
	return bounds(b, func(s float64) string { return exact(math.Round(s*unit.Factor*1e6) / 1e6) }) + narrow + unit.Name
}

// lost adds up what failed or was rejected, by the hours in which it did.
func (f *facts) lost(ofHour func(*week.Felt) *float64) string {
	total, hours, isKnown := 0.0, 0, false
	for i := range f.Felt {
		h := &f.Felt[i]
		if perS := ofHour(h); h.Metric == "ttft" && perS != nil {
			isKnown = true
			if *perS > 0 {
				total, hours = total+*perS*3600, hours+1
			}
		}
	}
	switch {
	case !isKnown:
		return ""
	case hours == 0:
		return "none"
	}
	return fmt.Sprintf("about %s in %s", counted(int64(math.Round(total)), "request"), counted(hours, "hour"))
}
