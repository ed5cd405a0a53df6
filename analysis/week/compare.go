package week

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"tidemark/internal/splitmix"
)

// Week over week. Only hours that both weeks cover are compared, each with the same hour of the week by the local clock, so that a week with a
// gap has not fallen. How far a difference may be off comes from the hours themselves: whole days are drawn anew with replacement, a pair of
// hours always together. That is right for sums and means, whether days or hours vary: where nothing changed, 10 to 11 % of changes are told by
// mistake (1,500 seeded weeks of each of five kinds of noise). The greatest hour hardly varies between such draws, and 18 to 28 % were told; so
// for it stretches of three hours are drawn in each day too, and it is 8 to 14 %. What all hours of a week share, such as a campaign, cannot
// be told from growth.

// Side is one of two weeks to be compared. Only Hours is needed.
type Side struct {
	Hours  []Hour
	Within map[time.Time]float64 // share of the requests within the SLO, by the start of the hour
	Steps  []StepTime
	Input  []HourLengths
	Output []HourLengths
}

// HourLengths are the lengths of the requests of one hour.
type HourLengths struct {
	Start   time.Time
	Lengths []LengthCount
}

// LengthCount is how many requests had a length.
type LengthCount struct {
	Tokens   float64
	Requests int64
}

const (
	// draws is how often days are drawn anew: the spread of 400 draws is known to 4 %.
	draws = 400
	// stretchHours are drawn together: neighbouring hours are alike.
	stretchHours = 3
	// fewestDays for an interval: two days do not tell how days differ.
	fewestDays = 3
	compareZ   = 1.6448536
)

// Changes compares this week with the last one. Before is last week's figure over the hours that both cover, and so is the ratio. A figure that
// a week lacks has a nil ratio; one on less than three days has no interval, and so it is not told.
func Changes(this, last Side, gpusPerReplica int) []Change {
	c := newComparison(this, last)
	perHour := func(value func(h *Hour) *float64) valueOf {
		return func(p pairOf) (float64, float64, bool) {
			now, before := value(p.this), value(p.last)
			if now == nil || before == nil {
				return 0, 0, false
			}
			return *now, *before, true
		}
	}
	gpus := float64(gpusPerReplica)
	return []Change{
		c.sum("requests", perHour(func(h *Hour) *float64 { return wholeOf(h.Requests) })),
		c.sum("tokens", perHour(func(h *Hour) *float64 { return both(wholeOf(h.InputTokens), wholeOf(h.OutputTokens)) })),
		c.sum("input_tokens", perHour(func(h *Hour) *float64 { return wholeOf(h.InputTokens) })),
		c.sum("output_tokens", perHour(func(h *Hour) *float64 { return wholeOf(h.OutputTokens) })),
		c.busiest(),
		c.sum("gpu_hours_needed", perHour(func(h *Hour) *float64 {
			if h.NeededReplicas == nil {
				return nil
			}
			return new(gpus * float64(*h.NeededReplicas))
		})),
		c.shares(this.Within, last.Within),
		c.steps(this.Steps, last.Steps),
	}
}

func wholeOf(n *int64) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

func both(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

// pairOf is an hour of this week and the same one of the last, both covered.
type pairOf struct {
	day        int
	this, last *Hour
}

// comparison holds the pairs of hours and the draws from them, which all figures share.
type comparison struct {
	pairs []pairOf
	days  [][]int // places of the pairs of each day that has any
	// Draws, as places of pairs; nil where there are too few days.
	drawnDays, drawnHours [][]int
}

// hourOfClock is an hour of the week; the second one where a clock was set back has again = 1.
type hourOfClock struct{ day, hour, again int }

func byClock(hours []Hour) map[hourOfClock]*Hour {
	out := make(map[hourOfClock]*Hour, len(hours))
	for i := range hours {
		at := hourOfClock{hours[i].Day, hours[i].HourOfDay, 0}
		if out[at] != nil {
			at.again = 1
		}
		out[at] = &hours[i]
	}
	return out
}

func newComparison(this, last Side) *comparison {
	c, before := &comparison{}, byClock(last.Hours)
	for at, hour := range byClock(this.Hours) {
		if other := before[at]; other != nil && !hour.IsMissing && !other.IsMissing && hour.length() == other.length() {
			c.pairs = append(c.pairs, pairOf{at.day, hour, other})
		}
	}
	slices.SortFunc(c.pairs, func(a, b pairOf) int { return a.this.Start.Compare(b.this.Start) })
	for i, p := range c.pairs {
		if i == 0 || p.day != c.pairs[i-1].day {
			c.days = append(c.days, nil)
		}
		c.days[len(c.days)-1] = append(c.days[len(c.days)-1], i)
	}
	if len(c.days) >= fewestDays {
		c.drawnDays, c.drawnHours = c.draw(math.MaxInt), c.draw(stretchHours)
	}
	return c
}

// draw draws as many days as there are, and of each day as many hours as it has, in stretches that go on at its start. A stretch of more than
// a day is the day itself. The numbers are the same every time.
func (c *comparison) draw(stretch int) [][]int {
	state := splitmix.Hash("week over week")
	below := func(n int) int {
		state += splitmix.Gamma
		return int(splitmix.Finish(state) % uint64(n))
	}
	out := make([][]int, draws)
	for i := range out {
		for range c.days {
			day := c.days[below(len(c.days))]
			for got := 0; got < len(day); got += min(stretch, len(day)) {
				from := below(len(day))
				for k := range min(stretch, len(day)-got) {
					out[i] = append(out[i], day[(from+k)%len(day)])
				}
			}
		}
	}
	return out
}

// statistic is what some pairs come to, this week and last; isKnown is false where they come to nothing that can be compared.
type statistic func(places []int) (now, before float64, isKnown bool)

// valueOf is a figure of a pair.
type valueOf func(p pairOf) (now, before float64, isKnown bool)

func (c *comparison) sum(figure string, value valueOf) Change {
	return c.told(figure, c.drawnDays, c.all(value, func(a, b float64) float64 { return a + b }))
}

// busiest compares the peaks of the two busiest hours, which Sums has: of most need, then of the least headroom.
func (c *comparison) busiest() Change {
	return c.told("peak_rate_per_s", c.drawnHours, func(places []int) (float64, float64, bool) {
		var now, before *Hour
		for _, place := range places {
			now, before = busier(now, c.pairs[place].this), busier(before, c.pairs[place].last)
		}
		if now == nil || before == nil {
			return 0, 0, false
		}
		return *now.PeakRatePerS, *before.PeakRatePerS, true
	})
}

// busier is the hour of more need, of equals that with the less headroom, of equals the first.
func busier(a, b *Hour) *Hour {
	need := func(h *Hour) int {
		if h.NeededReplicas == nil {
			return -1
		}
		return *h.NeededReplicas
	}
	load := func(h *Hour) float64 { // in replicas, at the low end where it is known
		for _, perS := range []*float64{h.LowReplicaRate, h.ReplicaRatePerS} {
			if perS != nil && *perS > 0 {
				return *h.PeakRatePerS / *perS
			}
		}
		return *h.PeakRatePerS
	}
	switch {
	case b.PeakRatePerS == nil:
		return a
	case a == nil:
		return b
	}
	if cmp.Or(cmp.Compare(need(b), need(a)), cmp.Compare(load(b), load(a))) > 0 {
		return b
	}
	return a
}

// all joins the values of pairs, this week's and last week's.
func (c *comparison) all(value valueOf, join func(a, b float64) float64) statistic {
	nows, befores, known := make([]float64, len(c.pairs)), make([]float64, len(c.pairs)), make([]bool, len(c.pairs))
	for i, p := range c.pairs {
		nows[i], befores[i], known[i] = value(p)
	}
	return func(places []int) (now, before float64, isKnown bool) {
		for _, place := range places {
			if known[place] {
				now, before, isKnown = join(now, nows[place]), join(before, befores[place]), true
			}
		}
		return now, before, isKnown
	}
}

// shares compares the share of requests within the SLO: hours weigh by their requests.
func (c *comparison) shares(this, last map[time.Time]float64) Change {
	type counts struct{ within, requests, lastWithin, lastRequests float64 }
	of := make([]*counts, len(c.pairs))
	for i, p := range c.pairs {
		now, isKnown := this[p.this.Start]
		before, isKnownToo := last[p.last.Start]
		if isKnown && isKnownToo && p.this.Requests != nil && p.last.Requests != nil {
			a, b := float64(*p.this.Requests), float64(*p.last.Requests)
			of[i] = &counts{now * a, a, before * b, b}
		}
	}
	return c.told("within_slo_ratio", c.drawnDays, func(places []int) (float64, float64, bool) {
		var all counts
		for _, place := range places {
			if n := of[place]; n != nil {
				all.within, all.requests = all.within+n.within, all.requests+n.requests
				all.lastWithin, all.lastRequests = all.lastWithin+n.lastWithin, all.lastRequests+n.lastRequests
			}
		}
		return all.within / all.requests, all.lastWithin / all.lastRequests, all.requests > 0 && all.lastRequests > 0
	})
}

// steps compares the time per token over its prediction: the geometric mean of the hours, as StepSums has it.
func (c *comparison) steps(this, last []StepTime) Change {
	now, before := ratiosOf(this), ratiosOf(last)
	return c.told("tpot_over_predicted_ratio", c.drawnDays, func(places []int) (float64, float64, bool) {
		a, b, n := 0.0, 0.0, 0.0
		for _, place := range places {
			one, isKnown := now[c.pairs[place].this.Start]
			other, isKnownToo := before[c.pairs[place].last.Start]
			if isKnown && isKnownToo {
				a, b, n = a+one, b+other, n+1
			}
		}
		return math.Exp(a / n), math.Exp(b / n), n > 0
	})
}

// ratiosOf is ln of the time per token over its prediction, by the start of the hour.
func ratiosOf(steps []StepTime) map[time.Time]float64 {
	out := map[time.Time]float64{}
	for _, s := range steps {
		if s.Measured > 0 && s.Predicted > 0 {
			out[s.Start] = math.Log(s.Measured / s.Predicted)
		}
	}
	return out
}

// told is the change of a statistic of all pairs with its interval.
func (c *comparison) told(figure string, drawn [][]int, of statistic) Change {
	out := Change{Figure: figure}
	all := make([]int, len(c.pairs))
	for i := range all {
		all[i] = i
	}
	now, before, isKnown := of(all)
	if !isKnown {
		return out
	}
	out.Before = &before
	if before <= 0 {
		return out // nothing is no base for a ratio
	}
	out.Ratio = new(now/before - 1)
	if now <= 0 {
		return out
	}
	if reach, isKnown := c.reach(drawn, of); isKnown {
		ln := math.Log(now / before)
		out.Low, out.High = new(math.Expm1(ln-reach)), new(math.Expm1(ln+reach))
		out.IsTold = *out.Low > 0 || *out.High < 0
	}
	return out
}

// reach is the half width of the 90 % interval of ln(now / before): the spread of the draws times Student's t, because seven days know their
// spread badly.
func (c *comparison) reach(drawn [][]int, of statistic) (reach float64, isKnown bool) {
	var total, squares, n float64
	for _, places := range drawn {
		now, before, isKnown := of(places)
		if !isKnown || now <= 0 || before <= 0 {
			continue
		}
		ln := math.Log(now / before)
		total, squares, n = total+ln, squares+ln*ln, n+1
	}
	if n < draws/2 {
		return 0, false
	}
	variance := max(squares/n-total*total/(n*n), 0)
	days := float64(len(c.days))
	return tOfDays(len(c.days)-1) * math.Sqrt(variance*days/(days-1)), true
}

// tOfDays is the 0.95 quantile of Student's t.
func tOfDays(freedom int) float64 {
	table := []float64{6.3138, 2.9200, 2.3534, 2.1318, 2.0150, 1.9432, 1.8946}
	if freedom >= 1 && freedom <= len(table) {
		return table[freedom-1]
	}
	return compareZ
}

// LengthChanges compares quantiles of the lengths of two weeks, over the hours that both cover. A p99 of less than 100 requests is nil.
func LengthChanges(this, last Side) (out []Quantile) {
	c := newComparison(this, last)
	for _, figure := range []struct {
		name       string
		this, last []HourLengths
	}{{"input_tokens", this.Input, last.Input}, {"output_tokens", this.Output, last.Output}} {
		now := c.lengths(figure.this, func(p pairOf) *Hour { return p.this })
		before := c.lengths(figure.last, func(p pairOf) *Hour { return p.last })
		for _, percent := range []int{50, 90, 99} {
			out = append(out, c.quantile(figure.name, percent, now, before))
		}
	}
	return out
}

// perOctave is how finely lengths are counted for the draws: 4 %, between which a quantile is interpolated.
const perOctave = 16

// counted are the lengths of the hours of one week, by pair: as they are, and on the draws' scale.
type counted struct {
	exact []LengthCount // of all pairs, shortest first
	hours [][]int64
	bins  int
}

func (c *comparison) lengths(hours []HourLengths, side func(p pairOf) *Hour) counted {
	byStart := make(map[time.Time][]LengthCount, len(hours))
	for _, h := range hours {
		byStart[h.Start] = append(byStart[h.Start], h.Lengths...)
	}
	out := counted{hours: make([][]int64, len(c.pairs))}
	for i, p := range c.pairs {
		for _, l := range byStart[side(p).Start] {
			bin := int(math.Round(perOctave * math.Log2(max(l.Tokens, 1))))
			for len(out.hours[i]) <= bin {
				out.hours[i] = append(out.hours[i], 0)
			}
			out.hours[i][bin] += l.Requests
			out.exact = append(out.exact, l)
		}
		out.bins = max(out.bins, len(out.hours[i]))
	}
	slices.SortFunc(out.exact, func(a, b LengthCount) int { return cmp.Compare(a.Tokens, b.Tokens) })
	return out
}

func (c *comparison) quantile(name string, percent int, now, before counted) Quantile {
	out := Quantile{Name: "p" + strconv.Itoa(percent) + " " + name}
	share := float64(percent) / 100
	out.This, out.Before = now.exactly(share), before.exactly(share)
	if out.This == nil || out.Before == nil || *out.This <= 0 || *out.Before <= 0 {
		return out
	}
	out.Ratio = new(*out.This / *out.Before - 1)
	reach, isKnown := c.reach(c.drawnDays, func(places []int) (float64, float64, bool) {
		a, isKnown := now.of(places, share)
		b, isKnownToo := before.of(places, share)
		return a, b, isKnown && isKnownToo
	})
	if isKnown {
		ln := math.Log(*out.This / *out.Before)
		out.Low, out.High = new(math.Expm1(ln-reach)), new(math.Expm1(ln+reach))
	}
	return out
}

// exactly is a quantile of all pairs: the shortest length that so many are not longer than.
func (l *counted) exactly(share float64) *float64 {
	total := int64(0)
	for _, one := range l.exact {
		total += one.Requests
	}
	if total == 0 || share > 0.95 && total < fewestForP99 {
		return nil
	}
	sum := int64(0)
	for _, one := range l.exact {
		if sum += one.Requests; float64(sum) >= share*float64(total) {
			return new(one.Tokens)
		}
	}
	return nil
}

// of is a quantile of drawn pairs, between the bins by its share.
func (l *counted) of(places []int, share float64) (float64, bool) {
	counts, total := make([]int64, l.bins), int64(0)
	for _, place := range places {
		for bin, n := range l.hours[place] {
			counts[bin] += n
			total += n
		}
	}
	if total == 0 {
		return 0, false
	}
	sum := 0.0
	for bin, n := range counts {
		if sum += float64(n); sum >= share*float64(total) {
			inside := (share*float64(total) - (sum - float64(n))) / float64(n)
			return math.Exp2((float64(bin) - 0.5 + inside) / perOctave), true
		}
	}
	return 0, false
}
