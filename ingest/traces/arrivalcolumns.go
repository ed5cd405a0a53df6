package traces

import (
	"github.com/apache/arrow-go/v18/arrow"

	"tidemark/ingest/read"
)

// The two formats whose files are large, Azure's and Mooncake's, are read by many
// workers straight into the columns that DuckDB takes: a row never becomes a struct of
// its own. This is what the rows of both have in common.

var arrivalSchema = arrow.NewSchema([]arrow.Field{
	{Name: "line", Type: arrow.PrimitiveTypes.Int64},
	{Name: "arrival_ns", Type: arrow.PrimitiveTypes.Int64},
	{Name: "input_tokens", Type: arrow.PrimitiveTypes.Int64},
	{Name: "output_tokens", Type: arrow.PrimitiveTypes.Int64},
}, nil)

// arrivalColumns are the columns of arrivalSchema under construction.
type arrivalColumns struct{ lines, arrivals, inputs, outputs *read.Column[int64] }

// newArrivalColumns has room for every line of a block, the last of which may have
// no end.
func newArrivalColumns(b read.Block) arrivalColumns {
	capacity := b.Ends + 1
	return arrivalColumns{read.NewInt64s(capacity), read.NewInt64s(capacity), read.NewInt64s(capacity), read.NewInt64s(capacity)}
}

func (c arrivalColumns) add(line, arrivalNs, input, output int64) {
	c.lines.Append(line)
	c.arrivals.Append(arrivalNs)
	c.inputs.Append(input)
	c.outputs.Append(output)
}

// arrays ends the columns.
func (c arrivalColumns) arrays() []arrow.Array {
	kind := arrow.PrimitiveTypes.Int64
	return []arrow.Array{c.lines.Array(kind), c.arrivals.Array(kind), c.inputs.Array(kind), c.outputs.Array(kind)}
}
