//go:build coverage

package capacity

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
)

// wrong are servers of the study that do not tell their settings, and whose twin believes a wrong one.
func wrong() []studied {
	byName := map[string]studied{}
	for _, s := range servers() {
		byName[s.name] = s
	}
	of := func(name, what string, change, believed func(*engine.Config)) studied {
		s := byName[name]
		s.name += ", " + what
		change(&s.engine)
		s.believed = believed
		return s
	}
	nothing := func(*engine.Config) {}
	return []studied{
		of("Azure conversation, 8B", "token budget 2,048 believed 8,192", nothing, func(c *engine.Config) { c.MaxNumBatchedTokens = 8192 }),
		of("Azure code, 8B, p95", "token budget 4,096 believed 1,024", nothing, func(c *engine.Config) { c.MaxNumBatchedTokens = 1024 }),
		of("Azure conversation, 70B, little KV", "KV believed twice as large", nothing, func(c *engine.Config) { c.KVBlocks *= 2 }),
		of("Azure conversation, 8B", "KV believed six times as large", func(c *engine.Config) { c.KVBlocks = 4000 }, func(c *engine.Config) { c.KVBlocks = 26000 }),
		of("sessions, prefix cache, 8B", "cache believed off", nothing, func(c *engine.Config) { c.EnablePrefixCaching = false }),
	}
}

// TestWrongSettings counts answers that are confident and wrong: found, the truth outside the interval, and more than 10 % off.
func TestWrongSettings(t *testing.T) {
	each := 10
	var all, bad atomic.Int64
	if os.Getenv("TIDEMARK_SEARCHES") != "" {
		each = 2
	}
	t.Run("servers", func(t *testing.T) {
		for _, s := range wrong() {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				began := time.Now()
				truth, _ := s.truth(t, 100_000)
				var found, right, undecided int
				var squares, minutes float64
				for i := range each {
					all.Add(1)
					q := s.question(t, uint64(i))
					q.Budget = 20 * time.Minute
					search := newSearch(t.Context(), q)
					search.q.IsBrief = true
					a := must.Get(search.run(s.server(q, uint64(i)), nil))(t)
					line := fmt.Sprintf("seed %d: %s %.4f (%.4f to %.4f), truth %.4f, %.1f min, settings %s", i, a.Outcome, deref(a.Scale), deref(a.ScaleLow), deref(a.ScaleHigh), math.Exp(truth), a.LoadS/60, a.Settings.key())
					t.Log(line, a.Why)
					minutes += a.LoadS / 60
					if a.Outcome != Found {
						undecided++
						continue
					}
					found++
					off := math.Abs(math.Log(*a.Scale) - truth)
					squares += off * off
					switch isRight := *a.ScaleLow <= math.Exp(truth) && math.Exp(truth) <= *a.ScaleHigh; {
					case isRight:
						right++
					case off > math.Log(1.1):
						bad.Add(1)
						t.Errorf("confident and wrong: %s", line)
					}
				}
				t.Logf("| %s | %d | %d | %d | %d | %.3f | %.1f | in %v", s.name, each, found, right, undecided, math.Sqrt(squares/math.Max(float64(found), 1)), minutes/float64(each), time.Since(began).Round(time.Second))
			})
		}
	})
	t.Logf("%d searches with a wrong setting: %d confident and wrong", all.Load(), bad.Load())
}
