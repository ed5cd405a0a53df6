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

func wave(n int) []chart.Point {
	points := make([]chart.Point, n)
	for i := range points {
		points[i] = chart.Point{X: float64(i), Y: 20 + 8*math.Sin(float64(i)/9)}
	}
	return points
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
