package reports

import (
	"fmt"
	"html/template"

	"tidemark/internal/show"
	"tidemark/reports/chart"
)

// functions are everything that a section's template can do. A template has no loops over SQL and no arithmetic of its own except minus:
// a quantity that needs more belongs into a view.
func (p *page) functions() template.FuncMap {
	return template.FuncMap{
		// asking
		"ask": func(view, query string, args ...any) (*Result, error) { return ask(p.ctx, p.db, view, query, args...) },
		// drawing
		"figure": p.figure, "chart": newChart, "series": series, "look": look, "nextLook": func(before int) string { return look(before + 1) }, "axis": axis, "nines": ninesAxis,
		"rows":       func(names []string) chart.Axis { return chart.Axis{Categories: names} },
		"limit":      func(at any, factor float64, text string) any { return horizontal(at, factor, text) },
		"zoomed":     func(name string) chart.Axis { return chart.Axis{Name: name, IsZoomed: true} },
		"missedAxis": missedAxis, "missedBand": missedBand, "missedInterval": missedInterval, "missedLimit": missedLimit,
		"diagonal": diagonal, "waterfall": waterfall,
		"unit": func(largest ...any) show.Unit { return show.UnitOf(greatest(largest)) },
		// telling
		"heading": heading, "table": func(r *Result, caption string) Table { return r.table(caption) },
		"say": fmt.Sprintf, "duration": duration, "durations": durations, "between": between, "percent": percent, "chosenShare": chosenShare, "times": times, "rate": rate, "count": count,
		"counted": counted, "plain": plain, "figures": plainFigures, "setting": setting, "words": words,
		// holding
		"list": func(parts ...any) []any { return parts }, "add": func(list []any, part any) []any { return append(list, part) },
		"names": func(pairs ...string) (map[string]string, error) { return pairUp(pairs) },
		"num":   func(v any) float64 { n, _ := number(v); return n },
		"minus": func(a, b float64) float64 { return a - b },
	}
}

// horizontal is a limit line, or nothing if the limit is not known.
func horizontal(at any, factor float64, text string) any {
	v, ok := number(at)
	if !ok {
		return []any{}
	}
	return chart.Limit{At: v * factor, Text: text}
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

// heading is a section's title, one level lower if the run has a heading of its own.
func heading(s section, name, text string) template.HTML {
	level := "h2"
	if s.Level > 2 {
		level = "h3"
	}
	return template.HTML(fmt.Sprintf(`<%s id="%s">%s</%[1]s>`, level, template.HTMLEscapeString(s.Prefix+name), template.HTMLEscapeString(text)))
}
