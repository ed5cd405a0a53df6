package engines

import (
	"bytes"
	"regexp"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Load is what a server runs and holds waiting, by its own gauges.
type Load struct{ Running, Waiting int64 }

// IsIdle says that the server has nothing to do.
func (l Load) IsIdle() bool { return l == Load{} }

// LoadIn reads the load out of /metrics of any engine; isKnown is false where none of the engines' gauges is there.
func LoadIn(text []byte) (l Load, isKnown bool) {
	families := familiesIn(text)
	for _, e := range All {
		running := families[e.running]
		if running == nil {
			continue
		}
		return Load{int64(sumOf(running)), int64(sumOf(families[e.waiting]))}, true
	}
	return Load{}, false
}

var processStart = regexp.MustCompile(`(?m)^process_start_time_seconds(?:\{[^}]*\})? (\S+)`)

// StartIn is when the process that answers began, as it stands there; empty: it does not say.
func StartIn(text []byte) string {
	if found := processStart.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return ""
}

// CountedIn adds up all counters, each of which a process only ever raises.
func CountedIn(text []byte) (sum float64) {
	for _, family := range familiesIn(text) {
		for _, m := range family.GetMetric() {
			sum += m.GetCounter().GetValue()
		}
	}
	return sum
}

// sumOf adds up a gauge's series: a server with several engine processes has one for each.
func sumOf(family *dto.MetricFamily) (sum float64) {
	for _, m := range family.GetMetric() {
		sum += m.GetGauge().GetValue() + m.GetUntyped().GetValue()
	}
	return sum
}

// labelsOf are the labels of a gauge's series.
func labelsOf(text []byte, gauge string) map[string]any {
	labels := map[string]any{}
	for _, m := range familiesIn(text)[gauge].GetMetric() {
		for _, label := range m.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
	}
	return labels
}

func familiesIn(text []byte) map[string]*dto.MetricFamily {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, _ := parser.TextToMetricFamilies(bytes.NewReader(text)) // what was read before an error counts
	return families
}
