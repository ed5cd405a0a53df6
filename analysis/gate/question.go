package gate

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/show"
)

// Question is what a gate is asked.
type Question struct {
	Bound   float64 // 0.05: five per cent worse is still accepted
	Metrics []Metric
}

// Metric is one statistic of one metric, under the name that a user writes: p95_ttft.
type Metric struct {
	Name              string
	statistic, metric string // as in marts.run_statistics; none of the answered requests
	isMoreBetter      bool
}

// answered is the share of requests that were answered: a server that refuses what is slow is not a faster one.
const answered = "answered"

// defaults are few, because each metric makes the intervals of all wider. p95 and not p99: a p99 of a run of some minutes scatters too much
// between repeats to tell 5 %.
const defaults = "p50_ttft,p95_ttft,p50_tpot,p95_tpot,p95_e2e,output_token_per_s," + answered

var (
	statistics = []string{"mean", "p50", "p90", "p95", "p99"}
	latencies  = []string{"ttft", "tpot", "itl", "e2e"}
)

// ParseBound reads 5%. Neither 5 nor 0.05 is taken, because each could be meant as the other.
func ParseBound(text string) (float64, error) {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	percent, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	const wanted = "write a percentage with its sign: 5%%"
	switch {
	case !isPercent && percent > 0:
		return 0, hint.Misuse("compare: --fail-if-worse %s: a percentage or a share?", text).Hint(wanted)
	case !isPercent, err != nil:
		return 0, hint.Misuse("compare: --fail-if-worse %s: not a percentage", text).Hint(wanted)
	case !(percent > 0 && percent < 100):
		return 0, hint.Misuse("compare: --fail-if-worse %s: must be above 0%% and below 100%%", text).
			Hint("5%% is red where a latency is beyond 1.05 times what it was, or a throughput below 0.95 times")
	}
	return percent / 100, nil
}

// ParseMetrics reads names with commas between them; none are the defaults.
func ParseMetrics(text string) (metrics []Metric, err error) {
	for name := range strings.SplitSeq(cmp.Or(text, defaults), ",") {
		m, isKnown := metricOf(strings.TrimSpace(name))
		if !isKnown {
			return nil, hint.Misuse("compare: --metrics: no metric %q", name).
				Hint("a statistic (%s) of a latency (%s), as in p99_ttft; output_token_per_s; %s", strings.Join(statistics, ", "), strings.Join(latencies, ", "), answered)
		}
		if slices.Contains(metrics, m) {
			return nil, hint.Misuse("compare: --metrics: %s is there twice", m.Name)
		}
		metrics = append(metrics, m)
	}
	return metrics, nil
}

func metricOf(name string) (Metric, bool) {
	switch name {
	case answered:
		return Metric{Name: name, isMoreBetter: true}, true
	case "output_token_per_s":
		return Metric{Name: name, metric: name, statistic: "mean", isMoreBetter: true}, true
	}
	statistic, latency, _ := strings.Cut(name, "_")
	return Metric{Name: name, statistic: statistic, metric: latency + "_s"}, slices.Contains(statistics, statistic) && slices.Contains(latencies, latency)
}

// words name the metric as people do.
func (m Metric) words() string {
	if m.Name == answered {
		return "requests answered"
	}
	return analysis.StatisticName(m.statistic, m.metric)
}

// value writes a value of the metric with its unit.
func (m Metric) value(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case m.Name == answered:
		return show.Percent(x)
	}
	return analysis.ValueOf(m.metric, x)
}
