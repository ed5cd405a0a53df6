package results

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/ingest/read"
)

// Argonne reads the results of Argonne's LLM-Inference-Bench: one table of offline
// runs on many machines, a row per batch. Rows repeat, some are blank, and names
// have blanks around them. In rows of llama.cpp the throughput is that of one
// sequence, in all others that of the whole batch.
var Argonne = read.Format{
	Name:  "argonne",
	Sees:  seesArgonne,
	Read:  readArgonne,
	Wants: "columns Hardware, Num of Hardware, Framework, Model, Input Output Length, Batch Size, Latency, Throughput",
}

// argonneColumns must all be there; the table has more.
var argonneColumns = []string{"Hardware", "Num of Hardware", "Framework", "Model", "Input Output Length", "Batch Size", "Latency", "Throughput"}

// seesArgonne compares trimmed names.
func seesArgonne(h *read.Head) string {
	columns := slices.Clone(h.Columns)
	for i := range columns {
		columns[i] = strings.TrimSpace(columns[i])
	}
	return read.If(read.HasAll(columns, argonneColumns...), "LLM-Inference-Bench: columns "+strings.Join(argonneColumns, ", "))
}

// readArgonne makes a point of each row.
func readArgonne(d *read.Document, out *read.Rows) error {
	return d.Sheets(out, func(_ int64, s *read.Sheet) (*read.Reject, error) {
		if s.IsBlank() {
			out.Note("blank rows passed over")
			return nil, nil
		}
		row, figures := argonneRow(s)
		if s.Problem() != nil {
			return s.Problem(), nil
		}
		return nil, addPoint(out, row, figures)
	})
}

// argonneRow reads a batch: as many prompts of a length as the batch is large,
// each answered with as many tokens.
func argonneRow(s *read.Sheet) (row Point, figures []Figure) {
	length, batch := argonneNumber(s, "Input Output Length"), argonneNumber(s, "Batch Size")
	latency, throughput := argonneNumber(s, "Latency"), argonneNumber(s, "Throughput")
	if latency == nil && throughput == nil {
		s.Wrong("Throughput", read.Missing)
	}
	kept := map[string]any{}
	if machines := argonneNumber(s, "Num of Hardware"); machines != nil {
		kept["num_hardware"] = *machines
	}
	if batch != nil {
		kept["batch_size"] = *batch
	}
	row = Point{
		Tool: "argonne", Hardware: read.WordOrNil(s.Text("Hardware")), Engine: read.WordOrNil(s.Text("Framework")), Model: read.WordOrNil(s.Text("Model")),
		Load: new("offline"), InputTokensAsked: length, OutputTokensAsked: length, Requests: wholeNumber(batch), Completed: wholeNumber(batch),
		DurationS: latency, Settings: read.Settings(kept),
	}
	name := "throughput"
	if strings.EqualFold(s.Text("Framework"), "llama.cpp") && batch != nil && *batch > 1 {
		name = "throughput_of_one_sequence" // unlike all other frameworks' rows
	}
	return row, append(valueFigure("latency", "s", latency), valueFigure(name, "tokens/s", throughput)...)
}

// argonneNumber is nil for an empty cell, and for NaN: a run that failed.
func argonneNumber(s *read.Sheet, column string) *float64 {
	text := s.Text(column)
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return nil
	case err != nil:
		s.Wrong(column, read.NotANumber)
	case math.IsNaN(value) || math.IsInf(value, 0):
		return nil
	case value < 0:
		s.Wrong(column, read.Negative)
	}
	return &value
}
