// Package png draws one chart of a page as a PNG, for a mail or a chat that shows no SVG.
//
//	png.go       Draw: how large, on which ground, in which colours
//	svg.go       elements, what they inherit, where they are moved
//	shape.go     paths and the other shapes, as outlines in pixels
//	outline.go   the letters of a text, as outlines in pixels
//	paint.go     fills, strokes, hatching and clips
//
// It knows what reports/plot writes and no more: a chart has no pictures, filters or scripts. An element that it does not know is an error
// that names the element, because a chart with a part left out would mislead. The same drawing gives the same bytes.
package png

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"slices"
)

// MostBytes is how large a picture may be, so that a mail takes three of them.
const MostBytes = 200_000

const mostWidth = 4000 // pixels

// Light is the light palette of the pages, by the names of their CSS variables.
func Light() map[string]string {
	return map[string]string{
		"ground": "#fff", "raised": "#f5f7f9", "shade": "#f3f5f7", "ink": "#17202a", "soft": "#51606e", "grid": "#e3e8ed", "axis": "#8593a0",
		"link": "#005a8c", "measured": "#0072b2", "measured-band": "#b9d9ec", "measured-edge": "#5797c1", "predicted": "#a2417c",
		"predicted-band": "#edd3e3", "limit": "#17202a", "history": "#c9d1d9", "missing": "#7b8894", "good": "#00795a", "good-ground": "#e2f3ec",
		"bad": "#b84500", "bad-ground": "#fdeee2", "on-q": "#17202a", "on-q-deep": "#fff",
		"q0": "#f1f5f9", "q1": "#d3e5f2", "q2": "#a5cce5", "q3": "#66a7d1", "q4": "#2b7db5", "q5": "#0b4f80", "q6": "#06304f",
		"p1": "#e3bdd4", "p2": "#e9cbdd", "p3": "#efd9e6", "p4": "#f4e5ee", "p5": "#f8f0f5",
	}
}

// Draw draws an SVG so many pixels wide, as high as its viewBox asks for. colours gives the CSS variables by their names without dashes in
// front, such as measured; the ground is colours["ground"], or white.
func Draw(svg string, width int, colours map[string]string) ([]byte, error) {
	if width < 1 || width > mostWidth {
		return nil, fmt.Errorf("png: width %d: not between 1 and %d pixels", width, mostWidth)
	}
	root, err := parse(svg)
	if err != nil {
		return nil, fmt.Errorf("png: %w", err)
	}
	picture, err := picture(root, width, colours)
	if err != nil {
		return nil, fmt.Errorf("png: %w", err)
	}
	return encode(picture)
}

func picture(root *element, width int, colours map[string]string) (*image.RGBA, error) {
	box, err := root.viewBox()
	if err != nil {
		return nil, err
	}
	scale := float64(width) / box.width
	height := int(math.Ceil(box.height*scale - 1e-6))
	if height < 1 || height > mostWidth {
		return nil, fmt.Errorf("svg: a picture %d wide would be %d pixels high, at most %d", width, height, mostWidth)
	}
	p := &painter{to: image.NewRGBA(image.Rect(0, 0, width, height)), colours: colours, scale: scale, clips: map[string]*element{}}
	ground := color.NRGBA{255, 255, 255, 255}
	if colours["ground"] != "" {
		if ground, err = p.colour(colours["ground"]); err != nil {
			return nil, err
		}
	}
	draw.Draw(p.to, p.to.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
	p.findClips(root)
	at := matrix{scale, 0, 0, scale, -box.x * scale, -box.y * scale}
	return p.to, p.children(root, root.style(initial()), at, nil)
}

// encode writes true colours where they fit, and else the 256 most frequent ones.
func encode(picture *image.RGBA) ([]byte, error) {
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	count, isFew := colourCount(picture)
	var whole, fewer bytes.Buffer
	if !isFew {
		if err := encoder.Encode(&whole, picture); err != nil {
			return nil, fmt.Errorf("png: %w", err)
		}
		if whole.Len() <= MostBytes {
			return whole.Bytes(), nil
		}
	}
	if err := encoder.Encode(&fewer, paletted(picture, count)); err != nil {
		return nil, fmt.Errorf("png: %w", err)
	}
	if fewer.Len() > MostBytes {
		return nil, fmt.Errorf("png: the picture has %d bytes, at most %d: draw it narrower", fewer.Len(), MostBytes)
	}
	return fewer.Bytes(), nil
}

func colourCount(picture *image.RGBA) (count map[color.RGBA]int, isFew bool) {
	count = map[color.RGBA]int{}
	for i := 0; i < len(picture.Pix); i += 4 {
		count[color.RGBA{picture.Pix[i], picture.Pix[i+1], picture.Pix[i+2], picture.Pix[i+3]}]++
	}
	return count, len(count) <= 256
}

// paletted gives each pixel the nearest of the most frequent colours; the others are edges of shapes, half of this and half of that.
func paletted(picture *image.RGBA, count map[color.RGBA]int) *image.Paletted {
	rank := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(number(a), number(b)))
	})
	palette := make(color.Palette, min(256, len(rank)))
	for i := range palette {
		palette[i] = rank[i]
	}
	nearest := make(map[color.RGBA]uint8, len(rank))
	for _, c := range rank {
		nearest[c] = uint8(palette.Index(c))
	}
	out := image.NewPaletted(picture.Bounds(), palette)
	for i := range out.Pix {
		p := picture.Pix[4*i : 4*i+4]
		out.Pix[i] = nearest[color.RGBA{p[0], p[1], p[2], p[3]}]
	}
	return out
}

func number(c color.RGBA) uint32 {
	return uint32(c.R)<<24 | uint32(c.G)<<16 | uint32(c.B)<<8 | uint32(c.A)
}
