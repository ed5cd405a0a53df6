package chart_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/reports/chart"
)

var update = flag.Bool("update", false, "write the golden drawings anew")

// The vendored build is the published one, byte for byte.
func TestEChartsIsTheReleasedFile(t *testing.T) {
	released := map[string]string{ // echarts 6.1.0 from the npm registry
		"echarts.common.min.js": "61f13280aba3161f77fc801bf5f9c786f55f10432153a0683fc5cc0700b013d5",
		"LICENSE":               "634293835b43a6dd2094fa39182a3d9a6b9ca43b7fdb9ac354e8037af2a3093a",
		"LICENSE-d3":            "e1211892da0b0e0585b7aebe8f98c1274fba15bafe47fa1f4ee8a7a502c06304",
		"NOTICE":                "d491d358344f842685c1b1585970999db65fe30ecf7ef3867af8814f4016c016",
	}
	for name, want := range released {
		bytes, err := os.ReadFile(filepath.Join("echarts", name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(bytes)
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("echarts/%s: got sha256 %s, want %s", name, got, want)
		}
	}
}

func wave(n int, phase float64) []chart.Point {
	points := make([]chart.Point, n)
	for i := range points {
		points[i] = chart.Point{X: float64(i), Y: 20 + 8*math.Sin(float64(i)/9+phase)}
	}
	return points
}

func timeline() chart.Chart {
	gapped := wave(120, 0)
	gapped[40] = chart.Gap(40)
	return chart.Chart{
		X: chart.Axis{Name: "since the start, s"}, Y: chart.Axis{Name: "TPOT, ms"},
		Series: []chart.Series{
			{Name: "median", Colour: chart.Blue, Points: gapped},
			{Name: "predicted", Colour: chart.Green, Meaning: chart.Predicted, Marker: chart.Triangle, Points: wave(120, 1)},
		},
		Limits: []chart.Limit{{At: 30, Text: "limit 30 ms"}},
	}
}

func samples() map[string]chart.Chart {
	cloud := make([]chart.Point, 300)
	for i := range cloud {
		x := 10 + float64(i%50)/5
		cloud[i] = chart.Point{X: x, Y: x * (1 + 0.3*math.Sin(float64(i))), Weight: float64(1 + i%7)}
	}
	nines := []chart.Tick{{At: 0, Text: "0 %"}, {At: chart.Nine(0.5), Text: "50 %"}, {At: 1, Text: "90 %"}, {At: 2, Text: "99 %"}, {At: 3, Text: "99.9 %"}}
	return map[string]chart.Chart{
		"timeline": timeline(),
		"area": {
			X: chart.Axis{Name: "since the start, s"}, Y: chart.Axis{Name: "requests"},
			Series: []chart.Series{
				{Name: "due", Kind: chart.Area, Colour: chart.Blue, Marker: chart.NoMarker, Points: wave(60, 0)},
				{Name: "sent", Kind: chart.Step, Colour: chart.Vermillion, Marker: chart.Diamond, Points: wave(60, 0.1)},
			},
		},
		"cloud": {
			X: chart.Axis{Name: "predicted, ms"}, Y: chart.Axis{Name: "measured, ms"},
			Series: []chart.Series{
				{Name: "requests", Kind: chart.Points, Colour: chart.Blue, Points: cloud},
				{Name: "as predicted", Meaning: chart.Predicted, Colour: chart.Black, Marker: chart.NoMarker, Points: []chart.Point{{X: 0, Y: 0}, {X: 20, Y: 20}}},
			},
		},
		"hollow": {
			X: chart.Axis{Name: "in flight"}, Y: chart.Axis{Name: "output tokens per second"},
			Series: []chart.Series{
				{Name: "valid", Colour: chart.Blue, Points: []chart.Point{{X: 1, Y: 90}, {X: 2, Y: 170}}},
				{Name: "invalid", Kind: chart.Points, Colour: chart.Black, IsHollow: true, Points: []chart.Point{{X: 4, Y: 210}}},
				{Name: "invalid p99", Kind: chart.Points, Colour: chart.Vermillion, Marker: chart.Triangle, IsHollow: true, Points: []chart.Point{{X: 4, Y: 150}}},
			},
		},
		"band": {
			X: chart.Axis{Name: "multiple of the traffic (not from 0)", IsZoomed: true}, Y: chart.Axis{Name: "share missed, %"},
			Bands: []chart.Band{{Name: "90 % interval", Colour: chart.Purple,
				Low: []chart.Point{{X: 1.4, Y: 0.2}, {X: 1.8, Y: 0.8}, {X: 2, Y: 2}}, High: []chart.Point{{X: 1.4, Y: 0.6}, {X: 1.8, Y: 1.6}, {X: 2, Y: 5}}}},
			Series: []chart.Series{
				{Name: "calibrated model", Colour: chart.Purple, Meaning: chart.Predicted, Marker: chart.NoMarker, Points: []chart.Point{{X: 1.4, Y: 0.4}, {X: 1.8, Y: 1.1}, {X: 2, Y: 3}}},
				{Name: "before", Colour: chart.Grey, Meaning: chart.Predicted, Marker: chart.NoMarker, Points: []chart.Point{{X: 1.3, Y: 0.4}, {X: 1.6, Y: 1.1}, {X: 1.8, Y: 3}}},
				{Name: "runs", Kind: chart.Points, Colour: chart.Blue, Points: []chart.Point{{X: 1.5, Y: 0.3}, {X: 1.9, Y: 1.5}}},
			},
			Limits: []chart.Limit{{At: 1, Text: "1 % may miss"}},
		},
		"nines": {
			X: chart.Axis{Name: "share of requests", Ticks: nines, Max: 3}, Y: chart.Axis{Name: "ms"},
			Series: []chart.Series{{Name: "TTFT", Colour: chart.Blue, Points: []chart.Point{{X: 0, Y: 1}, {X: chart.Nine(0.5), Y: 4}, {X: 1, Y: 9}, {X: 2, Y: 30}}}},
		},
		"spans": {
			X: chart.Axis{Name: "ms"}, Y: chart.Axis{Categories: []string{"weights", "KV", "unexplained", "measured"}},
			Spans: []chart.Span{
				{Category: 0, From: 0, To: 4, Meaning: chart.Predicted, Colour: chart.Green, Label: "4.00 ms"},
				{Category: 1, From: 4, To: 6, Meaning: chart.Predicted, Colour: chart.Green, Label: "2.00 ms"},
				{Category: 2, From: 6, To: 5.5, Colour: chart.Vermillion, Label: "-0.500 ms"},
				{Category: 3, From: 0, To: 5.5, Colour: chart.Blue, Label: "5.50 ms"},
			},
		},
	}
}

func svg(t *testing.T, c chart.Chart) string {
	t.Helper()
	drawn, err := c.SVG("c", "a picture", chart.Size{Width: 720, Height: 300})
	if err != nil {
		t.Fatal(err)
	}
	return drawn
}

func TestEachKindDrawsAsItsGoldenFile(t *testing.T) {
	for name, c := range samples() {
		got := svg(t, c)
		path := filepath.Join("testdata", name+".svg")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: the drawing differs from %s; look at it, then run with -update", name, path)
		}
	}
}

func TestTheSameChartIsTheSameBytesHoweverManyWereDrawnBefore(t *testing.T) {
	first := svg(t, timeline())
	svg(t, samples()["cloud"])
	if second := svg(t, timeline()); first != second {
		t.Error("two drawings of one chart differ")
	}
}

// What a chart shows comes from users' names too. Each of these must be there as text, and be nothing else.
var hostile = map[string]string{
	"closes a script":       `</script><script>window.__pwned=1</script>`,
	"an element":            `<img src=x onerror="window.__pwned=1">`,
	"go-echarts' marker":    `__f__function(){window.__pwned=1}__f__`,
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

func TestTextReachesTheDrawingAsTextOnly(t *testing.T) {
	for what, text := range hostile {
		c := timeline()
		c.X.Name, c.Y.Name, c.Series[0].Name, c.Series[1].Name, c.Limits[0].Text = text, text, text, text, text
		drawn, err := c.SVG("c", text, chart.Size{Width: 720, Height: 300})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		words, elements := read(t, drawn)
		for _, element := range []string{"script", "img", "style", "a", "image", "foreignObject", "use"} {
			if elements[element] > 0 {
				t.Errorf("%s: the drawing has a <%s>", what, element)
			}
		}
		if want := strings.Join(strings.Fields(text), " "); len(text) < 50 && !strings.ContainsAny(text, "\x00\xff") && strings.Count(words, want) < 4 {
			t.Errorf("%s: got text %q, want %q in it, literally", what, words, want)
		}
		if len(drawn) > 200_000 {
			t.Errorf("%s: the drawing is %d bytes", what, len(drawn))
		}
	}
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
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			elements[x.Name.Local]++
		case xml.CharData:
			words.Write(append(x, ' '))
		}
	}
}

func TestManyPointsAreBinnedAndNoneIsLost(t *testing.T) {
	many := wave(200_000, 0)
	many[123_456].Y = 500 // one peak
	c := chart.Chart{Series: []chart.Series{{Name: "line", Colour: chart.Blue, Marker: chart.NoMarker, Points: many}}}
	if drawn := svg(t, c); len(drawn) > 100_000 || !strings.Contains(drawn, ">500<") {
		t.Errorf("got %d bytes, want less than 100,000 and an axis that reaches the peak at 500", len(drawn))
	}
	c.Series[0].Kind, c.Series[0].Marker = chart.Points, chart.Circle
	drawn := svg(t, c)
	if dots := strings.Count(drawn, "<circle"); dots < 100 || dots > 5000 {
		t.Errorf("got %d dots, want the cells of a grid", dots)
	}
}

func TestWhatIsNoNumberIsAGap(t *testing.T) {
	points := []chart.Point{{X: 0, Y: 1}, {X: 1, Y: math.NaN()}, {X: 2, Y: math.Inf(1)}, {X: math.NaN(), Y: 3}, {X: 4, Y: 2}}
	for _, kind := range []chart.Kind{chart.Line, chart.Step, chart.Area, chart.Points} {
		c := chart.Chart{Series: []chart.Series{{Name: "s", Kind: kind, Colour: chart.Blue, Points: points}}}
		if drawn := svg(t, c); strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Infinity") {
			t.Errorf("kind %d: the drawing has no gap where a value is missing", kind)
		}
	}
	c := chart.Chart{Y: chart.Axis{IsLog: true}, Series: []chart.Series{{Name: "s", Colour: chart.Blue, Points: []chart.Point{{X: 0, Y: 0}, {X: 1, Y: -1}, {X: 2, Y: 10}}}}}
	if drawn := svg(t, c); strings.Contains(drawn, "NaN") || strings.Contains(drawn, "Infinity") {
		t.Error("a value that is not positive is no gap on a logarithmic axis")
	}
}

func TestAnEmptyChartDraws(t *testing.T) {
	if drawn := svg(t, chart.Chart{}); !strings.HasPrefix(drawn, "<svg ") {
		t.Errorf("got %.40q, want an empty drawing", drawn)
	}
}

func BenchmarkSVG(b *testing.B) {
	for b.Loop() {
		if _, err := timeline().SVG("c", "", chart.Size{Width: 880, Height: 300}); err != nil {
			b.Fatal(err)
		}
	}
}
