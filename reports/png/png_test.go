package png

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"strings"
	"testing"
)

// week is a small chart as reports/week/draw writes it: steps on an area, a dashed limit, hatching, texts at three anchors, a halo. It is 200 by
// 100; the axis is at y = 80 and a step from 20 to 100 is at y = 50.
const week = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100" width="200" height="100" role="img" aria-label="steps">
<defs><clipPath id="c"><path d="M20 10H180V80H20Z"/></clipPath></defs>
<path d="M20 80H180" stroke="var(--axis)"/>
<g clip-path="url(#c)"><path d="M0 80V50H100V30H190V80Z" fill="var(--measured)" fill-opacity="0.1"/><path d="M20 50H100V30H180" fill="none" stroke="var(--measured)" stroke-width="4"/></g>
<path d="M20 20H180" fill="none" stroke="var(--limit)" stroke-width="4" stroke-dasharray="20 20"/>
<rect x="120" y="40" width="30" height="40" fill="var(--ground)"/><rect x="120" y="40" width="30" height="40" fill="url(#hatch)"/>
<circle cx="60" cy="50" r="5" fill="var(--ground)" stroke="var(--bad)" stroke-width="2"/>
<text x="20" y="95">Mon</text><text x="100" y="95" text-anchor="middle" class="i">Tue</text><text x="180" y="95" text-anchor="end" class="s">Wed</text>
<text x="160" y="70" class="m h" font-size="20">H</text>
</svg>`

func drawn(t *testing.T, svg string, width int) image.Image {
	t.Helper()
	data, err := Draw(svg, width, Light())
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
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
	picture := drawn(t, week, 400)
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
		{"left of the clip the area is not drawn", 10, 70, 255, 255, 255},
		{"right of the clip neither", 185, 70, 255, 255, 255},
		{"first dash", 30, 20, 0x17, 0x20, 0x2a},
		{"first gap", 50, 20, 255, 255, 255},
		{"second dash", 70, 20, 0x17, 0x20, 0x2a},
		{"inside of the ring the line is covered", 60, 50, 255, 255, 255},
		{"the ring", 60, 45, 0xb8, 0x45, 0},
	} {
		if got := picture.At(int(2*c.x), int(2*c.y)); !isAbout(got, c.r, c.g, c.b) {
			t.Errorf("%s at %v, %v: got %v, want %02x%02x%02x", c.name, c.x, c.y, got, c.r, c.g, c.b)
		}
	}
}

// A quarter of the hatched ground is covered, from corner to corner of each stripe.
func TestHatching(t *testing.T) {
	picture := drawn(t, week, 800)
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
	picture := drawn(t, week, 800)
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
	picture := drawn(t, week, 800)
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
	width := func(weight string) float64 {
		text := fmt.Sprintf(`<svg viewBox="0 0 200 30"><text x="10" y="20" font-weight="%s">needed replicas</text></svg>`, weight)
		left, right, _, _ := inked(drawn(t, text, 800), 0, 0, 200, 30, 4)
		return right - left
	}
	if plain, bold := width("400"), width("600"); bold <= plain || bold > 1.3*plain {
		t.Errorf("widths %v and %v", plain, bold)
	}
}

func TestPathsOfEveryCommand(t *testing.T) {
	for _, c := range []struct {
		name, d    string
		inX, inY   int
		outX, outY int
	}{
		{"lines, big letters", "M10 10L50 10L50 50L10 50Z", 30, 30, 60, 30},
		{"lines, small letters, numbers that touch", "m10 10h40v40h-40z", 30, 30, 60, 30},
		{"lines without letters", "M10,10 50,10 50,50 10,50", 30, 30, 60, 30},
		{"a half circle", "M10 30A20 20 0 0 1 50 30Z", 30, 20, 30, 40},
		{"its flags together", "M10 30a20 20 0 0140 0z", 30, 20, 30, 40},
		{"the other half", "M10 30A20 20 0 0 0 50 30Z", 30, 40, 30, 20},
		{"the large arc", "M20 50A20 20 0 1 1 40 50Z", 30, 20, 5, 5},
		{"cubes", "M10 50C10 10 50 10 50 50Z", 30, 30, 30, 15},
		{"a smooth cube", "M10 30C10 10 30 10 30 30S50 50 50 30Z", 20, 22, 20, 40},
		{"quads", "M10 50Q30 0 50 50Z", 30, 35, 30, 15},
		{"smooth quads", "M10 30Q20 10 30 30T50 30Z", 20, 24, 20, 36},
	} {
		picture := drawn(t, `<svg viewBox="0 0 60 60"><path d="`+c.d+`" fill="#000"/></svg>`, 120)
		if !isAbout(picture.At(2*c.inX, 2*c.inY), 0, 0, 0) || c.outX < 60 && !isAbout(picture.At(2*c.outX, 2*c.outY), 255, 255, 255) {
			t.Errorf("%s: inside %v, outside %v", c.name, picture.At(2*c.inX, 2*c.inY), picture.At(2*c.outX, 2*c.outY))
		}
	}
}

func TestTransforms(t *testing.T) {
	for transform, at := range map[string][2]int{
		"translate(30 20)":                   {35, 25},
		"scale(2) translate(10,5)":           {30, 20},
		"matrix(1,0,0,1,40,40)":              {45, 45},
		"rotate(90 30 30)":                   {55, 5},
		"translate(20,0) rotate(90)":         {15, 5},
		"translate(10 10)translate(20 -5.5)": {35, 9},
	} {
		picture := drawn(t, `<svg viewBox="0 0 60 60"><g transform="`+transform+`"><rect width="10" height="10" fill="#000"/></g></svg>`, 60)
		if !isAbout(picture.At(at[0], at[1]), 0, 0, 0) {
			t.Errorf("%s: %v is %v", transform, at, picture.At(at[0], at[1]))
		}
	}
}

func TestOpacityGoesDown(t *testing.T) {
	picture := drawn(t, `<svg viewBox="0 0 10 10"><g opacity="0.5"><rect width="10" height="10" fill="rgba(0,0,0,0.5)" opacity="0.8"/></g></svg>`, 10)
	if !isAbout(picture.At(5, 5), 204, 204, 204) { // a fifth of black
		t.Errorf("got %v, want 204", picture.At(5, 5))
	}
}

func TestWhatCannotBeDrawnIsNamed(t *testing.T) {
	for svg, want := range map[string]string{
		`<svg viewBox="0 0 9 9"><image href="a.png"/></svg>`:                              "<image>",
		`<svg viewBox="0 0 9 9"><script>alert(1)</script></svg>`:                          "<script>",
		`<svg viewBox="0 0 9 9"><g><foreignObject/></g></svg>`:                            "<foreignObject>",
		`<svg viewBox="0 0 9 9"><defs><linearGradient id="g"/></defs></svg>`:              "<linearGradient>",
		`<svg viewBox="0 0 9 9"><defs><pattern id="dots"/></defs></svg>`:                  "dots",
		`<svg viewBox="0 0 9 9"><rect width="9" height="9" fill="var(--nothing)"/></svg>`: "--nothing",
		`<svg viewBox="0 0 9 9"><rect width="9" height="9" fill="url(#other)"/></svg>`:    "url(#other)",
		`<svg viewBox="0 0 9 9"><rect width="9" height="9" class="q"/></svg>`:             `class "q"`,
		`<svg viewBox="0 0 9 9"><path d="M0 0B1 1"/></svg>`:                               "command 'B'",
		`<svg viewBox="0 0 9 9"><path d="M0 0L1"/></svg>`:                                 "<path>",
		`<svg viewBox="0 0 9 9"><path d="1 2"/></svg>`:                                    "a number where a command is due",
		`<svg viewBox="0 0 9 9"><g transform="skewX(3)"/></svg>`:                          "skewX",
		`<svg viewBox="0 0 9 9"><path d="M0 0H9" fill-rule="evenodd"/></svg>`:             "evenodd",
		`<svg viewBox="0 0 9 9"><path d="M0 0H9" clip-path="url(#gone)"/></svg>`:          "gone",
		`<svg viewBox="0 0 9 x"></svg>`:                                                   "viewBox",
		`<svg viewBox="0 0 1 9000"></svg>`:                                                "pixels high",
		`<p>no drawing</p>`:                                                               "<p>",
		``:                                                                                "no <svg>",
		`<svg viewBox="0 0 9 9"><g></svg>`:                                                "svg:",
	} {
		if _, err := Draw(svg, 90, Light()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %s", svg, err, want)
		}
	}
	if _, err := Draw(week, 0, nil); err == nil {
		t.Error("a picture of no width: no error")
	}
}

// A plate with every mark, and how large it gets.
func TestADrawnPlate(t *testing.T) {
	svg, err := os.ReadFile("../plot/testdata/plate.svg")
	if err != nil {
		t.Fatal(err)
	}
	data, err := Draw(string(svg), 960, Light())
	if err != nil || len(data) > MostBytes/2 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestTheSameDrawingGivesTheSameBytes(t *testing.T) {
	one, err := Draw(week, 400, Light())
	if err != nil {
		t.Fatal(err)
	}
	two, _ := Draw(week, 400, Light())
	if !bytes.Equal(one, two) {
		t.Error("two drawings differ")
	}
	if keep := os.Getenv("TIDEMARK_PNG_OUTPUT"); keep != "" { // to look at
		if err := os.WriteFile(keep, one, 0o644); err != nil {
			t.Fatal(err)
		}
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
