package metrics

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"tidemark/ingest/read"
)

// Grafana reads a panel's CSV: the first column is the time, in the browser's zone
// or as Unix milliseconds, and each other column a series under its legend; or, as
// "series to rows", Series;Time;Value.
//
// Values may be formatted, with a unit that changes from row to row (900 ms, 1.2
// s). Those are converted to seconds, bytes and ones; a unit that is not known is a
// reject, because a wrong factor would not show.
var Grafana = read.Format{
	Name:    "grafana",
	Sees:    seesGrafana,
	Read:    readGrafana,
	Wants:   `the columns "Time" and one per series`,
	IsGuess: true,
}

// seesGrafana skips the line that Excel needs ("sep=,") before the header.
func seesGrafana(h *read.Head) string {
	line := h.Line
	if bytes.HasPrefix(line, []byte("sep=")) { // for Excel
		_, after, _ := bytes.Cut(h.Data, read.Newline)
		line = read.FirstLine(after)
	}
	header, reason := read.FieldsBy(line, grafanaSeparator(line))
	if reason != "" || len(header) < 2 {
		return ""
	}
	if len(header) == 3 && header[0] == "Series" && header[1] == "Time" && header[2] == "Value" {
		return "Grafana's series as rows: Series, Time, Value"
	}
	if header[0] != "Time" || looksLikeRequests(header) {
		return ""
	}
	return fmt.Sprintf("a Grafana panel: Time and %d series", len(header)-1)
}

// looksLikeRequests says that a table with a column Time has a row per request, and
// is a trace.
func looksLikeRequests(header []string) bool {
	input, output := false, false
	for _, name := range header {
		name = strings.ToLower(name)
		input = input || strings.Contains(name, "input") || strings.Contains(name, "prompt")
		output = output || strings.Contains(name, "output") || strings.Contains(name, "completion") || strings.Contains(name, "generat")
	}
	return input && output && !strings.Contains(strings.Join(header, ""), "{")
}

// grafanaSeparator is the comma or, where the header has none, the semicolon: in some
// locales Grafana writes that, and decimal commas in the rows.
func grafanaSeparator(header []byte) byte {
	if bytes.IndexByte(header, ',') < 0 && bytes.IndexByte(header, ';') >= 0 {
		return ';'
	}
	return ','
}

// grafana is one panel on its way, in either of its two forms.
type grafana struct {
	out       *read.Rows
	book      *read.Labels
	table     *wideTable
	isRows    bool
	separator byte
	places    map[string]int32 // of the last sample of each series
}

// readGrafana reads either form; the header decides which.
func readGrafana(d *read.Document, out *read.Rows) error {
	g := &grafana{out: out, book: read.NewLabels(), places: map[string]int32{}}
	return d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		if bytes.HasPrefix(line, []byte("sep=")) && g.table == nil {
			return nil, nil
		}
		if g.table == nil {
			g.separator = grafanaSeparator(line)
		}
		fields, reason := read.FieldsBy(line, g.separator)
		switch {
		case reason != "":
			return &read.Reject{Reason: reason}, nil
		case g.table == nil:
			return nil, g.header(fields)
		case g.isRows:
			return g.sample(fields)
		}
		at, reason := g.table.instant(fields[0])
		if reason != "" {
			return &read.Reject{Column: "Time", Reason: reason}, nil
		}
		return nil, g.table.row(number, at, "", fields)
	})
}

// header names the series of the columns. A legend that could be a sentence is
// passed over, with a note.
func (g *grafana) header(fields []string) error {
	g.isRows = len(fields) == 3 && fields[0] == "Series"
	columns := make([]wideColumn, len(fields))
	for i, legend := range fields[1:] {
		name, labels, reason := g.legend(legend)
		if reason != "" {
			g.out.Note("column %d has a legend that names no series: passed over", i+2)
			continue
		}
		columns[i+1] = wideColumn{name: name, labels: labels}
	}
	g.table = newWideTable(g.out, columns)
	g.table.cell = g.cell
	return nil
}

// legend is a series as Prometheus writes it, or words, which become its name.
func (g *grafana) legend(text string) (name, labels, reason string) {
	text = strings.TrimSpace(text)
	if s, reason := g.book.Sample([]byte(text + " 0")); reason == "" && strings.HasSuffix(text, "}") {
		return s.Name, s.Labels, ""
	}
	if pairs, _, ok := braced(text); ok { // {k="v"}: what rate() leaves
		labels, reason = g.book.Write(pairs)
		return "unnamed", labels, reason
	}
	if read.Word(text) == "" {
		return "", "", read.NotASample
	}
	return text, "", ""
}

// braced reads {k="v"} without a name, which is what rate() and sum() leave of a
// series.
func braced(text string) ([]read.Label, string, bool) {
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return nil, "", false
	}
	return read.LabelPairs([]byte(text[1 : len(text)-1]))
}

// sample is a row of Series, Time, Value.
func (g *grafana) sample(fields []string) (*read.Reject, error) {
	if len(fields) != 3 {
		return &read.Reject{Reason: read.TooManyColumns}, nil
	}
	name, labels, reason := g.legend(fields[0])
	if reason != "" {
		return &read.Reject{Column: "Series", Reason: reason}, nil
	}
	at, reason := g.table.instant(fields[1])
	if reason != "" {
		return &read.Reject{Column: "Time", Reason: reason}, nil
	}
	value, absent, reason := g.cell(fields[2], "")
	switch {
	case absent:
		return nil, nil
	case reason != "":
		return &read.Reject{Column: "Value", Reason: reason}, nil
	}
	key := name + "\x00" + labels
	place, known := g.places[key]
	if known {
		place++
	}
	if known || len(g.places) < read.MaxKnownLabels {
		g.places[key] = place
	}
	return nil, g.out.Add(Sample{Scrape: place, AtNs: at, Name: name, Labels: labels, Value: value})
}

// grafanaUnits are the units that change with a value's size, as factors to base
// units. kB is 1,000 bytes and KiB 1,024.
var grafanaUnits = map[string]float64{"": 1, "ns": 1e-9, "µs": 1e-6, "μs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "mins": 60, "hour": 3600, "hours": 3600,
	"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"K": 1e3, "Mil": 1e6, "Bil": 1e9, "%": 1e-2, "W": 1, "kW": 1e3, "Hz": 1, "MHz": 1e6, "GHz": 1e9,
	"req/s": 1, "reqps": 1, "ops/s": 1, "tokens": 1, "tokens/s": 1, "tok/s": 1, "K req/s": 1e3, "K ops/s": 1e3}

// cell reads a number with a unit after it.
func (g *grafana) cell(text, _ string) (value float64, absent bool, reason string) {
	text = strings.TrimSpace(text)
	if g.separator == ';' {
		text = strings.Replace(text, ",", ".", 1)
	}
	if absentCells[strings.ToLower(text)] {
		return 0, true, ""
	}
	end := 0
	for end < len(text) && strings.IndexByte("+-.0123456789eE", text[end]) >= 0 {
		end++
	}
	value, reason = read.MetricValue([]byte(text[:end]))
	if reason != "" {
		return 0, false, reason
	}
	factor, known := grafanaUnits[strings.TrimSpace(text[end:])]
	if !known || math.IsInf(value, 0) {
		return 0, false, read.OtherUnit
	}
	return value * factor, false, ""
}
