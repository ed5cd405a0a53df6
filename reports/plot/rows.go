package plot

import (
	"math"
	"slices"
)

// Row is one line of bars: a term of a sum, a request.
type Row struct {
	Name  string
	Short string // the name on a phone; empty: the same
	Class string // of the name
	Spans []Span
	Text  string // right of the last bar
	Low   float64
	High  float64 // ends of an interval, drawn as a bracket; equal: none
}

// Span is a bar from From to To. A Fill may be pale where an Edge gives it its outline.
type Span struct {
	From, To   float64
	Fill, Edge string
	Name       string // for the key; the same for all spans of one kind
}

const rowHeight, barHeight = 28, 18

// rows draws rows of bars over one axis from 0.
func (s *sheet) rows(c Chart) {
	names, texts := 0.0, 0.0
	r := newReach()
	r.add(0, c.X)
	if s.isNarrow {
		c.Rows = slices.Clone(c.Rows)
		for i, row := range c.Rows {
			c.Rows[i].Name = or(row.Short, row.Name)
		}
	}
	for _, row := range c.Rows {
		names = math.Max(names, widthOf(row.Name, IsBold(row.Class)))
		texts = math.Max(texts, widthOf(row.Text, true))
		r.add(row.High, c.X)
		for _, span := range row.Spans {
			r.add(span.From, c.X)
			r.add(span.To, c.X)
		}
	}
	s.left = math.Min(names+10, s.width*0.4)
	s.right = s.width - math.Min(texts+10, s.width*0.4)
	y := s.key(c.Rows)
	x := c.X.lay(r, s.xLabels()-3, false)
	across := scale{from: x.from, to: x.to, start: s.left, end: s.right}
	bottom := y + float64(len(c.Rows))*rowHeight
	var lines path
	for _, t := range x.ticks {
		if at := across.at(t.At); at > s.left+0.5 {
			lines = append(lines, upright(at, y, bottom)...)
		}
	}
	s.stroke(lines, "var(--grid)", 1, nil)
	s.stroke(upright(across.at(0), y, bottom), "var(--axis)", 1, nil)
	for i, row := range c.Rows {
		s.row(row, across, y+float64(i)*rowHeight)
	}
	s.labelX(c.X, x, across, bottom)
}

func (s *sheet) row(row Row, across scale, y float64) {
	top, bottom := y+(rowHeight-barHeight)/2, y+(rowHeight+barHeight)/2
	middle := (top + bottom) / 2
	end := across.at(0)
	s.write(s.left-8, middle+4.5, "end", or(row.Class, "i"), row.Name)
	for _, span := range row.Spans {
		from, to := across.at(math.Min(span.From, span.To)), across.at(math.Max(span.From, span.To))
		if !isFinite(from) || !isFinite(to) {
			continue
		}
		end = math.Max(end, to)
		s.fill(rectangle(from, top, to, bottom), span.Fill, 1)
		if span.Edge != "" {
			s.stroke(rectangle(from, top, to, bottom), span.Edge, 1, nil)
		}
	}
	if row.High > row.Low {
		low, high := across.at(row.Low), across.at(row.High)
		s.stroke(slices.Concat(tick(low, middle-5, 10), level(low, high, middle), tick(high, middle-5, 10)), "var(--ink)", 1.5, nil)
		end = math.Max(end, high)
	}
	class := or(row.Class, "s") + " h"
	s.write(end+6, middle+4.5, "", class, row.Text)
}

// key names the kinds of bars, if they are named.
func (s *sheet) key(rows []Row) float64 {
	seen := map[string]bool{}
	x, y := 1.0, 13.0
	for _, row := range rows {
		for _, span := range row.Spans {
			if span.Name == "" || seen[span.Name] {
				continue
			}
			seen[span.Name] = true
			w := swatch + widthOf(span.Name, false)
			if x+w > s.width {
				x, y = 1, y+textRow
			}
			s.fill(rectangle(x, y-10, x+16, y), span.Fill, 1)
			if span.Edge != "" {
				s.stroke(rectangle(x, y-10, x+16, y), span.Edge, 1, nil)
			}
			s.write(x+swatch, y, "", "i", span.Name)
			x += w + 14
		}
	}
	if len(seen) == 0 {
		return 4
	}
	return y + 12
}

func or(words, other string) string {
	if words == "" {
		return other
	}
	return words
}
