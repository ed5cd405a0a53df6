package fleet

import (
	"context"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// steps is a server's step time: a + b*sequences + c*context + d*prefill + e*pairs, in seconds.
type steps struct{ a, b, c, d, e float64 }

// About Llama 8B on an H100, and 70B in FP8 on two of them.
var (
	small = steps{6.5e-3, 20e-6, 0.045e-6, 30e-6, 0.9e-9}
	large = steps{14e-3, 40e-6, 0.06e-6, 90e-6, 1.6e-9}
)

func (s steps) time(step engine.Step) time.Duration {
	return time.Duration(1e9 * (s.a + s.b*float64(step.DecodeSequences) + s.c*float64(step.ContextTokens) + s.d*float64(step.PrefillTokens) + s.e*step.PrefillPairs))
}

// off are the same with decoding and prompts slower by a factor.
func (s steps) off(decode, prompts float64) steps {
	return steps{s.a * decode, s.b * decode, s.c * decode, s.d * prompts, s.e * prompts}
}

func engineOf(s steps) engine.Config {
	return engine.Config{MaxNumBatchedTokens: 2048, MaxNumSeqs: 256, KVBlocks: 20000, BlockSize: 16, MaxModelLen: 65536, StepTime: s.time}
}

func latency(q, ttft, tpot float64) []capacity.Objective {
	return []capacity.Objective{{Metric: metric.TTFTFromDue, Quantile: q, AtMost: ttft}, {Metric: metric.TPOT, Quantile: q, AtMost: tpot}}
}

// traffic is how requests of an hour are drawn: lognormal lengths, and a rate that changes every twenty seconds.
type traffic struct {
	input, output     float64 // medians
	inputSD, outputSD float64 // of ln
	burst             float64 // coefficient of variation of the rate
}

var chat = traffic{500, 180, 0.9, 0.7, 0}

// draw requests for a span.
func (f traffic) draw(perS float64, span time.Duration, seed uint64) []plan.Request {
	rnd := rand.New(rand.NewPCG(seed, 7))
	var all []plan.Request
	// Five minutes of fifteen rates each, whose mean is perS: what is slower than that is said by the rate of the busiest five minutes.
	const each, rates = 20.0, 15
	var coming []float64
	nextRate := func() float64 {
		if len(coming) == 0 {
			sum := 0.0
			for range rates {
				coming = append(coming, math.Exp(math.Sqrt(math.Log1p(f.burst*f.burst))*rnd.NormFloat64()))
				sum += coming[len(coming)-1]
			}
			for i := range coming {
				coming[i] *= rates * perS / sum
			}
		}
		rate := coming[0]
		coming = coming[1:]
		return rate
	}
	rate, until := 0.0, 0.0
	for at := 0.0; ; {
		if at >= until {
			until += each
			rate = nextRate()
		}
		gap := rnd.ExpFloat64() / rate
		if at+gap > until {
			at = until
			if at >= span.Seconds() {
				return all
			}
			continue
		}
		at += gap
		if at >= span.Seconds() {
			return all
		}
		all = append(all, plan.Request{Seq: int64(len(all)), Due: plan.FromSeconds(at),
			InputTokens: 4 + int(f.input*math.Exp(f.inputSD*rnd.NormFloat64())), OutputTokens: 2 + int(f.output*math.Exp(f.outputSD*rnd.NormFloat64()))})
	}
}

// hour of the traffic with its sample.
func (f traffic) hour(perS float64, paid int, seed uint64) Hour {
	all := f.draw(perS, time.Hour, seed)
	return Hour{Shape: Sample(all, Enough), Requests: int64(len(all)), PeakPerS: peakOf(all), Paid: paid}
}

// peakOf an hour is the rate of its busiest five minutes.
func peakOf(all []plan.Request) float64 {
	var bins [12]float64
	most := 0.0
	for _, r := range all {
		b := min(11, int(r.Due/fiveMinutes))
		bins[b]++
		most = max(most, bins[b]/fiveMinutes.Seconds())
	}
	return most
}

// uneven is a real server: steps vary, and now and then one lasts long.
var uneven = engine.Noise{StepSD: 0.05, StallEvery: 30 * time.Second, Stall: 150 * time.Millisecond, Seed: 1}

// truth is the rate that a fleet takes of a traffic, over its replicas, by long rehearsals of the servers themselves with requests of their own: nothing
// here is the code that is tested. guess is where it looks first.
func truth(t testing.TB, f traffic, engine engine.Config, replicas int, objectives []capacity.Objective, guess float64, requests int) float64 {
	return limitOf(t, engine, replicas, objectives, guess, func(perS float64) []plan.Request {
		return f.draw(perS, plan.FromSeconds(max(float64(requests)/perS, 600)), 0x7247)
	})
}

// limitOf is the rate, over the replicas, up to which servers that vary and stall hold their objectives, where draw makes the requests of a rate.
func limitOf(t testing.TB, engine engine.Config, replicas int, objectives []capacity.Objective, guess float64, draw func(perS float64) []plan.Request) float64 {
	excess := func(ln float64) float64 {
		planned := draw(math.Exp(ln) * float64(replicas))
		misses := make([]float64, len(objectives))
		n := 0.0
		must.Do(t, rehearsal.PlayAll(context.Background(), rehearsal.Settings{Engine: engine, Replicas: replicas, Noise: uneven}, planned, func(r *rehearsal.Request) error {
			n++
			for j, o := range objectives {
				value := r.TTFT()
				if o.Metric == metric.TPOT {
					value = r.TPOT()
				}
				if value.Seconds() > o.AtMost {
					misses[j]++
				}
			}
			return nil
		}))
		worst := math.Inf(-1)
		for j, o := range objectives {
			worst = max(worst, math.Log((misses[j]+0.5)/(n-misses[j]+0.5))-math.Log((1-o.Quantile)/o.Quantile))
		}
		return worst
	}
	type at struct{ ln, excess float64 }
	points := []at{{math.Log(guess), excess(math.Log(guess))}}
	add := func(ln float64) {
		points = append(points, at{ln, excess(ln)})
		sort.Slice(points, func(i, j int) bool { return points[i].ln < points[j].ln })
	}
	for points[0].excess > 0 && points[0].ln > math.Log(guess)-4 {
		add(points[0].ln - 0.15)
	}
	for points[len(points)-1].excess <= 0 && points[len(points)-1].ln < math.Log(guess)+4 {
		add(points[len(points)-1].ln + 0.15)
	}
	for range 3 {
		i := sort.Search(len(points), func(i int) bool { return points[i].excess > 0 })
		if i == 0 || i == len(points) {
			return 0
		}
		a, b := points[i-1], points[i]
		if b.ln-a.ln < 0.01 {
			break
		}
		share := max(0.2, min(0.8, -a.excess/(b.excess-a.excess)))
		add(a.ln + share*(b.ln-a.ln))
	}
	i := sort.Search(len(points), func(i int) bool { return points[i].excess > 0 })
	a, b := points[i-1], points[i]
	return math.Exp(a.ln + (b.ln-a.ln)*-a.excess/(b.excess-a.excess))
}

// studied is a seeded service whose truth is known: a week of a few hours, a server and how it truly is.
type studied struct {
	hours      []Hour
	busy       traffic // of the hour that is busiest
	server     Server
	true       engine.Config
	window     *traffic // that a search measured; nil: none was
	modelSteps steps
}

// aService draws one. Step times of the true server differ from the model's as measured ones do from predicted ones: Student's t with three degrees of
// freedom has their median, mean and tail (docs/accuracy.md: 4.2, 6.4 and 14.8 % at a band of 15 %). Prompts are off by another 8 %.
func aService(seed uint64, replicas int, isMeasured bool) studied {
	rnd := rand.New(rand.NewPCG(seed, 0x5e7))
	between := func(low, high float64) float64 { return low * math.Exp(rnd.Float64()*math.Log(high/low)) }
	s := studied{modelSteps: []steps{small, large}[rnd.IntN(2)]}
	band := []float64{0.15, 0.25}[rnd.IntN(2)]
	quantile := []float64{0.95, 0.99}[rnd.IntN(2)]
	s.busy = traffic{between(200, 2000), between(60, 400), 0.5 + 0.5*rnd.Float64(), 0.4 + 0.4*rnd.Float64(), []float64{0, 0, 0.3}[rnd.IntN(3)]}
	s.server = Server{Engine: engineOf(s.modelSteps), Replicas: replicas, Band: band, Objectives: latency(quantile, between(1.5, 6), s.modelSteps.a*between(2, 4))}
	off := student3(rnd) * math.Log1p(band) / 2.353 // of which 90 % lie within the band
	s.true = engineOf(s.modelSteps.off(math.Exp(off), math.Exp(off+0.08*rnd.NormFloat64())))
	if isMeasured {
		s.window = &traffic{s.busy.input * between(0.6, 1.6), s.busy.output * between(0.6, 1.6), s.busy.inputSD, s.busy.outputSD, 0}
	}
	perS := between(0.5, 30)
	s.hours = []Hour{s.busy.hour(perS, replicas, seed*10+1), {IsMissing: true}}
	return s
}

// student3 draws from Student's t with three degrees of freedom.
func student3(rnd *rand.Rand) float64 {
	chi := 0.0
	for range 3 {
		x := rnd.NormFloat64()
		chi += x * x
	}
	return rnd.NormFloat64() / math.Sqrt(chi/3)
}

// outcome of one service: the interval of its headroom, and the truth.
type outcome struct {
	centre, low, high, truth float64 // headroom plus one
	isAnswered               bool
}

func (o *outcome) isRight() bool { return o.low <= o.truth && o.truth <= o.high }

func (s *studied) play(t testing.TB, seed uint64, requests int) (o outcome) {
	asked := Asked{Server: s.server, Hours: s.hours, WeekEnd: time.Unix(0, 0)}
	if s.window != nil {
		if asked.Search = s.search(t, seed, requests); asked.Search == nil {
			return o
		}
	}
	answer := must.Get(Needs(t.Context(), asked))(t)
	if answer.Headroom == nil {
		return o
	}
	h, n := &s.hours[answer.Busiest], &answer.Hours[answer.Busiest]
	perS := truth(t, s.busy, s.true, h.Paid, s.server.Objectives, *n.PerS, requests)
	o = outcome{*answer.Headroom + 1, *answer.Low + 1, math.Inf(1), float64(h.Paid) * perS / h.PeakPerS, true}
	if answer.High != nil {
		o.high = *answer.High + 1
	}
	return o
}

// search is the answer of a search on the true server: its own truth, off by as much as makes its 90 % interval right in 90 %. Real ones are
// right more often (docs/capacity.md).
func (s *studied) search(t testing.TB, seed uint64, requests int) *Search {
	first := s.window.draw(5, 10*time.Minute, seed)
	most, _, err := saturated(t.Context(), s.server.Engine, &Shape{Requests: first})
	must.Do(t, err)
	// What a search looks for is the limit of its own window, with the very requests in it.
	window := s.window.draw(most/2, 10*time.Minute, seed+1000)
	limits := must.Get(capacity.NewLimits(t.Context(), capacity.Question{Window: window, Length: 10 * time.Minute, Objectives: s.server.Objectives, Seed: seed + 77,
		Twin: capacity.Twin{Engine: s.true, StepTime: capacity.ShiftedSteps(s.true.StepTime)}}, requests))(t)
	limit := must.Get(limits.At(capacity.Shift{}, 0, false))(t)
	if math.IsInf(limit.Ln, 0) {
		return nil
	}
	// The server stalls now and then while it is searched, as it does in production. The window is sent several times, another part of it each time.
	perS := limitOf(t, s.true, 1, s.server.Objectives, math.Exp(limit.Ln)*most/2, func(perS float64) (all []plan.Request) {
		for n := range uint64(requests/len(window) + 1) {
			part := must.Get(plan.Scaled(window, plan.ScaledBy(perS/(most/2), false, seed+n)))(t)
			for _, r := range part {
				r.Due += time.Duration(n) * 10 * time.Minute
				r.Seq = int64(len(all))
				all = append(all, r)
			}
		}
		return all
	})
	if perS == 0 {
		return nil
	}
	const half = 0.08
	perS *= math.Exp(half / twoSided * rand.New(rand.NewPCG(seed, 0x5ea)).NormFloat64())
	high := perS * math.Exp(half)
	return &Search{ID: "s", Origin: Measured, SourceName: "w", PerS: perS, LowPerS: perS * math.Exp(-half), HighPerS: &high, WindowPerS: most / 2,
		Window: &Shape{Requests: window, Span: 10 * time.Minute, IsWindow: true}}
}
