package read

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

// Rows is where a reader of a whole document puts what it reads: rows of any raw
// table, in the transaction of its file. It holds a bounded number of rows: a full
// batch goes to the warehouse at once. One goroutine uses it.
type Rows struct {
	Context  context.Context
	Sink     Sink
	source   int64
	doc      *Document
	About    About
	tables   map[string]*table
	Sum      Counts
	Notes    []string
	Counts   map[string]int64 // rows of each table
	Progress func(Counts)     // after each batch; may be nil
	people   Numbered         // sessions of results that may be called after somebody

	Label     string          // of the points, where several results make one source (a results folder)
	textNames map[string]bool // told by TextIn
	HoldsText bool            // a field was met that holds text

	failed      error // the first of Add, Reject or Text; it stays
	cells       marginals
	wordless    int // rows whose class was left out
	implausible map[implausible]int
}

// Sink takes what is read into the warehouse, in the transaction of one file.
// warehouse.Tx is one.
type Sink interface {
	Stream(ctx context.Context, reader array.RecordReader, view, statement string, args ...any) error
	Exec(ctx context.Context, statement string, args ...any) error
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// NewRows starts a file. Without a sink nothing is written: that is for a trial,
// and for fuzzing.
func NewRows(ctx context.Context, tx Sink, source int64, doc *Document) *Rows {
	return &Rows{Context: ctx, Sink: tx, source: source, doc: doc, tables: map[string]*table{}, Counts: map[string]int64{}}
}

// About is what holds for a whole source, as its reader found it.
type About struct {
	OriginAt    *time.Time // instant of arrival_ns, at_ns or window second 0; nil for relative times
	TimeUnit    string     // how the file writes time: datetime, s, ms, us, ns; "" without times
	Zone        string     // what was assumed; "" for nothing
	BlockTokens int        // 0 without prefix blocks
	Kind        string     // of the source, where that is not the format's usual one
	Collection  string     // what this file and its neighbours are called together; "" where it stands alone
}

// Row is one row of a raw table: a struct whose fields are the columns that their
// sql tags name. A nil pointer is null. queries/raw says what each column means. A
// wing declares the rows that only it makes; arrivals.go has those of several
// wings.
type Row interface{ Table() string }

// checkedRow is a row that drops from itself what cannot be true; false where
// nothing is left of it.
type checkedRow interface{ Check(out *Rows) (Row, bool) }

// ofOtherRows are the tables that say more about rows of another table. Their rows
// are not counted as rows of the source.
var ofOtherRows = map[string]bool{"arrival_details": true, "kernel_tables": true, "figures": true, "step_sources": true}

// Err is the first error of Add, Reject or Text. It stays, as that of a bufio.Writer
// does: nothing is taken in after it. A reader may therefore call them without looking at
// each answer. Lines looks after every line, and End and Read look at the end.
func (r *Rows) Err() error { return r.failed }

// Add takes in one row. Its error ends the file: the warehouse refused it, or the
// user stopped.
func (r *Rows) Add(one Row) error {
	if r.failed == nil {
		r.failed = r.add(one)
	}
	return r.failed
}

func (r *Rows) add(one Row) error {
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
	r.Counts[t.name]++
	if !ofOtherRows[t.name] {
		r.Sum.Read++
		r.Sum.Kept++
	}
	switch one := one.(type) {
	case Arrival:
		r.arrived(one.ArrivalNs)
	case LengthCell:
		r.cells.count(one)
	}
	if t.rows >= rowsInBatch || t.bytes >= bytesInBatch {
		return r.flush(t)
	}
	return nil
}

// Session is a session's id as it is, or a number in its place where the id may be
// somebody's name. Beyond the memory for numbers it is left out.
func (r *Rows) Session(id *string) *string {
	if id == nil || PlainID().MatchString(*id) {
		return id
	}
	r.Note("sessions: ids that might be names were numbered")
	r.people.Prefix = "session-"
	number, ok := r.people.Of(*id)
	if !ok {
		return nil
	}
	return &number
}

// arrived counts rows that are earlier than the row before them, and rows of the
// same instant: only among those can there be duplicates.
func (r *Rows) arrived(at int64) {
	switch {
	case r.Counts["arrivals"] == 1:
	case at < r.Sum.Last:
		r.Sum.Backwards++
	case at == r.Sum.Last:
		r.Sum.Ties++
	}
	r.Sum.Last = at
}

// Reject counts a row that was not taken in: where and why, never its text. A
// document without lines counts its records from 1.
func (r *Rows) Reject(line int64, column, reason string) error {
	if r.failed == nil {
		r.Sum.Read++
		r.Sum.Rejected++
		r.Sum.Rejects = append(r.Sum.Rejects, Reject{line, column, reason})
		r.failed = r.Sum.hopeless()
	}
	return r.failed
}

// Note is something that a reader of the numbers must know. The same note is kept once.
func (r *Rows) Note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(r.Notes, text) {
		r.Notes = append(r.Notes, text)
	}
}

// Text tells of a field that holds what people or models wrote. It is left out, or
// the file is refused, as the user says. The field is a key, never data.
func (r *Rows) Text(field string) error {
	r.HoldsText = true
	if !r.doc.RefusesText {
		r.Note("text was left out: %s", field)
	} else if r.failed == nil {
		r.failed = hint.Errorf("it holds text (%s)", field).Hint("take it in without: --text strip; nothing of the text is kept then")
	}
	return r.failed
}

// TextIn is Text for a name of the file's own, which is said only where it looks like a
// name. A name is told once, and of very many only the first hundred.
func (r *Rows) TextIn(name, otherwise string) error {
	if r.textNames[name] || len(r.textNames) >= 100 {
		return nil
	}
	if r.textNames == nil {
		r.textNames = map[string]bool{}
	}
	r.textNames[name] = true
	if !NameLike().MatchString(name) {
		name = otherwise
	}
	return r.Text(name)
}

// Rows are handed to DuckDB in batches of about this many.
const (
	rowsInBatch  = 1 << 16
	bytesInBatch = 32 << 20
)

// flush hands the rows of one table to the warehouse, as one Arrow batch and one
// statement.
func (r *Rows) flush(t *table) error {
	if t.rows == 0 {
		return nil
	}
	batch := t.builder.NewRecordBatch()
	defer batch.Release()
	t.rows, t.bytes = 0, 0
	if r.Progress != nil {
		r.Progress(r.Sum)
	}
	if err := r.Context.Err(); err != nil || r.Sink == nil {
		return err
	}
	reader, err := array.NewRecordReader(t.shape, []arrow.RecordBatch{batch})
	if err != nil {
		return err
	}
	defer reader.Release()
	names := strings.Join(ColumnNames(t.shape), ", ")
	return r.Sink.Stream(r.Context, reader, fmt.Sprintf("arriving_%d", r.source), fmt.Sprintf(
		"insert into raw.%s (source_id, %s) select %d, %s from arriving_%d", t.name, names, r.source, names, r.source))
}

// End writes what is still held, and notes what was counted.
func (r *Rows) End() error {
	r.noteShape()
	r.noteClasses()
	r.noteImplausible()
	for _, t := range r.tables {
		if r.failed == nil {
			r.failed = r.flush(t)
		}
	}
	return r.failed
}

// Close frees the batches under construction.
func (r *Rows) Close() {
	for _, t := range r.tables {
		t.builder.Release()
	}
}
