package ingest

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemark/ingest/read"
	"tidemark/internal/store/warehouse"
)

// readerVersion is the state of the readers that a source was read by. It grows
// when the same file would come out differently, so that a user can see which
// sources to take in again.
const readerVersion = 4

// sourceRow is what raw.sources says of a file, a run or a results folder.
type sourceRow struct {
	*Result        // its name, its format, and how many rows were read
	kind    string // arrivals, lengths, metrics, results, run, folder, ...
	path    string
	sha256  string // of its unpacked bytes: the same rows, packed or not, are one source
	size    int64  // on disk, bytes
	about   read.About
	licence string
	readAs  string // what the user said of its columns and times
	rejects []read.Reject
}

// insertSource writes the source and its rejects, in the transaction of its rows.
func insertSource(ctx context.Context, tx *warehouse.Tx, id int64, s sourceRow) error {
	err := tx.Exec(ctx, `
		insert into raw.sources (
			source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated,
			time_unit, zone_assumption, block_tokens, collection, licence, read_as, reader_version, ingested_at)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''), nullif(?, ''), nullif(?, 0), nullif(?, ''), nullif(?, ''), nullif(?, ''), ?, ?)`,
		id, s.Name, s.kind, s.Format, s.path, s.sha256, s.size, s.RowsRead, s.RowsKept, s.RowsRejected, s.about.OriginAt, s.about.OriginAt != nil,
		s.about.TimeUnit, s.about.Zone, s.about.BlockTokens, s.about.Collection, s.licence, s.readAs, readerVersion, time.Now().UTC())
	if err != nil {
		return err
	}
	return insertRejects(ctx, tx, id, s.rejects)
}

var rejectSchema = arrow.NewSchema([]arrow.Field{
	{Name: "line", Type: arrow.PrimitiveTypes.Int64},
	{Name: "column_name", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "reason", Type: arrow.BinaryTypes.String},
}, nil)

// insertRejects writes the rejects of a source.
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
