package profile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/hint"
)

// Shape is a distribution of lengths as a dashboard shows it: quantiles or a
// histogram.
type Shape struct {
	Points  []Point
	Buckets []Bucket
}

// Point is a quantile, Rank in [0, 1]. The points of a Shape ascend.
type Point struct{ Rank, Value float64 }

// Bucket counts the lengths above From, up to Until.
type Bucket struct{ From, Until, Count float64 }

// IsEmpty reports that nothing is known.
func (s Shape) IsEmpty() bool { return len(s.Points) == 0 && len(s.Buckets) == 0 }

// ParseQuantiles reads p50=5900,p95=12700, in any order.
func ParseQuantiles(text string) (Shape, error) {
	var s Shape
	for part := range strings.SplitSeq(text, ",") {
		name, number, found := strings.Cut(strings.TrimSpace(part), "=")
		percent, errName := strconv.ParseFloat(strings.TrimPrefix(name, "p"), 64)
		value, errValue := strconv.ParseFloat(number, 64)
		if !found || errName != nil || errValue != nil || !strings.HasPrefix(name, "p") ||
			!(percent >= 0 && percent <= 100) || !(value >= 1 && value <= maxTokens) {
			return s, fmt.Errorf("quantiles %q: must be written like p50=5900,p95=12700", text)
		}
		s.Points = append(s.Points, Point{percent / 100, value})
	}
	slices.SortStableFunc(s.Points, func(a, b Point) int { return cmp.Compare(a.Rank, b.Rank) })
	for i := 1; i < len(s.Points); i++ {
		switch before, p := s.Points[i-1], s.Points[i]; {
		case p.Rank == before.Rank:
			return s, fmt.Errorf("quantiles %q: %s is there twice", text, p.name())
		case p.Value < before.Value:
			return s, fmt.Errorf("quantiles %q: %s is below %s", text, p.name(), before.name())
		}
	}
	return s, nil
}

// name is the usual name, such as p95.
func (p Point) name() string { return "p" + exact(math.Round(p.Rank*1e8)/1e6) }

// Fitting is what a profile is fitted to.
type Fitting struct {
	Name          string
	From          string // where the numbers come from, for the description
	Input, Output Shape
	Cached        Shape   // prompt tokens found in the prefix cache; empty: nothing is shared
	RatePerS      float64 // requests per second
	Burstiness    float64 // by a trace's median gap; 0: there is no trace, and arrivals are Poisson
	GapCV         float64 // of the trace's gaps: their standard deviation over their mean
}

// Fit writes a profile of single requests that has these quantiles or
// histograms.
func Fit(f Fitting) ([]byte, error) {
	if f.Input.IsEmpty() || f.Output.IsEmpty() {
		return nil, hint.Errorf("fit: needs input and output: quantiles or a histogram of each").
			Hint("give --input-tokens p50=5900,p95=12700 and --output-tokens, or --histogram FILE, or --source TRACE")
	}
	if !isRate(f.RatePerS) {
		return nil, errors.New("fit: needs a rate above 0 and at most a million, requests per second")
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("schema: %s", Schema)
	line("name: %s", strconv.Quote(cmp.Or(f.Name, "fitted")))
	line("description: %s", strconv.Quote("single requests, fitted to "+f.From))
	line("")
	line("# Input and output are drawn independently. Only a trace knows which belong together (joint: {source: NAME}).")
	line("mode: open")
	line("duration: 10m")
	line("")
	line("arrivals:")
	if f.Burstiness > 0 {
		line("  # Burstiness follows from the trace's median gap over its mean gap. The CV of such gaps is %s; that of the trace's own is", number3(1/math.Sqrt(f.Burstiness)))
		line("  # %s: where it is higher, the trace's long silences are not in this profile.", number3(f.GapCV))
	}
	if f.Burstiness > 0 && f.Burstiness != 1 {
		line("  process: gamma")
		line("  burstiness: %s   # 1 is poisson, below is burstier; process: trace plays a trace's own gaps", number3(f.Burstiness))
	} else {
		line("  process: poisson")
	}
	line("  rate_per_s: %s", exact(f.RatePerS))
	line("")
	line("classes:")
	line("  - name: all")
	line("    share: 1")
	line("    input_tokens: %s", f.Input.yaml("      "))
	line("    output_tokens: %s", f.Output.yaml("      "))
	if !f.Cached.IsEmpty() {
		line("    # Cached tokens become a shared prefix: the longer a prompt, the longer its shared part, and never longer than")
		line("    # the prompt. The number of different prefixes is a guess; the first use of each is not in the cache.")
		line("    prefix:")
		line("      shared:")
		line("        count: 10")
		line("        follows_input: true")
		line("        tokens: %s", f.Cached.yaml("          "))
	}
	content := []byte(b.String())
	_, err := Parse("of the fit", content)
	return content, err
}

// yaml writes the shape as a distribution. p50 and p95 alone become a
// log-normal; more points are followed one by one.
func (s Shape) yaml(indent string) string {
	if len(s.Buckets) > 0 {
		var b strings.Builder
		b.WriteString("\n" + indent + "histogram:")
		for _, bucket := range s.Buckets {
			fmt.Fprintf(&b, "\n%s  - {from: %s, until: %s, count: %s}", indent, exact(bucket.From), exact(bucket.Until), exact(bucket.Count))
		}
		return b.String()
	}
	points := s.Points
	if len(points) == 1 || len(points) == 2 && points[0].Value == points[1].Value {
		return exact(points[0].Value)
	}
	if len(points) == 2 && points[0].Rank == 0.5 && points[1].Rank == 0.95 {
		return fmt.Sprintf("{lognormal: {p50: %s, p95: %s}}", exact(points[0].Value), exact(points[1].Value))
	}
	var parts []string
	for _, p := range points {
		parts = append(parts, p.name()+": "+exact(p.Value))
	}
	return "{quantiles: {" + strings.Join(parts, ", ") + "}}"
}

// exact writes a number so that reading it gives the same number.
func exact(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// number3 rounds to three significant figures and writes no exponent, which
// YAML readers might take as text.
func number3(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return exact(rounded)
}

// fitRanks are the quantiles that a fitted profile takes from a trace's
// lengths.
var fitRanks = []float64{0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999, 1}

// FitLengths summarises an ingested trace: quantiles of its lengths, its rate,
// and how bursty it is.
func FitLengths(l Lengths) (Fitting, error) {
	if len(l.Pairs) == 0 || len(l.GapsS) == 0 {
		return Fitting{}, errors.New("fit: a trace of at least two requests is needed")
	}
	f := Fitting{Input: shapeOf(l.marginal(ofInput)), Output: shapeOf(l.marginal(ofOutput))}
	sum := 0.0
	for _, gap := range l.GapsS {
		sum += gap
	}
	if !(sum > 0) {
		return Fitting{}, errors.New("fit: all requests of the trace arrive at once: it has no rate")
	}
	mean, squares := sum/float64(len(l.GapsS)), 0.0
	for _, gap := range l.GapsS {
		squares += (gap/mean - 1) * (gap/mean - 1)
	}
	f.GapCV = math.Sqrt(squares / float64(len(l.GapsS)))
	gaps := slices.Sorted(slices.Values(l.GapsS))
	// The median is a gap of the trace (the upper of two), not a mean of two as stat.Median.
	f.RatePerS, f.Burstiness = 1/mean, burstiness(gaps[len(gaps)/2]/mean)
	return f, nil
}

// burstiness is the shape of the gamma distribution with that ratio of median
// to mean, found by bisection. The variance would mislead: in a trace it comes
// from a few long silences.
func burstiness(medianToMean float64) float64 {
	low, high := math.Log(0.05), math.Log(1000.0)
	for range 60 {
		middle := (low + high) / 2
		if shape := math.Exp(middle); gammaQuantile(shape, 0.5)/shape < medianToMean {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(low)
}

func shapeOf(values counted) Shape {
	var s Shape
	for _, rank := range fitRanks {
		s.Points = append(s.Points, Point{rank, values.at(rank)})
	}
	return s
}
