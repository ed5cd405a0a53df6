package profile

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// column is the quantity that a distribution describes.
type column int

const (
	ofInput column = iota
	ofOutput
	ofShared
	ofTurns
	ofThink // seconds; all others are whole numbers from 1
)

// Distribution is a number that varies from one request to the next.
type Distribution struct {
	of      column
	kind    string
	a, b    float64 // constant: a; uniform: a to b; lognormal: mu and sigma of ln; normal: mean a, deviation b; exponential: mean a; gamma: mean a, shape b
	points  []point // quantiles
	buckets []bucket
	source  string
	rank    float64 // of a source: only this quantile, in (0, 1); 0: all its lengths
	least   float64 // bounds: a value beyond one is set to it
	most    float64
}

type point struct{ rank, value float64 }

type bucket struct{ from, until, count float64 }

// quantile turns a rank in (0, 1) into a value: the inverse of a distribution
// function. Since one rank makes one value, stratified ranks make stratified
// values.
type quantile func(rank float64) float64

// quantile prepares the distribution's inverse. lengths supplies those of a
// source.
func (d *Distribution) quantile(lengths func(string) (*Lengths, error)) (quantile, error) {
	raw, err := d.unbounded(lengths)
	if err != nil {
		return nil, err
	}
	least, most := d.limits()
	least, most = max(least, d.least), min(most, d.most)
	if d.of == ofThink {
		return func(rank float64) float64 { return min(max(raw(rank), least), most) }, nil
	}
	least, most = math.Ceil(least), math.Floor(most)
	return func(rank float64) float64 { return min(max(math.Round(raw(rank)), least), most) }, nil
}

// unbounded has the law of each distribution, x as a function of the rank r:
//
//	lognormal    exp(mu + sigma z(r)), z the quantile of the standard normal distribution
//	normal       mean + sd z(r), which min and max must keep from what cannot be
//	exponential  -mean ln(1-r)
//	gamma        the quantile of shape k and scale mean/k (gamma.go)
//	quantiles    log-linear between the given points, log-normal beyond them
//	histogram    uniform inside each bucket
//	source       the empirical distribution: what occurred, as often as it occurred
func (d *Distribution) unbounded(lengths func(string) (*Lengths, error)) (quantile, error) {
	switch d.kind {
	case "constant":
		return func(float64) float64 { return d.a }, nil
	case "uniform":
		return d.uniform(), nil
	case "lognormal":
		return func(rank float64) float64 { return math.Exp(d.a + d.b*normalQuantile(rank)) }, nil
	case "normal":
		return func(rank float64) float64 { return d.a + d.b*normalQuantile(rank) }, nil
	case "exponential":
		return func(rank float64) float64 { return -d.a * math.Log1p(-rank) }, nil
	case "gamma":
		return func(rank float64) float64 { return gammaQuantile(d.b, rank) * d.a / d.b }, nil
	case "quantiles":
		return func(rank float64) float64 { return interpolated(d.points, rank) }, nil
	case "histogram":
		return histogram(d.buckets, d.of != ofThink), nil
	default:
		return d.ofSource(lengths)
	}
}

// uniform makes all whole numbers equally likely, including both bounds.
func (d *Distribution) uniform() quantile {
	if d.of == ofThink {
		return func(rank float64) float64 { return d.a + rank*(d.b-d.a) }
	}
	return func(rank float64) float64 { return math.Floor(d.a + rank*(d.b-d.a+1)) }
}

// interpolated is linear in the logarithm of the value between two points; a
// segment that starts at 0 is linear. Beyond the first and the last point,
// where p0 and p100 are not given, it follows the log-normal through the two
// outermost points: lengths of prompts have tails nearly of that form, and any
// cut would lose tokens.
func interpolated(points []point, rank float64) float64 {
	last := len(points) - 1
	i := sort.Search(len(points), func(i int) bool { return points[i].rank >= rank })
	switch {
	case i == 0:
		return tail(points[0], points[1], rank)
	case i > last:
		return tail(points[last], points[last-1], rank)
	}
	from, until := points[i-1], points[i]
	share := (rank - from.rank) / (until.rank - from.rank)
	if from.value == 0 {
		return share * until.value
	}
	return from.value * math.Pow(until.value/from.value, share)
}

// tail continues from the outermost point in the direction that the next one
// gives: ln x is linear in z.
func tail(outer, inner point, rank float64) float64 {
	if outer.rank <= 0 || outer.rank >= 1 || inner.rank <= 0 || inner.rank >= 1 || outer.value == 0 || inner.value == 0 {
		return outer.value
	}
	z := normalQuantile(outer.rank)
	slope := math.Log(outer.value/inner.value) / (z - normalQuantile(inner.rank))
	return outer.value * math.Exp(slope*(normalQuantile(rank)-z))
}

// histogram spreads each bucket's requests evenly over it.
func histogram(buckets []bucket, isWhole bool) quantile {
	sums := make([]float64, len(buckets))
	sum := 0.0
	for i, b := range buckets {
		sum += b.count
		sums[i] = sum
	}
	return func(rank float64) float64 {
		wanted := rank * sum
		i := min(sort.SearchFloat64s(sums, wanted), len(buckets)-1)
		b := buckets[i]
		value := b.until - (sums[i]-wanted)/b.count*(b.until-b.from)
		if isWhole { // a bucket holds the whole numbers above from, up to until
			return min(max(math.Ceil(value), math.Floor(b.from)+1), b.until)
		}
		return value
	}
}

// ofSource is the distribution of a trace's lengths.
func (d *Distribution) ofSource(lengths func(string) (*Lengths, error)) (quantile, error) {
	if lengths == nil {
		return nil, fmt.Errorf("source %s: its lengths are not known here", d.source)
	}
	l, err := lengths(d.source)
	if err != nil {
		return nil, err
	}
	values := l.marginal(d.of)
	if len(values.sums) == 0 {
		return nil, fmt.Errorf("source %s: it has no lengths", d.source)
	}
	if d.rank > 0 {
		value := values.at(d.rank)
		return func(float64) float64 { return value }, nil
	}
	return values.at, nil
}

// counted are values in order, with cumulative sums of how often each occurs.
type counted struct {
	values []float64
	sums   []float64
}

func (c counted) at(rank float64) float64 {
	i := sort.SearchFloat64s(c.sums, rank*c.sums[len(c.sums)-1])
	return c.values[min(i, len(c.values)-1)]
}

func countedFrom(counts map[int]float64) counted {
	var c counted
	values := make([]int, 0, len(counts))
	for value := range counts {
		values = append(values, value)
	}
	slices.Sort(values)
	sum := 0.0
	for _, value := range values {
		sum += counts[value]
		c.values, c.sums = append(c.values, float64(value)), append(c.sums, sum)
	}
	return c
}

// mean is the integral over rank, by the midpoints of equal steps. Tails beyond
// one in 16,000 have little weight.
func (q quantile) mean() float64 {
	const steps = 8192
	sum := 0.0
	for i := range steps {
		sum += q((float64(i) + 0.5) / steps)
	}
	return sum / steps
}

// normalQuantile inverts the standard normal distribution function.
func normalQuantile(rank float64) float64 { return math.Sqrt2 * math.Erfinv(2*rank-1) }
