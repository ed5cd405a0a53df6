package plot

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

// textSize is that of the pages' texts in drawings, pixels.
const textSize = 13

// inks are the colours of the classes of texts, as in the pages' stylesheet. A text without any is soft.
var inks = map[string]string{"": "soft", "s": "ink", "i": "ink", "m": "measured", "p": "predicted", "x": "bad", "g": "good"}

// png paints the letters of a text as outlines. The class h puts a halo in the colour of the ground behind them.
func (t Text) png(p *painter) error {
	colour, hasHalo := inks[""], false
	for class := range strings.FieldsSeq(t.Class) {
		ink, isKnown := inks[class]
		switch {
		case class == "h":
			hasHalo = true
		case isKnown:
			colour = ink
		default:
			return fmt.Errorf("text %q: class %q is not known", t.Text, class)
		}
	}
	font := regular()
	if IsBold(t.Class) {
		font = boldFace()
	}
	o, err := p.letters(t, font)
	if err != nil {
		return fmt.Errorf("text %q: %w", t.Text, err)
	}
	if hasHalo {
		if err := p.stroke(o, "var(--ground)", 4, nil); err != nil {
			return err
		}
	}
	return p.fill(o, "var(--"+colour+")", 1)
}

// letters are the outlines of a text where it stands.
func (p *painter) letters(t Text, font *sfnt.Font) (*outline, error) {
	// As in a browser, spaces at the ends are nothing and many are one.
	words := strings.Join(strings.FieldsFunc(shorten(t.Text, 200), func(r rune) bool { return r == ' ' }), " ")
	width, err := eachLetter(font, words, nil)
	if err != nil {
		return nil, err
	}
	unit := textSize / float64(font.UnitsPerEm())
	left, baseline := tenth(t.X), tenth(t.Y)
	switch t.Anchor {
	case "middle":
		left -= width * unit / 2
	case "end":
		left -= width * unit
	}
	o := p.outline()
	_, err = eachLetter(font, words, func(x float64, segments sfnt.Segments) {
		on := func(a fixed.Point26_6) fixed.Point26_6 {
			return o.pixel(left+(x+float64(a.X)/64)*unit, baseline+float64(a.Y)/64*unit)
		}
		for i, s := range segments {
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				o.path.Stop(i > 0)
				o.path.Start(on(s.Args[0]))
			case sfnt.SegmentOpLineTo:
				o.path.Line(on(s.Args[0]))
			case sfnt.SegmentOpQuadTo:
				o.path.QuadBezier(on(s.Args[0]), on(s.Args[1]))
			case sfnt.SegmentOpCubeTo:
				o.path.CubeBezier(on(s.Args[0]), on(s.Args[1]), on(s.Args[2]))
			}
		}
		o.path.Stop(len(segments) > 0)
	})
	return o, err
}

// spaces are those that the Go fonts lack, in parts of their space.
var spaces = map[rune]float64{'\u00a0': 1, '\u202f': 0.6, '\u2009': 0.6, '\u200a': 0.4, '\u2007': 2}

// alike are letters that the Go fonts have, in place of those that they lack.
var alike = map[rune]rune{'✕': '×', '✖': '×', '✗': '×', '✘': '×', '✓': '√', '✔': '√', '‐': '-', '‑': '-', '⁓': '~', '∼': '~'}

// eachLetter calls draw for each letter with its place in units of the font; draw may be nil. It returns the width.
func eachLetter(font *sfnt.Font, words string, draw func(x float64, segments sfnt.Segments)) (float64, error) {
	ppem := fixed.I(int(font.UnitsPerEm()))
	var buffer sfnt.Buffer
	x, last := 0.0, sfnt.GlyphIndex(0)
	for _, c := range words {
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
