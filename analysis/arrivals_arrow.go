//go:build duckdb_arrow

package analysis

import (
	"context"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/warehouse"
	"tidemark/replay"
)

const partQuery = `
select
    offset_ns,
    input_tokens,
    output_tokens,
    coalesce(session_id, '') as session_id,
    coalesce(turn, 0)::bigint as turn,
    coalesce(class, '') as class,
    blocks,
    coalesce(block_tokens, 0)::bigint as block_tokens
from staging.trace_rows
where source_name = ?
    and offset_ns >= ?
    and offset_ns < ?
order by
    offset_ns,
    line`

// read takes one part by the driver's Arrow interface, a tenth of the time of
// scanning rows.
func (p part) read(ctx context.Context, w *warehouse.Warehouse) ([]replay.Request, error) {
	requests := make([]replay.Request, 0, partRows)
	err := w.Arrow(ctx, func(conn *duckdb.Arrow) error {
		reader, err := conn.QueryContext(ctx, partQuery, p.source, int64(p.begin), int64(p.end))
		if err != nil {
			return err
		}
		defer reader.Release()
		for reader.Next() {
			requests = p.decode(requests, reader.RecordBatch())
		}
		return reader.Err()
	})
	return requests, err
}

// decode copies a batch: its memory is DuckDB's and is gone after it.
func (p part) decode(requests []replay.Request, batch arrow.RecordBatch) []replay.Request {
	whole := func(column int) *array.Int64 { return batch.Column(column).(*array.Int64) }
	text := func(column int) *array.String { return batch.Column(column).(*array.String) }
	offsets, inputs, outputs, turns, blockTokens := whole(0), whole(1), whole(2), whole(4), whole(7)
	sessions, classes := text(3), text(5)
	blocks := batch.Column(6).(*array.List)
	ids := blocks.ListValues().(*array.Uint64)
	for i := range int(batch.NumRows()) {
		request := replay.Request{
			Due:          time.Duration(offsets.Value(i)) - p.origin,
			InputTokens:  int(inputs.Value(i)),
			OutputTokens: int(outputs.Value(i)),
			Session:      strings.Clone(sessions.Value(i)),
			Turn:         int(turns.Value(i)),
			Class:        strings.Clone(classes.Value(i)),
		}
		if blocks.IsValid(i) {
			begin, end := blocks.ValueOffsets(i)
			request.Blocks = append([]uint64(nil), ids.Uint64Values()[begin:end]...)
			request.BlockTokens = int(blockTokens.Value(i))
		}
		requests = append(requests, request)
	}
	return requests
}
