package profile

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"sort"
	"time"

	"tidemark/internal/heap"
	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
)

// Stream is traffic of which only counts are known: how many requests came in
// each window of time, and how long they were. Several streams (classes,
// clients) play together.
type Stream struct {
	Class   string
	Client  string
	Rates   []RateWindow    // in order of time, not overlapping; nothing arrives between them
	Lengths []LengthsWindow // those of an arrival's time are used, or all together where there are none
}

// RateWindow is a time of one rate. The rate gives the mean of the gaps, the
// family how uneven they are.
type RateWindow struct {
	From, Until time.Duration // since the source's zero
	RatePerS    float64
	Family      string  // exponential, gamma or weibull; "": gamma where CV is known, otherwise exponential
	Shape       float64 // of gamma and weibull
	CV          float64 // standard deviation of the gaps over their mean; 0: not known
}

// LengthsWindow says how long the requests of a time are: Joint, or Input and
// Output drawn independently.
type LengthsWindow struct {
	From, Until   time.Duration // both 0: always
	Joint         []Cell
	Input, Output []Bucket
}

// StreamOptions say how much of the streams is drawn.
type StreamOptions struct {
	Seed        uint64
	From, Until time.Duration // of the source's time
}

// Streams draws requests in order of due time, which counts from o.From. The
// sequence can be drawn again and is then the same. What one stream draws does
// not depend on which others there are.
func Streams(streams []Stream, o StreamOptions) (iter.Seq2[plan.Request, error], error) {
	for _, s := range streams {
		if err := s.check(); err != nil {
			return nil, err
		}
	}
	return func(yield func(plan.Request, error) bool) {
		soonest := heap.New(func(a, b *runningStream) bool { return a.now < b.now || a.now == b.now && a.order < b.order })
		for i := range streams {
			if f := newRunningStream(&streams[i], i, o); f.next() {
				soonest.Add(f)
			}
		}
		for seq := int64(0); soonest.Len() > 0; seq++ {
			f := soonest.First()
			req := f.request(o.From)
			req.Seq = seq
			if !yield(req, nil) {
				return
			}
			if f.next() {
				soonest.Replace(f)
			} else {
				soonest.Take()
			}
		}
	}, nil
}

func (s *Stream) check() error {
	if len(s.Lengths) == 0 && len(s.Rates) > 0 {
		return errors.New("it has rates and no lengths")
	}
	for _, l := range s.Lengths {
		if len(l.Joint) == 0 && (len(l.Input) == 0 || len(l.Output) == 0) {
			return errors.New("lengths of prompts or of answers are missing")
		}
	}
	for i, w := range s.Rates {
		if w.Until <= w.From || i > 0 && w.From < s.Rates[i-1].Until {
			return fmt.Errorf("windows of time overlap or are empty at %s", w.From)
		}
	}
	return nil
}

// runningStream is one stream while it is drawn.
type runningStream struct {
	*Stream
	order   int // of the streams; decides between equal instants
	rnd     *rand.Rand
	windows []RateWindow // cut to what is drawn
	at      int
	now     float64 // seconds of the source's time
	lengths []lengthSampler
	always  lengthSampler
}

func newRunningStream(s *Stream, order int, o StreamOptions) *runningStream {
	f := &runningStream{Stream: s, order: order, rnd: rand.New(rand.NewPCG(o.Seed, splitmix.Hash(s.Class+"\x00"+s.Client)))}
	for _, w := range s.Rates {
		w.From, w.Until = max(w.From, o.From), min(w.Until, o.Until)
		if w.From < w.Until && w.RatePerS > 0 {
			f.windows = append(f.windows, w)
		}
	}
	all := LengthsWindow{}
	for _, l := range s.Lengths {
		f.lengths = append(f.lengths, prepared(l))
		all.Joint, all.Input, all.Output = append(all.Joint, l.Joint...), append(all.Input, l.Input...), append(all.Output, l.Output...)
	}
	f.always = prepared(all)
	if len(f.windows) > 0 {
		f.now = f.windows[0].From.Seconds()
	}
	return f
}

// next moves to the next arrival. A gap that crosses into a window of another
// rate continues there at that rate.
func (f *runningStream) next() bool {
	if f.at == len(f.windows) {
		return false
	}
	left := f.windows[f.at].gap(f.rnd)
	for f.at < len(f.windows) {
		w := f.windows[f.at]
		f.now = max(f.now, w.From.Seconds())
		if end := w.Until.Seconds(); f.now+left/w.RatePerS >= end {
			left -= (end - f.now) * w.RatePerS
			f.now = end
			f.at++
			continue
		}
		f.now += left / w.RatePerS
		return true
	}
	return false
}

// gap is one of mean 1: gamma of shape k over k, Weibull of shape k over
// Gamma(1 + 1/k), or exponential. A gamma variable of shape 1/CV^2 has that CV.
func (w RateWindow) gap(rnd *rand.Rand) float64 {
	switch {
	case w.Family == "gamma" && w.Shape > 0:
		return gammaQuantile(w.Shape, rnd.Float64()) / w.Shape
	case w.Family == "weibull" && w.Shape > 0:
		return math.Pow(rnd.ExpFloat64(), 1/w.Shape) / math.Gamma(1+1/w.Shape)
	case w.Family == "" && w.CV > 0:
		shape := 1 / (w.CV * w.CV)
		return gammaQuantile(shape, rnd.Float64()) / shape
	default:
		return rnd.ExpFloat64()
	}
}

func (f *runningStream) request(from time.Duration) plan.Request {
	at := time.Duration(math.Round(f.now * 1e9))
	input, output := f.lengthsAt(at).draw(f.rnd)
	return plan.Request{Due: at - from, InputTokens: input, OutputTokens: output, Class: f.Class}
}

func (f *runningStream) lengthsAt(at time.Duration) *lengthSampler {
	for i := range f.lengths {
		if l := &f.lengths[i]; l.until > l.from && at >= l.from && at < l.until {
			return l
		}
	}
	return &f.always
}

// lengthSampler is a LengthsWindow prepared for drawing, with cumulative sums
// of its counts.
type lengthSampler struct {
	from, until   time.Duration
	joint         pairs
	input, output []Bucket
	inSums        []float64
	outSums       []float64
}

func prepared(l LengthsWindow) lengthSampler {
	return lengthSampler{from: l.From, until: l.Until, joint: pairsOf(l.Joint), input: l.Input, output: l.Output,
		inSums: sumsOf(l.Input), outSums: sumsOf(l.Output)}
}

func sumsOf(buckets []Bucket) (sums []float64) {
	sum := 0.0
	for _, b := range buckets {
		sum += b.Count
		sums = append(sums, sum)
	}
	return sums
}

func (l *lengthSampler) draw(rnd *rand.Rand) (input, output int) {
	if len(l.joint.cells) > 0 {
		return l.joint.at(rnd.Float64(), rnd.Float64(), rnd.Float64())
	}
	return anyOf(l.input, l.inSums, rnd), anyOf(l.output, l.outSums, rnd)
}

// anyOf draws from a histogram: within a bucket every whole number is equally
// likely.
func anyOf(buckets []Bucket, sums []float64, rnd *rand.Rand) int {
	i := min(sort.SearchFloat64s(sums, rnd.Float64()*sums[len(sums)-1]), len(buckets)-1)
	b := buckets[i]
	least := int(math.Floor(b.From)) + 1 // above from, up to until
	return within([2]int{least, max(least, int(b.Until))}, rnd.Float64())
}
