package plot

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

const mostPixels = 4000 // of a picture's width and height

// light is the light palette of the pages, by the names of their CSS variables.
var light = map[string]uint32{
	"ground": 0xffffff, "raised": 0xf5f7f9, "shade": 0xf3f5f7, "ink": 0x17202a, "soft": 0x51606e, "grid": 0xe3e8ed, "axis": 0x8593a0,
	"link": 0x005a8c, "measured": 0x0072b2, "measured-band": 0xb9d9ec, "measured-edge": 0x5797c1, "predicted": 0xa2417c,
	"predicted-band": 0xedd3e3, "limit": 0x17202a, "history": 0xc9d1d9, "missing": 0x7b8894, "good": 0x00795a, "good-ground": 0xe2f3ec,
	"bad": 0xb84500, "bad-ground": 0xfdeee2, "on-q": 0x17202a, "on-q-deep": 0xffffff,
	"q0": 0xf1f5f9, "q1": 0xd3e5f2, "q2": 0xa5cce5, "q3": 0x66a7d1, "q4": 0x2a7bb2, "q5": 0x0b4f80, "q6": 0x06304f,
	"p1": 0xe3bdd4, "p2": 0xe9cbdd, "p3": 0xefd9e6, "p4": 0xf4e5ee, "p5": 0xf8f0f5,
}

// png paints the sheet so many pixels wide, as high as it asks for. A mark that cannot be painted is an error, because a chart with a part left
// out would mislead. The same sheet gives the same bytes.
func (s *sheet) png(width int) ([]byte, error) {
	scale := float64(width) / s.width
	height := math.Ceil(math.Ceil(s.height)*scale - 1e-6)
	if !(width >= 1 && width <= mostPixels && height >= 1 && height <= mostPixels) {
		return nil, fmt.Errorf("png: a picture of %d by %.0f pixels: not between 1 and %d", width, height, mostPixels)
	}
	p := &painter{to: image.NewRGBA(image.Rect(0, 0, width, int(height))), scale: scale}
	draw.Draw(p.to, p.to.Bounds(), image.White, image.Point{}, draw.Src) // the light ground
	for _, m := range s.marks {
		if err := m.png(p); err != nil {
			return nil, fmt.Errorf("png: %w", err)
		}
	}
	for _, t := range s.texts {
		if err := t.png(p); err != nil {
			return nil, fmt.Errorf("png: %w", err)
		}
	}
	return encode(p.to)
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
