package runs

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemark/ingest/read"
)

// samples parses samples.jsonl.zst. A line is one look at the server's /metrics,
// kept as it was answered, or at the client's own state; one line makes many rows.
type samples struct{}

// sampleLine is one look, in seconds since the run began.
type sampleLine struct {
	At         *float64           `json:"at_s"`
	Origin     string             `json:"origin"`
	URL        string             `json:"url"`
	Exposition string             `json:"exposition"`
	Values     map[string]float64 `json:"values"`
}

// sampleSchema are the columns of raw.samples, except for the run.
var sampleSchema = arrow.NewSchema([]arrow.Field{
	{Name: "at_s", Type: arrow.PrimitiveTypes.Float64},
	{Name: "origin", Type: arrow.BinaryTypes.String},
	{Name: "name", Type: arrow.BinaryTypes.String},
	{Name: "labels", Type: arrow.BinaryTypes.String},
	{Name: "value", Type: arrow.PrimitiveTypes.Float64},
	{Name: "url", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func (samples) Schema() *arrow.Schema { return sampleSchema }

func (samples) names() string { return strings.Join(read.ColumnNames(sampleSchema), ", ") }

// Parse reads the lines of one block, in a worker of its own. Labels that repeat
// from look to look are parsed once per block.
func (samples) Parse(b read.Block) *read.Batch {
	builder := array.NewRecordBuilder(read.Memory, sampleSchema)
	defer builder.Release()
	book := read.NewLabels()
	book.IsVerbatim = true // a run's server is the user's own, and its labels name no one else
	made := &read.Batch{}
	b.Rows(made, func(_ int64, line []byte) *read.Reject {
		var look sampleLine
		if err := json.Unmarshal(line, &look); err != nil {
			return read.JSONReject(err)
		}
		if look.At == nil {
			return &read.Reject{Column: "at_s", Reason: read.Missing}
		}
		rows, problem := look.series(book)
		if problem != nil {
			return problem
		}
		for _, row := range rows {
			builder.Field(0).(*array.Float64Builder).Append(*look.At)
			builder.Field(1).(*array.StringBuilder).Append(look.Origin)
			builder.Field(2).(*array.StringBuilder).Append(row.Name)
			builder.Field(3).(*array.StringBuilder).Append(row.Labels)
			builder.Field(4).(*array.Float64Builder).Append(row.Value)
			if url := builder.Field(5).(*array.StringBuilder); look.URL == "" {
				url.AppendNull() // the client's own state
			} else {
				url.Append(look.URL)
			}
		}
		made.Kept++
		return nil
	})
	made.Record = builder.NewRecordBatch()
	return made
}

// series are the values of one look. One line that is not Prometheus text spoils
// its look, because a scrape with holes would show as a fall of a counter.
func (l sampleLine) series(book *read.Labels) (rows []read.PromSample, problem *read.Reject) {
	switch l.Origin {
	case "client":
		for _, name := range read.SortedKeys(l.Values) {
			rows = append(rows, read.PromSample{Name: name, Value: l.Values[name]})
		}
		return rows, nil
	case "server":
		for line := range strings.Lines(l.Exposition) {
			text := bytes.TrimSpace([]byte(line))
			if len(text) == 0 || text[0] == '#' {
				continue
			}
			row, reason := book.Sample(text)
			if reason != "" {
				return nil, &read.Reject{Column: "exposition", Reason: "not Prometheus text"}
			}
			rows = append(rows, row)
		}
		return rows, nil
	}
	return nil, &read.Reject{Column: "origin", Reason: "neither server nor client"}
}
