package results

import (
	"slices"
	"strconv"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/lazy"
	"tidemark/internal/maybe"
)

// AIPerfCSV reads AIPerf's profile_export_aiperf.csv: a table of metrics by
// statistic, a blank line, a table of single numbers, and at times one of GPUs. The
// CSV of several runs has the unit in a column of its own; otherwise it is in the
// name, "Time to First Token (ms)". Numbers are rounded to two places, so the JSON
// is the better source.
var AIPerfCSV = read.Format{
	Name:  "aiperf-csv",
	Sees:  seesAIPerfCSV,
	Read:  readAIPerfCSV,
	Wants: "columns Metric, avg, min, max, p99, std, or metric, mean, ci_low, ci_high, unit",
}

// seesAIPerfCSV recognises the table of one run and that of several.
func seesAIPerfCSV(h *read.Head) string {
	switch {
	case h.ColumnsHave("Metric", "avg", "min", "max", "p99", "std"):
		return "an export of AIPerf: columns Metric, avg, p99, std"
	case h.ColumnsHave("metric", "mean", "cv", "ci_low", "ci_high", "t_critical", "unit"):
		return "an aggregate of AIPerf's runs: columns metric, mean, ci_low, ci_high, unit"
	}
	return ""
}

// readAIPerfCSV reads table after table; only those that begin with Metric hold
// figures.
func readAIPerfCSV(d *read.Document, out *read.Rows) error {
	var columns []string // of the table that the lines belong to; nil in one that is passed over
	var figures []Figure
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		fields, reason := read.CSVFields(line)
		if reason != "" {
			return &read.Reject{Reason: reason}, nil
		}
		switch {
		case strings.EqualFold(fields[0], "metric"):
			columns = fields
		case fields[0] == "Endpoint" || fields[0] == "Aggregation Type":
			columns = nil
			out.Note("passed over: the tables behind the metrics")
		case columns != nil:
			found, reason := aiperfCSVFigures(columns, fields)
			if reason != "" {
				return &read.Reject{Column: "Metric", Reason: reason}, nil
			}
			figures = append(figures, found...)
		}
		return nil, nil
	})
	// What was counted as lines are figures of one point.
	if err != nil || len(figures) == 0 {
		return err
	}
	out.Note("numbers are rounded to two places; the JSON next to it has all digits")
	return addPoint(out, Point{Tool: "aiperf"}, figures)
}

// unitInParentheses takes "Time to First Token (ms)" apart.
var unitInParentheses = lazy.Regexp(`^(.+) \(([A-Za-z%/]{1,20})\)$`)

// aiperfCSVFigures reads "Time to First Token (ms),30.8,28.7,...".
func aiperfCSVFigures(columns, fields []string) (figures []Figure, reason string) {
	name, unit := fields[0], (*string)(nil)
	if parts := unitInParentheses().FindStringSubmatch(name); parts != nil {
		name, unit = parts[1], new(parts[2])
	}
	name = snakeCase(name)
	if read.Word(name) == "" {
		return nil, read.Missing
	}
	if i := slices.Index(columns, "unit"); i >= 0 && i < len(fields) {
		unit = maybe.Known(read.Word(fields[i]))
	}
	for i, column := range columns {
		if i == 0 || i >= len(fields) || fields[i] == "" || column == "unit" {
			continue
		}
		statistic := aiperfNames[column]
		switch {
		case aiperfStatistic().MatchString(column):
			statistic = column
		case column == "Value":
			statistic = "value"
		case statistic == "":
			continue
		}
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || value != value || value-value != 0 {
			return nil, read.NotANumber
		}
		figures = append(figures, Figure{Name: name, Statistic: statistic, Unit: unit, Value: value})
	}
	return figures, ""
}

// notLetters become one underscore.
var notLetters = lazy.Regexp(`[^a-z0-9]+`)

// snakeCase makes a metric's title its tag: "Time to First Token" is
// time_to_first_token.
func snakeCase(title string) string {
	return strings.Trim(notLetters().ReplaceAllString(strings.ToLower(title), "_"), "_")
}
