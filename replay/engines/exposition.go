package engines

import (
	"bytes"

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
