package read

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// Instants are what the standard library reads.
func TestInstantsAgainstTheStandardLibrary(t *testing.T) {
	layouts := []string{
		"2006-01-02 15:04:05", "2006-01-02 15:04:05.0000000", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.000000-07:00",
		"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05-0700",
	}
	zones := []*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -8*3600)}
	at := time.Date(1999, 12, 31, 23, 59, 58, 987654321, time.UTC)
	var c Clock
	for range 3000 {
		at = at.Add(97*time.Hour + 13*time.Minute + 1234567891)
		for i, layout := range layouts {
			text := at.In(zones[i%len(zones)]).Format(layout)
			want := must.Get(time.Parse(layout, text))(t)
			got, used, _, reason := c.Instant([]byte(text))
			if reason != "" || got != want.UnixNano() || used != len(text) {
				t.Fatalf("instant(%s): got %d, %d used, %q; want %d", text, got, used, reason, want.UnixNano())
			}
		}
	}
}

// Decimals are exact, which float64 is not.
func TestDecimalsAreExact(t *testing.T) {
	for _, text := range []string{"0", "0.052", "1753694362.340138614", "3600.000000001", "9007199.254740993", "1e3", "2.5E-3"} {
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		want := new(big.Rat).Mul(exact, big.NewRat(1e9, 1))
		got, used, reason := Decimal([]byte(text+","), 9)
		if reason != "" || used != len(text) || new(big.Rat).SetInt64(got).Cmp(want) != 0 {
			t.Errorf("decimal(%s): got %d, %d used, %q; want %s", text, got, used, reason, want)
		}
	}
	if _, used, _ := Decimal([]byte(strings.Repeat("9", 400)), 9); used != 0 {
		t.Error("a number of 400 digits was read")
	}
}
