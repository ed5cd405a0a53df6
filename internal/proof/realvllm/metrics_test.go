//go:build vllm

package realvllm

import (
	"bytes"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// exposition is what one reading of /metrics said, family by family.
type exposition map[string]*dto.MetricFamily

func scrape(t *testing.T, baseURL string) exposition {
	t.Helper()
	got := ask(t, baseURL, http.MethodGet, "/metrics", nil)
	if got.status != http.StatusOK {
		t.Fatalf("GET /metrics: status %d", got.status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(got.body))
	if err != nil {
		t.Fatalf("GET /metrics: %v", err)
	}
	return families
}

// counter is the sum of a counter's or gauge's series that carry all of the
// labels (name, value, ...).
func (e exposition) counter(name string, labels ...string) float64 {
	sum := 0.0
	for _, metric := range e[name].GetMetric() {
		if carries(metric, labels) {
			sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return sum
}

func carries(metric *dto.Metric, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		if label(metric, labels[i]) != labels[i+1] {
			return false
		}
	}
	return true
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// histogram is the sum over a histogram's series. Buckets are cumulative, by
// upper bound.
type histogram struct {
	count   uint64
	sum     float64
	buckets map[float64]uint64
}

func (e exposition) histogram(name string) histogram {
	h := histogram{buckets: map[float64]uint64{}}
	for _, metric := range e[name].GetMetric() {
		h.count += metric.GetHistogram().GetSampleCount()
		h.sum += metric.GetHistogram().GetSampleSum()
		for _, bucket := range metric.GetHistogram().GetBucket() {
			h.buckets[bucket.GetUpperBound()] += bucket.GetCumulativeCount()
		}
	}
	return h
}

func (h histogram) minus(before histogram) histogram {
	d := histogram{h.count - before.count, h.sum - before.sum, map[float64]uint64{}}
	for bound, count := range h.buckets {
		d.buckets[bound] = count - before.buckets[bound]
	}
	return d
}

// likeThis sorts our own values into the same buckets.
func (h histogram) likeThis(values []float64) histogram {
	ours := histogram{buckets: map[float64]uint64{}}
	for bound := range h.buckets {
		ours.buckets[bound] = 0
	}
	for _, value := range values {
		ours.count++
		ours.sum += value
		for bound := range h.buckets {
			if value <= bound {
				ours.buckets[bound]++
			}
		}
	}
	return ours
}

func (h histogram) bounds() []float64 { return slices.Sorted(maps.Keys(h.buckets)) }

// span is what the server's metrics say of the time between two readings.
type span struct{ before, after exposition }

func (s span) has(name string) bool { return s.after[name] != nil }

func (s span) counter(name string, labels ...string) float64 {
	return s.after.counter(name, labels...) - s.before.counter(name, labels...)
}

func (s span) histogram(name string) histogram {
	return s.after.histogram(name).minus(s.before.histogram(name))
}

// settled reads /metrics until the server has counted as many finished requests
// as the client has: it counts just after it has sent the last chunk.
func settled(t *testing.T, s *server, before exposition, finished int) span {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		now := span{before, scrape(t, s.baseURL)}
		if now.counter("vllm:request_success_total") >= float64(finished) || time.Now().After(deadline) {
			return now
		}
	}
}

// blockTokens is the length of the server's KV blocks in tokens.
func blockTokens(t *testing.T, e exposition) int {
	t.Helper()
	for _, metric := range e["vllm:cache_config_info"].GetMetric() {
		tokens := 0
		for _, digit := range label(metric, "block_size") {
			tokens = tokens*10 + int(digit-'0')
		}
		if tokens > 0 {
			return tokens
		}
	}
	t.Fatal("vllm:cache_config_info: no block_size")
	return 0
}

func differsBy(ours, theirs float64) float64 {
	if theirs == 0 {
		return math.Inf(1)
	}
	return ours/theirs - 1
}

// vllmFamilies are the names that vLLM itself exposes, sorted.
func (e exposition) vllmFamilies() []string {
	return slices.Collect(func(yield func(string) bool) {
		for _, name := range slices.Sorted(maps.Keys(e)) {
			if strings.HasPrefix(name, "vllm:") && !yield(name) {
				return
			}
		}
	})
}
