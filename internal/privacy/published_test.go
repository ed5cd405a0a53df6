//go:build duckdb_arrow

package privacy

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// outlierFile is a trace whose longest prompt alone is given.
func outlierFile(t *testing.T, rows int, longest int64) string {
	var text strings.Builder
	for i := range rows {
		input := int64(200 + i*37%2000)
		if i == 17 {
			input = longest
		}
		fmt.Fprintf(&text, `{"timestamp":%d,"input_length":%d,"output_length":%d}`+"\n", i*400, input, 20+i%300)
	}
	return put(t, "trace.jsonl", []byte(text.String()))
}

// Two traces differ in the one length that the export cuts off: their manifests do
// not say so. 990 requests of around 1,200 and one of 40,000 or 900,000.
func TestManifestTellsNoLength(t *testing.T) {
	for form, name := range map[string]string{"trace": "out.jsonl", "histogram": "out.csv"} {
		var told []*Loss
		for _, longest := range []int64{40_000, 900_000} {
			o := optionsOf(1)
			o.Form = form
			result, _ := exported(t, holding(t, outlierFile(t, 990, longest)), name, o)
			told = append(told, result.Manifest.Loss)
		}
		if !reflect.DeepEqual(told[0], told[1]) {
			t.Errorf("%s: %+v, and with another longest prompt %+v", form, told[0], told[1])
		}
		_, hasP99 := told[0].InputShift["p99"]
		_, hasP90 := told[0].InputShift["p90"]
		if hasP99 || hasP90 != (form == "histogram") {
			t.Errorf("%s: shifts %v; of 990 requests 9 are above p99, fewer than k", form, told[0].InputShift)
		}
		for name, shift := range told[0].InputShift {
			if toPercent(shift) != shift {
				t.Errorf("%s: %s shifts by %v, want whole percents", form, name, shift)
			}
		}
	}
}

func TestTwoDigitsByHand(t *testing.T) {
	for v, want := range map[float64]float64{74.21: 74, 3.87: 3.9, 0: 0, 1234: 1200} {
		if got := twoDigits(v); got != want {
			t.Errorf("%v: got %v, want %v", v, got, want)
		}
	}
}

// Ten requests with k = 10 are one cell, or ten times one length: the export says
// that it is of no use. Of a thousand it does not.
func TestUselessExportSaysSo(t *testing.T) {
	for form, name := range map[string]string{"trace": "out.jsonl", "histogram": "out.csv"} {
		for rows, want := range map[int]bool{10: true, 1000: false} {
			o := optionsOf(1)
			o.Form = form
			result, _ := exported(t, holding(t, outlierFile(t, rows, 9000)), name, o)
			if got := strings.Contains(strings.Join(result.Manifest.Notes, " "), "useless"); got != want {
				t.Errorf("%s of %d: notes %q", form, rows, result.Manifest.Notes)
			}
		}
	}
}
