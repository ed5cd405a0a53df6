package plot

import (
	"slices"
	"strings"
)

// sheet is one drawing in the making.
type sheet struct {
	width, height float64
	isNarrow      bool
	left, right   float64 // edges of the plot
	marks         []mark
	texts         []Text
	taken         []box // by texts
}

type xy struct{ x, y float64 }

// Text is one line of text. Class names rules of the page's stylesheet.
type Text struct {
	X, Y   float64 // of the baseline
	Anchor string  // middle or end; empty is start
	Class  string
	Text   string
}

type box struct{ left, top, right, bottom float64 }

func (b box) meets(c box) bool {
	return b.left < c.right && c.left < b.right && b.top < c.bottom && c.top < b.bottom
}

func (b box) grown(by float64) box { return box{b.left - by, b.top - by, b.right + by, b.bottom + by} }

// Margins that all charts have in common, so that an instant has the same place in each chart of a page, pixels.
const (
	wideLeft, wideRight     = 48, 120
	narrowLeft, narrowRight = 44, 6
	textRow                 = 18
)

func newSheet(width float64) *sheet {
	s := &sheet{width: width, isNarrow: width < 600, left: wideLeft, right: width - wideRight}
	if s.isNarrow {
		s.left, s.right = narrowLeft, width-narrowRight
	}
	return s
}

// boxOf is the room of a text, from its ascenders to its descenders.
func boxOf(t Text) box {
	left, right := t.Ends(widthOf(t.Text, IsBold(t.Class)))
	return box{left, t.Y - 11, right, t.Y + 4}
}

// Ends are the left and the right end of a text of a width.
func (t Text) Ends(width float64) (left, right float64) {
	left = t.X
	switch t.Anchor {
	case "middle":
		left -= width / 2
	case "end":
		left -= width
	}
	return left, left + width
}

// IsBold says whether a class of texts is bold: all but plain ink and what has none.
func IsBold(class string) bool { return strings.ContainsAny(class, "smpxg") }

// write writes where it is told, in as much room as there is.
func (s *sheet) write(x, y float64, anchor, class, words string) {
	if words == "" {
		return
	}
	t := Text{X: x, Y: y, Anchor: anchor, Class: class, Text: shorten(words, 200)}
	room := s.width - x
	switch anchor {
	case "end":
		room = x
	case "middle":
		room = 2 * min(x, s.width-x)
	}
	t.Text = fit(t.Text, IsBold(class), room)
	s.texts = append(s.texts, t)
	s.taken = append(s.taken, boxOf(t))
}

// try writes at the first of the places where the text touches no other and is not cut.
func (s *sheet) try(class, words string, places ...Text) bool {
	for _, t := range places {
		t.Class, t.Text = class, shorten(words, 200)
		b := boxOf(t)
		if b.left < 0 || b.right > s.width || b.top < 0 || slices.ContainsFunc(s.taken, b.grown(2).meets) {
			continue
		}
		s.texts = append(s.texts, t)
		s.taken = append(s.taken, b)
		return true
	}
	return false
}

// widthOf is how wide a text of 13 pixels is at most in the sans-serif faces of common systems, of which DejaVu Sans is the widest.
func widthOf(words string, bold bool) float64 {
	w := 0.0
	for _, r := range words {
		switch {
		case strings.ContainsRune("iljtfI.,:;|'’!()[]·\u202f ", r):
			w += 5.2
		case strings.ContainsRune("mwMW@%…#+×=~<>≤", r):
			w += 12.4
		case r >= 'A' && r <= 'Z':
			w += 9.7
		case r > 0x2fff:
			w += 14
		default:
			w += 8.3
		}
	}
	if bold {
		w *= 1.1
	}
	return w
}

// fit cuts a text to the room that there is. A label that was moved to the edge has its own width for room, but for what rounding takes.
func fit(words string, bold bool, room float64) string {
	const rounding = 0.01
	if widthOf(words, bold) <= room+rounding {
		return words
	}
	runes := []rune(words)
	for len(runes) > 1 && widthOf(string(runes)+"…", bold) > room {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimRight(string(runes), " ,") + "…"
}
