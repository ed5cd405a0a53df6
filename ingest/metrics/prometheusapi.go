package metrics

import (
	"bytes"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// PrometheusAPI reads answers of Prometheus' HTTP API, and of what speaks it
// (Thanos, Mimir, VictoriaMetrics): instant vectors and range matrices, one or
// several in a file. Series come one after the other, so a sample's place in its
// series is its scrape, and its time is what orders it.
//
// An answer over a day has hundreds of megabytes in one line, so it is walked in a
// stream.
var PrometheusAPI = read.Format{
	Name:  "prometheus-api",
	Sees:  seesPromAPI,
	Read:  readPromAPI,
	Wants: `{"status":"success","data":{"resultType":"matrix","result":[...]}}`,
}

// seesPromAPI recognises errors, too, so that the user is told that the query failed.
func seesPromAPI(h *read.Head) string {
	switch {
	case h.Has("status", "errorType"):
		return "an error of Prometheus' HTTP API"
	case (h.Has("status", "data") || h.ElementHas("status", "data")) && bytes.Contains(h.Data, []byte(`"result`)):
		return "an answer of Prometheus' HTTP API: status, data, result"
	}
	return ""
}

// promAPI is the answers of one file on their way; it counts what its notes tell.
type promAPI struct {
	*read.JSONStream
	out      *read.Rows
	book     *read.Labels
	at       *instants
	unnamed  int
	native   int
	messages int // warnings and infos
	failed   bool
}

// readPromAPI reads the answers of a file, in an array or one after another.
func readPromAPI(d *read.Document, out *read.Rows) error {
	p := &promAPI{JSONStream: read.NewJSONStream(d.Reader()), out: out, book: read.NewLabels(), at: &instants{out: out}}
	if err := p.answers(); err != nil {
		return err
	}
	return p.end()
}

// answers reads to the end of the file.
func (p *promAPI) answers() error {
	for {
		c, err := p.Next()
		switch {
		case err != nil || c == 0:
			return err
		case c == '[' || c == ']' || c == ',': // several answers in one file
			err = p.Take(c)
		default:
			err = p.answer()
		}
		if err != nil {
			return err
		}
	}
}

// end notes what makes the answer less than the server's own data.
func (p *promAPI) end() error {
	if p.failed && p.out.Sum.Read == 0 {
		return hint.Errorf("Prometheus answered with an error, and there is no data in it").Hint("run the query again")
	}
	if p.out.Sum.Read == 0 {
		return hint.Errorf("the answer holds no series").Hint("check the query, and its time")
	}
	if p.unnamed > 0 {
		p.out.Note("%d series have no name, as rate() and sum() leave them: no counter or histogram can be told from these; query the bare series", p.unnamed)
	}
	if p.native > 0 {
		p.out.Note("of %d native histograms count and sum were taken in, not their buckets", p.native)
	}
	if p.messages > 0 {
		p.out.Note("Prometheus sent %d warnings or infos with its answer: it may be incomplete", p.messages)
	}
	return nil
}

// answer reads one answer: its data, and whether it is an error or has warnings.
func (p *promAPI) answer() error {
	return p.Members(func(key string) error {
		switch key {
		case "data":
			return p.Members(func(key string) error {
				if key != "result" {
					return p.Skip()
				}
				return p.result()
			})
		case "error", "errorType":
			p.failed = true
		case "warnings", "infos":
			if c, err := p.JSONStream.Next(); err != nil || c != '[' {
				return p.Skip()
			}
			return p.Elements(func() error {
				p.messages++
				return p.Skip()
			})
		}
		return p.Skip()
	})
}

// result reads the series. A scalar answer has none.
func (p *promAPI) result() error {
	if c, err := p.JSONStream.Next(); err != nil || c != '[' {
		return p.Skip()
	}
	return p.Elements(func() error {
		if c, err := p.JSONStream.Next(); err != nil || c != '{' {
			if err == nil {
				err = hint.Errorf("the answer is a number alone, without a series").Hint("query a series by its name")
			}
			return err
		}
		return p.series()
	})
}

// series is one element: its labels, then its samples. The labels must come first,
// as Prometheus writes them, because samples are not held.
func (p *promAPI) series() error {
	var name, labels, reason string
	known := false
	return p.Members(func(key string) error {
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
			return p.Skip()
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
		return p.Elements(func() error {
			place++
			return take(place, name, labels, reason)
		})
	})
}

// metric reads the labels. A reason to refuse them is that of all samples of the
// series.
func (p *promAPI) metric() (name, labels, reason string, err error) {
	var pairs []read.Label
	err = p.Members(func(key string) error {
		value, err := p.Text()
		if key == "__name__" {
			name = string(value)
		}
		if len(pairs) < 1000 {
			pairs = append(pairs, read.Label{Key: key, Value: string(value)})
		}
		return err
	})
	if err != nil {
		return "", "", "", err
	}
	labels, reason = p.book.Write(pairs)
	switch {
	case reason != "":
	case name == "":
		p.unnamed++
	case !read.IsMetricName(name):
		reason = read.NotASample
	}
	return name, labels, reason, nil
}

// sample is [seconds, "value"].
func (p *promAPI) sample(place int32, name, labels, refused string) error {
	var at *int64
	var value float64
	reason, column, part := refused, "", 0
	err := p.Elements(func() error {
		part++
		text, err := p.Number()
		if err != nil || reason != "" {
			return err
		}
		switch part {
		case 1:
			column = "timestamp"
			at, reason = p.instant(text)
		case 2:
			column = "value"
			value, reason = read.MetricValue(text)
		}
		return nil
	})
	if err == nil && part < 2 && reason == "" {
		reason = read.Missing
	}
	if err != nil {
		return err
	}
	return p.keep(place, at, name, labels, value, column, reason)
}

// keep adds a sample, or rejects it by its number in the file.
func (p *promAPI) keep(place int32, at *int64, name, labels string, value float64, column, reason string) error {
	if reason != "" {
		return p.out.Reject(p.out.Sum.Read+1, column, reason)
	}
	return p.out.Add(Sample{Scrape: place, AtNs: at, Name: name, Labels: labels, Value: value})
}

// instant reads a stamp, which is in seconds with milliseconds as a fraction.
func (p *promAPI) instant(text []byte) (*int64, string) {
	ns, unit, reason := unixTime(text)
	if reason != "" {
		return nil, reason
	}
	return p.at.since(ns, unit), ""
}

// histogram is [seconds, {"count": "3", "sum": "4.5", "buckets": [...]}], a native
// histogram. Count and sum are kept, so its mean is exact; its exponential buckets
// are of another kind than ours and are not read.
func (p *promAPI) histogram(place int32, name, labels, refused string) error {
	var at *int64
	reason, part := refused, 0
	return p.Elements(func() error {
		part++
		if part == 1 {
			text, err := p.Number()
			if err == nil && reason == "" {
				at, reason = p.instant(text)
			}
			return err
		}
		return p.Members(func(key string) error {
			if key != "count" && key != "sum" {
				return p.Skip()
			}
			text, err := p.Number()
			if err != nil {
				return err
			}
			value, bad := read.MetricValue(text)
			if reason != "" {
				bad = reason
			}
			return p.keep(place, at, name+"_"+key, labels, value, key, bad)
		})
	})
}
