package queueing

import (
	"math"
	"sort"
)

// MeanTTFT is the mean time from sending to the first token: the waits for a slot and for the prompts before, half a step (an arrival
// finds the step in progress half done on average), and the prompt's own work.
func (c *Curve) MeanTTFT(s State) float64 {
	mean := s.WaitS + s.Flow.WaitS + s.Flow.TPOTS/2
	for i, part := range c.Mix.Parts {
		mean += part.Share * s.FirstsS[i]
	}
	return mean
}

// quantile is the smallest time that at most a share of 1 - percentile/100 exceeds. beyond gives that share and must fall in t;
// bisection needs nothing else of it. +Inf: even 1e7 s is exceeded by more.
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

// waitsBeyond is the share of prompts that wait longer than t for other prompts. Those that meet none do not wait; the waits of the
// others are exponential, with the mean that makes the mean of all Flow.WaitS.
func (s State) waitsBeyond(t float64) float64 {
	switch met := min(1, s.prompts); {
	case t < 0:
		return 1
	case s.Flow.WaitS <= 0:
		return 0
	default:
		return met * math.Exp(-t*met/s.Flow.WaitS)
	}
}

// TTFT is a percentile of the time from sending to the first token.
func (c *Curve) TTFT(s State, percentile float64, class string) float64 {
	return c.latency(s, percentile, class, []Answer{{Class: class, Share: c.shareOf(class)}})
}

func (c *Curve) shareOf(class string) float64 {
	var share float64
	for _, part := range c.Mix.Parts {
		if isOf(part.Class, class) {
			share += part.Share
		}
	}
	return share
}

// TPOT is a percentile over requests of their own mean time per token. The number of other prompts that fall into an answer is
// Poisson, so short answers scatter most; each length is normal around the mean, and the mix of all lengths is inverted.
func (c *Curve) TPOT(s State, percentile float64, class string) float64 {
	all := 0.0
	for _, answer := range c.Mix.Answers {
		if answer.Gaps > 0 && isOf(answer.Class, class) {
			all += answer.Share
		}
	}
	spread := s.ScatterS * math.Sqrt(s.PerS*s.others*s.Flow.TPOTS)
	return quantile(percentile, func(t float64) float64 {
		var share float64
		for _, answer := range c.Mix.Answers {
			if answer.Gaps <= 0 || !isOf(answer.Class, class) {
				continue
			}
			deviation := spread / math.Sqrt(answer.Gaps)
			share += answer.Share / all * math.Erfc((t-s.Flow.TPOTS)/max(deviation, 1e-12)/math.Sqrt2) / 2
		}
		return share
	})
}

// ITL is a percentile of the gaps between tokens. Gaps have two modes, steps without and with prompts: going down from the longest prompt, it
// is the first that the wanted share of the steps reaches, else the plain step. Where several prompts begin with a step, it is of as many
// as begin with so few steps by chance (Poisson, as a normal distribution), up to the step's budget. It is no less than the mean.
func (c *Curve) ITL(s State, percentile float64) float64 {
	type chunk struct{ seconds, share float64 }
	budget := max(1, c.Budget-s.Batch)
	var chunks []chunk
	var prompts, tokens, work float64 // of a step; of a prompt
	for i, part := range c.Mix.Parts {
		full := max(1, math.Floor(part.Uncached/budget))
		begin := s.PerS * s.others * part.Share * s.Flow.TPOTS
		chunks = append(chunks, chunk{s.PromptsS[i] * min(1, budget/part.Uncached), begin * full})
		prompts, tokens, work = prompts+begin, tokens+part.Share*part.Uncached, work+part.Share*s.PromptsS[i]
	}
	sort.Slice(chunks, func(i, j int) bool { return chunks[i].seconds > chunks[j].seconds })
	longest, rest := 0.0, 1-percentile/100
	for _, one := range chunks {
		if rest -= one.share; rest < 0 {
			longest = one.seconds
			break
		}
	}
	if n := math.Ceil(prompts + math.Sqrt2*math.Erfinv(percentile/50-1)*math.Sqrt(prompts)); n > 1 {
		longest = max(longest, n*work*min(1, budget/(n*tokens)))
	}
	return max(s.StepS+longest, s.Flow.TPOTS)
}

// E2E is a percentile of the time from sending to the last token. Lengths of prompt and answer are treated as independent.
func (c *Curve) E2E(s State, percentile float64, class string) float64 {
	return c.latency(s, percentile, class, c.Mix.Answers)
}

// latency is a percentile over every pair of a prompt and an answer: the wait, the prompt's own work, and the answer's gaps.
func (c *Curve) latency(s State, percentile float64, class string, answers []Answer) float64 {
	fixed := s.WaitS + s.Flow.TPOTS/2
	if math.IsInf(fixed, 1) {
		return fixed
	}
	all := c.shareOf(class)
	return quantile(percentile, func(t float64) float64 {
		var share float64
		for i, part := range c.Mix.Parts {
			if !isOf(part.Class, class) {
				continue
			}
			for _, answer := range answers {
				if isOf(answer.Class, class) {
					share += part.Share / all * answer.Share / all * s.waitsBeyond(t-fixed-s.FirstsS[i]-answer.Gaps*s.Flow.TPOTS)
				}
			}
		}
		return share
	})
}
