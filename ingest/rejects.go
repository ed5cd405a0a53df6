package ingest

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemark/ingest/read"
	"tidemark/internal/warehouse"
)

var rejectSchema = arrow.NewSchema([]arrow.Field{
	{Name: "line", Type: arrow.PrimitiveTypes.Int64},
	{Name: "column_name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "reason", Type: arrow.BinaryTypes.String},
}, nil)

// insertRejects writes them beside their source, in the same transaction.
func insertRejects(ctx context.Context, tx *warehouse.Tx, source int64, rejects []read.Reject) error {
	if len(rejects) == 0 {
		return nil
	}
	builder := array.NewRecordBuilder(read.Memory, rejectSchema)
	defer builder.Release()
	lines := builder.Field(0).(*array.Int64Builder)
	columns := builder.Field(1).(*array.StringBuilder)
	reasons := builder.Field(2).(*array.StringBuilder)
	for _, r := range rejects {
		lines.Append(r.Line)
		if r.Column == "" {
			columns.AppendNull()
		} else {
			columns.Append(r.Column)
		}
		reasons.Append(r.Reason)
	}
	batch := builder.NewRecordBatch()
	defer batch.Release()
	reader, err := array.NewRecordReader(rejectSchema, []arrow.RecordBatch{batch})
	if err != nil {
		return err
	}
	defer reader.Release()
	return tx.Stream(ctx, reader, fmt.Sprintf("rejected_%d", source), fmt.Sprintf(
		"insert into raw.rejects select %d, line, column_name, reason from rejected_%d", source, source))
}
