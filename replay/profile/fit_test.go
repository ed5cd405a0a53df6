package profile

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// A dashboard's quantiles: prompts, answers and what the cache had.
func TestFittedQuantilesComeBack(t *testing.T) {
	f := Fitting{Name: "gtc", From: "a dashboard", RatePerS: 2}
	for into, text := range map[*Shape]string{&f.Input: "p50=5900,p95=12700", &f.Output: "p50=978,p95=1720", &f.Cached: "p50=5620,p95=8610"} {
		var err error
		if *into, err = ParseQuantiles(text); err != nil {
			t.Fatal(err)
		}
	}
	content := must.Get(Fit(f))(t)
	p := mustParse(t, string(content))
	header, all := planned(t, p, Options{Seed: 1, Duration: long, Limit: 30_000})
	var input, output, cached []int
	for _, r := range all {
		input, output, cached = append(input, r.InputTokens), append(output, r.OutputTokens), append(cached, r.SharedTokens)
	}
	worst := 0.0
	for _, one := range []struct {
		what   string
		values []int
		rank   float64
		want   float64
	}{
		{"input p50", input, 0.5, 5900}, {"input p95", input, 0.95, 12700},
		{"output p50", output, 0.5, 978}, {"output p95", output, 0.95, 1720},
		{"cached p50", cached, 0.5, 5620}, {"cached p95", cached, 0.95, 8610},
	} {
		slices.Sort(one.values)
		got := float64(one.values[int(one.rank*float64(len(one.values)))])
		off := math.Abs(got/one.want - 1)
		if worst = max(worst, off); off > 0.03 {
			t.Errorf("%s: %v, want %v within 3 %%", one.what, got, one.want)
		}
	}
	t.Logf("worst of six: %.2f %%; mean rate %.3f/s", 100*worst, header.MeanRatePerS)
}

// Prometheus buckets are cumulative; what lies above the last bound is at it, as histogram_quantile says.
func TestFittedHistogramsComeBack(t *testing.T) {
	const buckets = `of,le,count
input,100,10
input,1000,60
input,5000,95
input,+Inf,100
output,50,90
output,2000,100
`
	shapes := must.Get(Histograms(strings.NewReader(buckets)))(t)
	content := must.Get(Fit(Fitting{From: "buckets", Input: shapes["input"], Output: shapes["output"], RatePerS: 1}))(t)
	all := drawn(t, mustParse(t, string(content)), Options{Seed: 1, Duration: long, Limit: 20_000})
	counts := map[string]int{}
	for _, r := range all {
		for _, bound := range []int{100, 1000, 4999, 5000} {
			if r.InputTokens <= bound {
				counts[map[int]string{100: "a", 1000: "b", 4999: "c", 5000: "d"}[bound]]++
			}
		}
		if r.OutputTokens <= 50 {
			counts["short"]++
		}
	}
	for name, want := range map[string]float64{"a": 0.1, "b": 0.6, "c": 0.95, "d": 1, "short": 0.9} {
		if got := float64(counts[name]) / 20_000; math.Abs(got-want) > 0.003 {
			t.Errorf("%s: %.4f, want %.4f", name, got, want)
		}
	}
	plain, err := Histograms(strings.NewReader("until,count\n100,3\n200,0\n300,1\n"))
	if got := plain["input"].Buckets; err != nil || !slices.Equal(got, []Bucket{{0, 100, 3}, {200, 300, 1}}) {
		t.Errorf("plain buckets: %v, %v", got, err)
	}
}

func TestFittedTraceComesBack(t *testing.T) {
	l, _ := production("")
	f := must.Get(FitLengths(l))(t)
	f.From = "a trace"
	content := must.Get(Fit(f))(t)
	var input, output []int
	for _, r := range drawn(t, mustParse(t, string(content)), Options{Seed: 1, Duration: long, Limit: 50_000}) {
		input, output = append(input, r.InputTokens), append(output, r.OutputTokens)
	}
	slices.Sort(input)
	slices.Sort(output)
	for _, rank := range []float64{0.05, 0.25, 0.5, 0.75, 0.95, 0.99} {
		i := int(rank * 50_000)
		for what, pair := range map[string][2]float64{
			"input":  {float64(input[i]), l.marginal(ofInput).at(rank)},
			"output": {float64(output[i]), l.marginal(ofOutput).at(rank)},
		} {
			if math.Abs(pair[0]/pair[1]-1) > 0.03 {
				t.Errorf("%s at %v: %v, the trace has %v", what, rank, pair[0], pair[1])
			}
		}
	}
	// Gaps of 0.1, 0.1, 1.5 and 0.3 s: their variance is 0.34 s^2, their mean 0.5 s.
	if want := math.Sqrt(0.34) / 0.5; math.Abs(f.RatePerS-2) > 1e-9 || math.Abs(f.GapCV-want) > 1e-9 {
		t.Errorf("rate %v, CV %v, want 2 and %v", f.RatePerS, f.GapCV, want)
	}
	must.Say(t, string(content), "median gap", "  # 1.17: where it is higher")
}

func TestWhatCannotBeFitted(t *testing.T) {
	for text, want := range map[string]string{
		"p50":          "must be written like",
		"p50=x":        "must be written like",
		"p50=100,95=3": "must be written like",
		"p50=0":        "must be written like",
		"p101=5":       "must be written like",
		"p50=17000000": "must be written like",
		"p95=3,p50=4":  "p95 is below p50",
		"p50=4,p50=5":  "p50 is there twice",
		"p99.9=4,p5=9": "p99.9 is below p5",
	} {
		must.Refuse(ParseQuantiles(text))(t, want)
	}
	some, _ := ParseQuantiles("p50=100,p90=190")
	must.Refuse(Fit(Fitting{Input: some, RatePerS: 1}))(t, "needs input and output", "--histogram")
	must.Refuse(Fit(Fitting{Input: some, Output: some, RatePerS: 2e6}))(t, "at most a million")
	for text, want := range map[string]string{
		"":                        "no first line",
		"a,b\n1,2\n":              "columns must be",
		"le,count\n10,5\n20,3\n":  "line 3: count: falls",
		"until,count\n10,5\n10,3": "line 3: bounds must ascend",
		"until,count\n10,x\n":     `line 2: count: "x"`,
		"until,count\n10,0\n":     "input has no counts",
		"of,le,count\nttft,1,1\n": `of: "ttft"`,
		"le,count\n+Inf,3\n":      "all is above the last bound",
	} {
		must.Refuse(Histograms(strings.NewReader(text)))(t, want)
	}
}

// Burstiness comes back from the gaps that it made, also with one long silence among them.
func TestFittedBurstinessComesBack(t *testing.T) {
	for _, want := range []string{"0.3", "1", "5"} {
		p := mustParse(t, one("arrivals", "{process: gamma, rate_per_s: 4, burstiness: "+want+"}"))
		l := Lengths{Pairs: []Pair{{10, 10, 1}}}
		before := 0.0
		for _, r := range drawn(t, p, Options{Seed: 1, Duration: long, Limit: 50_000}) {
			l.GapsS = append(l.GapsS, r.Due.Seconds()-before)
			before = r.Due.Seconds()
		}
		l.GapsS = append(l.GapsS, 40)
		f, err := FitLengths(l)
		if err != nil || math.Abs(f.Burstiness/p.Arrivals.Burstiness-1) > 0.1 || math.Abs(f.RatePerS-4) > 0.15 {
			t.Errorf("burstiness %s: got %v at %v/s, %v", want, f.Burstiness, f.RatePerS, err)
		}
	}
}
