package rehearsal

import (
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/internal/engine"
	"tidemark/replay/plan"
)

// BenchmarkDay rehearses a day of one replica: 500,000 requests with 100 million tokens of answers.
func BenchmarkDay(b *testing.B) {
	const requests = 500_000
	cfg := engine.Config{EnablePrefixCaching: true, KVBlocks: 30_000, StepTime: func(s engine.Step) time.Duration {
		return 6*time.Millisecond + time.Duration(20*s.DecodeSequences)*time.Microsecond + time.Duration(12*s.ContextTokens) + time.Duration(25*s.PrefillTokens)*time.Microsecond
	}}
	for b.Loop() {
		rnd := rand.New(rand.NewPCG(1, 1))
		at, over := time.Duration(0), 0
		planned := func(yield func(plan.Request, error) bool) {
			for i := range requests {
				at += time.Duration(rnd.ExpFloat64() * float64(24*time.Hour/requests))
				if !yield(plan.Request{Seq: int64(i), Due: at, InputTokens: 1 + rnd.IntN(2400), OutputTokens: 1 + rnd.IntN(400)}, nil) {
					return
				}
			}
		}
		if err := Play(b.Context(), Settings{Engine: cfg}, planned, func(*Request) error { over++; return nil }); err != nil || over != requests {
			b.Fatal(over, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Seconds())/float64(b.N), "s/day")
}
