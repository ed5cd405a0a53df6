package ingest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// AIPerf's profile_export_aiperf.csv: a table of metrics by statistic, a blank
// line, a table of numbers alone, and at times one of GPUs. The CSV of several
// runs has its unit in a column.
var _ = register(format{
	name:  "aiperf-csv",
	sees:  seesAIPerfCSV,
	read:  readAIPerfCSV,
	wants: "columns Metric, avg, min, max, p99, std, or metric, mean, ci_low, ci_high, unit",
	kind:  "results",
})

func seesAIPerfCSV(h *head) string {
	switch {
	case h.columnsHave("Metric", "avg", "min", "max", "p99", "std"):
		return "an export of AIPerf: columns Metric, avg, p99, std"
	case h.columnsHave("metric", "mean", "cv", "ci_low", "ci_high", "t_critical", "unit"):
		return "an aggregate of AIPerf's runs: columns metric, mean, ci_low, ci_high, unit"
	}
	return ""
}

func readAIPerfCSV(d *document, out *rows) error {
	var columns []string // of the table that the lines belong to; nil in one that is passed over
	var figures []figureRow
	err := d.lines(out, func(number int64, line []byte) (*reject, error) {
		fields, reason := csvFields(line)
		if reason != "" {
			return &reject{reason: reason}, nil
		}
		switch {
		case strings.EqualFold(fields[0], "metric"):
			columns = fields
		case fields[0] == "Endpoint" || fields[0] == "Aggregation Type":
			columns = nil
			out.note("passed over: the tables behind the metrics")
		case columns != nil:
			found, reason := aiperfCSVFigures(columns, fields)
			if reason != "" {
				return &reject{column: "Metric", reason: reason}, nil
			}
			figures = append(figures, found...)
		}
		return nil, nil
	})
	// What was counted as lines are figures of one point.
	if err != nil || len(figures) == 0 {
		return err
	}
	out.note("numbers are rounded to two places; the JSON beside it has them whole")
	if err := out.add(pointRow{Tool: "aiperf"}); err != nil {
		return err
	}
	return addAll(out, figures)
}

var unitInParentheses = regexp.MustCompile(`^(.+) \(([A-Za-z%/]{1,20})\)$`)

// aiperfCSVFigures reads "Time to First Token (ms),30.8,28.7,...".
func aiperfCSVFigures(columns, fields []string) (figures []figureRow, reason string) {
	name, unit := fields[0], (*string)(nil)
	if parts := unitInParentheses.FindStringSubmatch(name); parts != nil {
		name, unit = parts[1], new(parts[2])
	}
	name = snakeCase(name)
	if word(name) == "" {
		return nil, isMissing
	}
	if i := slices.Index(columns, "unit"); i >= 0 && i < len(fields) {
		unit = orNil(word(fields[i]))
	}
	for i, column := range columns {
		if i == 0 || i >= len(fields) || fields[i] == "" || column == "unit" {
			continue
		}
		statistic := aiperfNames[column]
		switch {
		case aiperfStatistic.MatchString(column):
			statistic = column
		case column == "Value":
			statistic = "value"
		case statistic == "":
			continue
		}
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil || value != value || value-value != 0 {
			return nil, notANumber
		}
		figures = append(figures, figureRow{Name: name, Statistic: statistic, Unit: unit, Value: value})
	}
	return figures, ""
}

var notLetters = regexp.MustCompile(`[^a-z0-9]+`)

// snakeCase makes a metric's title its tag: "Time to First Token" is
// time_to_first_token.
func snakeCase(title string) string {
	return strings.Trim(notLetters.ReplaceAllString(strings.ToLower(title), "_"), "_")
}
