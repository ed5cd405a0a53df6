package plot

import (
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

var update = flag.Bool("update", false, "write the golden drawings anew")

func wave(n int) []Point {
	points := make([]Point, n)
	for i := range points {
		points[i] = Point{X: float64(i), Y: 20 + 8*math.Sin(float64(i)/9)}
	}
	return points
}

// plate has every shape, two grids, and a text in a margin.
func plate() Plate {
	wavy := wave(24)
	wavy[10].Y = math.NaN()
	lows := make([]float64, len(wavy))
	for i, p := range wavy {
		lows[i] = p.Y - 3
	}
	hours := Grid{Left: 40, Top: 26, Right: 848, Bottom: 210, X: Scale{From: 0, To: 24}, Y: Scale{From: 0, To: 40}}
	hours.Marks = []Mark{
		{Shape: Boxed, Points: []Point{{X: 5, Y: 0}, {X: 9, Y: 40}}, Fill: "var(--shade)"},
		{Points: wavy, Lows: lows, Fill: "var(--measured-band)"},
		{Shape: Stepped, Points: wavy, Fill: "var(--measured)", Alpha: 0.1},
		{Shape: Stepped, Points: wavy, Stroke: "var(--measured)", Width: 2},
		{Points: []Point{{X: 0, Y: 30}, {X: 24, Y: 30}}, Stroke: "var(--limit)", Width: 2.5, Dash: []float64{5, 3}},
		{Shape: Boxed, Points: []Point{{X: 10, Y: 0}, {X: 11, Y: 40}, {X: 15, Y: 0}, {X: 16.5, Y: 40}}, Fill: "url(#hatch)"},
		{Shape: Dotted, Points: []Point{{X: 4, Y: 30}}, Fill: "var(--ink)", Width: 5},
	}
	strip := Grid{Left: 40, Top: 230, Right: 848, Bottom: 300, X: hours.X, Y: Scale{From: 0, To: 1}}
	strip.Marks = []Mark{{Shape: Boxed, Points: []Point{{X: 1, Y: 0}, {X: 2, Y: 1}}, Fill: "none", Stroke: "var(--bad)", Width: 1}}
	return Plate{Width: 960, Height: 320, Grids: []Grid{hours, strip},
		Leaders: []Leader{{Points: []Point{{X: 849, Y: 72}, {X: 856, Y: 80}}, Stroke: "var(--limit)"}},
		Texts:   []Text{{X: 858, Y: 76, Class: "s", Text: "12 paid for"}, {X: 34, Y: 214, Anchor: "end", Text: "0"}}}
}

func plateSVG(t *testing.T, p Plate, label string) string {
	t.Helper()
	drawn := must.Get(p.SVG(label))(t)
	return drawn
}

func TestAPlateIsAsItsGoldenFile(t *testing.T) {
	got := plateSVG(t, plate(), "a plate")
	path := filepath.Join("testdata", "plate.svg")
	if *update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(path))(t)
	if got != string(want) {
		t.Errorf("the drawing differs from %s; look at it, then run with -update", path)
	}
}

func TestTheSamePlateIsTheSameBytesHoweverManyWereDrawnBefore(t *testing.T) {
	first := plateSVG(t, plate(), "a plate")
	plateSVG(t, Plate{Width: 720, Height: 300, Grids: plate().Grids[1:]}, "another")
	if again := plateSVG(t, plate(), "a plate"); again != first {
		t.Error("two drawings of one plate differ")
	}
}

func TestAPlateLeavesColoursToThePage(t *testing.T) {
	got := plateSVG(t, plate(), "a plate")
	must.Say(t, got, `fill="var(--shade)"`, `fill="var(--measured)" fill-opacity="0.1"`, `stroke="var(--limit)" stroke-width="2.5" stroke-dasharray="5 3"`, `fill="url(#hatch)"`, `<text x="34" y="214" text-anchor="end">0</text>`)
	must.NotSay(t, got, "clip", "<g", "<rect", "<defs", `stroke-width="0"`, "font-")
}

// A hole breaks every line and area: nothing is drawn in the hour after it.
func TestAGapIsNotDrawn(t *testing.T) {
	points := []Point{{X: 0, Y: 1}, {X: 1, Y: 1}, {X: 2, Y: math.NaN()}, {X: 3, Y: 1}, {X: 4, Y: 1}}
	grid := Grid{Right: 400, Bottom: 100, X: Scale{From: 0, To: 4}, Y: Scale{From: 0, To: 2}}
	for _, m := range []Mark{{Points: points, Stroke: "red", Width: 1}, {Points: points, Fill: "red"}, {Points: points, Lows: make([]float64, 5), Fill: "red"}} {
		grid.Marks = []Mark{m}
		got := plateSVG(t, Plate{Width: 400, Height: 100, Grids: []Grid{grid}}, "")
		if strings.Count(got, "M") != 2 || !strings.Contains(got, "50H100") || !strings.Contains(got, "50H400") {
			t.Errorf("want two pieces, 0 to 100 and 300 to 400: %s", got)
		}
	}
}

func TestAPlateDrawsTextAsTextAndLoadsNothing(t *testing.T) {
	for what, text := range hostile {
		p := plate()
		p.Texts[0].Text, p.Texts[0].Class, p.Texts[0].Anchor = text, text, text
		p.Leaders[0].Stroke = `"><script>`
		p.Grids[0].Marks[3].Stroke = "url(https://example.com/x)"
		p.Grids[0].Marks[0].Fill = "url(#other)"
		drawn, err := p.SVG(text)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		words, elements := read(t, drawn)
		for element := range elements {
			must.Say(t, " svg path circle text ", " "+element+" ")
		}
		must.NotSay(t, drawn, "example.com", "#other")
		if want := strings.Join(strings.Fields(text), " "); len(text) < 50 && !strings.ContainsAny(text, "\x00\xff") && !strings.Contains(words, want) {
			t.Errorf("%s: got text %q, want %q in it, literally", what, words, want)
		}
		if len(drawn) > 20_000 {
			t.Errorf("%s: the drawing is %d bytes", what, len(drawn))
		}
	}
}

func TestAnEmptyPlateDraws(t *testing.T) {
	got := plateSVG(t, Plate{Width: 400, Height: 100}, "nothing")
	if words, elements := read(t, got); words != "" || len(elements) != 1 || elements["svg"] != 1 {
		t.Errorf("got %s, want an empty drawing", got)
	}
}

func TestWhatIsNoNumberIsAGap(t *testing.T) {
	points := []Point{{X: 0, Y: 1}, Gap(1), {X: 2, Y: math.Inf(1)}, {X: math.NaN(), Y: 1}, {X: 4, Y: 1}}
	grid := Grid{Right: 400, Bottom: 100, X: Scale{From: 0, To: 4}, Y: Scale{From: 0, To: 2}}
	for _, shape := range []Shape{Joined, Stepped, Dotted} {
		grid.Marks = []Mark{{Shape: shape, Points: points, Fill: "red", Stroke: "red", Width: 1}}
		got := plateSVG(t, Plate{Width: 400, Height: 100, Grids: []Grid{grid}}, "")
		must.NotSay(t, got, "NaN", "Inf")
	}
}

func BenchmarkSVG(b *testing.B) {
	for b.Loop() {
		must.Get(plate().SVG("a plate"))(b)
	}
}

func TestAGridNeedsRoomAndAScale(t *testing.T) {
	for _, change := range map[string]func(g *Grid){
		"no width": func(g *Grid) { g.Right = g.Left }, "upside down": func(g *Grid) { g.Top = g.Bottom + 1 },
		"no scale": func(g *Grid) { g.Y.To = g.Y.From }, "no number": func(g *Grid) { g.X.To = math.NaN() },
	} {
		p := plate()
		change(&p.Grids[0])
		must.Refuse(p.SVG(""))(t)
	}
}

// What a chart shows comes from users' names too. Each of these must be there as text, and be nothing else.
var hostile = map[string]string{
	"closes a script":       `</script><script>window.__pwned=1</script>`,
	"an element":            `<img src=x onerror="window.__pwned=1">`,
	"a function":            `__f__function(){window.__pwned=1}__f__`,
	"a template":            `{a} {b} {c} {@x} $& $1`,
	"quotes":                `"'` + "`&amp;&lt;",
	"right to left":         "שלום עולם مرحبا",
	"emoji":                 "🚀👩‍💻",
	"control characters":    "a\x00b\x1bc\ufffed",
	"no UTF-8":              "a\xff\xfeb",
	"ten kilobytes":         strings.Repeat("long ", 2000),
	"a reference to a part": `url(#zr0-c0) id="zr0-c1"`,
	"empty":                 "",
}

// read gives all text of a drawing, spaces made one, and counts its elements.
func read(t *testing.T, drawn string) (string, map[string]int) {
	t.Helper()
	decoder, elements := xml.NewDecoder(strings.NewReader(drawn)), map[string]int{}
	var words strings.Builder
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return strings.Join(strings.Fields(words.String()), " "), elements
		}
		must.Do(t, err)
		switch x := token.(type) {
		case xml.StartElement:
			elements[x.Name.Local]++
		case xml.CharData:
			words.Write(append(x, ' '))
		}
	}
}
