package png

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/srwiley/rasterx"
	"golang.org/x/image/math/fixed"
)

// outline is a path in pixels, in rasterx's words. Points come in the element's own places and are moved on their way.
type outline struct {
	at             matrix
	path           rasterx.Path
	isOpen         bool
	x, y           float64 // where the pen is, in the element's places
	startX, startY float64
	low, high      [2]float64 // pixels that it touches
}

func newOutline(at matrix) *outline {
	return &outline{at: at, low: [2]float64{math.Inf(1), math.Inf(1)}, high: [2]float64{math.Inf(-1), math.Inf(-1)}}
}

func (o *outline) pixel(x, y float64) fixed.Point26_6 {
	px, py := o.at.on(x, y)
	// What is far outside would overflow; nobody sees where it ends.
	px, py = min(max(px, -2*mostWidth), 3*mostWidth), min(max(py, -2*mostWidth), 3*mostWidth)
	o.low = [2]float64{min(o.low[0], px), min(o.low[1], py)}
	o.high = [2]float64{max(o.high[0], px), max(o.high[1], py)}
	return fixed.Point26_6{X: fixed.Int26_6(math.Round(px * 64)), Y: fixed.Int26_6(math.Round(py * 64))}
}

func (o *outline) move(x, y float64) {
	o.end(false)
	o.x, o.y, o.startX, o.startY = x, y, x, y
}

// begin starts a path at the pen, so that a move that nothing follows draws nothing.
func (o *outline) begin() {
	if !o.isOpen {
		o.path.Start(o.pixel(o.x, o.y))
		o.isOpen = true
	}
}

func (o *outline) line(x, y float64) {
	o.begin()
	o.path.Line(o.pixel(x, y))
	o.x, o.y = x, y
}

func (o *outline) quad(x1, y1, x, y float64) {
	o.begin()
	o.path.QuadBezier(o.pixel(x1, y1), o.pixel(x, y))
	o.x, o.y = x, y
}

func (o *outline) cube(x1, y1, x2, y2, x, y float64) {
	o.begin()
	o.path.CubeBezier(o.pixel(x1, y1), o.pixel(x2, y2), o.pixel(x, y))
	o.x, o.y = x, y
}

func (o *outline) end(isClosed bool) {
	if o.isOpen {
		o.path.Stop(isClosed)
	}
	o.isOpen = false
	if isClosed {
		o.x, o.y = o.startX, o.startY
	}
}

// arc goes to x, y on an ellipse (SVG 1.1, appendix F.6).
func (o *outline) arc(rx, ry, degrees float64, isLarge, isSweep bool, x, y float64) {
	rx, ry = math.Abs(rx), math.Abs(ry)
	if rx == 0 || ry == 0 || x == o.x && y == o.y {
		o.line(x, y)
		return
	}
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	halfX, halfY := (o.x-x)/2, (o.y-y)/2
	x1, y1 := cos*halfX+sin*halfY, -sin*halfX+cos*halfY
	if far := x1*x1/(rx*rx) + y1*y1/(ry*ry); far > 1 { // too small to reach: grown
		rx, ry = rx*math.Sqrt(far), ry*math.Sqrt(far)
	}
	root := math.Sqrt(max(0, (rx*rx*ry*ry-rx*rx*y1*y1-ry*ry*x1*x1)/(rx*rx*y1*y1+ry*ry*x1*x1)))
	if isLarge == isSweep {
		root = -root
	}
	cx1, cy1 := root*rx*y1/ry, -root*ry*x1/rx
	cx, cy := cos*cx1-sin*cy1+(o.x+x)/2, sin*cx1+cos*cy1+(o.y+y)/2
	from := math.Atan2((y1-cy1)/ry, (x1-cx1)/rx)
	sweep := math.Atan2((-y1-cy1)/ry, (-x1-cx1)/rx) - from
	if isSweep && sweep < 0 {
		sweep += 2 * math.Pi
	} else if !isSweep && sweep > 0 {
		sweep -= 2 * math.Pi
	}
	parts := int(math.Ceil(math.Abs(sweep)/(math.Pi/4) - 1e-9))
	step := sweep / float64(parts)
	reach := 4.0 / 3 * math.Tan(step/4)
	on := func(u, v float64) (float64, float64) {
		return cx + cos*rx*u - sin*ry*v, cy + sin*rx*u + cos*ry*v
	}
	for i := range parts {
		s0, c0 := math.Sincos(from + float64(i)*step)
		s1, c1 := math.Sincos(from + float64(i+1)*step)
		ax, ay := on(c0-reach*s0, s0+reach*c0)
		bx, by := on(c1+reach*s1, s1-reach*c1)
		ex, ey := on(c1, s1)
		o.cube(ax, ay, bx, by, ex, ey)
	}
}

func (o *outline) ellipse(cx, cy, rx, ry float64) {
	o.move(cx+rx, cy)
	o.arc(rx, ry, 0, false, true, cx-rx, cy)
	o.arc(rx, ry, 0, false, true, cx+rx, cy)
	o.end(true)
}

func (o *outline) rect(x, y, width, height, rx, ry float64) {
	rx, ry = min(rx, width/2), min(ry, height/2)
	if rx <= 0 || ry <= 0 {
		o.move(x, y)
		o.line(x+width, y)
		o.line(x+width, y+height)
		o.line(x, y+height)
		o.end(true)
		return
	}
	o.move(x+rx, y)
	o.line(x+width-rx, y)
	o.arc(rx, ry, 0, false, true, x+width, y+ry)
	o.line(x+width, y+height-ry)
	o.arc(rx, ry, 0, false, true, x+width-rx, y+height)
	o.line(x+rx, y+height)
	o.arc(rx, ry, 0, false, true, x, y+height-ry)
	o.line(x, y+ry)
	o.arc(rx, ry, 0, false, true, x+rx, y)
	o.end(true)
}

// outlineOf is the outline of a shape.
func outlineOf(e *element, at matrix) (*outline, error) {
	o, a := newOutline(at), style(e.attributes)
	v := func(key string) float64 { return a.number(key, 0) }
	switch e.name {
	case "path":
		return o, o.follow(e.attributes["d"])
	case "rect":
		if v("width") > 0 && v("height") > 0 {
			o.rect(v("x"), v("y"), v("width"), v("height"), a.number("rx", v("ry")), a.number("ry", v("rx")))
		}
	case "circle":
		if v("r") > 0 {
			o.ellipse(v("cx"), v("cy"), v("r"), v("r"))
		}
	case "ellipse":
		if v("rx") > 0 && v("ry") > 0 {
			o.ellipse(v("cx"), v("cy"), v("rx"), v("ry"))
		}
	case "line":
		o.move(v("x1"), v("y1"))
		o.line(v("x2"), v("y2"))
		o.end(false)
	case "polyline", "polygon":
		n, err := numbers(e.attributes["points"])
		if err != nil || len(n)%2 != 0 {
			return nil, fmt.Errorf("points %q: not pairs of numbers", e.attributes["points"])
		}
		for i := 0; i < len(n); i += 2 {
			if i == 0 {
				o.move(n[0], n[1])
			} else {
				o.line(n[i], n[i+1])
			}
		}
		o.end(e.name == "polygon")
	default:
		return nil, fmt.Errorf("no shape")
	}
	return o, nil
}

// argumentsOf is how many numbers each command of a path takes.
var argumentsOf = map[byte]int{'M': 2, 'L': 2, 'H': 1, 'V': 1, 'C': 6, 'S': 4, 'Q': 4, 'T': 2, 'A': 7, 'Z': 0}

// follow draws the data of a path.
func (o *outline) follow(d string) error {
	r := reader{text: d}
	command, last := byte(0), byte(0)
	var controlX, controlY float64 // of the curve before, for S and T
	for r.skip(); !r.isAtEnd(); r.skip() {
		if c := r.text[r.at]; c >= 'A' && c != 'e' {
			command = c
			r.at++
		} else if command == 'Z' || command == 'z' || command == 0 {
			return fmt.Errorf("path %q: a number where a command is due", shorten(d))
		}
		upper := command &^ 0x20
		count, isKnown := argumentsOf[upper]
		if !isKnown {
			return fmt.Errorf("path %q: command %q is not known", shorten(d), command)
		}
		n, err := r.arguments(count, upper == 'A')
		if err != nil {
			return fmt.Errorf("path %q: %w", shorten(d), err)
		}
		if command != upper {
			relative(n, upper, o.x, o.y)
		}
		switch upper {
		case 'M':
			o.move(n[0], n[1])
			command -= 'M' - 'L' // what follows a move without a command is a line
		case 'L':
			o.line(n[0], n[1])
		case 'H':
			o.line(n[0], o.y)
		case 'V':
			o.line(o.x, n[0])
		case 'C':
			controlX, controlY = n[2], n[3]
			o.cube(n[0], n[1], n[2], n[3], n[4], n[5])
		case 'S':
			x1, y1 := o.x, o.y
			if last == 'C' || last == 'S' {
				x1, y1 = 2*o.x-controlX, 2*o.y-controlY
			}
			controlX, controlY = n[0], n[1]
			o.cube(x1, y1, n[0], n[1], n[2], n[3])
		case 'Q':
			controlX, controlY = n[0], n[1]
			o.quad(n[0], n[1], n[2], n[3])
		case 'T':
			if last == 'Q' || last == 'T' {
				controlX, controlY = 2*o.x-controlX, 2*o.y-controlY
			} else {
				controlX, controlY = o.x, o.y
			}
			o.quad(controlX, controlY, n[0], n[1])
		case 'A':
			o.arc(n[0], n[1], n[2], n[3] != 0, n[4] != 0, n[5], n[6])
		case 'Z':
			o.end(true)
		}
		last = upper
	}
	o.end(false)
	return nil
}

// relative makes the numbers of a small letter absolute.
func relative(n []float64, command byte, x, y float64) {
	switch command {
	case 'H':
		n[0] += x
	case 'V':
		n[0] += y
	case 'A':
		n[5], n[6] = n[5]+x, n[6]+y
	default:
		for i := 0; i+1 < len(n); i += 2 {
			n[i], n[i+1] = n[i]+x, n[i+1]+y
		}
	}
}

// reader reads the numbers of a path, which may follow each other without a space: 1-2.5.5.
type reader struct {
	text string
	at   int
}

func (r *reader) isAtEnd() bool { return r.at >= len(r.text) }

func (r *reader) skip() {
	for !r.isAtEnd() && strings.IndexByte(" ,\t\n\r", r.text[r.at]) >= 0 {
		r.at++
	}
}

func (r *reader) arguments(count int, isArc bool) ([]float64, error) {
	n := make([]float64, count)
	for i := range n {
		r.skip()
		if isArc && (i == 3 || i == 4) && !r.isAtEnd() && (r.text[r.at] == '0' || r.text[r.at] == '1') {
			n[i] = float64(r.text[r.at] - '0') // flags need no space after them
			r.at++
			continue
		}
		v, err := r.number()
		if err != nil {
			return nil, err
		}
		n[i] = v
	}
	return n, nil
}

func (r *reader) number() (float64, error) {
	from, hasDot, hasExponent := r.at, false, false
	for ; !r.isAtEnd(); r.at++ {
		c := r.text[r.at]
		switch {
		case c >= '0' && c <= '9':
			continue
		case (c == '-' || c == '+') && (r.at == from || r.text[r.at-1]|0x20 == 'e'):
			continue
		case c == '.' && !hasDot && !hasExponent:
			hasDot = true
			continue
		case c|0x20 == 'e' && r.at > from && !hasExponent:
			hasExponent = true
			continue
		}
		break
	}
	v, err := strconv.ParseFloat(r.text[from:r.at], 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, fmt.Errorf("no number at %q", shorten(r.text[from:]))
	}
	return v, nil
}

// numbers are all numbers of a list.
func numbers(text string) (out []float64, err error) {
	r := reader{text: text}
	for r.skip(); !r.isAtEnd(); r.skip() {
		v, err := r.number()
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		if strings.HasPrefix(r.text[r.at:], "px") {
			r.at += 2
		}
	}
	return out, nil
}

func shorten(text string) string {
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}
