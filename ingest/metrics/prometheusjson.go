package metrics

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"

	"tidemark/ingest/read"
)

// PrometheusJSON reads scrapes wrapped in JSON, {"timestamp": 1772387523,
// "captured_at": "...", "content": "# HELP ..."}: one of them, one per line, or an
// array. The wrapping says when each scrape was taken.
var PrometheusJSON = read.Format{
	Name:  "prometheus-json",
	Sees:  seesWrapped,
	Read:  readWrapped,
	Wants: `records such as {"timestamp": 1772387523, "content": "# HELP ..."}`,
}

// seesWrapped asks for Prometheus text inside the JSON.
func seesWrapped(h *read.Head) string {
	keys := h.Keys
	if keys == nil {
		keys = h.Element
	}
	if read.HasAll(keys, "content") && (read.HasAll(keys, "timestamp") || read.HasAll(keys, "captured_at")) &&
		(bytes.Contains(h.Data, []byte(`"# HELP `)) || bytes.Contains(h.Data, []byte(`"# TYPE `))) {
		return "records of a time and Prometheus text: content"
	}
	return ""
}

// wrappedScrape is one record.
type wrappedScrape struct {
	Timestamp  json.RawMessage `json:"timestamp"`
	CapturedAt string          `json:"captured_at"`
	Content    string          `json:"content"`
}

// maxRecordBytes is the longest scrape that is held.
const maxRecordBytes = 64 << 20

// readWrapped reads record by record from the stream; a record holds a whole scrape
// in one string.
func readWrapped(d *read.Document, out *read.Rows) error {
	source := read.Capped(d.Reader(), maxRecordBytes)
	decoder := json.NewDecoder(source)
	if bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(d.First.Data, read.ByteOrderMark)), []byte("[")) {
		if _, err := decoder.Token(); err != nil {
			return read.ErrNotJSON
		}
	}
	e := newExposition(out)
	for number := int64(1); decoder.More(); number++ {
		var record wrappedScrape
		if err := decoder.Decode(&record); err != nil {
			return read.WithoutText(err)
		}
		if err := e.record(number, record); err != nil {
			return err
		}
		source.Next()
	}
	if _, err := decoder.Token(); err != nil && err != io.EOF {
		return read.WithoutText(err)
	}
	return nil
}

// record takes one scrape; a bad line of it is a reject under the record's number.
func (e *exposition) record(number int64, record wrappedScrape) error {
	e.next()
	ns, unit, reason := record.instant()
	if reason != "" {
		return e.out.Reject(number, "timestamp", reason)
	}
	e.stamp = nil
	if unit != "" {
		e.stamp = e.at.since(ns, unit)
	}
	for line := range strings.Lines(record.Content) {
		if problem, _ := e.line([]byte(line)); problem != nil {
			e.out.Reject(number, problem.Column, problem.Reason)
		}
	}
	return e.out.Err()
}

// instant is when the scrape was taken; without a unit, the record does not say.
func (r wrappedScrape) instant() (ns int64, unit, reason string) {
	if r.CapturedAt != "" {
		at, err := time.Parse(time.RFC3339Nano, r.CapturedAt)
		if err != nil {
			return 0, "", read.NotATime
		}
		return at.UnixNano(), "datetime", ""
	}
	text := strings.Trim(string(r.Timestamp), `"`)
	if text == "" || text == "null" {
		return 0, "", ""
	}
	return unixTime([]byte(text))
}
