package ingest

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemark/internal/hint"
)

// rows is where a reader of whole documents puts what it reads: rows of any raw
// table, in the transaction of its file. It holds a bounded number of them.
type rows struct {
	ctx    context.Context
	tx     Sink
	source int64
	doc    *document
	about  about
	tables map[string]*table
	sum    tally
	notes  []string
	counts map[string]int64 // rows of each table
	told   func(tally)      // after each batch; may be nil
	people numbered         // sessions of results that may be called after somebody

	// Several results may make one source: points of each are numbered on, and are
	// called as it is.
	firstPoint int32
	label      string
	holdsText  bool // a field was met that holds text

	cells    marginals
	wordless int // rows whose class was left out
	strange  map[nonsense]int
}

// Sink takes what is read into the warehouse, in the transaction of one file.
type Sink interface {
	Stream(ctx context.Context, reader array.RecordReader, view, statement string, args ...any) error
	Exec(ctx context.Context, statement string, args ...any) error
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// newRows begins a file. Without a transaction, nothing is written: that is for
// fuzzing.
func newRows(ctx context.Context, tx Sink, source int64, doc *document) *rows {
	return &rows{ctx: ctx, tx: tx, source: source, doc: doc, tables: map[string]*table{}, counts: map[string]int64{}}
}

// about is what holds for a whole source, as its reader found it.
type about struct {
	originAt    *time.Time // instant of arrival_ns, at_ns or window second 0; nil for relative times
	timeUnit    string     // how the file writes time: datetime, s, ms, us, ns; "" without times
	zone        string     // what was assumed; "" for nothing
	blockTokens int        // 0 without prefix blocks
	kind        string     // of the source, where that is not the format's usual one
	collection  string     // what this file and its neighbours are called together; "" where it stands alone
}

// Row is one row of a raw table: a struct whose fields are the columns that their
// sql tags name. A nil pointer is null. queries/raw says what each column means.
type Row interface{ Table() string }

// checkedRow says itself what in it cannot be, and its place where several results
// make one source; false where nothing is left of it.
type checkedRow interface{ Check(out *rows) (Row, bool) }

// ofOtherRows are the tables that say more of rows of another table: they are not
// counted as rows of the source.
var ofOtherRows = map[string]bool{"arrival_details": true, "kernel_tables": true, "figures": true}

// add takes in one row of tables.go. Its error ends the file.
func (r *rows) add(one Row) error {
	if checked, isChecked := one.(checkedRow); isChecked {
		var isKept bool
		if one, isKept = checked.Check(r); !isKept {
			return nil
		}
	}
	value := reflect.ValueOf(one)
	t := r.tables[one.Table()]
	if t == nil {
		t = newTable(one.Table(), value.Type())
		r.tables[t.name] = t
	}
	t.append(value)
	r.counts[t.name]++
	if !ofOtherRows[t.name] {
		r.sum.read++
		r.sum.kept++
	}
	switch one := one.(type) {
	case arrivalRow:
		r.arrived(one.ArrivalNs)
	case lengthCellRow:
		r.cells.count(one)
	}
	if t.rows >= rowsInBatch || t.bytes >= bytesInBatch {
		return r.flush(t)
	}
	return nil
}

// session is a session's id as it is, or a number in its place where it may be a
// name. Beyond what numbers are kept of, it is left out.
func (r *rows) session(id *string) *string {
	if id == nil || plainID.MatchString(*id) {
		return id
	}
	r.note("sessions: what is no plain id was numbered")
	r.people.prefix = "session-"
	number, ok := r.people.of(*id)
	if !ok {
		return nil
	}
	return &number
}

func (r *rows) arrived(at int64) {
	switch {
	case r.counts["arrivals"] == 1:
		r.sum.first = at
	case at < r.sum.last:
		r.sum.backwards++
	case at == r.sum.last:
		r.sum.ties++
	}
	r.sum.last = at
}

// reject says that a row was not taken in: where and why, never its text. A
// document without lines counts its records from 1.
func (r *rows) reject(line int64, column, reason string) error {
	r.sum.read++
	r.sum.rejected++
	r.sum.rejects = append(r.sum.rejects, reject{line, column, reason})
	return r.sum.hopeless()
}

// note is something that a reader of the numbers must know; the same is said
// once.
func (r *rows) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// text tells of a field that holds what people or models wrote. It is left out,
// or the file is refused, as the user says. The name is a key's, never data.
func (r *rows) text(field string) error {
	r.holdsText = true
	if r.doc.refusesText {
		return hint.Errorf("it holds text (%s)", field).Hint("take it in without: --text strip; nothing of the text is kept then")
	}
	r.note("text was left out: %s", field)
	return nil
}

// Rows are handed to DuckDB in batches of about this many.
const (
	rowsInBatch  = 1 << 16
	bytesInBatch = 32 << 20
)

func (r *rows) flush(t *table) error {
	if t.rows == 0 {
		return nil
	}
	batch := t.builder.NewRecordBatch()
	defer batch.Release()
	t.rows, t.bytes = 0, 0
	if r.told != nil {
		r.told(r.sum)
	}
	if err := r.ctx.Err(); err != nil || r.tx == nil {
		return err
	}
	reader, err := array.NewRecordReader(t.shape, []arrow.RecordBatch{batch})
	if err != nil {
		return err
	}
	defer reader.Release()
	names := strings.Join(columnNames(t.shape), ", ")
	return r.tx.Stream(r.ctx, reader, fmt.Sprintf("arriving_%d", r.source), fmt.Sprintf(
		"insert into raw.%s (source_id, %s) select %d, %s from arriving_%d", t.name, names, r.source, names, r.source))
}

// end writes what is still held, and notes what was counted.
func (r *rows) end() error {
	r.noteShape()
	r.noteClasses()
	r.noteNonsense()
	for _, t := range r.tables {
		if err := r.flush(t); err != nil {
			return err
		}
	}
	return nil
}

func (r *rows) close() {
	for _, t := range r.tables {
		t.builder.Release()
	}
}

// table is the rows of one raw table that are on their way.
type table struct {
	name    string
	shape   *arrow.Schema
	columns []func(array.Builder, reflect.Value)
	builder *array.RecordBuilder
	rows    int
	bytes   int // of text and lists, roughly
}

func newTable(name string, kind reflect.Type) *table {
	t := &table{name: name}
	var fields []arrow.Field
	for i := range kind.NumField() {
		field := kind.Field(i)
		dataType, appendValue := arrowColumn(field.Type)
		fields = append(fields, arrow.Field{Name: field.Tag.Get("sql"), Type: dataType, Nullable: true})
		t.columns = append(t.columns, appendValue)
	}
	t.shape = arrow.NewSchema(fields, nil)
	t.builder = array.NewRecordBuilder(outside, t.shape)
	return t
}

func (t *table) append(row reflect.Value) {
	for i, appendValue := range t.columns {
		value := row.Field(i)
		switch value.Kind() {
		case reflect.Pointer:
			if value.IsNil() {
				t.builder.Field(i).AppendNull()
				continue
			}
			value = value.Elem()
		case reflect.Slice:
			if value.IsNil() {
				t.builder.Field(i).AppendNull()
				continue
			}
		}
		if kind := value.Kind(); kind == reflect.String || kind == reflect.Slice {
			t.bytes += 8 * value.Len()
		}
		appendValue(t.builder.Field(i), value)
	}
	t.rows++
}

// orNil is null for a zero value.
func orNil[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
