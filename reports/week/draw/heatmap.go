package draw

import (
	"fmt"
	"math"
	"slices"

	"tidemark/analysis/week"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// heat is one map: the share of a whole in each cell of input and output length.
type heat struct {
	title   string
	cells   []week.Cell
	share   []float64
	in, out float64 // half of the whole lies on either side
}

// HeatMap draws how long prompts and answers were, by requests and by tokens.
func HeatMap(r *week.Report) (Figure, error) { return heatMapPlan(r).drawn() }

func heatMapPlan(r *week.Report) plan {
	cells := slices.DeleteFunc(slices.Clone(r.Shape.Cells), func(c week.Cell) bool {
		return c.Requests <= 0 || !(c.InputFrom > 0 && c.OutputFrom > 0 && c.InputTo > c.InputFrom && c.OutputTo > c.OutputFrom)
	})
	if len(cells) == 0 {
		return plan{}
	}
	byRequests := heatOf("By requests", cells, func(c week.Cell) float64 { return float64(c.Requests) })
	byTokens := heatOf("By tokens", cells, func(c week.Cell) float64 { return float64(c.Tokens) })
	for _, q := range r.Shape.Quantiles { // exact, where the report has them
		if q.This != nil && q.Name == "p50 input_tokens" {
			byRequests.in = *q.This
		} else if q.This != nil && q.Name == "p50 output_tokens" {
			byRequests.out = *q.This
		}
	}
	longer := 1 - below(cells, byTokens.in, func(c week.Cell) float64 { return float64(c.Requests) })
	f := Figure{
		Title: fmt.Sprintf("The %.0f%s%% of requests above %s tokens in hold half of the tokens", longer*100, thin, tokens(byTokens.in)),
		Soft:  fmt.Sprintf("Share of the week in a cell, both axes logarithmic; dotted: half lie on either side; n = %s", show.Things(r.Sums.Requests, "request", "requests")),
	}
	f.Label = f.Title + fmt.Sprintf(". Two maps of input and output tokens: half of the requests have at most %s tokens in and %s out.", tokens(byRequests.in), tokens(byRequests.out))
	return plan{f, func(s *sheet) { drawHeat(s, byRequests, byTokens) }}
}

// tokens writes a length with three digits.
func tokens(n float64) string { return show.Count(math.Round(n/scaleOf(n)) * scaleOf(n)) }

func scaleOf(n float64) float64 {
	if n < 1000 {
		return 1
	}
	return math.Pow(10, math.Floor(math.Log10(n))-2)
}

func heatOf(title string, cells []week.Cell, weight func(week.Cell) float64) heat {
	h := heat{title: title, cells: cells}
	all := 0.0
	for _, c := range cells {
		all += weight(c)
	}
	for _, c := range cells {
		h.share = append(h.share, weight(c)/math.Max(all, 1))
	}
	h.in = halfway(cells, weight, func(c week.Cell) (float64, float64) { return c.InputFrom, c.InputTo })
	h.out = halfway(cells, weight, func(c week.Cell) (float64, float64) { return c.OutputFrom, c.OutputTo })
	return h
}

// halfway is the length that half of the weight lies below, with even spreading over the logarithm inside of a cell.
func halfway(cells []week.Cell, weight func(week.Cell) float64, bounds func(week.Cell) (float64, float64)) float64 {
	low, high := math.Inf(1), 0.0
	for _, c := range cells {
		from, to := bounds(c)
		low, high = math.Min(low, from), math.Max(high, to)
	}
	for range 60 {
		middle := math.Sqrt(low * high)
		if weightBelow(cells, middle, weight, bounds) < 0.5 {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

func below(cells []week.Cell, input float64, weight func(week.Cell) float64) float64 {
	return weightBelow(cells, input, weight, func(c week.Cell) (float64, float64) { return c.InputFrom, c.InputTo })
}

func weightBelow(cells []week.Cell, length float64, weight func(week.Cell) float64, bounds func(week.Cell) (float64, float64)) float64 {
	all, under := 0.0, 0.0
	for _, c := range cells {
		from, to := bounds(c)
		part := math.Log(length/from) / math.Log(to/from)
		all += weight(c)
		under += weight(c) * math.Min(math.Max(part, 0), 1)
	}
	return under / math.Max(all, 1e-300)
}

// classes are the lower bounds of the second to the fifth class of shares, at round numbers.
func classes(maps ...heat) [4]float64 {
	most := 0.0
	for _, m := range maps {
		most = math.Max(most, slices.Max(m.share))
	}
	step := math.Pow(10, math.Floor(math.Log10(most/9)))
	for _, f := range []float64{5, 2, 1} {
		if step*f <= most/9 {
			step *= f
			break
		}
	}
	return [4]float64{step, 3 * step, 6 * step, 9 * step}
}

func drawHeat(s *sheet, maps ...heat) {
	bounds := classes(maps...)
	low, high := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{}
	for _, c := range maps[0].cells {
		low[0], high[0] = math.Min(low[0], c.InputFrom), math.Max(high[0], c.InputTo)
		low[1], high[1] = math.Min(low[1], c.OutputFrom), math.Max(high[1], c.OutputTo)
	}
	left, top, width, height := 48.0, 44.0, 394.0, 300.0
	if s.isNarrow {
		width, height = s.width-left-6, 240
	}
	for k, m := range maps {
		g := plot.Grid{Left: left, Top: top, Right: left + width, Bottom: top + height,
			X: plot.Scale{From: math.Log2(low[0]), To: math.Log2(high[0])}, Y: plot.Scale{From: math.Log2(low[1]), To: math.Log2(high[1])}}
		s.heat(g, m, bounds)
		if s.isNarrow {
			top = g.Bottom + 84
		} else {
			left += 496
		}
		if k == len(maps)-1 {
			s.shades(g.Bottom+56, bounds)
		}
	}
}

// heat draws one map.
func (s *sheet) heat(g plot.Grid, m heat, bounds [4]float64) {
	g.Marks = append(g.Marks, filled([]plot.Point{{X: g.X.From, Y: g.Y.From}, {X: g.X.To, Y: g.Y.To}}, "var(--shade)"))
	for class := range 5 {
		if boxes := m.boxes(class, bounds); len(boxes) > 0 {
			g.Marks = append(g.Marks, filled(boxes, fmt.Sprintf("var(--q%d)", class+1)))
		}
	}
	x, y := math.Log2(m.in), math.Log2(m.out)
	dotted := line("var(--ink)", 1.5, plot.Point{X: x, Y: g.Y.From}, plot.Point{X: x, Y: g.Y.To}, gap, plot.Point{X: g.X.From, Y: y}, plot.Point{X: g.X.To, Y: y})
	dotted.Dash = []float64{2, 3}
	g.Marks = append(g.Marks, dotted)
	s.grids = append(s.grids, g)
	s.text(g.Left, g.Top-26, "", "s", m.title)
	s.text(g.Left-40, g.Top-9, "", "", "output tokens")
	s.text(g.Right, g.Bottom+36, "end", "", "input tokens")
	for _, at := range octaves(g.Y, g.Bottom-g.Top, 40) {
		s.text(g.Left-6, g.AtY(at)+4.5, "end", "", show.Count(math.Exp2(at)))
	}
	for _, at := range octaves(g.X, g.Right-g.Left, 70) {
		text := show.Count(math.Exp2(at))
		half := textWidth(text, false) / 2
		s.text(math.Min(math.Max(g.AtX(at), g.Left+half), math.Min(g.Right, s.width)-half), g.Bottom+18, "middle", "", text)
	}
	// Beside the dotted lines, on the side that has room.
	in, out := tokens(m.in)+" in", tokens(m.out)+" out"
	s.marks = append(s.marks, box{g.AtX(x) - 1, g.Top, g.AtX(x) + 1, g.Bottom}, box{g.Left, g.AtY(y) - 1, g.Right, g.AtY(y) + 1})
	s.try("i h", in, plot.Text{X: g.AtX(x) + 6, Y: g.Top + 15}, plot.Text{X: g.AtX(x) - 6, Y: g.Top + 15, Anchor: "end"}, plot.Text{X: g.AtX(x) + 6, Y: g.Bottom - 6})
	s.try("i h", out, plot.Text{X: g.Right - 4, Y: g.AtY(y) - 7, Anchor: "end"}, plot.Text{X: g.Right - 4, Y: g.AtY(y) + 17, Anchor: "end"}, plot.Text{X: g.Left + 4, Y: g.AtY(y) - 7})
}

// boxes are the cells of one class; neighbours in a row are one box.
func (m heat) boxes(class int, bounds [4]float64) []plot.Point {
	var in []week.Cell
	for i, c := range m.cells {
		k := 0
		for k < len(bounds) && m.share[i] >= bounds[k] {
			k++
		}
		if k == class {
			in = append(in, c)
		}
	}
	slices.SortFunc(in, func(a, b week.Cell) int {
		if a.OutputFrom != b.OutputFrom {
			return int(math.Copysign(1, a.OutputFrom-b.OutputFrom))
		}
		return int(math.Copysign(1, a.InputFrom-b.InputFrom))
	})
	var out []plot.Point
	for i, c := range in {
		if i > 0 && in[i-1].OutputFrom == c.OutputFrom && math.Abs(in[i-1].InputTo/c.InputFrom-1) < 0.01 {
			out[len(out)-1].X = math.Log2(c.InputTo)
			continue
		}
		out = append(out, plot.Point{X: math.Log2(c.InputFrom), Y: math.Log2(c.OutputFrom)}, plot.Point{X: math.Log2(c.InputTo), Y: math.Log2(c.OutputTo)})
	}
	return out
}

// octaves are whole powers of two on a scale, at least apart pixels from one another.
func octaves(on plot.Scale, pixels, apart float64) []float64 {
	every := 1.0
	for every*pixels/(on.To-on.From) < apart {
		every++
	}
	var out []float64
	for at := math.Ceil(on.From - 1e-9); at <= on.To+1e-9; at += every {
		out = append(out, at)
	}
	return out
}

// shades is the one legend that a page has: what each tint of a heat map stands for.
func (s *sheet) shades(y float64, bounds [4]float64) {
	x := 0.0
	if s.isNarrow {
		s.text(inset, y+8, "", "", "share in a cell")
		y += rowHeight
	} else {
		s.text(inset, y+8, "", "", "share in a cell")
		x = textWidth("share in a cell", false) + 14
	}
	pct := func(share float64) string { return show.Plain(share * 100) }
	texts := []string{"below " + pct(bounds[0]) + thin + "%", pct(bounds[0]) + " to " + pct(bounds[1]), pct(bounds[1]) + " to " + pct(bounds[2]), pct(bounds[2]) + " to " + pct(bounds[3]), "above " + pct(bounds[3]) + thin + "%"}
	for class, text := range texts {
		w := textWidth(text, false) + 24
		if x+w > s.width {
			x, y = 0, y+rowHeight+4
		}
		swatch := plot.Grid{Left: x, Top: y - 2, Right: x + 18, Bottom: y + 10, X: plot.Scale{From: 0, To: 1}, Y: plot.Scale{From: 0, To: 1}}
		swatch.Marks = []plot.Mark{{Shape: plot.Boxed, Points: []plot.Point{{X: 0, Y: 0}, {X: 1, Y: 1}}, Fill: fmt.Sprintf("var(--q%d)", class+1), Stroke: "var(--axis)", Width: 1}}
		s.grids = append(s.grids, swatch)
		s.text(x+24, y+8, "", "", text)
		x += w + 16
	}
	s.height = y + 18
}
