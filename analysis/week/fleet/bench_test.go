package fleet

import (
	"math"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// weekOf 168 hours with a day's rhythm. Lengths of any two hours differ by so much, in ln, or more.
func weekOf(apart float64) []Hour {
	var hours []Hour
	for i := range 168 {
		f := chat
		day := math.Sin(2 * math.Pi * float64(i%24) / 24)
		f.input *= math.Exp(0.2*day + apart*float64(i%13-6))
		f.output *= math.Exp(apart * float64(i/13-6))
		perS := 4 * math.Exp(1.2*day)
		all := f.draw(perS, fiveMinutes, uint64(i)) // a whole hour would take longer to draw than to rehearse
		s := Sample(all, Enough)
		s.Span = fiveMinutes
		hours = append(hours, Hour{Shape: s, Requests: int64(12 * len(all)), PeakPerS: perS, Paid: 6})
	}
	return hours
}

// BenchmarkWeek rehearses a usual week, and one in which nearly every hour has a shape of its own.
func BenchmarkWeek(b *testing.B) {
	for _, test := range []struct {
		name  string
		apart float64
	}{{"usual", 0}, {"every hour another shape", 0.12}} {
		for name, server := range map[string]Server{"8B": {Engine: engineOf(small), Band: 0.15, Objectives: latency(0.99, 2, 0.04)}, "70B": {Engine: engineOf(large), Band: 0.15, Objectives: latency(0.99, 8, 0.1)}} {
			b.Run(test.name+", "+name, func(b *testing.B) {
				hours := weekOf(test.apart)
				kept := memory{}
				var first, second time.Duration
				rehearsals := 0
				for b.Loop() {
					clear(kept)
					began := time.Now()
					answer := must.Get(Needs(b.Context(), Asked{Server: server, Hours: hours, Kept: kept}))(b)
					first, rehearsals = time.Since(began), answer.Rehearsals
					must.Get(Needs(b.Context(), Asked{Server: server, Hours: hours, Kept: kept}))(b)
					second = time.Since(began) - first
				}
				b.ReportMetric(float64(rehearsals), "rehearsals")
				b.ReportMetric(first.Seconds(), "s/first")
				b.ReportMetric(second.Seconds(), "s/second")
			})
		}
	}
}
