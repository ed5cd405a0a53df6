package ingest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
)

// What AIPerf records beside its requests: the servers' metrics
// (server_metrics_export.jsonl; counters without their _total, histograms as
// objects) and GPUs' telemetry (gpu_telemetry_export.jsonl; power in W, energy in
// MJ, memory in GB, clocks in MHz). The address that was asked is kept as the
// label instance: one GPU may be seen through two exporters.

var _ = register(format{
	name: "aiperf-server-metrics",
	sees: func(h *head) string {
		if h.isLines() && h.has("endpoint_url", "timestamp_ns", "metrics") {
			return "AIPerf's server metrics: endpoint_url, timestamp_ns, metrics"
		}
		return ""
	},
	read:  readAIPerfServer,
	wants: "lines with endpoint_url, timestamp_ns, metrics",
	kind:  "metrics",
})

var _ = register(format{
	name: "aiperf-gpu-telemetry",
	sees: func(h *head) string {
		if h.isLines() && h.has("timestamp_ns", "telemetry_data") {
			return "AIPerf's GPU telemetry: timestamp_ns, telemetry_data"
		}
		return ""
	},
	read:  readAIPerfGPU,
	wants: "lines with timestamp_ns, gpu_uuid, telemetry_data",
	kind:  "metrics",
})

type aiperfScrape struct {
	URL         string                     `json:"endpoint_url"`
	TimestampNs int64                      `json:"timestamp_ns"`
	Metrics     map[string]json.RawMessage `json:"metrics"`
}

type aiperfSample struct {
	Labels    map[string]string  `json:"labels"`
	Value     *float64           `json:"value"`
	Buckets   map[string]float64 `json:"buckets"`
	Histogram map[string]float64 `json:"histogram"` // what buckets was called before
	Summary   map[string]float64 `json:"summary"`
	Sum       *float64           `json:"sum"`
	Count     *float64           `json:"count"`
}

func readAIPerfServer(d *document, out *rows) error {
	e := newExposition(out)
	first := true
	return d.lines(out, func(_ int64, line []byte) (*reject, error) {
		var scrape aiperfScrape
		switch {
		case json.Unmarshal(line, &scrape) != nil:
			return &reject{reason: notJSON}, nil
		case scrape.TimestampNs <= 0:
			return &reject{column: "timestamp_ns", reason: notATime}, nil
		}
		if !first {
			e.scrape++
		}
		first = false
		e.stamp = e.at.since(scrape.TimestampNs, "ns")
		for _, name := range slices.Sorted(maps.Keys(scrape.Metrics)) {
			var all []aiperfSample
			if !isMetricName(name) || json.Unmarshal(scrape.Metrics[name], &all) != nil {
				return &reject{column: "metrics", reason: notASample}, nil
			}
			for _, s := range all {
				if problem, err := e.aiperf(scrape.URL, name, s); problem != nil || err != nil {
					return problem, err
				}
			}
		}
		return nil, nil
	})
}

// aiperf writes one series back as the server exposed it.
func (e *exposition) aiperf(url, name string, s aiperfSample) (*reject, error) {
	pairs := []labelPair{{"instance", url}}
	for key, value := range s.Labels {
		pairs = append(pairs, labelPair{key, value})
	}
	var refused string
	add := func(name, key, bound string, value float64) error {
		labels, reason := e.book.write(append(slices.Clone(pairs), labelPair{key, bound}))
		if reason != "" {
			refused = reason
			return nil
		}
		return e.out.add(metricRow{Scrape: e.scrape, AtNs: e.stamp, Name: name, Labels: labels, Value: value})
	}
	buckets := s.Buckets
	if buckets == nil {
		buckets = s.Histogram
	}
	var err error
	for _, bound := range slices.Sorted(maps.Keys(buckets)) {
		if err == nil {
			err = add(name+"_bucket", "le", bound, buckets[bound])
		}
	}
	for _, quantile := range slices.Sorted(maps.Keys(s.Summary)) {
		if err == nil {
			err = add(name, "quantile", quantile, s.Summary[quantile])
		}
	}
	for suffix, value := range map[string]*float64{"": s.Value, "_sum": s.Sum, "_count": s.Count} {
		if err == nil && value != nil {
			err = add(name+suffix, "", "", *value)
		}
	}
	if refused != "" {
		return &reject{column: "labels", reason: refused}, err
	}
	return nil, err
}

type aiperfGPU struct {
	TimestampNs int64                      `json:"timestamp_ns"`
	URL         string                     `json:"dcgm_url"`
	Index       *int64                     `json:"gpu_index"`
	UUID        string                     `json:"gpu_uuid"`
	Model       string                     `json:"gpu_model_name"`
	Host        string                     `json:"hostname"`
	Data        map[string]json.RawMessage `json:"telemetry_data"`
}

func readAIPerfGPU(d *document, out *rows) error {
	book, at := newLabelBook(), &instants{out: out}
	scrape := int32(-1)
	return d.lines(out, func(_ int64, line []byte) (*reject, error) {
		var look aiperfGPU
		switch {
		case json.Unmarshal(line, &look) != nil:
			return &reject{reason: notJSON}, nil
		case look.TimestampNs <= 0:
			return &reject{column: "timestamp_ns", reason: notATime}, nil
		}
		pairs := []labelPair{{"instance", look.URL}, {"UUID", look.UUID}, {"modelName", look.Model}, {"Hostname", look.Host}}
		if look.Index != nil {
			pairs = append(pairs, labelPair{"gpu", strconv.FormatInt(*look.Index, 10)})
		}
		labels, reason := book.write(pairs)
		if reason != "" {
			return &reject{reason: reason}, nil
		}
		scrape++
		for _, name := range slices.Sorted(maps.Keys(look.Data)) {
			text := bytes.TrimSpace(look.Data[name])
			if string(text) == "null" {
				continue
			}
			value, reason := metricValue(text)
			if reason != "" || !isMetricName(name) {
				return &reject{column: "telemetry_data", reason: notANumber}, nil
			}
			if err := out.add(metricRow{Scrape: scrape, AtNs: at.since(look.TimestampNs, "ns"), Name: name, Labels: labels, Value: value}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
}
