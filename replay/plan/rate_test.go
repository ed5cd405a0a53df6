package plan

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// arrivals are drawn at a rate that changes by the second, in an hour.
func arrivals(seed uint64, rate func(second int) float64) []Request {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var all []Request
	for second := range 3600 {
		for at := rnd.ExpFloat64() / rate(second); at < 1; at += rnd.ExpFloat64() / rate(second) {
			all = append(all, Request{Seq: int64(len(all)), Due: FromSeconds(float64(second) + at), InputTokens: 100, OutputTokens: 10})
		}
	}
	return all
}

// unevenness is the variance over the mean of how many requests come in so many seconds.
func unevenness(requests []Request, width time.Duration) float64 {
	counts := make([]float64, int(time.Hour/width))
	for _, r := range requests {
		counts[min(int(r.Due/width), len(counts)-1)]++
	}
	mean, squares := 0.0, 0.0
	for _, c := range counts {
		mean += c / float64(len(counts))
	}
	for _, c := range counts {
		squares += (c - mean) * (c - mean) / float64(len(counts))
	}
	return squares / mean
}

// What is thickened has the law of as many users: drawn anew at ten times the rate, arrivals are as uneven. Clones that come with their originals would
// be ten times as uneven as Poisson's.
func TestThickenedTrafficIsAsUnevenAsThatOfMoreUsers(t *testing.T) {
	bursts := func(mean float64) func(int) float64 { // twenty seconds of each minute bring seven times as much
		return func(second int) float64 {
			if second%60 < 20 {
				return mean * 7 / 3
			}
			return mean / 3
		}
	}
	for name, of := range map[string]func(mean float64) func(int) float64{
		"even":   func(mean float64) func(int) float64 { return func(int) float64 { return mean } },
		"bursts": bursts,
		"a day's rhythm": func(mean float64) func(int) float64 {
			return func(second int) float64 { return mean * (1 + 0.8*math.Sin(float64(second)/3600*2*math.Pi)) }
		},
	} {
		for _, factor := range []float64{1.5, 10} {
			const hours = 6
			widths := []time.Duration{time.Second, 10 * time.Second, time.Minute}
			have, want := make([]float64, len(widths)), make([]float64, len(widths))
			requests, drawn := 0, 0
			for seed := range uint64(hours) {
				got := must.Get(Scaled(arrivals(2*seed, of(4)), Choices{Thicken: factor, Seed: seed}))(t)
				truth := arrivals(2*seed+1, of(4*factor))
				requests, drawn = requests+len(got), drawn+len(truth)
				for i, width := range widths {
					have[i], want[i] = have[i]+unevenness(got, width)/hours, want[i]+unevenness(truth, width)/hours
				}
			}
			if ratio := float64(requests) / float64(drawn); math.Abs(ratio-1) > 0.03 {
				t.Errorf("%s, %v times: %d requests, want about %d", name, factor, requests, drawn)
			}
			for i, width := range widths {
				if ratio := have[i] / want[i]; ratio > 1.3 || ratio < 1/1.3 {
					t.Errorf("%s, %v times: variance over mean in %v is %.2f, and %.2f of as many users", name, factor, width, have[i], want[i])
				}
			}
		}
	}
}

// A spike stays where it was, and a silence silent.
func TestASpikeAndASilenceStayWhereTheyWere(t *testing.T) {
	requests := arrivals(5, func(second int) float64 {
		switch {
		case second >= 1510 && second < 1570:
			return 30
		case second >= 2000 && second < 2120:
			return 1e-9
		}
		return 3
	})
	got := must.Get(Scaled(requests, Choices{Thicken: 6, Seed: 1}))(t)
	in := func(all []Request, from, until time.Duration) (n int) {
		for _, r := range all {
			if r.Due >= from*time.Second && r.Due < until*time.Second {
				n++
			}
		}
		return n
	}
	if had, has := in(requests, 1510, 1570), in(got, 1510, 1570); float64(has) < 5*float64(had) {
		t.Errorf("the spike had %d requests and has %d, want nearly six times as many", had, has)
	}
	if has := in(got, 2010, 2110); has > 60 {
		t.Errorf("%d requests in the silence, want few: its five minutes have %d", has, in(got, 1800, 2100))
	}
}
