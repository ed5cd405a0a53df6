package results

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/ingest/read"
)

// Argonne's LLM-Inference-Bench: one table of offline runs on many machines, a
// row a batch. Rows repeat, some are blank, and names have blanks around them.
var Argonne = read.Format{
	Name:  "argonne",
	Sees:  seesArgonne,
	Read:  readArgonne,
	Wants: "columns Hardware, Num of Hardware, Framework, Model, Input Output Length, Batch Size, Latency, Throughput",
	Kind:  "results",
}

var argonneColumns = []string{"Hardware", "Num of Hardware", "Framework", "Model", "Input Output Length", "Batch Size", "Latency", "Throughput"}

func seesArgonne(h *read.Head) string {
	columns := slices.Clone(h.Columns)
	for i := range columns {
		columns[i] = strings.TrimSpace(columns[i])
	}
	if !read.HasAll(columns, argonneColumns...) {
		return ""
	}
	return "LLM-Inference-Bench: columns " + strings.Join(argonneColumns, ", ")
}

func readArgonne(d *read.Document, out *read.Rows) error {
	var places []int // of argonneColumns in a line
	point := int32(0)
	return d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		fields, reason := read.CSVFields(line)
		switch {
		case reason != "":
			return &read.Reject{Reason: reason}, nil
		case len(places) == 0:
			for _, column := range argonneColumns {
				places = append(places, slices.Index(fields, column))
			}
			return nil, nil
		case strings.Join(fields, "") == "":
			out.Note("blank rows passed over")
			return nil, nil
		}
		row, figures, problem := argonneRow(fields, places)
		if problem != nil {
			return problem, nil
		}
		row.Point = point
		if err := out.Add(row); err != nil {
			return nil, err
		}
		for i := range figures {
			figures[i].Point = point
		}
		point++
		return nil, addAll(out, figures)
	})
}

// argonneRow reads a batch: as many prompts of a length as the batch is large,
// each answered with as many tokens.
func argonneRow(fields []string, places []int) (row Point, figures []Figure, problem *read.Reject) {
	field := func(i int) string {
		if places[i] < 0 || places[i] >= len(fields) {
			return ""
		}
		return fields[places[i]]
	}
	numbers := map[int]*float64{}
	for _, i := range []int{1, 4, 5, 6, 7} {
		text := field(i)
		if text == "" {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
			return row, nil, &read.Reject{Column: argonneColumns[i], Reason: read.NotANumber}
		case math.IsNaN(value) || math.IsInf(value, 0):
			continue // a run that failed
		case value < 0:
			return row, nil, &read.Reject{Column: argonneColumns[i], Reason: read.Negative}
		}
		numbers[i] = &value
	}
	if numbers[6] == nil && numbers[7] == nil {
		return row, nil, &read.Reject{Column: "Throughput", Reason: read.Missing}
	}
	row = Point{
		Tool: "argonne", Hardware: read.OrNil(read.Word(field(0))), Engine: read.OrNil(read.Word(field(2))), Model: read.OrNil(read.Word(field(3))), Load: new("offline"),
		InputTokensAsked: numbers[4], OutputTokensAsked: numbers[4], Requests: wholeNumber(numbers[5]), Completed: wholeNumber(numbers[5]),
		DurationS: numbers[6],
	}
	kept := map[string]any{}
	if numbers[1] != nil {
		kept["num_hardware"] = *numbers[1]
	}
	if numbers[5] != nil {
		kept["batch_size"] = *numbers[5]
	}
	row.Settings = read.Settings(kept)
	if numbers[6] != nil {
		figures = append(figures, Figure{Name: "latency", Statistic: "value", Unit: new("s"), Value: *numbers[6]})
	}
	if numbers[7] != nil {
		name := "throughput"
		if strings.EqualFold(field(2), "llama.cpp") && numbers[5] != nil && *numbers[5] > 1 {
			name = "throughput_of_one_sequence" // unlike all other frameworks' rows
		}
		figures = append(figures, Figure{Name: name, Statistic: "value", Unit: new("tokens/s"), Value: *numbers[7]})
	}
	return row, figures, nil
}
