package png

import (
	"fmt"
	"strings"
	"sync"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// The Go fonts stand in for the reader's own, which a picture cannot know. They are in the program, so that a picture looks the same from
// every machine.
var regular, boldFace = sync.OnceValue(face(goregular.TTF)), sync.OnceValue(face(gobold.TTF))

func face(data []byte) func() *sfnt.Font {
	return func() *sfnt.Font {
		font, err := sfnt.Parse(data)
		if err != nil {
			panic(err) // the font is part of the program
		}
		return font
	}
}

// run is a piece of text in one style, and where it begins.
type run struct {
	text  string
	style style
	x, y  float64
	width float64
}

// text draws the runs of a text. Runs up to the next place that is said are anchored together.
func (p *painter) text(e *element, s style, at matrix, clips []clip) error {
	line := &line{x: style(e.attributes).number("x", 0), y: style(e.attributes).number("y", 0)}
	line.shift(e)
	if err := line.read(e, s); err != nil {
		return err
	}
	line.anchor(s)
	for _, r := range line.runs {
		if err := p.run(r, at, clips); err != nil {
			return err
		}
	}
	return nil
}

// line collects the runs of a text.
type line struct {
	runs []run
	from int // first run that is not anchored yet
	x, y float64
}

func (l *line) shift(e *element) {
	l.x += style(e.attributes).number("dx", 0)
	l.y += style(e.attributes).number("dy", 0)
}

func (l *line) read(e *element, s style) error {
	for i, child := range e.children {
		switch child.name {
		case "":
			text := collapsed(child.text, i == 0, i == len(e.children)-1)
			r := run{text: text, style: s, x: l.x, y: l.y}
			r.width = r.measure()
			l.runs, l.x = append(l.runs, r), l.x+r.width
		case "tspan":
			own := style(child.attributes)
			if own["x"] != "" || own["y"] != "" {
				l.anchor(s)
				l.x, l.y = own.number("x", l.x), own.number("y", l.y)
			}
			l.shift(child)
			if err := l.read(child, child.style(s)); err != nil {
				return err
			}
		case "title", "desc":
		default:
			return fmt.Errorf("element <%s> inside of a text cannot be drawn", child.name)
		}
	}
	return nil
}

// anchor moves the runs since the last place that was said.
func (l *line) anchor(s style) {
	width := 0.0
	for _, r := range l.runs[l.from:] {
		width += r.width
	}
	switch s["text-anchor"] {
	case "middle":
		width /= 2
	case "end":
	default:
		width = 0
	}
	for i := l.from; i < len(l.runs); i++ {
		l.runs[i].x -= width
	}
	l.from = len(l.runs)
}

// collapsed makes one space of many, as a browser does, and drops those at the ends of a text.
func collapsed(text string, isFirst, isLast bool) string {
	var out strings.Builder
	isSpace := isFirst
	for _, c := range text {
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			if !isSpace {
				out.WriteByte(' ')
			}
			isSpace = true
			continue
		}
		out.WriteRune(c)
		isSpace = false
	}
	if isLast {
		return strings.TrimSuffix(out.String(), " ")
	}
	return out.String()
}

func (r *run) font() *sfnt.Font {
	switch weight := r.style["font-weight"]; {
	case weight == "bold" || weight == "bolder" || r.style.number("font-weight", 400) >= 600:
		return boldFace()
	}
	return regular()
}

// spaces are those that the Go fonts lack, in parts of their space.
var spaces = map[rune]float64{'\u00a0': 1, '\u202f': 0.6, '\u2009': 0.6, '\u200a': 0.4, '\u2007': 2}

// alike are letters that the Go fonts have, in place of those that they lack.
var alike = map[rune]rune{'✕': '×', '✖': '×', '✗': '×', '✘': '×', '✓': '√', '✔': '√', '‐': '-', '‑': '-', '⁓': '~', '∼': '~'}

// letters calls draw for each letter with its place in units of the font; draw may be nil. It returns the width.
func (r *run) letters(draw func(x float64, segments sfnt.Segments)) (float64, error) {
	font := r.font()
	units := font.UnitsPerEm()
	ppem := fixed.I(int(units))
	var buffer sfnt.Buffer
	x, last := 0.0, sfnt.GlyphIndex(0)
	for _, c := range r.text {
		part := 1.0
		if share, isSpace := spaces[c]; isSpace {
			c, part = ' ', share
		}
		if other, isKnown := alike[c]; isKnown {
			c = other
		}
		glyph, err := font.GlyphIndex(&buffer, c)
		if err != nil {
			return 0, fmt.Errorf("letter %q: %w", c, err)
		}
		if kern, err := font.Kern(&buffer, last, glyph, ppem, 0); err == nil && last != 0 {
			x += float64(kern) / 64
		}
		if draw != nil {
			segments, err := font.LoadGlyph(&buffer, glyph, ppem, nil)
			if err != nil {
				return 0, fmt.Errorf("letter %q: %w", c, err)
			}
			draw(x, segments)
		}
		advance, err := font.GlyphAdvance(&buffer, glyph, ppem, 0)
		if err != nil {
			return 0, fmt.Errorf("letter %q: %w", c, err)
		}
		x, last = x+part*float64(advance)/64, glyph
	}
	return x, nil
}

// scale is the length of a unit of the font.
func (r *run) scale() float64 {
	return r.style.number("font-size", 13) / float64(r.font().UnitsPerEm())
}

func (r *run) measure() float64 {
	width, err := r.letters(nil)
	if err != nil {
		return 0 // drawing will say why
	}
	return width * r.scale()
}

func (p *painter) run(r run, at matrix, clips []clip) error {
	o, scale, baseline := newOutline(at), r.scale(), r.y
	switch size := r.style.number("font-size", 13); r.style["dominant-baseline"] {
	case "central", "middle":
		baseline += 0.35 * size
	case "hanging", "text-before-edge", "text-top":
		baseline += 0.75 * size
	}
	_, err := r.letters(func(x float64, segments sfnt.Segments) {
		on := func(a fixed.Point26_6) (float64, float64) {
			return r.x + (x+float64(a.X)/64)*scale, baseline + float64(a.Y)/64*scale
		}
		for _, segment := range segments {
			ax, ay := on(segment.Args[0])
			bx, by := on(segment.Args[1])
			cx, cy := on(segment.Args[2])
			switch segment.Op {
			case sfnt.SegmentOpMoveTo:
				o.end(true)
				o.move(ax, ay)
			case sfnt.SegmentOpLineTo:
				o.line(ax, ay)
			case sfnt.SegmentOpQuadTo:
				o.quad(ax, ay, bx, by)
			case sfnt.SegmentOpCubeTo:
				o.cube(ax, ay, bx, by, cx, cy)
			}
		}
		o.end(true)
	})
	if err != nil {
		return err
	}
	return p.paint(o, r.style, clips)
}
