package plot

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"

	"github.com/srwiley/rasterx"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// painter paints outlines on a picture whose ground is opaque.
type painter struct {
	to    *image.RGBA
	scale float64 // pixels of the picture to a pixel of the sheet
}

func (a area) png(p *painter) error { return p.fill(p.follow(a.path), a.colour, a.alpha) }

func (l line) png(p *painter) error { return p.stroke(p.follow(l.path), l.colour, l.width, l.dash) }

func (d dots) png(p *painter) error {
	for _, at := range d.places {
		if !isFinite(at.x) || !isFinite(at.y) {
			continue
		}
		o := p.outline()
		o.circle(tenth(at.x), tenth(at.y), tenth(d.radius))
		if err := p.fill(o, d.fill, d.alpha); err != nil {
			return err
		}
		if d.edge == "" {
			continue
		}
		if err := p.stroke(o, d.edge, 2, nil); err != nil {
			return err
		}
	}
	return nil
}

// outline is a path in pixels of the picture, in rasterx's words.
type outline struct {
	scale     float64
	path      rasterx.Path
	low, high fixed.Point26_6 // what it touches
}

func (p *painter) outline() *outline {
	return &outline{scale: p.scale, low: fixed.Point26_6{X: math.MaxInt32, Y: math.MaxInt32}, high: fixed.Point26_6{X: math.MinInt32, Y: math.MinInt32}}
}

// pixel is where a place of the sheet lies.
func (o *outline) pixel(x, y float64) fixed.Point26_6 {
	on := func(v float64) fixed.Int26_6 {
		// What is far outside would overflow; nobody sees where it ends.
		return sixtyFourths(min(max(v*o.scale, -2*mostPixels), 3*mostPixels))
	}
	at := fixed.Point26_6{X: on(x), Y: on(y)}
	o.low = fixed.Point26_6{X: min(o.low.X, at.X), Y: min(o.low.Y, at.Y)}
	o.high = fixed.Point26_6{X: max(o.high.X, at.X), Y: max(o.high.Y, at.Y)}
	return at
}

func sixtyFourths(v float64) fixed.Int26_6 { return fixed.Int26_6(math.Round(v * 64)) }

// follow is the outline of a path, whose places are tenths as in the SVG.
func (p *painter) follow(d path) *outline {
	o := p.outline()
	var x, y float64
	for _, s := range d {
		toX, toY := tenth(s.x), tenth(s.y)
		switch s.command {
		case 'M':
			o.path.Start(o.pixel(toX, toY))
		case 'Z':
			o.path.Stop(true)
			continue
		case 'h', 'v':
			toX, toY = x+toX, y+toY
		case 'H':
			toY = y
		case 'V':
			toX = x
		}
		if s.command != 'M' {
			o.path.Line(o.pixel(toX, toY))
		}
		x, y = toX, toY
	}
	return o
}

// circle is eight curves that no eye tells from a circle.
func (o *outline) circle(x, y, radius float64) {
	const parts = 8
	reach := 4.0 / 3 * math.Tan(math.Pi/2/parts)
	on := func(u, v float64) fixed.Point26_6 { return o.pixel(x+radius*u, y+radius*v) }
	o.path.Start(on(1, 0))
	for i := range parts {
		s0, c0 := math.Sincos(2 * math.Pi * float64(i) / parts)
		s1, c1 := math.Sincos(2 * math.Pi * float64(i+1) / parts)
		o.path.CubeBezier(on(c0-reach*s0, s0+reach*c0), on(c1+reach*s1, s1-reach*c1), on(c1, s1))
	}
	o.path.Stop(true)
}

func (p *painter) fill(o *outline, colour string, alpha float64) error {
	source, err := p.source(colour, alpha)
	if err == nil {
		p.through(p.mask(o, 0, nil), source)
	}
	return err
}

// stroke draws a line of a width, with dashes in pixels of the sheet.
func (p *painter) stroke(o *outline, colour string, width float64, dash []float64) error {
	source, err := p.source(colour, 1)
	if err != nil || width <= 0 {
		return err
	}
	total := 0.0
	dashes := make([]float64, 0, 2*len(dash))
	for _, v := range dash {
		dashes = append(dashes, tenth(v)*p.scale)
		total += v
	}
	if len(dashes)%2 == 1 { // 4 means 4 4
		dashes = append(dashes, dashes...)
	}
	if total < 0.1 {
		dashes = nil
	}
	p.through(p.mask(o, width*p.scale, dashes), source)
	return nil
}

// mask is how much of each pixel an outline covers: filled, or by a pen so many pixels wide. It is as large as what it covers.
func (p *painter) mask(o *outline, pen float64, dashes []float64) *image.Alpha {
	const miter = 4
	reach := 1 + int(math.Ceil(pen/2*miter))
	bounds := image.Rect(o.low.X.Floor()-reach, o.low.Y.Floor()-reach, o.high.X.Ceil()+reach, o.high.Y.Ceil()+reach).Intersect(p.to.Bounds())
	out := image.NewAlpha(bounds)
	if bounds.Empty() {
		return out
	}
	edges := &edges{low: bounds.Min}
	edges.Reset(bounds.Dx(), bounds.Dy())
	if pen == 0 {
		o.path.AddTo(&rasterx.Filler{Scanner: edges})
	} else {
		dasher := rasterx.NewDasher(bounds.Dx(), bounds.Dy(), edges)
		dasher.SetStroke(sixtyFourths(pen), sixtyFourths(miter), rasterx.ButtCap, rasterx.ButtCap, nil, rasterx.Round, dashes, 0)
		o.path.AddTo(dasher)
	}
	edges.Rasterizer.Draw(out, bounds, image.Opaque, image.Point{})
	return out
}

// edges takes the lines of rasterx to the rasterizer of x/image, moved so that the mask begins at its own corner.
type edges struct {
	vector.Rasterizer
	low image.Point
}

func (e *edges) place(at fixed.Point26_6) (x, y float32) {
	return float32(at.X)/64 - float32(e.low.X), float32(at.Y)/64 - float32(e.low.Y)
}

// Start begins a line of edges. It closes nothing: rasterx gives the two sides of a stroke by themselves, and a filler goes back on its own.
func (e *edges) Start(at fixed.Point26_6) {
	x, y := e.place(at)
	e.MoveTo(x, y)
}

// Line goes on to a point.
func (e *edges) Line(to fixed.Point26_6) {
	x, y := e.place(to)
	e.LineTo(x, y)
}

// Draw and the rest are of rasterx's interface; mask does what they are for.
func (e *edges) Draw()                                  {}
func (e *edges) GetPathExtent() (r fixed.Rectangle26_6) { return r }
func (e *edges) SetBounds(int, int)                     {}
func (e *edges) SetColor(any)                           {}
func (e *edges) SetWinding(bool)                        {}
func (e *edges) Clear()                                 {}
func (e *edges) SetClip(image.Rectangle)                {}

// source gives the colour of each pixel, with its alpha.
type source func(x, y int) color.NRGBA

func (p *painter) source(said string, alpha float64) (source, error) {
	isHatch := said == "url(#hatch)"
	if isHatch {
		said = "var(--missing)"
	}
	name, isVariable := strings.CutPrefix(strings.TrimSuffix(said, ")"), "var(--")
	rgb, isKnown := light[name]
	if !isVariable || !isKnown {
		return nil, fmt.Errorf("colour %q is not one of the pages", said)
	}
	c := color.NRGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), uint8(math.Round(255 * min(max(alpha, 0), 1)))}
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

// through paints a source where a mask lets it pass.
func (p *painter) through(mask *image.Alpha, from source) {
	bounds := mask.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			cover := uint32(mask.Pix[mask.PixOffset(x, y)])
			if cover == 0 {
				continue
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
