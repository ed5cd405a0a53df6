package queueing

import (
	"math"
	"slices"
)

// Mix is a workload by its lengths, as the bandwidth model needs it. Means are not enough, because the longest prompts decide how
// long everybody waits.
type Mix struct {
	Parts   []Part   // requests of about one prompt length each
	Answers []Answer // lengths of answers, whatever the prompt
	Requests,
	OutputTokens float64
	RequestsPerS float64 // in an open loop
	Clients      float64 // of a closed loop; 0: it is an open one
	ArrivalCV    float64 // deviation over mean of the gaps between arrivals; 1: Poisson
	Busiest      Busiest
	CachedRatio  float64   // of all prompt tokens, found in a cache
	Longest      [2]int    // prompt and answer of the request with most tokens
	Arrivals     []Arrival // as they came, at most a million
}

// MeanInput and MeanOutput are the mean tokens of a prompt, cached ones with it, and of an answer.
func (m Mix) MeanInput() (tokens float64) {
	for _, part := range m.Parts {
		tokens += part.Share * (part.Uncached + part.Cached)
	}
	return tokens
}
func (m Mix) MeanOutput() float64 { return m.OutputTokens / m.Requests }

// Busiest is the part of the time with most requests, if a chi-squared test says that the rate is not steady: predictions for the
// mean rate do not hold there. Zero: the traffic is steady, or there is too little of it to tell.
type Busiest struct {
	RateRatio float64 // of the mean rate
	LengthS   float64
}

// Part is the requests of one class and of about one prompt length, as macros.mix_curve takes them.
type Part struct {
	Class    string  `json:"-"`
	Share    float64 `json:"share"`    // of all requests
	Uncached float64 `json:"uncached"` // prompt tokens to be computed
	Cached   float64 `json:"cached"`   // prompt tokens found in a cache
	Output   float64 `json:"output"`
	Context  float64 `json:"context"` // mean over the time that it decodes
}

// Answer is the answers of one class and of about one length.
type Answer struct {
	Class string
	Share float64
	Gaps  float64 // tokens after the first
}

// Arrival is one request as it came.
type Arrival struct {
	DueS float64
	Part int32   // index into Mix.Parts
	Gaps float32 // tokens after the first; float32, because there may be a million of these
}

// recordedPerS is the rate of the arrivals; 0: all came at once.
func (m Mix) recordedPerS() float64 {
	last := len(m.Arrivals) - 1
	if length := m.Arrivals[last].DueS - m.Arrivals[0].DueS; length > 0 {
		return float64(last) / length
	}
	return 0
}

// periods are the arrivals in one piece, or ten pieces of 5,000 evenly spread over very many: serving a million arrivals at each
// rate of a search would take minutes.
func (m Mix) periods() [][]Arrival {
	const parts, longest = 10, 5000
	if len(m.Arrivals) <= parts*longest {
		return [][]Arrival{m.Arrivals}
	}
	var all [][]Arrival
	for i := range parts {
		from := i * (len(m.Arrivals) - longest) / (parts - 1)
		all = append(all, m.Arrivals[from:from+longest])
	}
	return all
}

// Moments are the mean and the deviation of values that come one by one, by Welford's recurrence (Welford 1962): it does not
// subtract large numbers from each other.
type Moments struct{ n, Mean, squares float64 }

// Add counts one more value.
func (s *Moments) Add(x float64) {
	s.n++
	off := x - s.Mean
	s.Mean += off / s.n
	s.squares += off * (x - s.Mean)
}

// CV is the coefficient of variation, deviation over mean. It is 1, that of a Poisson process, where nothing is known.
func (s *Moments) CV() float64 {
	if s.n < 2 || s.Mean <= 0 {
		return 1
	}
	return math.Sqrt(s.squares/s.n) / s.Mean
}

// HasClass says whether any request has the class.
func (m Mix) HasClass(class string) bool {
	return slices.ContainsFunc(m.Parts, func(p Part) bool { return p.Class == class })
}
