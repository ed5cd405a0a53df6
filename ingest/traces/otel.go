package traces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// OTel reads spans of OpenTelemetry as JSON: OTLP's own form, one document or one
// per line as the collector's file exporter writes it; inference-perf's list of
// spans; and Jaeger's export. A span with token counts is a request. otel_spans.go
// says what becomes of spans inside spans, otel_sessions.go which session a request
// belongs to.
var OTel = read.Format{
	Name:  "otel",
	Sees:  seesOTel,
	Read:  readOTel,
	Wants: `"resourceSpans", or "spans" with a "trace_id", and token counts in their attributes (gen_ai.usage.input_tokens)`,
}

// seesOTel recognises the three forms by their outermost keys.
func seesOTel(h *read.Head) string {
	switch {
	case h.Has("resourceSpans"):
		return "resourceSpans of OTLP"
	case h.Has("spans", "trace_id"), h.Has("spans", "span_count"):
		return "spans of one trace"
	case h.Has("data") && bytes.Contains(h.Data, []byte(`"traceID"`)) && bytes.Contains(h.Data, []byte(`"spans"`)):
		return "spans as Jaeger exports them"
	}
	return ""
}

// maxSpansBytes is the longest list of the spans of one resource that is held.
const maxSpansBytes = 64 << 20

// readOTel reads the documents of a file one after another, then writes the
// requests: which span is one is only known at the end.
func readOTel(d *read.Document, out *read.Rows) error {
	s := &spans{out: out}
	source := read.Capped(d.Reader(), maxSpansBytes)
	decoder := json.NewDecoder(source)
	for number := 1; ; number++ {
		source.Next()
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err == nil && token != json.Delim('{') {
			err = fmt.Errorf("document %d: not a JSON object", number)
		}
		if err == nil {
			err = s.document(decoder, source)
		}
		if err != nil {
			return read.WithoutText(err)
		}
	}
	return s.end()
}

// document reads the lists of spans of one object, an element at a time, so that a
// file of any length can be read.
func (s *spans) document(decoder *json.Decoder, source *read.CappedReader) error {
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return err
		}
		var take func() error
		switch key {
		case "resourceSpans":
			take = func() error { return s.resource(decoder) }
		case "spans":
			take = func() error { return s.flat(decoder) }
		case "data":
			take = func() error { return s.jaeger(decoder) }
		default:
			var passed json.RawMessage
			if err := decoder.Decode(&passed); err != nil {
				return err
			}
			continue
		}
		if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
			return hint.Errorf("%s is not a list", key).Hint("check where it came from")
		}
		for decoder.More() {
			source.Next()
			if err := take(); err != nil {
				return err
			}
		}
		if _, err := decoder.Token(); err != nil {
			return err
		}
	}
	_, err := decoder.Token()
	return err
}

// otlpSpan is a span in OTLP's JSON. Times are strings, because nanoseconds since
// 1970 exceed what a float64 holds exactly.
type otlpSpan struct {
	TraceID      string          `json:"traceId"`
	SpanID       string          `json:"spanId"`
	ParentSpanID string          `json:"parentSpanId"`
	Name         string          `json:"name"`
	Start        json.RawMessage `json:"startTimeUnixNano"` // a number in quotes: more than float64 holds
	End          json.RawMessage `json:"endTimeUnixNano"`
	Attributes   []otlpAttribute `json:"attributes"`
	Events       []struct {
		Time       json.RawMessage `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlpAttribute `json:"attributes"`
	} `json:"events"`
	Status struct {
		Code json.RawMessage `json:"code"`
	} `json:"status"`
}

// otlpAttribute is a key and a value of one type: {"intValue": "7"}.
type otlpAttribute struct {
	Key   string                     `json:"key"`
	Value map[string]json.RawMessage `json:"value"`
}

// text is the value of an attribute, of whatever type.
func (a otlpAttribute) text() []byte {
	for _, value := range a.Value {
		return read.Unquoted(value)
	}
	return nil
}

// resource reads the spans of one resource. Before 2022 scopes were called
// instrumentation libraries.
func (s *spans) resource(decoder *json.Decoder) error {
	type scope struct {
		Spans []otlpSpan `json:"spans"`
	}
	var resource struct {
		ScopeSpans []scope `json:"scopeSpans"`
		Older      []scope `json:"instrumentationLibrarySpans"`
	}
	if err := decoder.Decode(&resource); err != nil {
		return err
	}
	for _, scope := range append(resource.ScopeSpans, resource.Older...) {
		for _, from := range scope.Spans {
			if err := s.otlp(from); err != nil {
				return err
			}
		}
	}
	return nil
}

// otlp takes one span, its attributes, and the event of its first token.
func (s *spans) otlp(from otlpSpan) error {
	made := s.newSpan(from.TraceID, from.SpanID, from.ParentSpanID, from.Name)
	made.start, made.reason = stamp(read.Unquoted(from.Start), inNanos)
	made.end, _ = stamp(read.Unquoted(from.End), inNanos)
	made.hasFailed = string(from.Status.Code) == "2" || bytes.Contains(from.Status.Code, []byte("ERROR"))
	for _, a := range from.Attributes {
		if err := s.attribute(made, a.Key, a.text()); err != nil {
			return err
		}
	}
	for _, event := range from.Events {
		if at, reason := stamp(read.Unquoted(event.Time), inNanos); reason == "" && strings.Contains(snake(event.Name), "first_token") {
			made.firstToken = at
		}
		for _, a := range event.Attributes {
			if isText(a.Key, a.text()) {
				s.out.TextIn(a.Key, "an attribute")
			}
		}
	}
	return nil
}

// flat reads a span whose attributes are one object and whose times are written as
// dates.
func (s *spans) flat(decoder *json.Decoder) error {
	var from struct {
		TraceID      string                     `json:"trace_id"`
		SpanID       string                     `json:"span_id"`
		ParentSpanID string                     `json:"parent_span_id"`
		Name         string                     `json:"name"`
		Start        string                     `json:"start_time"`
		End          string                     `json:"end_time"`
		Attributes   map[string]json.RawMessage `json:"attributes"`
		Status       struct {
			Code json.RawMessage `json:"code"`
		} `json:"status"`
	}
	if err := decoder.Decode(&from); err != nil {
		return err
	}
	made := s.newSpan(from.TraceID, from.SpanID, from.ParentSpanID, from.Name)
	var zoned bool
	made.start, zoned, made.reason = writtenInstant(&s.clock, []byte(from.Start))
	made.end, _, _ = writtenInstant(&s.clock, []byte(from.End))
	if !zoned {
		s.out.About.Zone = "no zone given, read as UTC"
	}
	made.hasFailed = string(from.Status.Code) == "2" || bytes.Contains(from.Status.Code, []byte("ERROR"))
	for key, value := range from.Attributes {
		if err := s.attribute(made, key, read.Unquoted(value)); err != nil {
			return err
		}
	}
	return nil
}

// jaeger reads one trace of Jaeger's; its times are microseconds.
func (s *spans) jaeger(decoder *json.Decoder) error {
	var trace struct {
		Spans []struct {
			TraceID    string          `json:"traceID"`
			SpanID     string          `json:"spanID"`
			Name       string          `json:"operationName"`
			Start      json.RawMessage `json:"startTime"`
			Duration   json.RawMessage `json:"duration"`
			References []struct {
				Kind   string `json:"refType"`
				SpanID string `json:"spanID"`
			} `json:"references"`
			Tags []struct {
				Key   string          `json:"key"`
				Value json.RawMessage `json:"value"`
			} `json:"tags"`
		} `json:"spans"`
	}
	if err := decoder.Decode(&trace); err != nil {
		return err
	}
	for _, from := range trace.Spans {
		parent := ""
		for _, reference := range from.References {
			if reference.Kind == "CHILD_OF" {
				parent = reference.SpanID
			}
		}
		made := s.newSpan(from.TraceID, from.SpanID, parent, from.Name)
		made.start, made.reason = stamp(from.Start, inMicros)
		if took, reason := stamp(from.Duration, inMicros); reason == "" && made.start+took >= made.start {
			made.end = made.start + took
		}
		for _, tag := range from.Tags {
			if err := s.attribute(made, tag.Key, read.Unquoted(tag.Value)); err != nil {
				return err
			}
		}
	}
	return nil
}
