package rehearsal

import (
	"slices"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/stat"
)

// Summary has the totals and latencies of a rehearsal. Hand Add to Play and Sample to Settings.Sample, then read the rest. A request that was
// refused counts in Failed alone.
type Summary struct {
	Requests, Failed        int
	InputTokens             int64
	OutputTokens            int64
	CachedTokens            int64
	Preemptions             int64
	MaxWaiting              int           // at a whole second, on one replica
	MaxKVUsage              float64       // likewise, a share
	End                     time.Duration // of the last token
	TTFT, TTFTFromDue, TPOT Values
	E2E                     Values

	running float64
	samples int
}

// Values are a sample, in seconds.
type Values struct {
	values []float64
	sorted bool
}

func (v *Values) add(d time.Duration) { v.values, v.sorted = append(v.values, d.Seconds()), false }

// Quantile is by linear interpolation between the two nearest values; NaN of none.
func (v *Values) Quantile(q float64) float64 {
	if !v.sorted {
		slices.Sort(v.values)
		v.sorted = true
	}
	return stat.Quantile(v.values, q)
}

// Mean is NaN of none.
func (v *Values) Mean() float64 { return stat.Mean(v.values) }

// Add takes a request that has ended.
func (s *Summary) Add(r *Request) error {
	if r.Failure != "" {
		s.Failed++
		return nil
	}
	s.Requests++
	s.InputTokens += int64(r.InputTokens)
	s.OutputTokens += int64(r.OutputTokens)
	s.CachedTokens += int64(r.Cached)
	s.Preemptions += int64(r.Preemptions)
	s.End = max(s.End, r.Last)
	s.TTFT.add(r.First - r.Sent)
	s.TTFTFromDue.add(r.First - r.Due)
	s.E2E.add(r.Last - r.Sent)
	if r.OutputTokens > 1 {
		s.TPOT.add(r.TPOT())
	}
	return nil
}

// Sample takes the state of one replica.
func (s *Summary) Sample(_ time.Duration, _ int, c engine.Counts) {
	s.samples++
	s.running += float64(c.Running)
	s.MaxWaiting = max(s.MaxWaiting, c.Waiting)
	s.MaxKVUsage = max(s.MaxKVUsage, c.KVUsage)
}

// MeanRunning is how many requests a replica ran on average, at whole seconds.
func (s *Summary) MeanRunning() float64 { return s.running / float64(max(s.samples, 1)) }

// RequestsPerS and OutputPerS are means from the start to the last token.
func (s *Summary) RequestsPerS() float64 { return float64(s.Requests) / max(s.End.Seconds(), 1e-9) }
func (s *Summary) OutputPerS() float64   { return float64(s.OutputTokens) / max(s.End.Seconds(), 1e-9) }

// IsOverloaded says that the queue grew until the last request was due, lastDueS after the start: it took a fifth of that time or more to work
// off, and one request in a hundred or more waited as long for its first token.
func (s *Summary) IsOverloaded(lastDueS float64) bool {
	return s.End.Seconds() > 1.2*lastDueS && s.TTFT.Quantile(0.99) > 0.2*lastDueS && s.MaxWaiting > 0
}

// CachedRatio is the share of the prompts that the prefix cache had.
func (s *Summary) CachedRatio() float64 { return float64(s.CachedTokens) / float64(s.InputTokens) }
