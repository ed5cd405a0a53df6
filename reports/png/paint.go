package png

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"

	"github.com/srwiley/rasterx"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// painter paints outlines on a picture whose ground is opaque.
type painter struct {
	to      *image.RGBA
	colours map[string]string
	scale   float64 // pixels to a unit of the drawing
	clips   map[string]*element
}

// clip is how much of each pixel of the picture may be painted.
type clip *image.Alpha

// shape paints one of the shapes.
func (p *painter) shape(e *element, s style, at matrix, clips []clip) error {
	o, err := outlineOf(e, at)
	if err != nil {
		return err
	}
	return p.paint(o, s, clips)
}

// paint fills an outline and strokes it, or the other way round where the stroke is a halo.
func (p *painter) paint(o *outline, s style, clips []clip) error {
	if len(o.path) == 0 {
		return nil
	}
	steps := []func(*outline, style, []clip) error{p.fill, p.stroke}
	if strings.HasPrefix(s["paint-order"], "stroke") {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		if err := step(o, s, clips); err != nil {
			return err
		}
	}
	return nil
}

func (p *painter) fill(o *outline, s style, clips []clip) error {
	if s["fill-rule"] == "evenodd" {
		return fmt.Errorf("fill-rule evenodd cannot be drawn")
	}
	source, err := p.source(s["fill"], s.number("fill-opacity", 1)*s.number("alpha", 1))
	if err != nil || source == nil {
		return err
	}
	p.through(p.mask(o, nil), source, clips)
	return nil
}

func (p *painter) stroke(o *outline, s style, clips []clip) error {
	width := s.number("stroke-width", 1) * o.at.size()
	source, err := p.source(s["stroke"], s.number("stroke-opacity", 1)*s.number("alpha", 1))
	if err != nil || source == nil || width <= 0 {
		return err
	}
	pen, err := newPen(s, width, o.at.size())
	if err != nil {
		return err
	}
	p.through(p.mask(o, pen), source, clips)
	return nil
}

// pen is how a stroke looks, in pixels.
type pen struct {
	width, miter float64
	cap          rasterx.CapFunc
	join         rasterx.JoinMode
	dashes       []float64
	offset       float64
}

var caps = map[string]rasterx.CapFunc{"butt": rasterx.ButtCap, "round": rasterx.RoundCap, "square": rasterx.SquareCap}

var joins = map[string]rasterx.JoinMode{"miter": rasterx.Miter, "round": rasterx.Round, "bevel": rasterx.Bevel}

func newPen(s style, width, size float64) (*pen, error) {
	join, isKnown := joins[s["stroke-linejoin"]]
	if caps[s["stroke-linecap"]] == nil || !isKnown {
		return nil, fmt.Errorf("stroke-linecap %q, stroke-linejoin %q: not known", s["stroke-linecap"], s["stroke-linejoin"])
	}
	out := &pen{width: width, miter: s.number("stroke-miterlimit", 4), cap: caps[s["stroke-linecap"]], join: join,
		offset: s.number("stroke-dashoffset", 0) * size}
	if said := s["stroke-dasharray"]; said != "" && said != "none" {
		dashes, err := numbers(said)
		if err != nil {
			return nil, fmt.Errorf("stroke-dasharray: %w", err)
		}
		if len(dashes)%2 == 1 { // 4 means 4 4
			dashes = append(dashes, dashes...)
		}
		total := 0.0
		for i := range dashes {
			dashes[i] *= size
			total += dashes[i]
		}
		if total > 0.1 {
			out.dashes = dashes
		}
	}
	return out, nil
}

// mask is how much of each pixel an outline covers, filled or by a pen. It is as large as what it covers.
func (p *painter) mask(o *outline, with *pen) *image.Alpha {
	reach := 1.0
	if with != nil {
		reach += with.width / 2 * max(with.miter, 1.5)
	}
	bounds := image.Rect(int(math.Floor(o.low[0]-reach)), int(math.Floor(o.low[1]-reach)),
		int(math.Ceil(o.high[0]+reach)), int(math.Ceil(o.high[1]+reach))).Intersect(p.to.Bounds())
	out := image.NewAlpha(bounds)
	if bounds.Empty() {
		return out
	}
	area := &area{low: bounds.Min}
	area.Reset(bounds.Dx(), bounds.Dy())
	if with == nil {
		o.path.AddTo(&rasterx.Filler{Scanner: area})
	} else {
		dasher := rasterx.NewDasher(bounds.Dx(), bounds.Dy(), area)
		dasher.SetStroke(sixtyFourths(with.width), sixtyFourths(with.miter), with.cap, with.cap, nil, with.join, with.dashes, with.offset)
		o.path.AddTo(dasher)
	}
	area.Rasterizer.Draw(out, bounds, image.Opaque, image.Point{})
	return out
}

func sixtyFourths(v float64) fixed.Int26_6 { return fixed.Int26_6(math.Round(v * 64)) }

// area takes the lines of rasterx to the rasterizer of x/image, moved so that the mask begins at its own corner.
type area struct {
	vector.Rasterizer
	low image.Point
}

func (a *area) place(at fixed.Point26_6) (x, y float32) {
	return float32(at.X)/64 - float32(a.low.X), float32(at.Y)/64 - float32(a.low.Y)
}

// Start begins a line of edges. It closes nothing: rasterx gives the two sides of a stroke by themselves, and a filler goes back on its own.
func (a *area) Start(at fixed.Point26_6) {
	x, y := a.place(at)
	a.MoveTo(x, y)
}

// Line goes on to a point.
func (a *area) Line(to fixed.Point26_6) {
	x, y := a.place(to)
	a.LineTo(x, y)
}

// Draw and the rest are of rasterx's interface; mask does what they are for.
func (a *area) Draw()                                  {}
func (a *area) GetPathExtent() (r fixed.Rectangle26_6) { return r }
func (a *area) SetBounds(int, int)                     {}
func (a *area) SetColor(any)                           {}
func (a *area) SetWinding(bool)                        {}
func (a *area) Clear()                                 {}
func (a *area) SetClip(image.Rectangle)                {}

// source gives the colour of each pixel, with its alpha.
type source func(x, y int) color.NRGBA

func (p *painter) source(said string, alpha float64) (source, error) {
	isHatch := said == "url(#hatch)"
	if isHatch {
		said = "var(--missing)"
	}
	c, err := p.colour(said)
	if err != nil {
		return nil, err
	}
	c.A = uint8(math.Round(float64(c.A) * min(max(alpha, 0), 1)))
	if c.A == 0 {
		return nil, nil
	}
	if isHatch {
		return func(x, y int) color.NRGBA { return hatched(c, x, y, p.scale) }, nil
	}
	return func(int, int) color.NRGBA { return c }, nil
}

// hatched is the pages' pattern of what is missing: stripes of 1.5 at 45 degrees, 6 apart. Sixteen samples make its edges smooth.
func hatched(c color.NRGBA, x, y int, scale float64) color.NRGBA {
	inside := 0
	for i := range 16 {
		px, py := float64(x)+(float64(i%4)+0.5)/4, float64(y)+(float64(i/4)+0.5)/4
		across := (px + py) / math.Sqrt2 / scale
		if across-6*math.Floor(across/6) < 1.5 {
			inside++
		}
	}
	c.A = uint8(int(c.A) * inside / 16)
	return c
}

// through paints a source where a mask and all clips let it pass.
func (p *painter) through(mask *image.Alpha, from source, clips []clip) {
	bounds := mask.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			cover := uint32(mask.Pix[mask.PixOffset(x, y)])
			if cover == 0 {
				continue
			}
			for _, c := range clips {
				cover = (cover*uint32(c.Pix[(*image.Alpha)(c).PixOffset(x, y)]) + 127) / 255
			}
			paint := from(x, y)
			cover = (cover*uint32(paint.A) + 127) / 255
			pixel := p.to.Pix[p.to.PixOffset(x, y):]
			for i, v := range [3]uint8{paint.R, paint.G, paint.B} {
				pixel[i] = uint8((uint32(pixel[i])*(255-cover) + uint32(v)*cover + 127) / 255)
			}
		}
	}
}

// findClips collects the clip paths of a drawing by their ids.
func (p *painter) findClips(e *element) {
	if e.name == "clipPath" {
		p.clips[e.attributes["id"]] = e
	}
	for _, child := range e.children {
		p.findClips(child)
	}
}

func (p *painter) clip(said string, at matrix) (clip, error) {
	id, _ := strings.CutPrefix(said, "url(#")
	id = strings.TrimSuffix(id, ")")
	found := p.clips[id]
	if found == nil {
		return nil, fmt.Errorf("clip-path %q: there is no such clip", said)
	}
	out := image.NewAlpha(p.to.Bounds())
	for _, child := range found.children {
		if child.name == "" {
			continue
		}
		moved, err := transformed(at, child.attributes["transform"])
		if err != nil {
			return nil, err
		}
		o, err := outlineOf(child, moved)
		if err != nil {
			return nil, fmt.Errorf("clip-path %q: element <%s>: %w", said, child.name, err)
		}
		if len(o.path) == 0 {
			continue
		}
		mask := p.mask(o, nil)
		for y := mask.Rect.Min.Y; y < mask.Rect.Max.Y; y++ {
			for x := mask.Rect.Min.X; x < mask.Rect.Max.X; x++ {
				i := out.PixOffset(x, y)
				out.Pix[i] = max(out.Pix[i], mask.Pix[mask.PixOffset(x, y)])
			}
		}
	}
	return out, nil
}

var named = map[string]string{"black": "#000", "white": "#fff", "red": "#f00", "green": "#008000", "blue": "#00f", "gray": "#808080", "grey": "#808080",
	"currentColor": "var(--ink)"}

// colour reads a CSS colour; none and transparent have no alpha.
func (p *painter) colour(said string) (color.NRGBA, error) {
	for range 4 { // a variable may be another one
		name, isVariable := strings.CutPrefix(said, "var(--")
		if !isVariable {
			break
		}
		name, otherwise, _ := strings.Cut(strings.TrimSuffix(name, ")"), ",")
		if said = p.colours[strings.TrimSpace(name)]; said == "" {
			said = strings.TrimSpace(otherwise)
		}
		if said == "" {
			return color.NRGBA{}, fmt.Errorf("colour --%s is not in the palette", name)
		}
	}
	if other := named[said]; strings.HasPrefix(other, "#") {
		said = other
	} else if other != "" {
		return p.colour(other)
	}
	if said == "none" || said == "transparent" || said == "" {
		return color.NRGBA{}, nil
	}
	if hex, isHex := strings.CutPrefix(said, "#"); isHex {
		return fromHex(hex)
	}
	if inside, isRGB := strings.CutPrefix(strings.Replace(said, "rgba(", "rgb(", 1), "rgb("); isRGB {
		n, err := numbers(strings.TrimSuffix(inside, ")"))
		if err == nil && (len(n) == 3 || len(n) == 4) {
			n = append(n, 1)
			return color.NRGBA{byteOf(n[0]), byteOf(n[1]), byteOf(n[2]), byteOf(255 * n[3])}, nil
		}
	}
	return color.NRGBA{}, fmt.Errorf("colour %q is not understood", said)
}

func byteOf(v float64) uint8 { return uint8(math.Round(min(max(v, 0), 255))) }

func fromHex(hex string) (color.NRGBA, error) {
	if len(hex) == 3 || len(hex) == 4 {
		var long strings.Builder
		for _, c := range hex {
			long.WriteString(string(c) + string(c))
		}
		hex = long.String()
	}
	if len(hex) == 6 {
		hex += "ff"
	}
	v, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) != 8 {
		return color.NRGBA{}, fmt.Errorf("colour #%s is not understood", hex)
	}
	return color.NRGBA{uint8(v >> 24), uint8(v >> 16), uint8(v >> 8), uint8(v)}, nil
}
