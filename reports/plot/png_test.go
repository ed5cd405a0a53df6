package plot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"regexp"
	"testing"

	"tidemark/internal/proof/must"
)

// week is a small chart with every mark: steps on an area, a dashed limit, hatching, a ring, a dot, texts at three anchors, a halo. It is 200 by 100;
// the axis is at y = 80 and a step from 20 to 100 is at y = 50.
func week() *sheet {
	s := &sheet{width: 200, height: 100}
	steps := []xy{{20, 50}, {100, 50}, {100, 30}, {180, 30}}
	s.stroke(level(20, 180, 80), "var(--axis)", 1, nil)
	s.fill(areas(steps, 80), "var(--measured)", 0.1)
	s.stroke(joined(steps), "var(--measured)", 4, nil)
	s.stroke(level(20, 180, 20), "var(--limit)", 4, []float64{20})
	s.fill(rectangle(120, 40, 150, 80), "var(--ground)", 1)
	s.fill(rectangle(120, 40, 150, 80), "url(#hatch)", 1)
	s.rings([]xy{{60, 50}}, 5, "var(--bad)")
	s.dots([]xy{{80, 65}, {90, 65}}, 3, "var(--bad)", 1)
	s.stroke(append(piece(30, 65, 16), tick(40, 60, 10)...), "var(--ink)", 2, nil)
	s.texts = []Text{{X: 20, Y: 95, Text: "Mon"}, {X: 100, Y: 95, Anchor: "middle", Class: "i", Text: "Tue"}, {X: 180, Y: 95, Anchor: "end", Class: "s", Text: "Wed"},
		{X: 160, Y: 70, Class: "m h", Text: "H"}}
	return s
}

func drawn(t *testing.T, s *sheet, width int) image.Image {
	t.Helper()
	data := must.Get(s.png(width))(t)
	picture := must.Get(png.Decode(bytes.NewReader(data)))(t)
	return picture
}

func isAbout(got color.Color, r, g, b uint8) bool {
	c := color.NRGBAModel.Convert(got).(color.NRGBA)
	for i, v := range [3]uint8{r, g, b} {
		if d := int([3]uint8{c.R, c.G, c.B}[i]) - int(v); d > 2 || d < -2 {
			return false
		}
	}
	return c.A == 255
}

// Places are of the drawing; the picture is twice as large.
func TestPixelsOfAWeek(t *testing.T) {
	picture := drawn(t, week(), 400)
	if size := picture.Bounds().Size(); size.X != 400 || size.Y != 200 {
		t.Fatalf("size %v, want 400 by 200", size)
	}
	for _, c := range []struct {
		name    string
		x, y    float64
		r, g, b uint8
	}{
		{"ground", 5, 5, 255, 255, 255},
		{"a step's line", 40, 50, 0, 0x72, 0xb2},
		{"its riser", 100, 40, 0, 0x72, 0xb2},
		{"after the riser", 110, 30, 0, 0x72, 0xb2},
		{"area below: a tenth of #0072b2 on white", 40, 70, 230, 241, 247},
		{"left of the area", 10, 70, 255, 255, 255},
		{"first dash", 30, 20, 0x17, 0x20, 0x2a},
		{"first gap", 50, 20, 255, 255, 255},
		{"second dash", 70, 20, 0x17, 0x20, 0x2a},
		{"inside of the ring the line is covered", 60, 50, 255, 255, 255},
		{"the ring", 60, 45, 0xb8, 0x45, 0},
		{"a dot", 80, 65, 0xb8, 0x45, 0},
		{"between two dots", 85, 65, 230, 241, 247},
		{"a piece of 16", 45, 65, 0x17, 0x20, 0x2a},
		{"after it", 47, 65, 230, 241, 247},
		{"a tick of 10", 40, 69, 0x17, 0x20, 0x2a},
		{"below it", 40, 71, 230, 241, 247},
	} {
		if got := picture.At(int(2*c.x), int(2*c.y)); !isAbout(got, c.r, c.g, c.b) {
			t.Errorf("%s at %v, %v: got %v, want %02x%02x%02x", c.name, c.x, c.y, got, c.r, c.g, c.b)
		}
	}
}

// A quarter of the hatched ground is covered, from corner to corner of each stripe.
func TestHatching(t *testing.T) {
	picture := drawn(t, week(), 800)
	dark, ground, n := 0.0, 0, 0
	for y := 42 * 4; y < 78*4; y++ {
		for x := 122 * 4; x < 148*4; x++ {
			c := color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA)
			dark += float64(255-c.R) / (255 - 0x7b)
			if c.R == 255 {
				ground++
			}
			n++
		}
	}
	if share := dark / float64(n); share < 0.22 || share > 0.28 || ground < n/2 {
		t.Errorf("hatching covers %.2f, want 0.25; %d of %d are ground", share, ground, n)
	}
	for _, x := range []int{125 * 4, 135 * 4} { // a stripe goes up to the right: along it nothing changes
		y := 60 * 4
		if a, b := picture.At(x, y), picture.At(x+16, y-16); a != b {
			t.Errorf("along a stripe from %d, %d: %v and %v", x, y, a, b)
		}
	}
}

// inked is the extent of what is not ground in a part of a picture, in places of the drawing.
func inked(picture image.Image, x0, y0, x1, y1, scale int) (left, right, top, bottom float64) {
	left, top, right, bottom = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for y := y0 * scale; y < y1*scale; y++ {
		for x := x0 * scale; x < x1*scale; x++ {
			if c := color.NRGBAModel.Convert(picture.At(x, y)).(color.NRGBA); c.R < 200 {
				fx, fy := float64(x)/float64(scale), float64(y)/float64(scale)
				left, right, top, bottom = min(left, fx), max(right, fx), min(top, fy), max(bottom, fy)
			}
		}
	}
	return left, right, top, bottom
}

func TestTextsStandAtTheirAnchors(t *testing.T) {
	picture := drawn(t, week(), 800)
	if left, _, _, bottom := inked(picture, 0, 83, 60, 100, 4); math.Abs(left-21) > 1 || math.Abs(bottom-95) > 0.6 {
		t.Errorf("Mon begins at %v and stands on %v, want 21 and 95", left, bottom)
	}
	if left, right, _, _ := inked(picture, 70, 83, 130, 100, 4); math.Abs((left+right)/2-100) > 1 {
		t.Errorf("Tue is around %v, want 100", (left+right)/2)
	}
	if _, right, top, bottom := inked(picture, 140, 83, 200, 100, 4); math.Abs(right-179.5) > 1.2 || bottom-top < 8 || bottom-top > 12 {
		t.Errorf("Wed ends at %v and is %v high, want 179 and about 10", right, bottom-top)
	}
}

// The halo of 4 reaches 2 around a letter: right of the stem of the H the ground shows, and further right the area.
func TestHalo(t *testing.T) {
	picture := drawn(t, week(), 800)
	_, right, _, _ := inked(picture, 155, 52, 182, 72, 4)
	if got := picture.At(int((right+1)*4), 62*4); !isAbout(got, 255, 255, 255) {
		t.Errorf("one beside the letter: %v, want the ground", got)
	}
	if x := int((right + 3.5) * 4); x < 178*4 {
		if got := picture.At(x, 62*4); !isAbout(got, 230, 241, 247) {
			t.Errorf("beyond the halo: %v, want the area", got)
		}
	}
}

func TestBoldIsWider(t *testing.T) {
	width := func(class string) float64 {
		s := &sheet{width: 200, height: 30, texts: []Text{{X: 10, Y: 20, Class: class, Text: "needed  replicas "}}}
		left, right, _, _ := inked(drawn(t, s, 800), 0, 0, 200, 30, 4)
		return right - left
	}
	if plain, bold := width("i"), width("s"); bold <= plain || bold > 1.3*plain {
		t.Errorf("widths %v and %v", plain, bold)
	}
}

func TestWhatCannotBeDrawnIsNamed(t *testing.T) {
	square := rectangle(0, 0, 9, 9)
	for want, draw := range map[string]func(s *sheet){
		"--nothing":    func(s *sheet) { s.fill(square, "var(--nothing)", 1) },
		`"red"`:        func(s *sheet) { s.stroke(square, "red", 1, nil) },
		"url(#other)":  func(s *sheet) { s.circles([]xy{{4, 4}}, 2, "url(#other)") },
		`class "q"`:    func(s *sheet) { s.texts = []Text{{Class: "q", Text: "words"}} },
		"90 by 90000 ": func(s *sheet) { s.height = 9000 },
		"pixels":       func(s *sheet) { s.height = 0 },
	} {
		s := &sheet{width: 9, height: 9}
		draw(s)
		must.Refuse(s.png(90))(t, want)
	}
	must.Refuse(week().png(0))(t)
}

// What SVG can hold can be painted: a plate and a chart with every mark.
func TestPlatesAndChartsAsPictures(t *testing.T) {
	if data, err := plate().PNG(960); err != nil || len(data) > MostBytes/2 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	chart := newSheet(Wide)
	chart.strips(sample("p99"))
	if _, err := chart.png(960); err != nil {
		t.Error(err)
	}
}

// A picture has the colours of the page, whose stylesheet says them for the light ground first.
func TestTheLightPaletteIsTheStylesheets(t *testing.T) {
	sheets := must.Get(os.ReadFile("../style/style.css"))(t)
	for name, colour := range light {
		said := regexp.MustCompile(`--` + name + `: #([0-9a-f]+);`).FindSubmatch(sheets)
		if said == nil {
			t.Errorf("--%s is not in the stylesheet", name)
			continue
		}
		want := string(said[1])
		if len(want) == 3 {
			want = regexp.MustCompile(`.`).ReplaceAllString(want, "$0$0")
		}
		if got := fmt.Sprintf("%06x", colour); got != want {
			t.Errorf("--%s: got %s, want %s", name, got, want)
		}
	}
}

func TestTheSameDrawingGivesTheSameBytes(t *testing.T) {
	one := must.Get(week().png(400))(t)
	two, _ := week().png(400)
	if !bytes.Equal(one, two) {
		t.Error("two drawings differ")
	}
	if keep := os.Getenv("TIDEMARK_PNG_OUTPUT"); keep != "" { // to look at
		must.Do(t, os.WriteFile(keep, one, 0o644))
	}
}

// A picture of very many colours is brought to 256.
func TestAPictureOfManyColoursIsSmall(t *testing.T) {
	picture := image.NewRGBA(image.Rect(0, 0, 600, 300))
	for i := range 600 * 300 {
		z := uint32(i) * 2654435761
		picture.Pix[4*i], picture.Pix[4*i+1], picture.Pix[4*i+2], picture.Pix[4*i+3] = uint8(z>>24)&0xf0, uint8(z>>16)&0xf0, uint8(z>>8)&0xf0, 255
	}
	data, err := encode(picture)
	if err != nil || len(data) > MostBytes {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
