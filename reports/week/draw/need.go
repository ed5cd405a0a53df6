package draw

import (
	"fmt"
	"math"
	"strings"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// needs are the GPUs of each hour: at the middle and the ends of the capacity, and at the end that decides. What is not known is NaN.
type needs struct {
	centre, low, high, decisive, paid []float64
	each                              int // GPUs of a replica
	isKnown                           bool
}

func needsOf(r *week.Report) needs {
	n := needs{each: max(1, r.Deployment.GPUsPerReplica)}
	for _, h := range r.Hours {
		gpus := func(replicas *int) float64 { return deref(replicas) * float64(n.each) }
		centre, low, high := gpus(h.NeededReplicas), gpus(h.LowNeeded), gpus(h.HighNeeded)
		if h.IsMissing {
			centre, low, high = math.NaN(), math.NaN(), math.NaN()
		}
		if math.IsNaN(low) {
			low = centre
		}
		if math.IsNaN(high) {
			high = centre
		}
		n.isKnown = n.isKnown || !math.IsNaN(centre)
		n.centre, n.low, n.high, n.paid = append(n.centre, centre), append(n.low, low), append(n.high, high), append(n.paid, float64(h.PaidReplicas*n.each))
		n.decisive = append(n.decisive, *r.Decisive(&centre, &high))
	}
	return n
}

// where lists the hours that have a property.
func where(n int, has func(i int) bool) []int {
	var out []int
	for i := range n {
		if has(i) {
			out = append(out, i)
		}
	}
	return out
}

// Need draws the GPUs that each hour needs against those that are paid for.
func Need(r *week.Report) (Figure, error) { return needPlan(r).drawn() }

func needPlan(r *week.Report) plan {
	if len(r.Hours) == 0 {
		return plan{}
	}
	n := needsOf(r)
	f := Figure{Title: n.title(r), Soft: n.soft(r)}
	f.Label = f.Title + ". " + n.label(r)
	return plan{f, func(s *sheet) { n.draw(s, r) }}
}

func (n needs) short() []int {
	return where(len(n.decisive), func(i int) bool { return n.decisive[i] > n.paid[i] })
}

func (n needs) title(r *week.Report) string {
	known := where(len(n.decisive), func(i int) bool { return !math.IsNaN(n.decisive[i]) })
	paid := n.paidGPUs()
	if len(known) == 0 {
		return claim(fmt.Sprintf("How many of %s paid for were needed is not known", paid))
	}
	short := n.short()
	may := where(len(n.high), func(i int) bool { return n.high[i] > n.paid[i] })
	touches := where(len(n.decisive), func(i int) bool { return n.decisive[i] == n.paid[i] })
	half := where(len(n.decisive), func(i int) bool { return n.decisive[i] <= n.paid[i]/2 })
	halfWords := fmt.Sprintf("in %d of %d hours half of it would do", len(half), len(known))
	peak := 0.0
	for _, i := range known {
		peak = math.Max(peak, n.decisive[i])
	}
	switch {
	case len(known) == 1 && len(short) == 0:
		return fmt.Sprintf("%s, the one hour with data, needs %s of %s paid for", hourName(r.Hours, known[0]), show.Count(n.decisive[known[0]]), paid)
	case len(short) > 0:
		verb := "need"
		if len(short) == 1 {
			verb = "needs"
		}
		return claim(fmt.Sprintf("%d of %d hours %s more than %s paid for, up to %s", len(short), len(known), verb, paid, show.Count(peak)))
	case len(may) > 0:
		return claim(fmt.Sprintf("By the model no hour needs more than %s paid for; %s may, if it is off", paid, show.Things(len(may), "hour", "hours")),
			fmt.Sprintf("By the model %s paid for are enough; %s may need more", paid, show.Things(len(may), "hour", "hours")))
	case peak == 0:
		return claim(fmt.Sprintf("No request came, so nothing of %s paid for was needed", paid))
	case len(touches) == 1:
		return "One hour touches what is paid for; " + halfWords
	case len(touches) > 1:
		return fmt.Sprintf("%d hours touch what is paid for; %s", len(touches), halfWords)
	}
	return claim(fmt.Sprintf("No hour needs more than %s of %s paid for; %s", show.Count(peak), paid, halfWords),
		fmt.Sprintf("No hour needs more than %s of %s paid for", show.Count(peak), paid))
}

// paidGPUs is "the one GPU", "the 12 GPUs" or "the 12 to 14 GPUs".
func (n needs) paidGPUs() string {
	if words := n.paidWords(); words != "1" {
		return "the " + words + " GPUs"
	}
	return "the one GPU"
}

// paidWords is 12, or 12 to 14.
func (n needs) paidWords() string {
	least, most := n.paid[0], n.paid[0]
	for _, p := range n.paid {
		least, most = math.Min(least, p), math.Max(most, p)
	}
	if least == most {
		return show.Count(most)
	}
	return show.Count(least) + " to " + show.Count(most)
}

func (n needs) soft(r *week.Report) string {
	words := "GPUs needed for each hour’s busiest five minutes"
	if n.each > 1 {
		words += fmt.Sprintf(", %d to a replica", n.each)
	}
	if n.isKnown {
		words += "; pale: 90" + thin + "% interval of the capacity"
		if r.Basis.Kind == "predicted" {
			words += ", which is rehearsed and not measured"
		}
	} else {
		words += "; nothing says what a replica handles"
	}
	if r.Sums.MissingHours > 0 {
		words += "; hatched: no data"
	}
	return words
}

func (n needs) label(r *week.Report) string {
	if !n.isKnown {
		return "GPUs by hour: only the line of what is paid for is known."
	}
	words := fmt.Sprintf("GPUs needed by hour against %s paid for.", n.paidGPUs())
	if b := busiest(r); b >= 0 && !math.IsNaN(n.high[b]) {
		words += fmt.Sprintf(" The need is highest on %s, with %s, and %s at the upper end of its interval.", hourName(r.Hours, b), show.Count(n.centre[b]), show.Count(n.high[b]))
	}
	if r.Sums.MissingHours > 0 {
		words += fmt.Sprintf(" %d hours are missing.", r.Sums.MissingHours)
	}
	return words
}

// notes are the busiest hour, the hours that broke the SLO, and how many hours are short.
func (n needs) notes(s *sheet, r *week.Report) (notes []note, at []plot.Point) {
	add := func(i int, y float64, text, short, class, sign string) {
		x := float64(i) + 0.5
		notes, at = append(notes, note{x: s.hourX(r.Hours, x), text: text, short: short, class: class, sign: sign}), append(at, plot.Point{X: x, Y: y})
	}
	if b := busiest(r); b >= 0 && n.high[b] > 0 {
		name := hourName(r.Hours, b)
		text := fmt.Sprintf("%s: %s GPUs", name, show.Count(n.centre[b]))
		if n.centre[b] == 1 {
			text = name + ": 1 GPU"
		}
		short := text
		if n.high[b] > n.centre[b] {
			text += fmt.Sprintf(", %s at capacity’s low end", show.Count(n.high[b]))
			short = fmt.Sprintf("%s: %s to %s GPUs", name, show.Count(n.centre[b]), show.Count(n.high[b]))
		}
		class, sign := "s", "○ "
		lacks := ""
		switch {
		case n.decisive[b] > n.paid[b]:
			lacks, class, sign = fmt.Sprintf(": %s short", show.Count(n.decisive[b]-n.paid[b])), "x", "✕ "
		case n.high[b] > n.paid[b]:
			lacks = fmt.Sprintf(": may be %s short", show.Count(n.high[b]-n.paid[b]))
		}
		if text, short = text+lacks, short+lacks; class == "x" {
			if !s.isNarrow {
				text, short = sign+text, sign+short
			}
		}
		add(b, n.high[b], text, short, class, sign)
	}
	if broken := brokenHours(r); len(broken) > 0 {
		list := hourList(r.Hours, broken)
		text, short := list+": "+brokeBy(r, broken), list+" broke the SLO"
		if !s.isNarrow {
			text, short = "✕ "+text, "✕ "+short
		}
		i := broken[0]
		add(i, n.paid[i], text, short, "x", "✕ ")
	}
	return notes, at
}

// brokenHours are the hours in which production broke the SLO for certain.
func brokenHours(r *week.Report) []int {
	at, isBroken := hourAt(r.Hours), map[int]bool{}
	for _, f := range r.Felt {
		if i, known := at[f.Start.Unix()]; known && f.IsBroken {
			isBroken[i] = true
		}
	}
	return where(len(r.Hours), func(i int) bool { return isBroken[i] })
}

// brokeBy names the symptom that was there when the SLO broke.
func brokeBy(r *week.Report, broken []int) string {
	for _, sy := range r.Symptoms {
		if sy.First == nil || sy.Last == nil || len(sy.Name) > 32 || !sy.IsConfirmed() {
			continue
		}
		if start := r.Hours[broken[0]].Start; !start.Before(*sy.First) && !start.After(*sy.Last) {
			return "SLO broken, " + Lower(strings.ReplaceAll(sy.Name, "_", " "))
		}
	}
	return "the SLO was broken"
}

func (n needs) draw(s *sheet, r *week.Report) {
	notes, at := n.notes(s, r)
	y, ticks, unit := n.scale()
	h := &head{unit: unit, notes: notes}
	h.gap, h.gapX, h.gapW = s.gapWords(r.Hours)
	top := s.above(h)
	g := s.strip(r.Hours, top, 184, y, ticks)
	count := len(r.Hours)
	centre, paid := steps(count, func(i int) float64 { return n.centre[i] }), steps(count, func(i int) float64 { return n.paid[i] })
	g.Marks = append(g.Marks, plot.Mark{Shape: plot.Stepped, Points: centre, Fill: "var(--measured)", Alpha: 0.1})
	band := boxes(n.low, n.high)
	for i := 0; i < len(band); i += 2 {
		s.mark(g, band[i].X, band[i].Y, band[i+1].X, band[i+1].Y)
	}
	g.Marks = append(g.Marks, plot.Mark{Shape: plot.Boxed, Points: band, Fill: "var(--measured-band)", Stroke: "var(--measured-edge)", Width: 1})
	need := plot.Mark{Shape: plot.Stepped, Points: centre, Stroke: "var(--measured)", Width: s.strokes(2)}
	if r.Basis.Kind == "predicted" {
		need.Stroke, need.Dash = "var(--predicted)", []float64{5, 2}
		for i := range g.Marks {
			switch g.Marks[i].Fill {
			case "var(--measured)":
				g.Marks[i].Fill = "var(--predicted)"
			case "var(--measured-band)":
				g.Marks[i].Fill, g.Marks[i].Stroke = "var(--predicted-band)", "var(--predicted)"
			}
		}
	}
	g.Marks = append(g.Marks, plot.Mark{Shape: plot.Boxed, Points: boxes(n.paid, n.high), Fill: "var(--bad-ground)", Stroke: "var(--bad)", Width: 1},
		need, plot.Mark{Shape: plot.Stepped, Points: paid, Stroke: "var(--limit)", Width: 2.5})
	s.avoid(g, centre, true)
	s.avoid(g, paid, true)
	ys := make([]float64, len(notes))
	for i, p := range at {
		ys[i] = g.AtY(p.Y) - 6
		if notes[i].class == "x" {
			half := 4.0
			w := half / (g.Right - g.Left) * float64(count)
			v := half / (g.Bottom - g.Top) * y.To
			g.Marks = append(g.Marks, filled([]plot.Point{{X: p.X - w, Y: p.Y - v}, {X: p.X + w, Y: p.Y + v}}, "var(--bad)"))
		} else {
			g.Marks = append(g.Marks, ring(p, "var(--limit)")...)
		}
		s.marks = append(s.marks, box{notes[i].x - 8, ys[i] + 1, notes[i].x + 8, ys[i] + 14})
	}
	g = s.over(r.Hours, g)
	s.days(r.Hours, g)
	s.pin(h, ys)
	n.name(s, g, r, centre, paid)
}

// strokes are thinner on a phone.
func (s *sheet) strokes(width float64) float64 {
	if s.isNarrow {
		return width * 0.65
	}
	return width
}

func (n needs) scale() (y plot.Scale, ticks []tick, unit string) {
	unit = "GPUs"
	top := 0.0
	for i := range n.paid {
		top = math.Max(top, n.paid[i])
		if !math.IsNaN(n.high[i]) {
			top = math.Max(top, n.high[i])
		}
	}
	step := float64(n.each)
	for f := nice(math.Max(top/step, 1), 4); step < f*float64(n.each); {
		step = math.Ceil(f) * float64(n.each)
	}
	factor := 1.0
	if top >= 2000 {
		factor, unit = 1000, "GPUs, thousands"
	}
	for v := 0.0; v <= top; v += step {
		ticks = append(ticks, tick{v, show.Plain(v / factor)})
	}
	return plot.Scale{From: 0, To: math.Max(top, 1) * 1.06}, ticks, unit
}

// boxes are the corners between two values of each hour, of the hours in which the second is above the first. Neighbours
// with the same values are one.
func boxes(lows, highs []float64) []plot.Point {
	var out []plot.Point
	for i := range lows {
		n := len(out)
		switch {
		case !(highs[i] > lows[i]):
		case n > 0 && out[n-1] == plot.Point{X: float64(i), Y: highs[i]} && out[n-2].Y == lows[i]:
			out[n-1].X++
		default:
			out = append(out, plot.Point{X: float64(i), Y: lows[i]}, plot.Point{X: float64(i + 1), Y: highs[i]})
		}
	}
	return out
}

func (n needs) name(s *sheet, g plot.Grid, r *week.Report, centre, paid []plot.Point) {
	end, _ := last(paid)
	endings := []ending{{g.AtY(end.Y), s.roomFor(show.Count(end.Y)+" paid for", "paid for"), "s", "var(--limit)", paid}}
	class, stroke := "m", "var(--measured)"
	if r.Basis.Kind == "predicted" {
		class, stroke = "p", "var(--predicted)"
	}
	if p, known := last(centre); known {
		endings = append(endings, ending{g.AtY(p.Y), "needed", class, stroke, centre})
	}
	s.names(g, endings...)
	if s.isNarrow {
		return
	}
	// The name of the band is optional: the line under the title has it too.
	for _, part := range spans(len(n.high), func(i int) bool { return n.high[i] > n.low[i] }) {
		x, y := g.AtX(float64(part.from+part.until)/2), g.AtY(n.high[part.from])
		for _, at := range []plot.Text{{X: x + 8, Y: y - 14}, {X: x - 8, Y: y - 14, Anchor: "end"}} {
			if s.try(strings.TrimSpace(class+" h"), "90"+thin+"% interval", at) {
				s.leaders = append(s.leaders, plot.Leader{Points: []plot.Point{{X: x, Y: y}, {X: x, Y: y - 18}, {X: x + (at.X-x)/2, Y: y - 18}}, Stroke: stroke})
				return
			}
		}
	}
}
