package reports

import (
	"fmt"
	"html/template"

	"tidemark/analysis"
	"tidemark/internal/lazy"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// functions are everything that a section's template can do. A template has no loops over SQL and no arithmetic of its own except minus:
// a quantity that needs more belongs into a view.
func (p *page) functions() template.FuncMap {
	return template.FuncMap{
		// asking
		"ask": func(view, query string, args ...any) (*Result, error) { return ask(p.ctx, p.db, view, query, args...) },
		// drawing
		"figure": p.figure, "chart": newChart, "strip": newStrip, "strips": newStrips, "series": series, "band": band, "look": look, "nextLook": func(before int) string { return look(before + 1) }, "axis": axis, "since": since, "nines": ninesAxis,
		"limit":      limit,
		"note":       func(x, y any, class, text string) any { return noteAt(x, y, class, text) },
		"zoomed":     func(name string) plot.Axis { return plot.Axis{Name: name, IsZoomed: true} },
		"logarithm":  func(name string) plot.Axis { return plot.Axis{Name: name, IsLog: true} },
		"upTo":       func(most float64, a plot.Axis) plot.Axis { a.To = most; return a },
		"whole":      func(a plot.Axis) plot.Axis { a.IsWhole = true; return a },
		"missedAxis": missedAxis, "missedBand": missedBand, "missedInterval": missedInterval, "missedLimit": missedLimit,
		"diagonal": diagonal, "waterfall": waterfall,
		"unit":        func(largest ...any) show.Unit { return show.UnitOf(greatest(largest)) },
		"experiments": p.experiments, "tails": p.tails, "compared": p.compared, "scaled": scaled, "brief": func(name string) string { return shortened(name, 14) }, "anatomy": p.anatomy, "shares": shares, "fitted": fitted,
		"objectives": func(run Run, metric string, factor float64) []any { return run.limits(metric, factor) },
		// telling
		"sentence":    sentence,
		"roomOf":      func(runID string) ([]string, error) { return analysis.RoomOfRun(p.ctx, p.db, runID) },
		"kernelsOf":   func(runID string) ([]string, error) { return analysis.Kernels(p.ctx, p.db, runID) },
		"throttlings": func(runID string) ([]string, error) { return analysis.Throttlings(p.ctx, p.db, runID, "run") },
		"certificate": p.certified, "lintRun": func(run Run) (analysis.Lint, error) { return analysis.LintRuns(p.ctx, p.db, run.ID) },
		"lintBeside": func(runs []Run) (analysis.Lint, error) { return analysis.LintBeside(p.ctx, p.db, idsOf(runs)...) },
		"lintResults": func(sources []any) (analysis.Lint, error) {
			var names []string
			for _, name := range sources {
				names = append(names, fmt.Sprint(name))
			}
			return analysis.LintResults(p.ctx, p.db, names...)
		},
		"slice":     func(run Run) (slice, error) { return p.slice(&run) },
		"distance":  func(v any) string { n, _ := number(v); return show.Distance(n) },
		"limitText": func(metric, v any) string { return limitText(metric, v) },
		"heading":   p.heading, "tight": tight, "table": func(r *Result, caption string) Table { return r.shown(caption) },
		"say": fmt.Sprintf, "duration": duration, "durations": durations, "between": between, "percent": percent, "chosenShare": chosenShare, "times": times, "rate": rate, "count": count,
		"counted": counted, "plain": plain, "figures": plainFigures, "setting": setting, "words": show.Words, "objective": metricsInWords,
		// holding
		"list": func(parts ...any) []any { return parts }, "add": func(list []any, part any) []any { return append(list, part) },
		"names": func(pairs ...string) (map[string]string, error) { return pairUp(pairs) },
		"num":   func(v any) float64 { n, _ := number(v); return n },
		"minus": func(a, b float64) float64 { return a - b },
		"plus":  func(a, b float64) float64 { return a + b },
		"over":  func(a, b float64) float64 { return a / b },
		"times1000": func(v any) any {
			if n, ok := number(v); ok {
				return 1000 * n
			}
			return nil
		},
	}
}

var latencyMetric = lazy.Regexp(`\b(?:(?:ttft|e2e)(?:_from_due)?|tpot|itl)\b`)

// metricsInWords writes p99 ttft_from_due at most 500 ms as p99 TTFT from due at most 500 ms.
func metricsInWords(text any) string {
	return latencyMetric().ReplaceAllStringFunc(plain(text), show.Words)
}

// limit is a limit line, or nothing if the limit is not known.
func limit(at any, factor float64, text string) any {
	v, ok := number(at)
	if !ok {
		return []any{}
	}
	return plot.Limit{At: v * factor, Text: tight(text), Look: colours["limit"]}
}

// noteAt names a place, or is nothing if the place is not known.
func noteAt(x, y any, class, text string) any {
	across, hasX := number(x)
	up, hasY := number(y)
	if !hasX || !hasY {
		return []any{}
	}
	return plot.Note{X: across, Y: up, Class: class, Text: tight(text)}
}

// greatest is the largest number among values, from which a chart's unit is chosen.
func greatest(values []any) float64 {
	most := 0.0
	for _, v := range values {
		if n, ok := number(v); ok && n > most {
			most = n
		}
	}
	return most
}

// pairUp makes a map of keys and values that alternate.
func pairUp(pairs []string) (map[string]string, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("names: %d words cannot be pairs", len(pairs))
	}
	out := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out, nil
}

// limits are the bounds of a run's objectives on a metric, of all requests.
func (run Run) limits(metric string, factor float64) []any {
	var out []any
	for _, o := range run.Verdict.Objectives {
		if o.Metric == metric && o.Class == "" {
			out = append(out, limit(o.AtMost, factor, "limit "+limitOf(o.Objective)))
		}
	}
	return out
}

// limitText writes a bound of marts.slo as it was chosen.
func limitText(metric, v any) string {
	atMost, _ := number(v)
	return limitOf(analysis.Objective{Metric: fmt.Sprint(metric), AtMost: atMost})
}

func idsOf(runs []Run) (ids []string) {
	for _, run := range runs {
		ids = append(ids, run.ID)
	}
	return ids
}
