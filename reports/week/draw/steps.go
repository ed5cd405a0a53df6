package draw

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// tokenTime is the time per token of each hour, milliseconds. What is not known is NaN.
type tokenTime struct {
	measured, floor, predicted, low, high []float64
	terms                                 []string
	upTo                                  [][]float64 // sum of the terms up to each, hour by hour
	out                                   []int       // hours out of the band
	hours                                 int         // with data
	worst, worstOut                       float64     // measured over predicted: of all hours, and of those out of their band
	batch                                 [2]float64
}

// Steps draws the time per token of each hour on what memory bandwidth allows, term by term.
func Steps(r *week.Report) (Figure, error) { return stepsPlan(r).drawn() }

func stepsPlan(r *week.Report) plan {
	if len(r.Steps) == 0 || len(r.Hours) == 0 {
		return plan{}
	}
	t := tokenTimeOf(r)
	f := Figure{Title: t.title(r), Soft: t.soft(r)}
	f.Label = f.Title + fmt.Sprintf(". Measured time per token against the prediction by hour, made of %s.", strings.Join(t.terms, ", "))
	return plan{f, func(s *sheet) { t.draw(s, r) }}
}

func tokenTimeOf(r *week.Report) tokenTime {
	n := len(r.Hours)
	blank := func() []float64 { return slices.Repeat([]float64{math.NaN()}, n) }
	t := tokenTime{measured: blank(), floor: blank(), predicted: blank(), low: blank(), high: blank(), batch: [2]float64{math.Inf(1), 0}}
	at := hourAt(r.Hours)
	for _, st := range r.Steps {
		i, known := at[st.Start.Unix()]
		if !known || r.Hours[i].IsMissing {
			continue
		}
		t.hours++
		t.measured[i], t.floor[i], t.predicted[i], t.low[i], t.high[i] = st.Measured*1e3, st.Floor*1e3, st.Predicted*1e3, st.Low*1e3, st.High*1e3
		t.batch = [2]float64{math.Min(t.batch[0], st.Running), math.Max(t.batch[1], st.Running)}
		if st.Predicted > 0 {
			t.worst = math.Max(t.worst, st.Measured/st.Predicted)
		}
		if st.IsOut {
			t.worstOut = math.Max(t.worstOut, st.Measured/st.Predicted)
			t.out = append(t.out, i)
		}
		for _, term := range st.Terms {
			if !slices.Contains(t.terms, term.Name) {
				t.terms = append(t.terms, term.Name)
				t.upTo = append(t.upTo, blank())
			}
		}
		sum := 0.0
		for k, name := range t.terms {
			for _, term := range st.Terms {
				if term.Name == name {
					sum += term.Seconds * 1e3
				}
			}
			t.upTo[k][i] = sum
		}
	}
	slices.Sort(t.out)
	return t
}

func (t tokenTime) title(r *week.Report) string {
	if len(t.out) == 0 {
		return claim(fmt.Sprintf("Time per token stays in its band in all %d hours, at most %s× the prediction", t.hours, show.Figures(t.worst)))
	}
	where := ", " + hourList(r.Hours, t.out)
	if len(t.out) > 2 && t.out[len(t.out)-1]-t.out[0] != len(t.out)-1 {
		where = ""
	}
	return claim(
		fmt.Sprintf("Time per token left its band in %d of %d hours%s, up to %s× the prediction", len(t.out), t.hours, where, show.Figures(t.worstOut)),
		fmt.Sprintf("Time per token left its band in %d of %d hours, up to %s× the prediction", len(t.out), t.hours, show.Figures(t.worstOut)))
}

func (t tokenTime) soft(r *week.Report) string {
	words := fmt.Sprintf("TPOT of each hour, n = %d, against the prediction at that hour’s batch (%.0f to %.0f sequences a replica) and context, term by term from the bottom", t.hours, t.batch[0], t.batch[1])
	if r.Sums.BandRatio != nil {
		words += fmt.Sprintf("; dashed: predicted, with its band of ± %s%s%%", show.Plain(math.Round(*r.Sums.BandRatio*1000)/10), thin)
	} else {
		words += "; dashed: predicted, with its band"
	}
	return words
}

func (t tokenTime) draw(s *sheet, r *week.Report) {
	n := len(r.Hours)
	pick := func(values []float64) []plot.Point { return middles(n, func(i int) float64 { return values[i] }) }
	measured, predicted, floor, low, high := pick(t.measured), pick(t.predicted), pick(t.floor), pick(t.low), pick(t.high)
	y, ticks, _, _ := fromZero(math.Max(highest(measured), highest(high)), 4)
	h := &head{unit: "TPOT, ms"}
	h.gap, h.gapX, h.gapW = s.gapWords(r.Hours)
	peak := -1
	if len(t.out) > 0 {
		peak = t.out[0]
		for _, i := range t.out {
			if t.measured[i]/t.predicted[i] > t.measured[peak]/t.predicted[peak] {
				peak = i
			}
		}
		text := fmt.Sprintf("%s: up to %s× the prediction", hourList(r.Hours, t.out), show.Figures(t.worst))
		short := fmt.Sprintf("%s: %s×", hourName(r.Hours, peak), show.Figures(t.worst))
		if !s.isNarrow {
			text, short = "✕ "+text, "✕ "+short
		}
		h.notes = []note{{x: s.hourX(r.Hours, float64(peak)+0.5), text: text, short: short, class: "x", sign: "✕ "}}
	}
	if s.isNarrow {
		h.lines = []string{"from the bottom: " + strings.Join(t.terms, ", "), "dotted: the floor, bytes over peak bandwidth"}
	}
	g := s.strip(r.Hours, s.above(h), 260, y, ticks)
	t.stack(s, &g)
	thinDash := func(points []plot.Point, width float64) plot.Mark {
		return plot.Mark{Points: points, Stroke: "var(--predicted)", Width: width, Dash: []float64{4, 3}}
	}
	g.Marks = append(g.Marks, thinDash(high, 1), thinDash(low, 1), thinDash(predicted, s.strokes(2)),
		plot.Mark{Points: floor, Stroke: "var(--limit)", Width: 2, Dash: []float64{2, 3}},
		plot.Mark{Points: measured, Stroke: "var(--measured)", Width: s.strokes(2)},
		plot.Mark{Shape: plot.Dotted, Points: lonely(measured), Fill: "var(--measured)", Width: 2.5})
	for _, points := range [][]plot.Point{measured, predicted, floor, high, low} {
		s.avoid(g, points, false)
	}
	var ys []float64
	if peak >= 0 {
		ys = []float64{g.AtY(t.measured[peak]) - 5}
		g.Marks = append(g.Marks, plot.Mark{Shape: plot.Dotted, Points: []plot.Point{measured[peak]}, Fill: "var(--bad)", Width: 4})
	}
	g = s.over(r.Hours, g)
	s.days(r.Hours, g)
	s.pin(h, ys)
	t.names(s, g, measured, floor)
}

// stack paints the terms from the highest to the lowest, each down to the axis, with a line on top.
func (t tokenTime) stack(s *sheet, g *plot.Grid) {
	for k := len(t.terms) - 1; k >= 0; k-- {
		points := middles(len(t.measured), func(i int) float64 { return t.upTo[k][i] })
		g.Marks = append(g.Marks, plot.Mark{Points: points, Fill: t.tint(k)}, line("var(--predicted)", 0.8, points...))
	}
}

// tint is lightest for the lowest term.
func (t tokenTime) tint(k int) string {
	if len(t.terms) == 1 {
		return "var(--p4)"
	}
	return fmt.Sprintf("var(--p%d)", 5-int(math.Round(4*float64(k)/float64(len(t.terms)-1))))
}

func (t tokenTime) names(s *sheet, g plot.Grid, measured, floor []plot.Point) {
	at, known := last(measured)
	if !known {
		return
	}
	names := []ending{{g.AtY(at.Y), "measured", "m", "var(--measured)", measured}}
	if s.isNarrow {
		s.names(g, names...)
		return
	}
	end := int(at.X)
	below := 0.0
	for k, name := range t.terms {
		top := t.upTo[k][end]
		names = append(names, ending{g.AtY((below + top) / 2), name, "i", "var(--axis)", nil})
		below = top
	}
	s.names(g, names...)
	s.beside(g, floor, "i", "dotted: the floor, bytes over peak bandwidth") // where there is room
}
