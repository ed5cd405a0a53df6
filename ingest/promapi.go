package ingest

import (
	"bytes"

	"tidemark/internal/hint"
)

// Answers of Prometheus' HTTP API, and of what speaks it (Thanos, Mimir,
// VictoriaMetrics): instant vectors and range matrices, one or several in a file.
// Series come one after the other, so a sample's place in its series is its
// scrape, and its time is what orders it.

var _ = register(format{
	name:  "prometheus-api",
	sees:  seesPromAPI,
	read:  readPromAPI,
	wants: `{"status":"success","data":{"resultType":"matrix","result":[...]}}`,
	kind:  "metrics",
})

func seesPromAPI(h *head) string {
	switch {
	case h.has("status", "errorType"):
		return "an error of Prometheus' HTTP API"
	case (h.has("status", "data") || h.elementHas("status", "data")) && bytes.Contains(h.data, []byte(`"result`)):
		return "an answer of Prometheus' HTTP API: status, data, result"
	}
	return ""
}

type promAPI struct {
	*jsonStream
	out      *rows
	book     *labelBook
	at       *instants
	unnamed  int
	native   int
	messages int // warnings and infos
	failed   bool
}

func readPromAPI(d *document, out *rows) error {
	p := &promAPI{jsonStream: newJSONStream(d.reader()), out: out, book: newLabelBook(), at: &instants{out: out}}
	for {
		c, err := p.next()
		switch {
		case err != nil:
			return err
		case c == 0:
			return p.end()
		case c == '[' || c == ']' || c == ',': // several answers in one file
			err = p.take(c)
		default:
			err = p.answer()
		}
		if err != nil {
			return err
		}
	}
}

func (p *promAPI) end() error {
	if p.failed && p.out.sum.read == 0 {
		return hint.Errorf("Prometheus answered with an error, and there is no data in it").Hint("run the query again")
	}
	if p.out.sum.read == 0 {
		return hint.Errorf("the answer holds no series").Hint("check the query, and its time")
	}
	if p.unnamed > 0 {
		p.out.note("%d series have no name, as rate() and sum() leave them: no counter or histogram can be told from these; query the bare series", p.unnamed)
	}
	if p.native > 0 {
		p.out.note("of %d native histograms count and sum were taken in, not their buckets", p.native)
	}
	if p.messages > 0 {
		p.out.note("Prometheus sent %d warnings or infos with its answer: it may be incomplete", p.messages)
	}
	return nil
}

func (p *promAPI) answer() error {
	return p.members(func(key string) error {
		switch key {
		case "data":
			return p.members(func(key string) error {
				if key != "result" {
					return p.skip()
				}
				return p.result()
			})
		case "error", "errorType":
			p.failed = true
		case "warnings", "infos":
			if c, err := p.jsonStream.next(); err != nil || c != '[' {
				return p.skip()
			}
			return p.elements(func() error {
				p.messages++
				return p.skip()
			})
		}
		return p.skip()
	})
}

func (p *promAPI) result() error {
	if c, err := p.jsonStream.next(); err != nil || c != '[' {
		return p.skip()
	}
	return p.elements(func() error {
		if c, err := p.jsonStream.next(); err != nil || c != '{' {
			if err == nil {
				err = hint.Errorf("the answer is a number alone, without a series").Hint("query a series by its name")
			}
			return err
		}
		return p.series()
	})
}

// series is one element: its labels, then its samples.
func (p *promAPI) series() error {
	var name, labels, reason string
	known := false
	return p.members(func(key string) error {
		switch key {
		case "metric":
			known = true
			var err error
			name, labels, reason, err = p.metric()
			return err
		case "value", "histogram", "values", "histograms":
			if !known {
				return hint.Errorf("%s before the labels that it belongs to", key).
					Hint("write the answer with metric first, as Prometheus does")
			}
		default:
			return p.skip()
		}
		take := p.sample
		if key == "histogram" || key == "histograms" {
			p.native++
			take = p.histogram
		}
		if key == "value" || key == "histogram" {
			return take(0, name, labels, reason)
		}
		place := int32(-1)
		return p.elements(func() error {
			place++
			return take(place, name, labels, reason)
		})
	})
}

// metric reads the labels. Their reason to be refused is that of all samples.
func (p *promAPI) metric() (name, labels, reason string, err error) {
	var pairs []labelPair
	err = p.members(func(key string) error {
		value, err := p.text()
		if key == "__name__" {
			name = string(value)
		}
		if len(pairs) < 1000 {
			pairs = append(pairs, labelPair{key, string(value)})
		}
		return err
	})
	if err != nil {
		return "", "", "", err
	}
	labels, reason = p.book.write(pairs)
	switch {
	case reason != "":
	case name == "":
		p.unnamed++
	case !isMetricName(name):
		reason = notASample
	}
	return name, labels, reason, nil
}

// sample is [seconds, "value"].
func (p *promAPI) sample(place int32, name, labels, refused string) error {
	var at *int64
	var value float64
	reason, column, part := refused, "", 0
	err := p.elements(func() error {
		part++
		text, err := p.number()
		if err != nil || reason != "" {
			return err
		}
		switch part {
		case 1:
			column = "timestamp"
			at, reason = p.instant(text)
		case 2:
			column = "value"
			value, reason = metricValue(text)
		}
		return nil
	})
	if err == nil && part < 2 && reason == "" {
		reason = isMissing
	}
	if err != nil {
		return err
	}
	return p.keep(place, at, name, labels, value, column, reason)
}

func (p *promAPI) keep(place int32, at *int64, name, labels string, value float64, column, reason string) error {
	if reason != "" {
		return p.out.reject(p.out.sum.read+1, column, reason)
	}
	return p.out.add(metricRow{Scrape: place, AtNs: at, Name: name, Labels: labels, Value: value})
}

func (p *promAPI) instant(text []byte) (*int64, string) {
	ns, unit, reason := unixTime(text)
	if reason != "" {
		return nil, reason
	}
	return p.at.since(ns, unit), ""
}

// histogram is [seconds, {"count": "3", "sum": "4.5", "buckets": [...]}], a
// native one. Its mean is exact; its buckets are of another kind.
func (p *promAPI) histogram(place int32, name, labels, refused string) error {
	var at *int64
	reason, part := refused, 0
	return p.elements(func() error {
		part++
		if part == 1 {
			text, err := p.number()
			if err == nil && reason == "" {
				at, reason = p.instant(text)
			}
			return err
		}
		return p.members(func(key string) error {
			if key != "count" && key != "sum" {
				return p.skip()
			}
			text, err := p.number()
			if err != nil {
				return err
			}
			value, bad := metricValue(text)
			if reason != "" {
				bad = reason
			}
			return p.keep(place, at, name+"_"+key, labels, value, key, bad)
		})
	})
}
