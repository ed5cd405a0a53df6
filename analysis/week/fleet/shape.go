package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"tidemark/internal/splitmix"
	"tidemark/internal/stat"
	"tidemark/replay/plan"
)

// Shape is how requests look and how unevenly they come, whatever their rate: a stretch of requests of one hour, or the window of a search.
type Shape struct {
	Requests []plan.Request // in order of due time, from 0
	Span     time.Duration  // that they were taken from; 0: until the last is due

	// IsWindow keeps the rate within the span as it was, as a search for capacity scales its window. Else every five minutes of the span
	// come at one rate: how much busier the busiest five minutes are is said by the hour's peak rate already, and must not count twice.
	IsWindow bool

	// Counts are how many requests came in each ten seconds of the hour, all of them and not only the sample: how uneven they come is known
	// better by these. nil: only the sample's are known.
	Counts []int
}

const fiveMinutes = 5 * time.Minute

// span is that of the requests, and never 0.
func (s *Shape) span() time.Duration {
	last := time.Millisecond
	if n := len(s.Requests); n > 0 {
		last += s.Requests[n-1].Due
	}
	return cmp.Or(s.Span, last)
}

// Enough is how many requests a sample of an hour should have where the hour has them.
const Enough = 2000

// Sample takes the five minutes of an hour that have its fullest minute, and more of the hour on both sides until enough requests are there: a
// burst of a minute breaks an SLO that the hour's fullest five minutes keep. The requests are those of the whole hour, due from its start. Of more
// than twice enough every so manieth session is kept.
func Sample(hour []plan.Request, enough int) Shape {
	if len(hour) == 0 {
		return Shape{}
	}
	const bins, minutes = int(time.Hour / fiveMinutes), int(time.Hour / time.Minute)
	var count [bins]int
	var ofMinute [minutes]int
	binOf := func(r *plan.Request) int { return max(0, min(bins-1, int(r.Due/fiveMinutes))) }
	for i := range hour {
		count[binOf(&hour[i])]++
		ofMinute[max(0, min(minutes-1, int(hour[i].Due/time.Minute)))]++
	}
	fullest := 0
	for i, n := range ofMinute {
		if n > ofMinute[fullest] {
			fullest = i
		}
	}
	busiest := fullest * bins / minutes
	low, high, n := busiest, busiest, count[busiest]
	for n < enough && (low > 0 || high < bins-1) {
		if high == bins-1 || low > 0 && count[low-1] >= count[high+1] {
			low--
			n += count[low]
		} else {
			high++
			n += count[high]
		}
	}
	s := Shape{Span: time.Duration(high-low+1) * fiveMinutes, Counts: counted(hour, time.Hour)}
	keep := 1.0
	if n > 2*enough {
		keep = float64(enough) / float64(n)
	}
	for i := range hour {
		r := hour[i]
		r.Seq = int64(i)
		if b := binOf(&r); b < low || b > high || keep < 1 && !isKept(&r, keep) {
			continue
		}
		r.Due = max(r.Due-time.Duration(low)*fiveMinutes, 0)
		s.Requests = append(s.Requests, r)
	}
	slices.SortStableFunc(s.Requests, func(a, b plan.Request) int { return cmp.Compare(a.Due, b.Due) })
	for i := range s.Requests {
		s.Requests[i].Seq = int64(i)
	}
	return s
}

// isKept chooses whole sessions by a hash, so that the choice depends on nothing else.
func isKept(r *plan.Request, share float64) bool {
	h := splitmix.Mix(uint64(r.Seq) ^ 0xf1ee7)
	if r.Session != "" {
		h = splitmix.Mix(splitmix.Hash(r.Session) ^ 0xf1ee7)
	}
	return float64(h>>11)/(1<<53) < share
}

// Drawn is the shape of an hour that is known by lengths and a rate alone: arrivals are Poisson's.
func Drawn(lengths []plan.Request, perS float64, seed uint64) Shape {
	rnd := rand.New(rand.NewPCG(seed, 0xd4a3))
	s := Shape{Requests: slices.Clone(lengths)}
	at := 0.0
	for i := range s.Requests {
		at += rnd.ExpFloat64() / perS
		s.Requests[i].Due, s.Requests[i].Seq = plan.FromSeconds(at), int64(i)
	}
	s.Span = plan.FromSeconds(at + 1/perS)
	return s
}

// usable leaves out requests that nothing can be rehearsed of: those that failed in the source have no answer.
func (s Shape) usable() Shape {
	s.Requests = slices.DeleteFunc(slices.Clone(s.Requests), func(r plan.Request) bool { return r.InputTokens < 1 || r.OutputTokens < 1 })
	for i := range s.Requests {
		s.Requests[i].Seq = int64(i)
	}
	return s
}

// steady are the requests with every five minutes at one rate, perS in all: a stretch takes time by its share of the requests. Within
// five minutes the gaps keep their proportions, so that bursts stay.
func (s *Shape) steady(perS float64) []plan.Request {
	bin := func(i int) time.Duration { return s.Requests[i].Due / fiveMinutes }
	n := len(s.Requests)
	all := slices.Clone(s.Requests)
	end := s.span()
	for from := 0; from < n; {
		until := from
		for until < n && bin(until) == bin(from) {
			until++
		}
		width := min(fiveMinutes, max(end-bin(from)*fiveMinutes, time.Millisecond))
		for i := from; i < until; i++ {
			within := (s.Requests[i].Due - bin(from)*fiveMinutes).Seconds() / width.Seconds()
			all[i].Due = plan.FromSeconds((float64(from) + within*float64(until-from)) / perS)
		}
		from = until
	}
	return all
}

// window is the shape as a twin plays it, perS a second or as dense as it was, and as long as asked.
//
// A stretch that is dense enough is repeated as it is, for the twin thins it. A thinner one cannot be made denser by clones, which come in clumps,
// nor by speed, which makes bursts short. Its arrivals are drawn anew, as uneven as it was, with its own lengths in turn. Only where requests belong
// together, by sessions or shared prefixes, are there clones, of whole sessions, as a search for capacity makes them.
func (s *Shape) window(perS float64, length time.Duration) (requests []plan.Request, span time.Duration) {
	switch {
	case s.IsWindow:
		return s.Requests, s.span()
	case s.isThin(perS):
		return s.redrawn(perS, length, 0)
	}
	return s.repeated(s.recorded(), length)
}

// recorded is the mean rate of the sample.
func (s *Shape) recorded() float64 { return float64(len(s.Requests)) / s.span().Seconds() }

// isThin says that arrivals must be drawn anew to make so many of them.
func (s *Shape) isThin(perS float64) bool { return !s.IsWindow && s.recorded() < perS && !s.isTied() }

// isTied says that requests belong together.
func (s *Shape) isTied() bool {
	return slices.ContainsFunc(s.Requests, func(r plan.Request) bool { return r.Session != "" || len(r.Blocks) > 0 })
}

// repeated is the steady stretch at a rate, as often as it takes. Each repetition has sessions and prefix blocks of its own, so that it is
// thinned in another way and finds no prompt of an earlier one in the cache.
func (s *Shape) repeated(perS float64, length time.Duration) (requests []plan.Request, span time.Duration) {
	once := s.steady(perS)
	each := plan.FromSeconds(float64(len(once)) / perS)
	for n := 0; span < length; n++ {
		for _, r := range once {
			r.Due += span
			r.Seq = int64(len(requests))
			if n > 0 && r.Session != "" {
				r.Session += fmt.Sprintf(" again %d", n)
			}
			if n > 0 && len(r.Blocks) > 0 {
				r.Blocks = slices.Clone(r.Blocks)
				for i := range r.Blocks {
					r.Blocks[i] = splitmix.Mix(r.Blocks[i] ^ splitmix.Mix(uint64(n)))
				}
			}
			requests = append(requests, r)
		}
		span += each
	}
	return requests, span
}

// redrawn are Poisson arrivals whose rate changes every ten seconds as that of the hour's minutes does, each minute as it was, in a random order; or by so
// many standard errors more.
func (s *Shape) redrawn(perS float64, length time.Duration, more float64) ([]plan.Request, time.Duration) {
	slow, slowError := s.unevenness(60)
	fast, fastError := s.unevenness(10)
	if more > 0 {
		slow, fast = slow+more*slowError, fast+more*math.Hypot(slowError, fastError)
	}
	fast = max(fast-slow, 0) // what is uneven over a minute is uneven over ten seconds too
	rnd := rand.New(rand.NewPCG(uint64(len(s.Requests)), 0x4ed4))
	minutes := int(math.Ceil(length.Minutes()))
	rates := drawnFrom(rnd, s.minutes(slow, fast), minutes)
	sum := 0.0
	for _, rate := range rates {
		sum += rate
	}
	order := rnd.Perm(len(s.Requests))
	var requests []plan.Request
	for i, rate := range rates {
		rate *= perS * float64(len(rates)) / sum
		from := float64(i) * bin.Seconds()
		for at := from + rnd.ExpFloat64()/rate; at < from+bin.Seconds(); at += rnd.ExpFloat64() / rate {
			r := s.Requests[order[len(requests)%len(order)]]
			r.Seq, r.Due = int64(len(requests)), plan.FromSeconds(at)
			requests = append(requests, r)
		}
	}
	return requests, time.Duration(minutes) * time.Minute
}

// hash names the shape by its content.
func (s *Shape) hash() string {
	h := sha256.New()
	var line []byte
	for i := range s.Requests {
		r := &s.Requests[i]
		line = line[:0]
		for _, v := range []int64{int64(r.Due), int64(r.InputTokens), int64(r.OutputTokens), int64(r.Turn), int64(len(r.Blocks)), int64(r.BlockTokens), int64(len(r.Session)), int64(len(r.Class))} {
			line = binary.LittleEndian.AppendUint64(line, uint64(v))
		}
		for _, b := range r.Blocks {
			line = binary.LittleEndian.AppendUint64(line, b)
		}
		line = append(append(line, r.Session...), r.Class...)
		h.Write(line)
	}
	fmt.Fprintln(h, s.span(), s.IsWindow, s.Counts)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Looks are the figures by which two shapes are told apart.
type looks struct {
	n       float64
	figures []figure
	classes string
}

// figure of a shape with its standard error by the sample, both in ln, and how far two may be apart to count as the same.
type figure struct{ value, se, allowed float64 }

// Two shapes agree where each figure of one is as near to the other's as this, in ln, or so near that samples of their size differ by as
// much. docs/headroom.md has how far capacities of shapes that agree are apart (TestHoursThatAgreeTakeTheSame).
const (
	meanAllowed    = 0.04
	middleAllowed  = 0.06
	tailAllowed    = 0.10
	burstAllowed   = 0.10 // of the coefficient of variation of the rate over ten seconds and over a minute
	standardErrors = 2.0
	figuresErrors  = 3.5  // of ten figures of some hundred hours of one law hardly one disagrees
	cachedAllowed  = 0.04 // share of prompt tokens that others had before
)

// look at a shape.
func (s *Shape) look() looks {
	l := looks{n: float64(len(s.Requests))}
	classes := map[string]bool{}
	var inputs, outputs []float64
	var shared, prompts float64
	for i := range s.Requests {
		r := &s.Requests[i]
		inputs, outputs = append(inputs, float64(r.InputTokens)), append(outputs, float64(r.OutputTokens))
		shared, prompts = shared+float64(r.SharedTokens), prompts+float64(r.InputTokens)
		classes[r.Class] = true
	}
	for _, lengths := range [][]float64{inputs, outputs} {
		slices.Sort(lengths)
		l.figures = append(l.figures, meanOf(lengths))
		for _, q := range []struct{ at, allowed float64 }{{0.5, middleAllowed}, {0.9, middleAllowed}, {0.99, tailAllowed}} {
			l.figures = append(l.figures, quantileOf(lengths, q.at, q.allowed))
		}
	}
	l.figures = append(l.figures, s.burst(10), s.burst(60), figure{value: shared / max(prompts, 1), allowed: cachedAllowed})
	names := make([]string, 0, len(classes))
	for name := range classes {
		names = append(names, name)
	}
	slices.Sort(names)
	l.classes = strings.Join(names, "\n")
	return l
}

func meanOf(values []float64) figure {
	n, mean, squares := float64(len(values)), stat.Mean(values), 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return figure{math.Log(mean), math.Sqrt(squares/n) / mean / math.Sqrt(n), meanAllowed}
}

// quantileOf sorted values. Its standard error is half the way between the quantiles one standard deviation of the rank below and above.
func quantileOf(sorted []float64, q, allowed float64) figure {
	at := func(q float64) float64 { return math.Log(stat.Quantile(sorted, q)) }
	by := math.Sqrt(q * (1 - q) / float64(len(sorted)))
	return figure{at(q), (at(q+by) - at(q-by)) / 2, allowed}
}

// minuteBins are the rates of the ten seconds of a minute.
type minuteBins [6]float64

// minutes are those of the hour, the emptiest first, over the mean rate of the five minutes that each lies in. A count varies as its rate does and as Poisson's
// law does besides: differences are made smaller, so that the variances left are slow, of minutes, and fast, of ten seconds within a minute. Minutes that are
// full are less uneven in themselves than empty ones, so that a minute stays what it was.
func (s *Shape) minutes(slow, fast float64) (minutes []minuteBins) {
	const ofMinute = len(minuteBins{})
	counts := s.Counts
	if counts == nil {
		counts = counted(s.Requests, s.span())
	}
	for five := range slices.Chunk(counts, int(fiveMinutes/bin)) {
		var sums, bins []float64
		for minute := range slices.Chunk(five, ofMinute) {
			from := len(bins)
			for _, c := range minute {
				bins = append(bins, float64(c))
			}
			sums = append(sums, stat.Sum(bins[from:]))
		}
		if len(bins) < int(fiveMinutes/bin) || stat.Sum(sums) == 0 {
			continue
		}
		for i, rate := range smoothed(sums, slow) {
			var m minuteBins
			for j, within := range smoothed(bins[i*ofMinute:(i+1)*ofMinute], fast) {
				m[j] = rate * within
			}
			minutes = append(minutes, m)
		}
	}
	slices.SortStableFunc(minutes, func(a, b minuteBins) int { return cmp.Compare(stat.Sum(a[:]), stat.Sum(b[:])) })
	return minutes
}

// smoothed are counts over their mean, less the part of their variance that is Poisson's; of nothing counted, ones.
func smoothed(counts []float64, variance float64) []float64 {
	mean := stat.Mean(counts)
	smaller := math.Sqrt(variance / (variance + 1/mean))
	rates := make([]float64, len(counts))
	for i, c := range counts {
		rates[i] = 1
		if mean > 0 {
			rates[i] = max(0, 1+(c/mean-1)*smaller)
		}
	}
	return rates
}

// drawnFrom are so many of these minutes in a random order, evenly from the emptiest to the fullest, so that few are as uneven as many; of none, even ones.
func drawnFrom(rnd *rand.Rand, minutes []minuteBins, n int) (rates []float64) {
	for _, k := range rnd.Perm(n) {
		drawn := minuteBins{1, 1, 1, 1, 1, 1}
		if len(minutes) > 0 {
			drawn = minutes[(2*k+1)*len(minutes)/(2*n)]
		}
		rates = append(rates, drawn[:]...)
	}
	return rates
}

// bin is what Counts count in.
const bin = 10 * time.Second

// counted are requests by bins of ten seconds.
func counted(requests []plan.Request, span time.Duration) []int {
	counts := make([]int, int(span/bin))
	for i := range requests {
		if b := int(requests[i].Due / bin); b >= 0 && b < len(counts) {
			counts[b]++
		}
	}
	return counts
}

// unevenness is how much more the requests in some seconds vary than Poisson's do: the variance of their rate over its mean squared, and its
// standard error. Each five minutes have a mean of their own. It stays the same when requests are left out at random, so that hours of
// different rates compare. What cannot be told from Poisson is 0.
func (s *Shape) unevenness(seconds int) (excess, se float64) {
	counts := s.Counts
	if counts == nil {
		counts = counted(s.Requests, s.span())
	}
	each := seconds / int(bin.Seconds())          // counts that are one bin here
	bins := int(fiveMinutes/bin) / each           // of five minutes
	var squares, expected, means, freedom float64 // sums over bins of all five minutes
	for from := 0; from+bins*each <= len(counts); from += bins * each {
		mean, total := 0.0, 0.0
		for _, c := range counts[from : from+bins*each] {
			mean += float64(c) / float64(bins)
		}
		if mean == 0 { // not of the sample, or quiet: they tell nothing
			continue
		}
		for b := range bins {
			c := 0.0
			for _, n := range counts[from+b*each : from+(b+1)*each] {
				c += float64(n)
			}
			total += (c - mean) * (c - mean)
		}
		squares += total * float64(bins) / float64(bins-1)
		expected += mean * float64(bins)
		means += mean * mean * float64(bins)
		freedom += float64(bins - 1)
	}
	if expected < Few {
		return 0, math.Inf(1)
	}
	se = math.Sqrt(2/freedom) * squares / means
	excess = (squares - expected) / means
	if excess < standardErrors*se {
		return 0, se
	}
	return excess, se
}

// burst is the coefficient of variation of the rate over some seconds.
func (s *Shape) burst(seconds int) figure {
	excess, se := s.unevenness(seconds)
	if math.IsInf(se, 1) { // nothing is known of it, as of what was counted by the quarter of an hour: it agrees with all
		return figure{0, se, burstAllowed}
	}
	cv := math.Sqrt(excess)
	return figure{cv, se / max(2*cv, math.Sqrt(se)), burstAllowed}
}

// Alike says that two shapes may share a rehearsal.
func Alike(a, b *Shape) bool { return new(a.look()).agrees(new(b.look())) }

// agrees says that two shapes may share a rehearsal.
func (l *looks) agrees(other *looks) bool {
	if l.classes != other.classes {
		return false
	}
	for i := range l.figures {
		a, b := l.figures[i], other.figures[i]
		if math.Abs(a.value-b.value) > max(a.allowed, figuresErrors*math.Hypot(a.se, b.se)) {
			return false
		}
	}
	return true
}

// Distance is the larger of the Kolmogorov-Smirnov distances of prompt and answer lengths between two shapes: the largest difference of
// the two shares below any length.
func Distance(a, b []plan.Request) float64 {
	lengths := func(all []plan.Request, of func(*plan.Request) int) []int {
		var values []int
		for i := range all {
			values = append(values, of(&all[i]))
		}
		slices.Sort(values)
		return values
	}
	input, output := func(r *plan.Request) int { return r.InputTokens }, func(r *plan.Request) int { return r.OutputTokens }
	return max(stat.Distance(lengths(a, input), lengths(b, input)), stat.Distance(lengths(a, output), lengths(b, output)))
}
