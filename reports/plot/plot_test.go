package plot

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

var measured = Look{Colour: "var(--measured)", Class: "m"}

// sample is a chart with everything that strips can hold.
func sample(name string) Chart {
	var points, low, high []Point
	for i := range 60 {
		y := 2 + math.Sin(float64(i)/5)
		points = append(points, Point{X: float64(i) * 10, Y: y})
		low, high = append(low, Point{X: float64(i) * 10, Y: y - 0.2}), append(high, Point{X: float64(i) * 10, Y: y + 0.2})
	}
	points[20].Y = math.NaN()
	return Chart{
		X: Axis{Name: "minutes since the start", To: 590, Per: 60},
		Strips: []Strip{
			{Y: Axis{Name: "TTFT, s"}, Height: 190, Bands: []Band{{Look: Look{Colour: "var(--measured-band)"}, Low: low, High: high}},
				Series: []Series{{Name: name, Look: measured, Points: points}, {Name: "a longer name than the margin has room for", Look: measured, Points: points}},
				Limits: []Limit{{At: 2.5, Text: "limit 2.5 s", Look: Look{Colour: "var(--limit)", Class: "s"}}}},
			{Y: Axis{Name: "requests"}, Height: 64, Series: []Series{{Name: "sent", Kind: Area, Look: measured, Points: points}, {Name: "late", Kind: Dots, Look: measured, Points: points}},
				Notes: []Note{{X: 300, Y: 2, Class: "s", Text: "knee"}}},
		},
		Shades: []Shade{{From: 100, To: 200, Text: "✕ 1:40 to 3:20"}},
	}
}

// On a screen and on a phone no text touches another and none is cut, whatever a series is called.
func TestTextsTouchNothing(t *testing.T) {
	for _, name := range []string{"p99", "", strings.Repeat("long ", 40), "שלום עולם 🚀", `</text><script>alert(1)</script>`} {
		for _, width := range []float64{Wide, Narrow} {
			s := newSheet(width)
			s.strips(sample(name))
			for i, a := range s.texts {
				b := boxOf(a)
				if b.left < -0.5 || b.right > width+0.5 || b.top < -1 || b.bottom > s.height+0.5 {
					t.Errorf("%q at %v: %q is cut: %v of %v x %v", name, width, a.Text, b, width, s.height)
				}
				for _, other := range s.texts[i+1:] {
					c := boxOf(other)
					b.bottom, c.bottom = a.Y, other.Y // letters without descenders
					if b.meets(c) {
						t.Errorf("%q at %v: %q touches %q", name, width, a.Text, other.Text)
					}
				}
			}
		}
	}
}

// On a phone the last label of an axis of quantiles stood as "99…": moved to the edge, it had a billionth less room than it needs.
func TestTheLastLabelOfAnAxisIsWhole(t *testing.T) {
	for _, last := range []string{"99 %", "99.9 %", "99.99 %"} {
		for width := Narrow; width <= Wide; width++ {
			c := Chart{X: Axis{To: 2, Ticks: []Tick{{At: 0, Text: "0 %"}, {At: 2, Text: last}}}, Strips: []Strip{{Height: 64, Series: []Series{{Look: measured, Points: []Point{{X: 0, Y: 1}, {X: 2, Y: 2}}}}}}}
			must.Say(t, c.SVG("a chart", float64(width)), ">"+last+"<")
		}
	}
}

// What is drawn is plain XML of few elements, without a number that SVG does not have, and the same each time.
func TestADrawingIsPlainAndTheSame(t *testing.T) {
	hostile := `"><script>1</script>` + "\x00 ]]>"
	for _, c := range []Chart{sample(hostile), {X: Axis{Name: hostile}, Rows: []Row{{Name: hostile, Text: hostile, Spans: []Span{{To: 3, Fill: "red", Name: hostile}, {From: 3, To: math.NaN(), Fill: "red"}}}}}, {}} {
		svg := c.SVG(hostile, Wide)
		if svg != c.SVG(hostile, Wide) {
			t.Error("two drawings of one chart differ")
		}
		if found := regexp.MustCompile(`NaN|Inf|<script`).FindString(svg); found != "" {
			t.Errorf("the drawing has %q", found)
		}
		decoder := xml.NewDecoder(strings.NewReader(svg))
		for {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
			if start, isStart := token.(xml.StartElement); isStart && !strings.Contains("svg path text circle", start.Name.Local) {
				t.Errorf("element %s", start.Name.Local)
			}
		}
	}
}

// Labels are round, as many as there is room for, and claim no precision: 0.4, never 0.40000000000000002.
func TestAxes(t *testing.T) {
	for _, c := range []struct {
		axis Axis
		low  float64
		high float64
		want string
	}{
		{Axis{}, 0, 1.57, "0 0.5 1.0 1.5 2.0"},
		{Axis{}, 0, 12345, "0 5,000 10,000 15,000"},
		{Axis{}, -3, 8, "−5 0 5 10"},
		{Axis{IsLog: true}, 0.02, 30, "0.01 0.1 1 10 100"},
		{Axis{IsWhole: true}, 0, 2, "0 1 2"},
		{Axis{}, 0, 0, "0 0.5 1.0"},
		{Axis{Per: 60, To: 600}, 0, 600, "0 5 10"},
	} {
		l := c.axis.lay(reach{c.low, c.high}, 4, true)
		var texts []string
		for _, tick := range l.ticks {
			texts = append(texts, tick.Text)
		}
		if got := strings.Join(texts, " "); got != c.want {
			t.Errorf("%+v of %v to %v: got %s, want %s", c.axis, c.low, c.high, got, c.want)
		}
	}
}

// A chart ends where its data end: the last point of ten minutes is at the right edge, and not before a round number.
func TestTheAxisOfXEndsWithTheData(t *testing.T) {
	l := Axis{}.lay(reach{0, 597}, 10, false)
	if l.to != 597 || l.ticks[len(l.ticks)-1].At > 597 {
		t.Errorf("got an axis to %v with labels %v, want it to end at 597", l.to, l.ticks)
	}
}

// Ten thousand dots are drawn as cells, and each peak of a long line is kept.
func TestMuchIsThinned(t *testing.T) {
	var many []Point
	for i := range 20_000 {
		y := math.Mod(float64(i)*0.618, 1)
		if i == 12_345 {
			y = 9
		}
		many = append(many, Point{X: float64(i), Y: y})
	}
	line := Series{Look: measured, Points: many}
	peak := 0.0
	for _, p := range thin(line, 800) {
		peak = math.Max(peak, p.Y)
	}
	if peak != 9 {
		t.Errorf("the peak of a thinned line is %v, want 9", peak)
	}
	cloud := Chart{Strips: []Strip{{Series: []Series{{Kind: Dots, Look: measured, Points: many}}}}}
	if size := len(cloud.SVG("cloud", Wide)); size > 60_000 {
		t.Errorf("the drawing of %d dots takes %d bytes", len(many), size)
	}
}

func ExampleNine() {
	fmt.Printf("%.0f %.0f %.0f\n", Nine(0), Nine(0.9), Nine(0.99))
	// Output: 0 1 2
}
