//go:build duckdb_arrow

package analysis

import (
	"math"
	"sort"
)

// meanTTFT is from sending to the first token: the wait for a place, for the prompts before, half a step, and its own prompt.
func (c *mixCurve) meanTTFT(s mixState) float64 {
	mean := s.waitS + s.flow.waitS + s.flow.tpotS/2
	for i, part := range c.mix.Parts {
		mean += part.Share * s.firstsS[i]
	}
	return mean
}

// quantile is the smallest time that a share of at most 1 - percentile/100 exceeds. beyond says which share does; it falls.
func quantile(percentile float64, beyond func(float64) float64) float64 {
	rest := 1 - percentile/100
	high := 1e-3
	for ; beyond(high) > rest; high *= 2 {
		if high > 1e7 {
			return math.Inf(1)
		}
	}
	low := 0.0
	for range 40 {
		if middle := (low + high) / 2; beyond(middle) > rest {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// isOf says whether requests of a class are asked about; an empty one is all.
func isOf(class, asked string) bool { return asked == "" || class == asked }

// waitsBeyond is the share of prompts that wait longer: those who meet none do not wait, and the waits of
// the others are taken as exponential, which they are far out.
func (s mixState) waitsBeyond(t float64) float64 {
	switch met := min(1, s.prompts); {
	case t < 0:
		return 1
	case s.flow.waitS <= 0:
		return 0
	default:
		return met * math.Exp(-t*met/s.flow.waitS)
	}
}

func (c *mixCurve) ttft(s mixState, percentile float64, class string) float64 {
	fixed := s.waitS + s.flow.tpotS/2
	if math.IsInf(fixed, 1) {
		return fixed
	}
	all := c.shareOf(class)
	return quantile(percentile, func(t float64) float64 {
		var share float64
		for i, part := range c.mix.Parts {
			if isOf(part.Class, class) {
				share += part.Share / all * s.waitsBeyond(t-fixed-s.firstsS[i])
			}
		}
		return share
	})
}

func (c *mixCurve) shareOf(class string) float64 {
	var share float64
	for _, part := range c.mix.Parts {
		if isOf(part.Class, class) {
			share += part.Share
		}
	}
	return share
}

// tpot is of requests' own means: over an answer of n tokens the prompts of others that fall into it are so many by
// chance, and short answers scatter most.
func (c *mixCurve) tpot(s mixState, percentile float64, class string) float64 {
	all := 0.0
	for _, answer := range c.mix.Answers {
		if answer.Gaps > 0 && isOf(answer.Class, class) {
			all += answer.Share
		}
	}
	spread := s.scatterS * math.Sqrt(s.perS*s.others*s.flow.tpotS)
	return quantile(percentile, func(t float64) float64 {
		var share float64
		for _, answer := range c.mix.Answers {
			if answer.Gaps <= 0 || !isOf(answer.Class, class) {
				continue
			}
			deviation := spread / math.Sqrt(answer.Gaps)
			share += answer.Share / all * math.Erfc((t-s.flow.tpotS)/max(deviation, 1e-12)/math.Sqrt2) / 2
		}
		return share
	})
}

// itl is the step without a prompt, or with that chunk of one which so small a share of the steps exceeds.
func (c *mixCurve) itl(s mixState, percentile float64) float64 {
	type chunk struct{ seconds, share float64 }
	budget := max(1, c.budget-s.batch)
	var chunks []chunk
	for i, part := range c.mix.Parts {
		full := max(1, math.Floor(part.Uncached/budget))
		chunks = append(chunks, chunk{
			s.promptsS[i] * min(1, budget/part.Uncached),
			s.perS * s.others * part.Share * full * s.flow.tpotS, // of a step
		})
	}
	sort.Slice(chunks, func(i, j int) bool { return chunks[i].seconds > chunks[j].seconds })
	rest := 1 - percentile/100
	for _, one := range chunks {
		if rest -= one.share; rest < 0 {
			return s.stepS + one.seconds
		}
	}
	return s.stepS
}

// e2e takes prompt and answer as independent.
func (c *mixCurve) e2e(s mixState, percentile float64, class string) float64 {
	fixed := s.waitS + s.flow.tpotS/2
	if math.IsInf(fixed, 1) {
		return fixed
	}
	all := c.shareOf(class)
	return quantile(percentile, func(t float64) float64 {
		var share float64
		for i, part := range c.mix.Parts {
			if !isOf(part.Class, class) {
				continue
			}
			for _, answer := range c.mix.Answers {
				if isOf(answer.Class, class) {
					share += part.Share / all * answer.Share / all * s.waitsBeyond(t-fixed-s.firstsS[i]-answer.Gaps*s.flow.tpotS)
				}
			}
		}
		return share
	})
}

// of is what an objective is about; NaN where that is not predicted.
func (c *mixCurve) of(s mixState, o Objective) float64 {
	switch o.Metric {
	case "ttft", "ttft_from_due":
		return c.ttft(s, o.Percentile, o.Class)
	case "tpot":
		return c.tpot(s, o.Percentile, o.Class)
	case "itl":
		return c.itl(s, o.Percentile)
	case "e2e", "e2e_from_due":
		return c.e2e(s, o.Percentile, o.Class)
	default:
		return math.NaN()
	}
}
