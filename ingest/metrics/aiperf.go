package metrics

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"tidemark/ingest/read"
)

// AIPerfServerMetrics reads server_metrics_export.jsonl, AIPerf's record of the
// servers' metrics during a run: a scrape per line, counters without their _total,
// histograms as objects. The address that was asked is kept as the label instance,
// because one server may be seen through two endpoints.
var AIPerfServerMetrics = read.Format{
	Name: "aiperf-server-metrics",
	Sees: func(h *read.Head) string {
		return read.If(h.IsLines() && h.Has("endpoint_url", "timestamp_ns", "metrics"), "AIPerf's server metrics: endpoint_url, timestamp_ns, metrics")
	},
	Read:  readAIPerfServer,
	Wants: "lines with endpoint_url, timestamp_ns, metrics",
}

// AIPerfGPUTelemetry reads gpu_telemetry_export.jsonl: a look at one GPU per line.
// Power is in W, energy in MJ, memory in GB, clocks in MHz; the values are kept as
// they are, under AIPerf's names.
var AIPerfGPUTelemetry = read.Format{
	Name: "aiperf-gpu-telemetry",
	Sees: func(h *read.Head) string {
		return read.If(h.IsLines() && h.Has("timestamp_ns", "telemetry_data"), "AIPerf's GPU telemetry: timestamp_ns, telemetry_data")
	},
	Read:  readAIPerfGPU,
	Wants: "lines with timestamp_ns, gpu_uuid, telemetry_data",
}

// aiperfScrape is one look at one server.
type aiperfScrape struct {
	URL         string                     `json:"endpoint_url"`
	TimestampNs int64                      `json:"timestamp_ns"`
	Metrics     map[string]json.RawMessage `json:"metrics"`
}

// aiperfSample is one series: a number, a histogram or a summary.
type aiperfSample struct {
	Labels    map[string]string  `json:"labels"`
	Value     *float64           `json:"value"`
	Buckets   map[string]float64 `json:"buckets"`
	Histogram map[string]float64 `json:"histogram"` // what buckets was called before
	Summary   map[string]float64 `json:"summary"`
	Sum       *float64           `json:"sum"`
	Count     *float64           `json:"count"`
}

// readAIPerfServer reads scrape after scrape. Names are sorted, so that the same
// file always makes the same rows.
func readAIPerfServer(d *read.Document, out *read.Rows) error {
	e := newExposition(out)
	first := true
	return d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) {
		var scrape aiperfScrape
		switch {
		case json.Unmarshal(line, &scrape) != nil:
			return &read.Reject{Reason: read.NotJSON}, nil
		case scrape.TimestampNs <= 0:
			return &read.Reject{Column: "timestamp_ns", Reason: read.NotATime}, nil
		}
		if !first {
			e.scrape++
		}
		first = false
		e.stamp = e.at.since(scrape.TimestampNs, "ns")
		for _, name := range slices.Sorted(maps.Keys(scrape.Metrics)) {
			var all []aiperfSample
			if !read.IsMetricName(name) || json.Unmarshal(scrape.Metrics[name], &all) != nil {
				return &read.Reject{Column: "metrics", Reason: read.NotASample}, nil
			}
			for _, s := range all {
				if problem := e.aiperf(scrape.URL, name, s); problem != nil {
					return problem, nil
				}
			}
		}
		return nil, nil
	})
}

// aiperf writes one series back as the server exposed it: a histogram becomes its
// buckets, sum and count.
func (e *exposition) aiperf(url, name string, s aiperfSample) *read.Reject {
	pairs := []read.Label{{Key: "instance", Value: url}}
	for key, value := range s.Labels {
		pairs = append(pairs, read.Label{Key: key, Value: value})
	}
	var problem *read.Reject
	add := func(name, key, bound string, value float64) {
		labels, reason := e.book.Write(append(slices.Clone(pairs), read.Label{Key: key, Value: bound}))
		if reason != "" {
			problem = &read.Reject{Column: "labels", Reason: reason}
			return
		}
		e.out.Add(Sample{Scrape: e.scrape, AtNs: e.stamp, Name: name, Labels: labels, Value: value})
	}
	buckets := s.Buckets
	if buckets == nil {
		buckets = s.Histogram
	}
	for _, bound := range slices.Sorted(maps.Keys(buckets)) {
		add(name+"_bucket", "le", bound, buckets[bound])
	}
	for _, quantile := range slices.Sorted(maps.Keys(s.Summary)) {
		add(name, "quantile", quantile, s.Summary[quantile])
	}
	for suffix, value := range map[string]*float64{"": s.Value, "_sum": s.Sum, "_count": s.Count} {
		if value != nil {
			add(name+suffix, "", "", *value)
		}
	}
	return problem
}

// aiperfGPU is one look at one GPU.
type aiperfGPU struct {
	TimestampNs int64                      `json:"timestamp_ns"`
	URL         string                     `json:"dcgm_url"`
	Index       *int64                     `json:"gpu_index"`
	UUID        string                     `json:"gpu_uuid"`
	Model       string                     `json:"gpu_model_name"`
	Host        string                     `json:"hostname"`
	Data        map[string]json.RawMessage `json:"telemetry_data"`
}

// readAIPerfGPU reads a look at one GPU per line; each is a scrape.
func readAIPerfGPU(d *read.Document, out *read.Rows) error {
	book, at := read.NewLabels(), &instants{out: out}
	scrape := int32(-1)
	return d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) {
		var look aiperfGPU
		switch {
		case json.Unmarshal(line, &look) != nil:
			return &read.Reject{Reason: read.NotJSON}, nil
		case look.TimestampNs <= 0:
			return &read.Reject{Column: "timestamp_ns", Reason: read.NotATime}, nil
		}
		pairs := []read.Label{{Key: "instance", Value: look.URL}, {Key: "UUID", Value: look.UUID}, {Key: "modelName", Value: look.Model}, {Key: "Hostname", Value: look.Host}}
		if look.Index != nil {
			pairs = append(pairs, read.Label{Key: "gpu", Value: strconv.FormatInt(*look.Index, 10)})
		}
		labels, reason := book.Write(pairs)
		if reason != "" {
			return &read.Reject{Reason: reason}, nil
		}
		scrape++
		for _, name := range slices.Sorted(maps.Keys(look.Data)) {
			text := bytes.TrimSpace(look.Data[name])
			if string(text) == "null" {
				continue
			}
			value, reason := read.MetricValue(text)
			if reason != "" || !read.IsMetricName(name) {
				return &read.Reject{Column: "telemetry_data", Reason: read.NotANumber}, nil
			}
			out.Add(Sample{Scrape: scrape, AtNs: at.since(look.TimestampNs, "ns"), Name: name, Labels: labels, Value: value})
		}
		return nil, nil
	})
}
