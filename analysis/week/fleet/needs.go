package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/replay/plan"
)

// Hour of the week, as far as replicas depend on it.
type Hour struct {
	Start     time.Time
	IsMissing bool
	Shape     Shape   // a sample of the hour's own requests: Sample or Drawn makes it
	Requests  int64   // of the whole hour
	PeakPerS  float64 // rate of the busiest five minutes
	Paid      int     // replicas
}

// Kept has rehearsals of earlier reports. Get and Put are called by one goroutine at a time.
type Kept interface {
	Get(key string) (Capacity, bool)
	Put(key string, c Capacity) error
}

// Asked is what Needs answers.
type Asked struct {
	Server  Server
	Hours   []Hour
	Before  []Hour  // of the week before, whose needs are told beside; like hours of both share an estimate
	Anchor  []Hour  // of an earlier week. While the traffic as a whole looks as it did then, its requests are rehearsed, so that no chance of a sample changes what a replica takes; nil: this week's are
	Search  *Search // that measured what a replica handles, by which the server is calibrated; nil: it is rehearsed as the model has it
	WeekEnd time.Time
	Kept    Kept // nil: nothing is kept

	// Told hears how many shapes are rehearsed, of how many; nil: nobody does. It is called by one goroutine at a time.
	Told func(done, of int)
}

// Need of one hour. Pointers are nil where a number is not known.
type Need struct {
	PerS, LowPerS, HighPerS *float64 // that one replica takes of the hour's shape in a fleet of Answer.Replicas, with its 90 % interval
	Needed, Fewest, Most    *int     // whole replicas that take the hour, at PerS, at HighPerS and at LowPerS
	Correction              *float64 // capacity at the hour's shape over that at the search's window
	Binding                 string
	RehearsedAs             int // the hour whose rehearsal it shares; its own number: its own
	Capacity                Capacity
	centre, below, above    float64 // ln of PerS, and how far its interval reaches
	alone                   float64 // as Capacity.Alone
	isEndless, isImpossible bool    // nothing bounds it above; no rate is small enough
	peak                    float64
	chance                  float64 // half width in ln of what other requests of the same kind would change
	fleets                  *ratios // of the week
}

// Answer is what every hour of a week needs.
type Answer struct {
	Hours      []Need
	Basis      Basis
	Busiest    int // hour; -1: no hour has a request
	Headroom   *float64
	Low, High  *float64 // ends of the headroom's interval
	Replicas   int      // of the fleet that rates are of: the one that is paid for, or a larger one where that takes nothing
	Fleets     []Fleet  // what a replica takes in fleets of other sizes, over what it takes in that one
	Before     *Answer  // of the week before, without a basis of its own; nil: none was asked
	IsAnchored bool     // the traffic looks as it did in the week of the anchor
	Rehearsals int      // shapes that were rehearsed, kept ones too
	Fresh      int      // rehearsals that were made now

	Shape  Shape  // by which the busiest hour was rehearsed
	server Server // as it was rehearsed
}

// Few is the number of requests below which an hour tells too little of its own shape: all such hours together are one.
const Few = 100

// sharedApart is how far apart, in ln, the work of two requests of shapes that agree may be on average; capacities are apart by as much, times
// the gain (TestHoursThatAgreeTakeTheSame).
const sharedApart = 0.04

// ofAll are the requests of the busiest hours that stand for the traffic as a whole.
const ofAll = 20 * Enough

// group of hours that share a rehearsal.
type group struct {
	hour     int // that stands for it
	shape    Shape
	looks    looks
	capacity Capacity
}

// Needs rehearses the shapes of a week and says what every hour needs. Its answer does not depend on the number of threads.
func Needs(ctx context.Context, a Asked) (*Answer, error) {
	r := a.rehearser()
	hours := slices.Concat(a.Hours, a.Before)
	isAnchored := len(a.Anchor) > 0 && a.looksAsThen()
	groups, of := a.share(isAnchored)
	by, err := r.calibrate(ctx)
	if err != nil {
		return nil, err
	}
	if by != nil {
		r.Server = by.Server
	}
	if err := r.rehearseAll(ctx, groups); err != nil {
		return nil, err
	}
	fleets := r.fleets(ctx, groups, of, a.Hours)
	needs := make([]Need, len(hours))
	for i := range hours {
		h, n := &hours[i], &needs[i]
		n.RehearsedAs, n.peak, n.fleets = -1, h.PeakPerS, fleets
		if h.IsMissing {
			continue
		}
		if g := of[i]; g >= 0 {
			n.RehearsedAs, n.Capacity = groups[g].hour, groups[g].capacity
			n.take(a.Search, n.Capacity, by, isAnchored || n.RehearsedAs != i)
		}
		n.count()
	}
	if fleets.err != nil {
		return nil, fleets.err
	}
	answer := answerOf(a.Hours, needs[:len(a.Hours)])
	if len(a.Before) > 0 {
		answer.Before = answerOf(a.Before, needs[len(a.Hours):])
	}
	answer.IsAnchored, answer.Rehearsals, answer.server = isAnchored, len(groups), r.Server
	if by != nil {
		answer.Rehearsals++
	}
	if err := answer.rests(ctx, r, groups, of, by != nil); err != nil {
		return nil, err
	}
	answer.Fresh = r.fresh
	return answer, nil
}

// answerOf adds the busiest hour and the headroom to the needs of a week.
func answerOf(hours []Hour, needs []Need) *Answer {
	answer := &Answer{Hours: needs, Busiest: busiest(hours, needs)}
	answer.headroom(hours)
	return answer
}

// share finds the hours of both weeks that may share a rehearsal.
func (a *Asked) share(isAnchored bool) (groups []group, of []int) {
	if !isAnchored {
		return share(a.Hours, a.Before)
	}
	groups, of = share(a.Anchor, slices.Concat(a.Hours, a.Before))
	return used(groups, of[len(a.Anchor):])
}

// looksAsThen says that the traffic as a whole is what it was in the week of the anchor.
func (a *Asked) looksAsThen() bool {
	now, then := wholeOf(a.Hours), wholeOf(a.Anchor)
	return len(now.Requests) > 0 && len(then.Requests) > 0 && Alike(&now, &then)
}

// wholeOf is the traffic of a week as a whole: its busiest hours, until they have as many requests as stand for it.
func wholeOf(hours []Hour) Shape {
	order, few := parted(hours, 0)
	order = append(order, few...)
	for i, n := 0, 0; i < len(order); i++ {
		if n += len(hours[order[i]].Shape.Requests); n > ofAll {
			order = order[:i+1]
		}
	}
	return together(hours, order).usable()
}

// parted are the hours from a place on that have enough requests of their own, the busiest first, and those that have few.
func parted(hours []Hour, from int) (order, few []int) {
	for i := from; i < len(hours); i++ {
		switch n := len(hours[i].Shape.Requests); {
		case hours[i].IsMissing || n == 0:
		case n < Few:
			few = append(few, i)
		default:
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(hours[j].PeakPerS, hours[i].PeakPerS) })
	return order, few
}

// sharing finds the hours that may share a rehearsal.
type sharing struct {
	hours   []Hour
	whole   looks
	ofWhole int // the group of hours that look like the whole; -1: none yet
	groups  []group
	of      []int // the group of each hour; -1: it has none
}

// share finds the hours that may share a rehearsal. First come those that agree with the traffic of the first week as a whole, then those that agree with an hour before them; of each
// week the busiest come first, so that they are rehearsed with their own requests. Neither the nearest of several groups nor the busiest hour may be what others are held to: that would
// bring together what is alike by chance, hours of a few long answers here and of short ones there. Groups that the first week founds depend on it alone.
func share(first, others []Hour) (groups []group, of []int) {
	s := sharing{hours: slices.Concat(first, others), whole: new(wholeOf(first)).look(), ofWhole: -1}
	s.of = slices.Repeat([]int{-1}, len(s.hours))
	s.place(s.hours[:len(first)], 0)
	s.place(s.hours, len(first))
	return s.groups, s.of
}

// place the hours from a place on.
func (s *sharing) place(hours []Hour, from int) {
	old := len(s.groups)
	order, few := parted(hours, from)
	for _, i := range order {
		s.join(s.hours[i].Shape, []int{i})
	}
	if len(few) > 0 {
		s.join(together(s.hours, few), few)
	}
	s.pool(old, order)
}

// join is the group of hours that have a shape together, or a new one.
func (s *sharing) join(shape Shape, members []int) {
	shape = shape.usable()
	if len(shape.Requests) == 0 {
		return
	}
	look := shape.look()
	isOfWhole := s.whole.n > 0 && look.agrees(&s.whole)
	best := s.ofWhole
	if isOfWhole {
		look = s.whole
	} else {
		best = slices.IndexFunc(s.groups, func(g group) bool { return look.agrees(&g.looks) })
	}
	if best < 0 {
		best = len(s.groups)
		s.groups = append(s.groups, group{hour: members[0], shape: shape, looks: look})
	}
	if isOfWhole {
		s.ofWhole = best
	}
	for _, i := range members {
		s.of[i] = best
	}
}

// pool makes the shape of a new group whose hour has few requests one of several of its hours, the busiest first, until there are as many as are played: what one
// quiet hour happened to bring must not decide.
func (s *sharing) pool(old int, order []int) {
	members := make([][]int, len(s.groups))
	drawn := make([]int, len(s.groups))
	for _, i := range order {
		if g := s.of[i]; g >= old && drawn[g] < playedRequests {
			members[g] = append(members[g], i)
			drawn[g] += len(s.hours[i].Shape.Requests)
		}
	}
	for g := old; g < len(s.groups); g++ {
		if len(members[g]) > 1 && len(s.hours[members[g][0]].Shape.Requests) < Enough {
			s.groups[g].shape = together(s.hours, members[g]).usable()
		}
	}
}

// used are the groups that these hours are in.
func used(groups []group, of []int) (left []group, now []int) {
	place := slices.Repeat([]int{-1}, len(groups))
	for _, g := range of {
		if g >= 0 && place[g] < 0 {
			place[g] = len(left)
			left = append(left, groups[g])
		}
		if g >= 0 {
			g = place[g]
		}
		now = append(now, g)
	}
	return left, now
}

// together is one shape of several hours, one after the other. How unevenly its requests come is that of the hours of which it was counted: what was drawn
// between is Poisson's.
func together(hours []Hour, which []int) Shape {
	all := Shape{Counts: []int{}}
	for _, i := range which {
		s := &hours[i].Shape
		all.Counts = append(all.Counts, s.Counts...)
		for _, r := range s.Requests {
			r.Due += all.Span
			if r.Session != "" {
				r.Session = fmt.Sprint(i, " ", r.Session)
			}
			all.Requests = append(all.Requests, r)
		}
		all.Span += (s.span() + fiveMinutes - 1) / fiveMinutes * fiveMinutes
	}
	return all
}

// take works out the capacity of an hour that was rehearsed: by the model, or as a search measured the server (by). A search whose window is not known
// says the same of every hour.
func (n *Need) take(search *Search, c Capacity, by *calibration, isShared bool) {
	n.Binding = c.Binding
	if c.PerS <= 0 {
		n.isImpossible, n.alone = true, c.Alone
		return
	}
	n.isEndless = search != nil && search.HighPerS == nil
	if search != nil && by == nil {
		n.centre, n.below = math.Log(search.PerS), math.Log(search.PerS/search.LowPerS)
		if !n.isEndless {
			n.above = math.Log(*search.HighPerS / search.PerS)
		}
		if search.Origin != Measured {
			n.below, n.above = math.Hypot(n.below, min(c.Slow, 0)), math.Hypot(n.above, max(c.Fast, 0))
		}
		n.set(search.Origin != Measured && c.Slow <= impossible)
		return
	}
	c.PerS /= n.fleets.of(c.Replicas)
	own := c.own()
	if isShared {
		own = math.Hypot(own, sharedApart*c.Gain)
	}
	n.chance = own
	if by != nil {
		n.Correction = new(c.PerS / search.PerS)
		own = math.Hypot(own, by.besides(c))
	}
	n.centre, n.below, n.above = math.Log(c.PerS), math.Hypot(min(c.Slow, 0), own), math.Hypot(max(c.Fast, 0), own)
	if by != nil {
		n.below, n.above = calibratedWider*n.below, calibratedWider*n.above
	}
	n.set(c.Slow <= impossible)
}

// calibratedWider widens the interval of an hour that is rehearsed with a measured server: by this 89 of the 100 services of the study with a search
// hold the truth (docs/headroom.md).
const calibratedWider = 1.5

// besides is what a search leaves open of an hour, half a width in ln: which requests its window drew, and whether prompts or decoding are off. An error of prompts by the
// band, with an error of all steps that hides it from the search, changes an hour that feels the two in another proportion.
func (by *calibration) besides(c Capacity) float64 {
	felt := min(max(c.Slow, -3)/min(by.window.Slow, -1e-3), 10)
	return math.Hypot(felt*by.window.Seeds, max(c.Tilt, -3)-felt*max(by.window.Tilt, -3))
}

// impossible is the ln of a capacity over the centre that stands for none at all: JSON has no infinity.
var impossible = math.Log(1e-9)

// set fills in the rates from their ln.
func (n *Need) set(isNoneAtLow bool) {
	at := func(ln float64) *float64 { v := math.Exp(ln); return &v }
	n.PerS, n.LowPerS = at(n.centre), at(n.centre-n.below)
	if isNoneAtLow {
		*n.LowPerS = 0
	}
	if !n.isEndless {
		n.HighPerS = at(n.centre + n.above)
	}
}

// count is the whole replicas for the busiest five minutes. An hour without a request needs none. Where no rate is small enough no number
// is enough either, and nil says so.
func (n *Need) count() {
	if n.peak <= 0 {
		none := 0
		n.Needed, n.Fewest, n.Most = &none, &none, &none
		return
	}
	if n.PerS == nil {
		return
	}
	n.Needed, n.Most = n.fleets.enough(n.peak, *n.PerS), n.fleets.enough(n.peak, *n.LowPerS)
	n.Fewest = new(1)
	if n.HighPerS != nil {
		n.Fewest = n.fleets.enough(n.peak, *n.HighPerS)
	}
}

// busiest hour: by replicas needed, then by how much of the last one, which leaves the least headroom; the first of equals. One that no number is enough for comes first, and one
// whose need is not known last: an hour of failed requests alone.
func busiest(hours []Hour, needs []Need) int {
	best := -1
	replicas := func(i int) int {
		switch {
		case needs[i].Needed != nil:
			return *needs[i].Needed
		case needs[i].RehearsedAs < 0:
			return -1
		}
		return math.MaxInt
	}
	load := func(i int) float64 { // in replicas, at the low end where it is known
		perS := needs[i].LowPerS
		if perS == nil {
			perS = needs[i].PerS
		}
		if perS == nil || !(*perS > 0) {
			return hours[i].PeakPerS
		}
		return hours[i].PeakPerS / *perS
	}
	for i := range hours {
		if hours[i].IsMissing || hours[i].PeakPerS <= 0 {
			continue
		}
		if best < 0 || replicas(i) > replicas(best) || replicas(i) == replicas(best) && load(i) > load(best) {
			best = i
		}
	}
	return best
}

// headroom is what the replicas that are paid for take together in the busiest hour, over its busiest five minutes, less one.
func (a *Answer) headroom(hours []Hour) {
	if a.Busiest < 0 || a.Hours[a.Busiest].PerS == nil {
		return
	}
	n, h := &a.Hours[a.Busiest], &hours[a.Busiest]
	takes := float64(h.Paid) * n.fleets.of(h.Paid) / h.PeakPerS
	ratio := func(perS *float64) *float64 {
		if perS == nil {
			return nil
		}
		return new(takes**perS - 1)
	}
	a.Headroom, a.Low, a.High = ratio(n.PerS), ratio(n.LowPerS), ratio(n.HighPerS)
}

// ofWeek are requests of all hours, of each in proportion to how many it had: the week's own mixture of lengths.
func ofWeek(hours []Hour) []plan.Request {
	const wanted = 20_000
	total := int64(0)
	for i := range hours {
		if !hours[i].IsMissing {
			total += max(hours[i].Requests, int64(len(hours[i].Shape.Requests)))
		}
	}
	var all []plan.Request
	for i := range hours {
		s := hours[i].Shape.usable()
		if hours[i].IsMissing || len(s.Requests) == 0 {
			continue
		}
		requests := max(hours[i].Requests, int64(len(hours[i].Shape.Requests)))
		n := int(math.Ceil(min(1, wanted/float64(total)) * float64(requests)))
		for k := range n { // evenly out of the sample, again where it is smaller
			all = append(all, s.Requests[k*len(s.Requests)/n])
		}
	}
	return all
}

// Takes is what so many replicas take together where one of the rehearsed fleet takes perS, requests per second.
func (n *Need) Takes(replicas int, perS float64) float64 {
	return float64(replicas) * n.fleets.of(replicas) * perS
}

// NeedOf is the need of one shape at a rate, by rehearsal alone.
func (s Server) NeedOf(ctx context.Context, shape Shape, peakPerS float64, kept Kept) (n Need, err error) {
	n.peak = peakPerS
	r := Asked{Server: s, Kept: kept}.rehearser()
	if n.Capacity, err = r.rehearse(ctx, s, shape); err != nil {
		return n, err
	}
	n.fleets = r.ratios(ctx, shape, n.Capacity)
	n.take(nil, n.Capacity, nil, false)
	n.count()
	return n, n.fleets.err
}

// NeededAt are the replicas that the fullest hour of a week would need with so many times its load, at the middle of the capacity and at its low end; nil: the
// need of some hour is not known, or no number is enough.
func (a *Answer) NeededAt(load float64) (middle, cautious *int) {
	middle, cautious = new(0), new(0)
	larger := func(most, n *int) *int {
		if most == nil || n == nil {
			return nil
		}
		return new(max(*most, *n))
	}
	for i := range a.Hours {
		n := &a.Hours[i]
		switch {
		case n.RehearsedAs < 0: // missing, or all of its requests failed
		case n.PerS == nil:
			return nil, nil
		default:
			middle = larger(middle, n.fleets.enough(n.peak*load, *n.PerS))
			cautious = larger(cautious, n.fleets.enough(n.peak*load, *n.LowPerS))
		}
	}
	return middle, cautious
}

// Load is that of the busiest hour, in what one replica takes; 0: it is not known.
func (a *Answer) Load() float64 {
	if a.Busiest < 0 || a.Hours[a.Busiest].PerS == nil {
		return 0
	}
	return a.Hours[a.Busiest].peak / *a.Hours[a.Busiest].PerS
}

// Chance is by how much the load of the busiest hour, in what a replica takes, would differ with other requests of the same kind: half the width of a 90 % interval,
// in ln. peakSD is the standard deviation of the ln of a week's busiest five minutes, beside that of Poisson arrivals.
func (a *Answer) Chance(peakSD float64) float64 {
	if a.Busiest < 0 {
		return 0
	}
	n := &a.Hours[a.Busiest]
	return math.Hypot(n.chance, n.chanceOfPeak(peakSD))
}

func (n *Need) chanceOfPeak(peakSD float64) float64 {
	return twoSided * max(peakSD, 1/math.Sqrt(n.peak*fiveMinutes.Seconds()))
}

// ChanceOfChange is by how much what a replica takes of the busiest hours of the two weeks may differ by chance: half the width of a 90 % interval, in ln.
func (a *Answer) ChanceOfChange() float64 {
	this, last := &a.Hours[a.Busiest], &a.Before.Hours[a.Before.Busiest]
	if this.RehearsedAs == last.RehearsedAs {
		return 0
	}
	return math.Hypot(this.chance, last.chance)
}

// Constants names the step times that the server is rehearsed with.
func (s *Server) Constants() string {
	h := sha256.New()
	for _, step := range probes {
		fmt.Fprintln(h, s.Engine.StepTime(step))
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}
