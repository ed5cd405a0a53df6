package reports

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/show"
)

// tile is one of the six figures of the first screen.
type tile struct {
	Label, Value string
	Bar          template.HTML // the value with its interval against its limit; empty: no limit
	Basis        string        // interval, or what the value is of
	Limit        string
	State        string // broke, holds, open, or nothing
}

// mostTiles is how many figures the first screen has.
const mostTiles = 6

// tiles are the objectives of the SLO, what broke first, then what every run is looked at for.
func (p *page) tiles(run *Run) ([]tile, error) {
	var tiles []tile
	has := map[string]bool{}
	for _, o := range run.Verdict.Objectives {
		tiles = append(tiles, objectiveTile(o))
		has[short(o.Objective)] = true
	}
	within, err := p.withinTile(run)
	if err != nil {
		return nil, err
	}
	if within.Value != "" {
		tiles = append(tiles, within)
	}
	intervals, err := p.intervals(run.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range []struct{ label, name, metric, column string }{
		{"TTFT, p99", "p99 TTFT", "ttft_s", "p99_ttft_s"}, {"TPOT, p99", "p99 TPOT", "tpot_s", "p99_tpot_s"},
	} {
		switch {
		case has[t.name]:
		case run.Facts.At(0, t.column) == nil:
			tiles = append(tiles, tile{Label: strings.Replace(t.label, "p99", "median", 1), Value: duration(run.Facts.At(0, strings.Replace(t.column, "p99", "p50", 1))), Limit: "a p99 wants 100 requests"})
		default:
			tiles = append(tiles, tile{Label: t.label, Value: duration(run.Facts.At(0, t.column)), Basis: intervals[t.metric], Limit: "no limit set"})
		}
	}
	predicted, err := p.predictedTile(run)
	if err != nil {
		return nil, err
	}
	late := run.latenessTile()
	slices.SortStableFunc(tiles, func(a, b tile) int { return rank(a.State) - rank(b.State) })
	rest := []tile{predicted, run.tokensTile(intervals), late}
	if late.State == "broke" {
		rest = []tile{predicted, run.tokensTile(intervals)}
		tiles = append([]tile{late}, tiles...)
	}
	if len(tiles) > mostTiles-1 {
		tiles = tiles[:mostTiles-1]
		rest = rest[len(rest)-1:]
	}
	tiles = append(tiles, rest...)
	tiles = tiles[:min(len(tiles), mostTiles)]
	for i := range tiles {
		tiles[i].Value, tiles[i].Basis, tiles[i].Limit = tight(tiles[i].Value), tight(tiles[i].Basis), tight(tiles[i].Limit)
	}
	return tiles, nil
}

// rank puts what broke first, then what is not decided.
func rank(state string) int {
	switch state {
	case "broke":
		return 0
	case "open":
		return 1
	}
	return 2
}

// objectiveTile shows one objective against its limit.
func objectiveTile(o analysis.ObjectiveVerdict) tile {
	t := tile{Label: metricOf(o.Objective), Value: withheld, Limit: "limit " + limitOf(o.Objective)}
	switch o.Outcome {
	case analysis.Met:
		t.State = "holds"
	case analysis.NotMet:
		t.State = "broke"
	case analysis.Undecided:
		t.State = "open"
	}
	t.Basis = fmt.Sprintf("%s of %s beyond", show.Count(o.Above), show.Count(o.Samples))
	if o.Observed == nil {
		return t
	}
	t.Value = valueOf(o.Objective, *o.Observed)
	low, high := *o.Observed, *o.Observed
	if o.Low != nil && o.High != nil {
		low, high = *o.Low, *o.High
		t.Basis = rangeOf(o.Objective, low, high)
	}
	t.Bar = bar(*o.Observed, low, high, o.AtMost, t.State == "broke")
	return t
}

func rangeOf(o analysis.Objective, low, high float64) string {
	if isShare(o) {
		return show.Figures(low*100) + " to " + show.Percent(high)
	}
	return show.Range(low, high)
}

// metricOf names an objective as a tile does: TTFT, p99.
func metricOf(o analysis.Objective) string {
	if isShare(o) {
		return "Failures"
	}
	text := show.Words(o.Metric) + ", " + show.Percentile(o.Percentile)
	if o.Class != "" {
		text += ", class " + o.Class
	}
	return text
}

func (p *page) withinTile(run *Run) (tile, error) {
	if !run.HasSLO {
		return tile{}, nil
	}
	g, err := ask(p.ctx, p.db, "marts.goodput", `select
    tried,
    accepted,
    accepted_ratio
from marts.goodput
where run_id = $1`, run.ID)
	if err != nil {
		return tile{}, err
	}
	share, isKnown := number(g.At(0, "accepted_ratio"))
	if !isKnown {
		return tile{}, nil
	}
	return tile{Label: "Requests within all objectives", Value: show.Percent(share), Basis: fmt.Sprintf("%s of %s", count(g.At(0, "accepted")), count(g.At(0, "tried"))),
		Limit: "no limit of its own"}, nil
}

func (p *page) predictedTile(run *Run) (tile, error) {
	t := tile{Label: "TPOT over its prediction", Value: "not compared", Basis: "GPU or model not known"}
	if techniques, is := run.Facts.At(0, "unmodelled").(string); is {
		t.Basis = techniques + ": not modelled"
	}
	slowdown, isKnown := number(run.Facts.At(0, "slowdown_ratio"))
	if !isKnown {
		return t, nil
	}
	t.Value, t.Basis = times(slowdown), "median request"+run.ofPredictedModel()
	d, err := ask(p.ctx, p.db, "staging.deployments", `select band_ratio from staging.deployments where run_id = $1`, run.ID)
	if err != nil {
		return t, err
	}
	if ratio, hasBand := number(d.At(0, "band_ratio")); hasBand {
		t.Limit = fmt.Sprintf("band %.2f to %.2f", 1/(1+ratio), 1+ratio)
		t.State = "holds"
		if slowdown > 1+ratio {
			t.State = "broke"
		}
		if slowdown < 1/(1+ratio) {
			t.State = "open"
		}
		t.Bar = bar(slowdown, slowdown, slowdown, 1+ratio, t.State == "broke", 1/(1+ratio))
	}
	return t, nil
}

func (run *Run) tokensTile(intervals map[string]string) tile {
	return tile{Label: "Output tokens", Value: rate(run.Facts.At(0, "output_token_per_s")), Basis: intervals["output_token_per_s"], Limit: "no limit set"}
}

func (run *Run) latenessTile() tile {
	limit, hasLimit := number(run.Facts.At(0, "lateness_limit_s"))
	statistic, late, isKnown := run.lateness()
	t := tile{Label: "Client’s lateness, " + statistic, Value: withheld, Basis: "n = " + count(run.Facts.At(0, "sent")), Limit: "no limit in a closed loop"}
	if isKnown {
		t.Value = show.Duration(late)
	}
	if !hasLimit {
		if kept, isClosed := number(run.Facts.At(0, "kept_concurrency_ratio")); isClosed {
			return tile{Label: "Kept in flight", Value: show.Percent(kept), Basis: "of " + count(run.Facts.At(0, "max_concurrency")), Limit: "by which a closed loop is judged"}
		}
		return t
	}
	t.Limit = "limit " + show.Setting(limit)
	if isKnown {
		t.State = "holds"
		if run.isLate() {
			t.State = "broke"
		}
		t.Bar = bar(late, late, late, limit, t.State == "broke")
	}
	return t
}

// lateness is the run's p99 or, of too few requests for one, that of the latest request.
func (run *Run) lateness() (statistic string, seconds float64, isKnown bool) {
	if p99, isKnown := number(run.Facts.At(0, "p99_lateness_s")); isKnown {
		return "p99", p99, true
	}
	latest, isKnown := number(run.Facts.At(0, "max_lateness_s"))
	return "latest", latest, isKnown
}

// isLate is true where lateness makes the run invalid. Of few requests the replay itself has judged, by the quantile that it knew.
func (run *Run) isLate() bool {
	limit, hasLimit := number(run.Facts.At(0, "lateness_limit_s"))
	statistic, late, isKnown := run.lateness()
	reason, _ := run.Facts.At(0, "invalid_reason").(string)
	return hasLimit && isKnown && late > limit && (statistic == "p99" || strings.Contains(reason, "lateness"))
}

// intervals are the 90 % intervals of the run's p99s and of its throughput, in words; a statistic of too few samples has none.
func (p *page) intervals(runID string) (map[string]string, error) {
	r, err := ask(p.ctx, p.db, "marts.run_statistics", `select
    metric,
    macros.resampled_end(value, list_sort(replicates), 0.025e0, 1) as low,
    macros.resampled_end(value, list_sort(replicates), 0.975e0, 1) as high
from marts.run_statistics
where run_id = $1
    and statistic = case when metric = 'output_token_per_s' then 'mean' else 'p99' end
    and is_enough`, runID)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for i, metric := range r.texts("metric") {
		low, hasLow := number(r.At(i, "low"))
		high, hasHigh := number(r.At(i, "high"))
		switch {
		case !hasLow || !hasHigh:
		case metric == "output_token_per_s":
			out[metric] = show.Figures(low) + " to " + show.Figures(high)
		default:
			out[metric] = show.Range(max(low, 0), high)
		}
	}
	return out, nil
}

// keyOf says how the bars of the tiles are read; nothing where there is none.
func keyOf(tiles []tile) string {
	has := func(mark string) bool {
		return slices.ContainsFunc(tiles, func(t tile) bool { return strings.Contains(string(t.Bar), mark) })
	}
	var key []string
	if has("<svg") {
		key = []string{"dot: value", "tick: limit, right of it is worse"}
	}
	if has(`class="interval"`) {
		key = slices.Insert(key, 1, "bar: 90 % interval")
	}
	if slices.ContainsFunc(tiles, func(t tile) bool {
		return !strings.Contains(string(t.Bar), "interval") && strings.Contains(t.Basis, " to ")
	}) {
		key = append(key, "“a to b” below a value: 90 % interval")
	}
	return strings.Join(key, " · ")
}

// bar draws a value with its interval against its limit, which is at two thirds, and against others, which have a tick each.
func bar(value, low, high, limit float64, broke bool, others ...float64) template.HTML {
	if !(limit > 0) {
		return ""
	}
	const from, to = 2, 142
	at := func(v float64) string {
		return strconv.FormatFloat(math.Round(10*math.Min(math.Max(from+v/limit*2/3*(to-from), from+4), to-4))/10, 'f', -1, 64)
	}
	colour := "measured"
	if broke {
		colour = "bad"
	}
	interval := ""
	if high > low {
		interval = fmt.Sprintf(`<path class="interval" d="M%s 7H%s" stroke="var(--%s)" stroke-width="6" stroke-opacity=".45"/>`, at(low), at(high), colour)
	}
	ticks := `<path d="M95.3 0v14" stroke="var(--limit)" stroke-width="2"/>`
	for _, other := range others {
		ticks += fmt.Sprintf(`<path d="M%s 0v14" stroke="var(--limit)" stroke-width="2"/>`, at(other))
	}
	return template.HTML(fmt.Sprintf(`<svg class="mini" viewBox="0 0 144 14" aria-hidden="true"><path d="M2 7h140" stroke="var(--history)" stroke-width="2"/>%s<circle cx="%s" cy="7" r="4" fill="var(--%s)"/>%s</svg>`,
		interval, at(value), colour, ticks))
}
