package week

import (
	"sort"
	"time"

	"tidemark/internal/maybe"
)

// What of the week was within the SLO. With latencies from production the share is counted from their histograms; an error counts as a miss.
// Histograms of two metrics do not say which requests missed both, so the share lies between two bounds: no request missed twice, and as
// many as possible did. Without latencies the share is predicted, by the share of misses at each hour's load.

// fillAccepted fills the share within the SLO and the tokens that were accepted: from latencies where there are any, else predicted by the
// basis of that week.
func (m *maker) fillAccepted(s *Sums, hours []Hour, felt []Felt, basis Basis) (within hourShares) {
	if s.IsPredicted = len(felt) == 0; s.IsPredicted {
		within = withinByCapacity(hours, basis)
	} else {
		within = withinByFelt(hours, felt)
	}
	var requests, low, middle, high, tokens float64
	isKnownWhole := true
	for i, h := range hours {
		share, isKnown := within[h.Start]
		if h.IsMissing || !isKnown {
			continue
		}
		n := float64(*hours[i].Requests)
		requests, low, middle, high = requests+n, low+n*share.low, middle+n*share.middle, high+n*share.high
		tokens += float64(maybe.Or(h.OutputTokens, 0)) * share.middle
		isKnownWhole = isKnownWhole && h.OutputTokens != nil
	}
	if requests == 0 {
		return within
	}
	s.WithinSLO, s.LowWithinSLO, s.HighWithinSLO = new(middle/requests), new(low/requests), new(high/requests)
	if isKnownWhole && middle/requests >= 1-m.allowed() {
		s.AcceptedTokens = &tokens // there is no price of what was not accepted as a whole
	}
	return within
}

// hourShares are shares within the SLO by the start of the hour.
type hourShares map[time.Time]threeShares

type threeShares struct{ low, middle, high float64 }

// allowed is the largest share of requests that an objective lets miss.
func (m *maker) allowed() float64 {
	most := 0.0
	for _, o := range m.slo.Objectives {
		if o.Percentile > 0 {
			most = max(most, 1-o.Percentile/100)
		} else {
			most = max(most, o.AtMost)
		}
	}
	return most
}

func withinByFelt(hours []Hour, felt []Felt) hourShares {
	type misses struct{ low, high, sum float64 } // of the worst metric, and of all added up
	of, errors := map[time.Time]misses{}, map[time.Time]float64{}
	for _, f := range felt {
		if f.Errors != nil {
			errors[f.Start] = *f.Errors
		}
		if f.Within == nil || f.Within.High == nil {
			continue
		}
		miss := of[f.Start]
		miss.low, miss.high = max(miss.low, 1-*f.Within.High), max(miss.high, 1-f.Within.Low)
		miss.sum += 1 - f.Within.Low
		of[f.Start] = miss
	}
	shares := hourShares{}
	for _, h := range hours {
		miss, isKnown := of[h.Start]
		if !isKnown || h.IsMissing {
			continue
		}
		failed := 0.0
		if rate := *h.RatePerS; rate > 0 {
			failed = min(1, errors[h.Start]/rate)
		}
		low, high := max(0, 1-min(1, miss.sum)-failed), max(0, 1-miss.low-failed)
		shares[h.Start] = threeShares{low, (low + high) / 2, high}
	}
	return shares
}

// withinByCapacity reads the share of misses at each hour's busiest five minutes off the curve of the basis, whose rates are moved to the
// hour's shape. That is cautious: the rest of the hour misses less.
func withinByCapacity(hours []Hour, basis Basis) hourShares {
	shares := hourShares{}
	for _, h := range hours {
		if h.IsMissing || h.ReplicaRatePerS == nil && *h.Requests > 0 {
			continue
		}
		if *h.Requests == 0 || h.PaidReplicas == 0 || *h.ReplicaRatePerS == 0 {
			shares[h.Start] = threeShares{}
			if *h.Requests == 0 {
				shares[h.Start] = threeShares{1, 1, 1}
			}
			continue
		}
		load := *h.PeakRatePerS / float64(h.PaidReplicas)
		if h.PaidRatio != nil {
			load /= *h.PaidRatio
		}
		if len(basis.Curve) == 0 || basis.RatePerS == nil {
			share := min(1, *h.ReplicaRatePerS/load)
			shares[h.Start] = threeShares{min(1, maybe.Or(h.LowReplicaRate, 0)/load), share, share}
			continue
		}
		missed := missedAt(basis.Curve, load / *h.ReplicaRatePerS * *basis.RatePerS)
		shares[h.Start] = threeShares{1 - missed.High, 1 - missed.Missed, 1 - missed.Low}
	}
	return shares
}

// lasting is the multiple of the rate at the curve's end from which on nothing is within the SLO. A server is overloaded there, and an overload
// that lasts makes a queue in which each request waits longer than the one before.
const lasting = 1.5

// missedAt is the curve at a rate, by a straight line between its points, from none at no traffic, and beyond its end to all at a lasting overload.
func missedAt(curve []Share, rate float64) Share {
	at := sort.Search(len(curve), func(i int) bool { return curve[i].RatePerS >= rate })
	if at == len(curve) {
		end := curve[at-1]
		within := max(0, (lasting-rate/end.RatePerS)/(lasting-1))
		beyond := func(missed float64) float64 { return 1 - (1-missed)*within }
		return Share{rate, beyond(end.Missed), beyond(end.Low), beyond(end.High)}
	}
	a, b := Share{}, curve[at]
	if at > 0 {
		a = curve[at-1]
	}
	part := (rate - a.RatePerS) / (b.RatePerS - a.RatePerS)
	between := func(x, y float64) float64 { return x + part*(y-x) }
	return Share{rate, between(a.Missed, b.Missed), between(a.Low, b.Low), between(a.High, b.High)}
}
