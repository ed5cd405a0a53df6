package draw

import (
	"math"
	"slices"
	"strings"

	"tidemark/reports/plot"
)

// Margins of every chart over hours, pixels: an hour has the same place in each of them.
const (
	wideLeft, wideRight     = 40, 112
	narrowLeft, narrowRight = 36, 2
	rowHeight               = 18 // of texts above the plot
)

// sheet is one drawing in the making.
type sheet struct {
	width       float64
	isNarrow    bool
	left, right float64 // edges of the plot
	height      float64
	grids       []plot.Grid
	texts       []plot.Text
	leaders     []plot.Leader
	taken       []box // by texts
	marks       []box // by lines and edges, which a text may not cross
	holes       []box // missing hours
	keys        []key // names that found no room in the plot
	failed      []key // of this attempt
}

type box struct{ left, top, right, bottom float64 }

func (b box) meets(c box) bool {
	return b.left < c.right && c.left < b.right && b.top < c.bottom && c.top < b.bottom
}

func (b box) grown(by float64) box { return box{b.left - by, b.top - by, b.right + by, b.bottom + by} }

// key is a name with the class of its text.
type key struct{ text, class string }

// laidOut runs on, and again with more room above the plot for the names that it could not place.
func laidOut(width float64, on func(s *sheet)) *sheet {
	var keys []key
	for {
		s := &sheet{width: width, isNarrow: width < 600, left: wideLeft, right: width - wideRight, keys: keys}
		if s.isNarrow {
			s.left, s.right = narrowLeft, width-narrowRight
		}
		on(s)
		if len(s.failed) == 0 || len(keys) > 8 {
			return s
		}
		keys = append(keys, s.failed...)
	}
}

func (s *sheet) plate() *plot.Plate {
	return &plot.Plate{Width: s.width, Height: s.height, Grids: s.grids, Leaders: s.leaders, Texts: s.texts}
}

// textBox is the room of a text, from its ascenders to its descenders.
func textBox(t plot.Text) box {
	left, right := t.Ends(textWidth(t.Text, plot.IsBold(t.Class)))
	return box{left, t.Y - 11, right, t.Y + 4}
}

// text writes where it is told.
func (s *sheet) text(x, y float64, anchor, class, text string) {
	if text == "" {
		return
	}
	t := plot.Text{X: x, Y: y, Anchor: anchor, Class: class, Text: text}
	s.texts = append(s.texts, t)
	s.taken = append(s.taken, textBox(t))
}

// try writes at the first place where the text touches no other text, no line and no missing hour.
func (s *sheet) try(class, text string, spots ...plot.Text) bool {
	for _, spot := range spots {
		spot.Class, spot.Text = class, text
		if s.isFree(spot) {
			s.text(spot.X, spot.Y, spot.Anchor, class, text)
			return true
		}
	}
	return false
}

func (s *sheet) isFree(t plot.Text) bool {
	b := textBox(t)
	if b.left < 0 || b.right > s.width || b.top < 0 || s.height > 0 && b.bottom > s.height {
		return false
	}
	wide := b.grown(2)
	meets := func(c box) bool { return wide.meets(c) }
	return !slices.ContainsFunc(s.taken, meets) && !slices.ContainsFunc(s.marks, meets) && !slices.ContainsFunc(s.holes, meets)
}

// avoid remembers a line, so that no text is put across it.
func (s *sheet) avoid(g plot.Grid, points []plot.Point, isStepped bool) {
	for i := 0; i+1 < len(points); i++ {
		a, b := points[i], points[i+1]
		if math.IsNaN(a.Y) {
			continue
		}
		if isStepped || math.IsNaN(b.Y) {
			s.mark(g, a.X, a.Y, b.X, a.Y)
		}
		switch {
		case math.IsNaN(b.Y):
		case isStepped:
			s.mark(g, b.X, a.Y, b.X, b.Y)
		default:
			// A slope is walked in pieces, so that its box is not much larger than itself.
			pieces := max(1, int(math.Abs(g.AtX(b.X)-g.AtX(a.X))/4))
			for k := range pieces {
				f, t := float64(k)/float64(pieces), float64(k+1)/float64(pieces)
				s.mark(g, a.X+(b.X-a.X)*f, a.Y+(b.Y-a.Y)*f, a.X+(b.X-a.X)*t, a.Y+(b.Y-a.Y)*t)
			}
		}
	}
}

func (s *sheet) mark(g plot.Grid, x0, y0, x1, y1 float64) {
	ax, bx, ay, by := g.AtX(x0), g.AtX(x1), g.AtY(y0), g.AtY(y1)
	s.marks = append(s.marks, box{math.Min(ax, bx), math.Min(ay, by), math.Max(ax, bx), math.Max(ay, by)}.grown(1.5))
}

// beside looks along a line for a place to write its name: just above it or just below it, from the right to the left.
func (s *sheet) beside(g plot.Grid, points []plot.Point, class, text string) bool {
	w := textWidth(text, plot.IsBold(class))
	for x := g.Right - w - 3; x >= g.Left+3; x -= 4 {
		high, low, ok := reach(g, points, x-2, x+w+2)
		if !ok {
			continue
		}
		for _, y := range []float64{high - 9, low + 16} {
			if y-11 < g.Top || y+4 > g.Bottom {
				continue
			}
			if s.try(class+" h", text, plot.Text{X: x, Y: y}) {
				return true
			}
		}
	}
	return false
}

// reach is the highest and the lowest pixel of a stepped or joined line between two pixels of X.
func reach(g plot.Grid, points []plot.Point, from, until float64) (high, low float64, ok bool) {
	high, low = math.Inf(1), math.Inf(-1)
	for i := 0; i+1 < len(points); i++ {
		a, b := points[i], points[i+1]
		if math.IsNaN(a.Y) || g.AtX(b.X) < from || g.AtX(a.X) > until {
			continue
		}
		for _, y := range []float64{a.Y, b.Y} {
			if !math.IsNaN(y) {
				high, low, ok = math.Min(high, g.AtY(y)), math.Max(low, g.AtY(y)), true
			}
		}
	}
	return high, low, ok
}

// ending is the name of a line, at its right end.
type ending struct {
	y           float64 // pixel of the line's end
	text, class string
	stroke      string // of the leader
	points      []plot.Point
}

// roomFor is the first of the texts that the right margin has room for.
func (s *sheet) roomFor(texts ...string) string {
	for _, t := range texts {
		if s.isNarrow || textWidth(t, true) <= wideRight-10 {
			return t
		}
	}
	return texts[len(texts)-1]
}

// names writes the names of lines: in the right margin, moved apart, with leaders to lines that are not beside their name;
// on a phone beside the line, or above the plot where there is no room.
func (s *sheet) names(g plot.Grid, endings ...ending) {
	if s.isNarrow {
		for _, e := range endings {
			k := key{e.text, e.class}
			if e.points == nil { // named elsewhere
				continue
			}
			if !slices.Contains(s.keys, k) && !s.beside(g, e.points, e.class, e.text) {
				s.failed = append(s.failed, k)
			}
		}
		return
	}
	endings = slices.Clone(endings)
	slices.SortStableFunc(endings, func(a, b ending) int { return int(math.Copysign(1, a.y-b.y)) })
	const apart = 16
	at := make([]float64, len(endings))
	for i, e := range endings {
		at[i] = e.y
		if i > 0 {
			at[i] = math.Max(at[i], at[i-1]+apart)
		}
	}
	lowest := g.Bottom + 4
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = math.Min(at[i], lowest)
		lowest = at[i] - apart
	}
	for i, e := range endings {
		if math.Abs(at[i]-e.y) > 3 {
			s.leaders = append(s.leaders, plot.Leader{Points: []plot.Point{{X: g.Right + 1, Y: e.y}, {X: g.Right + 8, Y: at[i]}}, Stroke: e.stroke})
		}
		s.text(g.Right+10, at[i]+4.5, "", e.class, fit(e.text, plot.IsBold(e.class), s.width-g.Right-10))
	}
}

// note is a remark on one place of the first grid, written above it with a leader to the place. At most three.
type note struct {
	x           float64 // pixel; its y is set once the grid is known
	text, short string
	class       string // s or x
	sign        string // on a phone, in front of the text: what the place is marked with
}

func (n note) stroke() string {
	switch n.class {
	case "x":
		return "var(--bad)"
	case "m":
		return "var(--measured)"
	}
	return "var(--ink)"
}

// head is what stands above the plot: the unit, the notes, what is missing, and on a phone the names that did not fit.
type head struct {
	unit  string
	notes []note
	lines []string // on a phone: how to read what has names in the margin elsewhere
	gap   string   // 3 h missing
	gapX  float64
	gapW  float64     // how wide the hatching is
	spots []plot.Text // of the notes, on a wide drawing
	gapAt *plot.Text
	rows  int
}

// above lays the head out and returns where the plot starts.
func (s *sheet) above(h *head) float64 {
	h.notes = h.notes[:min(len(h.notes), 3)]
	if s.isNarrow {
		return s.stacked(h)
	}
	for ; ; h.notes = h.notes[:len(h.notes)-1] { // the last note is the first to go
		for h.rows = 1; h.rows <= 4; h.rows++ {
			for _, row := range []int{h.rows - 1, 0} {
				unit := plot.Text{X: inset, Y: h.base(row), Text: h.unit, Class: "i"}
				if s.layNotes(h, []box{textBox(unit)}, nil) {
					s.text(unit.X, unit.Y, "", unit.Class, unit.Text)
					return h.base(h.rows-1) + 13
				}
			}
		}
		if len(h.notes) == 0 {
			h.rows, h.gap = 1, ""
			s.text(inset, h.base(0), "", "i", h.unit)
			return h.base(0) + 13
		}
	}
}

// inset keeps a letter such as T, which reaches out to the left of its place, inside of the drawing.
const inset = 1

// base is the baseline of a row, the lowest being the last.
func (h *head) base(row int) float64 { return float64(13 + rowHeight*row) }

// layNotes tries every row and side for the notes from the first that has no place yet.
func (s *sheet) layNotes(h *head, taken []box, stems []box) bool {
	n := len(h.spots)
	if n == len(h.notes) {
		return s.layGap(h, taken, stems)
	}
	note := h.notes[n]
	for _, text := range []string{note.text, note.short} {
		if text == "" {
			continue
		}
		for row := h.rows - 1; row >= 0; row-- {
			for _, side := range []float64{1, -1} {
				t := plot.Text{X: note.x + 12*side, Y: h.base(row), Class: note.class, Text: text}
				if side < 0 {
					t.Anchor = "end"
				}
				b := textBox(t)
				stem := box{note.x - 1, t.Y - 6, note.x + 1, h.base(h.rows-1) + 14}
				if b.left < 0 || b.right > s.width || meetsAny(b.grown(3), append(slices.Clone(taken), stems...)) || meetsAny(stem.grown(2), taken) {
					continue
				}
				h.spots = append(h.spots, t)
				if s.layNotes(h, append(slices.Clone(taken), b), append(slices.Clone(stems), stem)) {
					return true
				}
				h.spots = h.spots[:n]
			}
		}
	}
	return false
}

// layGap finds a place for what is missing, right above its hatching.
func (s *sheet) layGap(h *head, taken, stems []box) bool {
	h.gapAt = nil
	if h.gap == "" {
		return true
	}
	w := textWidth(h.gap, false)
	for step := range int((w+h.gapW)/4) + 1 { // 0, -4, 4, -8, ... pixels from the middle
		off := float64((step+1)/2) * 4
		if step%2 == 1 {
			off = -off
		}
		x := h.gapX + off
		x = math.Min(math.Max(x, w/2), s.width-w/2)
		t := plot.Text{X: x, Y: h.base(h.rows - 1), Anchor: "middle", Class: "i", Text: h.gap}
		if b := textBox(t).grown(2); !meetsAny(box{b.left - 8, b.top, b.right + 8, b.bottom}, append(slices.Clone(taken), stems...)) {
			h.gapAt = &t
			return true
		}
	}
	return false
}

func meetsAny(b box, others []box) bool {
	return slices.ContainsFunc(others, func(c box) bool { return b.meets(c) })
}

// stacked writes the head of a phone's drawing: one row for each thing.
func (s *sheet) stacked(h *head) float64 {
	y := 13.0
	s.text(inset, y, "", "i", h.unit)
	if h.gap != "" {
		gap := "hatched: " + h.gap
		if textWidth(h.unit, false)+textWidth(gap, false)+12 > s.width {
			y += rowHeight
			s.text(inset, y, "", "i", gap)
		} else {
			s.text(s.width-inset, y, "end", "i", gap)
		}
	}
	for _, n := range h.notes {
		y = s.wrapped(y, n.class, n.sign+n.text, n.sign+n.short)
	}
	for _, l := range h.lines {
		y = s.wrapped(y, "i", l, "")
	}
	x := float64(inset)
	for i, k := range s.keys { // as many names in a row as fit
		w := textWidth(k.text, plot.IsBold(k.class))
		if i == 0 || x+w > s.width {
			y, x = y+rowHeight, inset
		}
		s.text(x, y, "", k.class, fit(k.text, plot.IsBold(k.class), s.width-2*inset))
		x += w + 14
	}
	top := y + 13
	if slices.ContainsFunc(h.notes, func(n note) bool { return strings.HasPrefix(n.sign, "✕") }) {
		top += 12 // for the cross above its place
	}
	return top
}

// wrapped writes a note in one row, in its short form, or in two rows.
func (s *sheet) wrapped(y float64, class, text, short string) float64 {
	if textWidth(text, plot.IsBold(class)) <= s.width-2*inset {
		s.text(inset, y+rowHeight, "", class, text)
		return y + rowHeight
	}
	if len(short) > 4 && textWidth(short, plot.IsBold(class)) <= s.width-2*inset {
		s.text(inset, y+rowHeight, "", class, short)
		return y + rowHeight
	}
	words := strings.Split(text, " ")
	n := len(words)
	for n > 1 && textWidth(strings.Join(words[:n], " "), plot.IsBold(class)) > s.width-2*inset {
		n--
	}
	s.text(inset, y+rowHeight, "", class, fit(strings.Join(words[:n], " "), plot.IsBold(class), s.width-2*inset))
	s.text(inset, y+2*rowHeight, "", class, fit(strings.Join(words[n:], " "), plot.IsBold(class), s.width-2*inset))
	return y + 2*rowHeight
}

// pin writes the notes and draws their leaders down to the places of the grid, whose pixels of Y it is given.
func (s *sheet) pin(h *head, ys []float64) {
	for i, n := range h.notes {
		if s.isNarrow {
			if strings.HasPrefix(n.sign, "✕") {
				cross := plot.Text{X: math.Min(n.x, s.width-6), Y: ys[i] - 9, Anchor: "middle"}
				s.try("x", "✕", cross, plot.Text{X: cross.X - 12, Y: cross.Y, Anchor: "middle"}, plot.Text{X: cross.X + 12, Y: cross.Y, Anchor: "middle"})
			}
			continue
		}
		if i >= len(h.spots) {
			continue
		}
		t := h.spots[i]
		s.text(t.X, t.Y, t.Anchor, t.Class, t.Text)
		tip := t.X - 4
		if t.Anchor == "end" {
			tip = t.X + 4
		}
		s.leaders = append(s.leaders, plot.Leader{Points: []plot.Point{{X: n.x, Y: ys[i]}, {X: n.x, Y: t.Y - 4}, {X: tip, Y: t.Y - 4}}, Stroke: n.stroke()})
		s.marks = append(s.marks, box{n.x - 2, t.Y, n.x + 2, ys[i]})
	}
	if h.gapAt != nil {
		s.text(h.gapAt.X, h.gapAt.Y, h.gapAt.Anchor, h.gapAt.Class, h.gapAt.Text)
	}
}
