//go:build vllm

package realvllm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// metricsAlike: what the simulator exposes has name, type, labels and buckets
// of the real thing. What it lacks is listed.
func metricsAlike(t *testing.T, theirs, ours exposition) {
	t.Helper()
	for _, name := range ours.vllmFamilies() {
		if theirs[name] == nil {
			t.Errorf("/metrics: the simulator exposes %s, vLLM does not", name)
			continue
		}
		compare(t, "/metrics: "+name+": type", theirs[name].GetType().String(), ours[name].GetType().String())
		if strings.HasSuffix(name, "_info") {
			someLabels(t, name, theirs, ours)
			continue
		}
		compare(t, "/metrics: "+name+": series", seriesShape(theirs, name), seriesShape(ours, name))
	}
	var missing []string
	for _, name := range theirs.vllmFamilies() {
		if ours[name] == nil {
			missing = append(missing, name)
		}
	}
	t.Logf("/metrics: the simulator has %d of vLLM's %d families; it lacks %s",
		len(ours.vllmFamilies()), len(theirs.vllmFamilies()), strings.Join(missing, " "))
}

// seriesShape lists the label names of each series, the values of those labels
// that are an enumeration, and the buckets.
func seriesShape(e exposition, name string) string {
	shapes := map[string]bool{}
	for _, metric := range e[name].GetMetric() {
		var labels []string
		for _, pair := range metric.GetLabel() {
			label := pair.GetName()
			if slices.Contains([]string{"finished_reason", "reason", "source", "sleep_state"}, label) {
				label += "=" + pair.GetValue()
			}
			labels = append(labels, label)
		}
		slices.Sort(labels)
		var bounds []string
		for _, bucket := range metric.GetHistogram().GetBucket() {
			bounds = append(bounds, fmt.Sprint(bucket.GetUpperBound()))
		}
		shapes[strings.Join(labels, " ")+" "+strings.Join(bounds, " ")] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(shapes)), "; ")
}

// someLabels: a line of settings need not repeat all of them.
func someLabels(t *testing.T, name string, theirs, ours exposition) {
	t.Helper()
	known := strings.Fields(seriesShape(theirs, name))
	for _, label := range strings.Fields(seriesShape(ours, name)) {
		if !slices.Contains(known, label) {
			t.Errorf("/metrics: %s: vLLM has no label %s", name, label)
		}
	}
}

// countedAlike: the same questions move the same counters by the same amounts.
// Times differ, and so does how the work falls into engine steps.
func countedAlike(t *testing.T, theirs, ours span) {
	t.Helper()
	table := newTable("after the same questions", "real", "simulator")
	row := func(name string, real, simulated float64) {
		if real != 0 || simulated != 0 {
			table.row(name, real, simulated)
		}
		if real != simulated {
			t.Errorf("/metrics: %s: the same questions moved it by %v on the real server, by %v on the simulator", name, real, simulated)
		}
	}
	for _, name := range ours.after.vllmFamilies() {
		if theirs.after[name] == nil || strings.HasSuffix(name, "_created") {
			continue
		}
		switch ours.after[name].GetType() {
		case dto.MetricType_COUNTER:
			row(name, theirs.counter(name), ours.counter(name))
		case dto.MetricType_HISTOGRAM:
			real, simulated := theirs.histogram(name), ours.histogram(name)
			if name == "vllm:iteration_tokens_total" {
				row(name+" sum", real.sum, simulated.sum)
				continue
			}
			row(name+" count", float64(real.count), float64(simulated.count))
			if !strings.HasSuffix(name, "_seconds") {
				row(name+" sum", real.sum, simulated.sum)
			}
		}
	}
	t.Log(table)
}
