package runs

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	metrics "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"tidemark/ingest/read"
)

// samples parses samples.jsonl.zst: a line is one look at the server's /metrics,
// kept as it was said, or at the client's own state. One line makes many rows.
type samples struct{}

type sampleLine struct {
	At         *float64           `json:"at_s"`
	Origin     string             `json:"origin"`
	URL        string             `json:"url"`
	Exposition string             `json:"exposition"`
	Values     map[string]float64 `json:"values"`
}

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

func (samples) Parse(b read.Block) *read.Batch {
	builder := array.NewRecordBuilder(read.Memory, sampleSchema)
	defer builder.Release()
	made := &read.Batch{}
	b.Rows(made, func(_ int64, line []byte) *read.Reject {
		var look sampleLine
		if err := json.Unmarshal(line, &look); err != nil {
			return read.JSONReject(err)
		}
		if look.At == nil {
			return &read.Reject{Column: "at_s", Reason: read.Missing}
		}
		rows, problem := look.series()
		if problem != nil {
			return problem
		}
		for _, row := range rows {
			builder.Field(0).(*array.Float64Builder).Append(*look.At)
			builder.Field(1).(*array.StringBuilder).Append(look.Origin)
			builder.Field(2).(*array.StringBuilder).Append(row.name)
			builder.Field(3).(*array.StringBuilder).Append(row.labels)
			builder.Field(4).(*array.Float64Builder).Append(row.value)
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

// series is one value of one look.
type series struct {
	name, labels string
	value        float64
}

func (l sampleLine) series() ([]series, *read.Reject) {
	switch l.Origin {
	case "client":
		var rows []series
		for _, name := range slices.Sorted(maps.Keys(l.Values)) {
			rows = append(rows, series{name, "", l.Values[name]})
		}
		return rows, nil
	case "server":
		return exposed(l.Exposition)
	}
	return nil, &read.Reject{Column: "origin", Reason: "neither server nor client"}
}

// exposed takes an exposition apart, back into the series that it was written as.
func exposed(text string) ([]series, *read.Reject) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil, &read.Reject{Column: "exposition", Reason: "not Prometheus text"}
	}
	var rows []series
	for _, name := range slices.Sorted(maps.Keys(families)) {
		for _, metric := range families[name].GetMetric() {
			rows = appendMetric(rows, name, metric)
		}
	}
	return rows, nil
}

func appendMetric(rows []series, name string, metric *metrics.Metric) []series {
	add := func(suffix, extraName, extraValue string, value float64) {
		rows = append(rows, series{name + suffix, labels(metric.GetLabel(), extraName, extraValue), value})
	}
	switch {
	case metric.Histogram != nil:
		for _, bucket := range metric.Histogram.GetBucket() {
			add("_bucket", "le", read.PlainBound(bucket.GetUpperBound()), float64(bucket.GetCumulativeCount()))
		}
		add("_sum", "", "", metric.Histogram.GetSampleSum())
		add("_count", "", "", float64(metric.Histogram.GetSampleCount()))
	case metric.Summary != nil:
		for _, quantile := range metric.Summary.GetQuantile() {
			add("", "quantile", read.PlainBound(quantile.GetQuantile()), quantile.GetValue())
		}
		add("_sum", "", "", metric.Summary.GetSampleSum())
		add("_count", "", "", float64(metric.Summary.GetSampleCount()))
	case metric.Counter != nil:
		add("", "", "", metric.Counter.GetValue())
	case metric.Gauge != nil:
		add("", "", "", metric.Gauge.GetValue())
	case metric.Untyped != nil:
		add("", "", "", metric.Untyped.GetValue())
	}
	return rows
}

// labels are k="v" sorted by key, with commas between.
func labels(pairs []*metrics.LabelPair, extraName, extraValue string) string {
	var all []string
	for _, pair := range pairs {
		all = append(all, pair.GetName()+"="+strconv.Quote(pair.GetValue()))
	}
	if extraName != "" {
		all = append(all, extraName+"="+strconv.Quote(extraValue))
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}
