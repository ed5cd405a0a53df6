package worker

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"tidemark/internal/cli/tables"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

// framer writes the answer in frames. It holds at most one frame's bytes.
type framer struct {
	to      io.Writer
	held    []byte
	sent    int64 // bytes of the answer, held ones included
	flushed time.Time
}

func (f *framer) Write(p []byte) (int, error) {
	f.sent += int64(len(p))
	for rest := p; len(rest) > 0; {
		if len(f.held) == mostInFrame { // more follows, so this frame ends in the middle
			if err := f.flush(FramePart); err != nil {
				return 0, err
			}
		}
		n := min(len(rest), mostInFrame-len(f.held))
		f.held = append(f.held, rest[:n]...)
		rest = rest[n:]
	}
	return len(p), nil
}

func (f *framer) flush(kind byte) error {
	err := writeFrame(f.to, kind, f.held)
	f.held, f.flushed = f.held[:0], time.Now()
	return err
}

// pause is called between two batches. It sends what is held where that is much or has waited, so that few frames are
// written and rows that come slowly are seen.
func (f *framer) pause() error {
	const much, longest = 1 << 18, 100 * time.Millisecond
	if len(f.held) < much && time.Since(f.flushed) < longest {
		return nil
	}
	return f.flush(FrameData)
}

func (f *framer) head(head Head) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	return writeFrame(f.to, FrameHead, text)
}

func (f *framer) end(rows int64) error {
	if err := f.flush(FrameData); err != nil {
		return err
	}
	text, err := json.Marshal(End{rows})
	if err != nil {
		return err
	}
	return writeFrame(f.to, FrameEnd, text)
}

// form writes batches in one of the forms.
type form interface {
	begin(schema *arrow.Schema) error
	batch(batch arrow.RecordBatch) error
	end() error
}

// answer runs the query. The head is sent once the first rows are there, so that a query that fails early fails with a
// status and not in the middle of an answer.
func (s *session) answer(errand Errand, out *framer) error {
	statement, err := s.prepare(errand.SQL)
	if err != nil {
		return err
	}
	if err := bind(statement, errand); err != nil {
		return err
	}
	rows, err := s.start(statement)
	if err != nil {
		return err
	}
	if errand.Form == Arrow {
		rows.schema = warehouse.Described(rows.schema, s.commentsOn(errand.SQL))
	}
	first, cut, err := rows.first(errand.AskedRows)
	if err != nil {
		return err
	}
	schema := rows.schema
	if cut != "" {
		schema = arrow.NewSchema(schema.Fields(), new(arrow.NewMetadata([]string{"tidemark.cut"}, []string{cut})))
	}
	if err := out.head(Head{Columns: columnNames(schema), Cut: cut}); err != nil {
		return err
	}
	to := formOf(errand.Form, out)
	if err := to.begin(schema); err != nil {
		return err
	}
	return rows.pour(first, cut != "" || errand.AskedRows > 0, errand, to, out)
}

func columnNames(schema *arrow.Schema) []string {
	names := make([]string, schema.NumFields())
	for i, field := range schema.Fields() {
		names[i] = field.Name
	}
	return names
}

// first fetches the first batch, or, where the client asked for so many rows and no more, all of these: then it is
// known before the answer begins whether it is cut.
func (r *rows) first(asked int64) (batches []arrow.RecordBatch, cut string, err error) {
	for count := int64(0); ; {
		batch, err := r.next()
		if err != nil || batch == nil {
			return batches, "", err
		}
		if batch.NumRows() == 0 {
			continue
		}
		if asked > 0 && count+batch.NumRows() > asked {
			return append(batches, batch.NewSlice(0, asked-count)), fmt.Sprintf("the answer has more than the %s rows that were asked for", show.Count(asked)), nil
		}
		batches, count = append(batches, batch), count+batch.NumRows()
		if asked == 0 {
			return batches, "", nil
		}
	}
}

// pour writes the first batches and, unless these are all, the rest.
func (r *rows) pour(first []arrow.RecordBatch, areAll bool, errand Errand, to form, out *framer) error {
	count := int64(0)
	for {
		var batch arrow.RecordBatch
		var err error
		switch {
		case len(first) > 0:
			batch, first = first[0], first[1:]
		case !areAll:
			if batch, err = r.next(); err != nil {
				return cutAfter(out, err)
			}
		}
		if batch == nil {
			break
		}
		over := errand.MostRows > 0 && count+batch.NumRows() > errand.MostRows
		if over {
			batch = batch.NewSlice(0, errand.MostRows-count)
		}
		if err := to.batch(batch); err != nil {
			return err
		}
		count += batch.NumRows()
		batch.Release()
		switch {
		case over:
			return cutAfter(out, tooManyRows(errand.MostRows))
		case errand.MostBytes > 0 && out.sent > errand.MostBytes:
			return cutAfter(out, tooManyBytes(errand.MostBytes))
		}
		if err := out.pause(); err != nil {
			return err
		}
	}
	if err := to.end(); err != nil {
		return err
	}
	return out.end(count)
}

// cutAfter sends the rows that came before an error.
func cutAfter(out *framer, why error) error {
	if err := out.flush(FrameData); err != nil {
		return err
	}
	return why
}

func tooManyRows(most int64) *Failure {
	return &Failure{Kind: Limit, Text: fmt.Sprintf("the answer is cut after %s rows, all that this server gives", show.Count(most)),
		Hint: "ask for less, aggregate, or start the server with a larger --max-rows"}
}

func tooManyBytes(most int64) *Failure {
	return &Failure{Kind: Limit, Text: fmt.Sprintf("the answer is cut after %s bytes, all that this server gives", show.Count(most)),
		Hint: "ask for less, aggregate, or start the server with a larger --max-bytes"}
}

func formOf(name Form, out *framer) form {
	switch name {
	case CSV:
		return &tableForm{rows: tables.NewCSV(out)}
	case JSON:
		return &tableForm{rows: tables.NewJSON(out)}
	}
	return &arrowForm{out: out}
}

// arrowForm is the Arrow IPC stream.
type arrowForm struct {
	out    io.Writer
	stream *ipc.Writer
}

func (a *arrowForm) begin(schema *arrow.Schema) error {
	a.stream = ipc.NewWriter(a.out, ipc.WithSchema(schema))
	return nil
}

func (a *arrowForm) batch(batch arrow.RecordBatch) error { return a.stream.Write(batch) }

func (a *arrowForm) end() error { return a.stream.Close() }

// tableForm is a form of "tidemark sql": the same values in the same words.
type tableForm struct {
	rows  tables.Writer
	cells []any
}

func (t *tableForm) begin(schema *arrow.Schema) error {
	columns := make([]string, schema.NumFields())
	for i, field := range schema.Fields() {
		columns[i] = field.Name
	}
	return t.rows.Begin(columns)
}

func (t *tableForm) batch(batch arrow.RecordBatch) error {
	for row := range int(batch.NumRows()) {
		t.cells = t.cells[:0]
		for column := range int(batch.NumCols()) {
			t.cells = append(t.cells, Cell(batch.Column(column), row))
		}
		if err := t.rows.Row(t.cells); err != nil {
			return err
		}
	}
	return t.rows.Flush()
}

func (t *tableForm) end() error { return t.rows.End() }
