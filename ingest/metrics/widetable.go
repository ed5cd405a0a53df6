package metrics

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest/read"
)

// Tables with a column of time and a column per series: nvidia-smi's, Grafana's,
// a sampler's of a server's gauges. One row makes as many samples as it has
// cells with a number.

// wideColumn is a column that makes samples; without a name it makes none.
type wideColumn struct {
	name   string
	labels string
	unit   string // that each cell may repeat; "" where the header has none
}

// wideTable reads the rows of such a table. Its format settles the columns and how
// a cell is read.
type wideTable struct {
	out     *read.Rows
	at      *instants
	clock   read.Clock
	columns []wideColumn
	// cell reads what stands in one cell; absent is no sample and no reject.
	cell   func(text, unit string) (value float64, absent bool, reason string)
	scrape int32
}

// newWideTable reads plain numbers; a format may set another cell.
func newWideTable(out *read.Rows, columns []wideColumn) *wideTable {
	return &wideTable{out: out, at: &instants{out: out}, columns: columns, cell: plainCell, scrape: -1}
}

// row takes the cells of one line. Labels of the row, as of its GPU, go before
// those of the column.
func (t *wideTable) row(line int64, at *int64, labels string, fields []string) error {
	t.scrape++
	if len(fields) > len(t.columns) {
		return t.out.Reject(line, "", read.TooManyColumns)
	}
	for i, field := range fields {
		column := t.columns[i]
		if column.name == "" {
			continue
		}
		value, absent, reason := t.cell(strings.TrimSpace(field), column.unit)
		switch {
		case absent:
		case reason != "":
			t.out.Reject(line, column.name, reason)
		default:
			t.out.Add(Sample{Scrape: t.scrape, AtNs: at, Name: column.name, Labels: cmp.Or(labels, column.labels), Value: value})
		}
	}
	return t.out.Err()
}

// instant reads seconds since the sampler began, a Unix time, or a date.
func (t *wideTable) instant(text string) (*int64, string) {
	text = strings.TrimSpace(text)
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		if number >= 0 && number < earliestUnixSeconds {
			ns, reason := read.WholeDecimal([]byte(text), 9, read.NotATime)
			t.out.About.TimeUnit = "s"
			return &ns, reason
		}
		ns, unit, reason := unixTime([]byte(text))
		if reason != "" {
			return nil, reason
		}
		return t.at.since(ns, unit), ""
	}
	dashed := []byte(text)
	if len(dashed) >= 10 && dashed[4] == '/' && dashed[7] == '/' { // nvidia-smi's 2024/05/10
		dashed[4], dashed[7] = '-', '-'
	}
	ns, used, zoned, reason := t.clock.Instant(dashed)
	if reason == "" && used != len(dashed) {
		reason = read.NotATime
	}
	if reason != "" {
		return nil, reason
	}
	if !zoned {
		t.out.About.Zone = "no zone given, read as UTC"
	}
	return t.at.since(ns, "datetime"), ""
}

// earliestUnixSeconds is in September 2001; a smaller number counts from a zero of
// the file's own.
const earliestUnixSeconds = 1_000_000_000

// absentCells are how tools write that there is no number.
var absentCells = map[string]bool{"": true, "-": true, "n/a": true, "[n/a]": true, "[not supported]": true, "[not found]": true,
	"[unknown error]": true, "[insufficient permissions]": true, "null": true, "nan": true, "undefined": true, "[gpu requires reset]": true}

// plainCell reads a number, or a number with its column's unit after it.
func plainCell(text, unit string) (value float64, absent bool, reason string) {
	if absentCells[strings.ToLower(text)] {
		return 0, true, ""
	}
	number, behind, _ := strings.Cut(text, " ")
	value, reason = read.MetricValue([]byte(number))
	if behind = strings.TrimSpace(behind); reason == "" && behind != "" && behind != unit {
		reason = read.OtherUnit
	}
	return value, false, reason
}

// wideFields cuts a line at commas or, without any, at blanks.
func wideFields(line []byte) (fields []string, reason string) {
	if bytes.IndexByte(line, ',') < 0 {
		return strings.Fields(string(line)), ""
	}
	return read.CSVFields(line)
}

// secondsOfDay reads 12:34:56, as a tool writes that knows no date.
func secondsOfDay(text string) (int64, bool) {
	at, err := time.Parse("15:04:05", text)
	return int64(at.Hour()*3600 + at.Minute()*60 + at.Second()), err == nil
}
