package capacity

import (
	"math"
	"testing"
	"time"
)

// BenchmarkRehearse answers for ten minutes of Azure's conversations without a server: within 10 s to 3 %.
func BenchmarkRehearse(b *testing.B) {
	s := studied{window: ofAzure("conv", 20*time.Minute), slo: latency(0.99, 1, 0.05), twin: llama8B, engine: engineOf(2048, 26000)}
	q := s.question(b, 1)
	half := 0.0
	for b.Loop() {
		a, err := Rehearse(b.Context(), *q)
		if err != nil || a.Outcome != Found {
			b.Fatal(a.Outcome, err)
		}
		half = math.Log(*a.ScaleHigh / *a.ScaleLow) / 2
	}
	b.ReportMetric(100*half, "%half")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/answer")
}
