package runs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// The files of a run, and the schemas that they state. replay writes the same names.
const (
	RunFile      = "run.json"
	planFile     = "plan.jsonl.zst"
	requestsFile = "requests.jsonl.zst"
	samplesFile  = "samples.jsonl.zst"
	runSchema    = "tidemark.run/1"
	planSchema   = "tidemark.plan/1"

	MaxDocumentBytes = 16 << 20
)

// runDocument is what is needed of run.json here. The whole document is stored as
// text; SQL reads the rest.
type runDocument struct {
	Schema    string    `json:"schema"`
	RunID     string    `json:"run_id"`
	Status    string    `json:"status"`
	StartedAt time.Time `json:"started_at"`
	text      []byte
}

// readRunDocument refuses a document of another schema, because its keys may mean
// something else.
func readRunDocument(folder string) (runDocument, error) {
	var document runDocument
	file, err := userfile.Open(filepath.Join(folder, RunFile))
	if err != nil {
		return document, fmt.Errorf("%s: %w", RunFile, errors.Unwrap(err))
	}
	defer file.Close()
	document.text, err = io.ReadAll(io.LimitReader(file, MaxDocumentBytes))
	if err != nil {
		return document, fmt.Errorf("%s: %w", RunFile, err)
	}
	if err := json.Unmarshal(document.text, &document); err != nil {
		return document, fmt.Errorf("%s: not a JSON object, or cut", RunFile)
	}
	switch {
	case document.Schema != runSchema:
		return document, hint.Errorf("%s: its schema is not %s", RunFile, runSchema).
			Hint("it was written by another version of tidemark, or is no run")
	case document.RunID == "":
		return document, fmt.Errorf("%s: no run_id", RunFile)
	}
	return document, nil
}

// Run is a run's folder on its way into the warehouse.
type Run struct {
	Folder   string
	Document runDocument
	Notes    []string
	sum      read.Counts // of all its files
	source   int64
}

// Open reads the run.json of a folder.
func Open(folder string) (*Run, error) {
	document, err := readRunDocument(folder)
	return &Run{Folder: folder, Document: document}, err
}

// Load takes in what the run's files hold. It replaces what was taken in of the run
// while it ran. The order matters: neverSent adds what requests has not.
func (l *Run) Load(ctx context.Context, tx read.Sink, source int64) (read.Counts, error) {
	l.source = source
	for _, step := range []func(context.Context, read.Sink) error{l.makeRoom, l.requests, l.neverSent, l.samples} {
		if err := step(ctx, tx); err != nil {
			return read.Counts{}, err
		}
	}
	return l.sum, nil
}

// Insert adds the run's document; its source must be there already.
func (l *Run) Insert(ctx context.Context, tx read.Sink, source int64) error {
	return tx.Exec(ctx, "insert into raw.runs values (?, ?, ?)", l.Document.RunID, source, string(l.Document.text))
}

// Fingerprint is that of the whole run: of the names and fingerprints of its files.
func (l *Run) Fingerprint() (string, int64, error) {
	all, size := sha256.New(), int64(0)
	for _, name := range []string{RunFile, planFile, requestsFile, samplesFile} {
		sum, bytes, err := userfile.Sum(filepath.Join(l.Folder, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // which of them must be there is seen when they are read
		}
		if err != nil {
			return "", 0, err
		}
		fmt.Fprintf(all, "%s %s\n", name, sum)
		size += bytes
	}
	return hex.EncodeToString(all.Sum(nil)), size, nil
}

// makeRoom removes what was taken in of the run while it ran. All of it is in one
// transaction, so a reader sees the old rows or the new ones.
func (l *Run) makeRoom(ctx context.Context, tx read.Sink) error {
	var status sql.NullString
	var source int64
	err := tx.QueryRow(ctx, "select document ->> 'status', source_id from raw.runs where run_id = ?", l.Document.RunID).Scan(&status, &source)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if status.String != "running" {
		return hint.Errorf("run %s is in the warehouse already, with other contents", l.Document.RunID).
			Hint("its files were changed after it had ended; restore them, or use another warehouse")
	}
	l.Notes = append(l.Notes, "replaces what was taken in while it ran")
	for _, table := range []string{"raw.requests", "raw.samples", "raw.runs"} {
		if err := tx.Exec(ctx, "delete from "+table+" where run_id = ?", l.Document.RunID); err != nil {
			return err
		}
	}
	for _, table := range []string{"raw.rejects", "raw.sources"} {
		if err := tx.Exec(ctx, "delete from "+table+" where source_id = ?", source); err != nil {
			return err
		}
	}
	return nil
}

// file sends one of the run's files through the parse workers into a table. A file
// that is not there has no rows.
func (l *Run) file(ctx context.Context, tx read.Sink, name string, p read.Parser, header func([]byte) error, statement string) (read.Counts, error) {
	in, err := read.Open(ctx, filepath.Join(l.Folder, name), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return read.Counts{}, nil
	}
	if err != nil {
		return read.Counts{}, fmt.Errorf("%s: %w", name, err)
	}
	defer in.Close()
	in.OfRun()
	lines := read.NewBlocks(in, read.BlockSize, read.RunLineLimit)
	lines.WholeLines = true
	first, err := lines.Next()
	if errors.Is(err, io.EOF) {
		l.tellTorn(name, in, lines)
		return read.Counts{}, nil
	}
	if err == nil && header != nil {
		var line []byte
		line, first = read.TakeHeader(first)
		err = header(line)
	}
	if err != nil {
		return read.Counts{}, fmt.Errorf("%s: %w", name, err)
	}
	pipeline := read.StartPipeline(ctx, p, lines, first, nil)
	view := fmt.Sprintf("arriving_%d", l.source)
	err = tx.Stream(ctx, pipeline, view, strings.ReplaceAll(statement, "from arriving", "from "+view), l.Document.RunID)
	pipeline.Close()
	if failed := pipeline.Err(); failed != nil {
		err = failed
	}
	if err != nil {
		return read.Counts{}, fmt.Errorf("%s: %w", name, err)
	}
	l.tellTorn(name, in, lines)
	return pipeline.Counts, nil
}

// tellTorn notes that a file ends in the middle of a line.
func (l *Run) tellTorn(name string, in *read.File, lines *read.Blocks) {
	if in.IsCut || lines.Torn {
		l.Notes = append(l.Notes, name+" ends in the middle of a line: what is whole was taken in")
	}
}

// add sums up the files of the run.
func (l *Run) add(sum read.Counts) {
	l.sum.Read += sum.Read
	l.sum.Kept += sum.Kept
	l.sum.Rejected += sum.Rejected
	l.sum.Rejects = append(l.sum.Rejects, sum.Rejects...)
}

// requests takes in the lines of the requests that ended.
func (l *Run) requests(ctx context.Context, tx read.Sink) error {
	p := newJSONLines[requestLine]()
	sum, err := l.file(ctx, tx, requestsFile, p, nil, fmt.Sprintf(
		"insert into raw.requests (run_id, %s) select cast(? as varchar), %s from arriving", p.names(), p.names()))
	l.add(sum)
	return err
}

// neverSent adds the planned requests that have no line of their own.
func (l *Run) neverSent(ctx context.Context, tx read.Sink) error {
	if _, err := os.Stat(filepath.Join(l.Folder, planFile)); err != nil {
		return hint.Errorf("no %s in it", planFile).Hint("without the plan it is not known what was never sent; restore the file")
	}
	p := newJSONLines[planLine]()
	var planned int64
	header := func(line []byte) (err error) { planned, err = readPlanHeader(line); return err }
	before, err := l.count(ctx, tx)
	if err != nil {
		return err
	}
	sum, err := l.file(ctx, tx, planFile, p, header, fmt.Sprintf(`
		insert into raw.requests (run_id, is_warm_up, %s)
		select cast($1 as varchar), false, %s
		from arriving
		where seq not in (select requests.seq from raw.requests where requests.run_id = $1)`, p.names(), p.names()))
	if err != nil {
		return err
	}
	after, err := l.count(ctx, tx)
	if err != nil {
		return err
	}
	if sum.Read != planned {
		l.Notes = append(l.Notes, fmt.Sprintf("%s says %d requests and holds %d", planFile, planned, sum.Read))
	}
	if unsent := after - before; unsent > 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("%d planned requests were not sent or had not ended", unsent))
	}
	// A planned request is one row, whether its line is in the one file or the other.
	l.add(read.Counts{Read: after - before + sum.Rejected, Kept: after - before, Rejected: sum.Rejected, Rejects: sum.Rejects})
	return nil
}

// count is how many requests of the run are in the warehouse.
func (l *Run) count(ctx context.Context, tx read.Sink) (rows int64, err error) {
	err = tx.QueryRow(ctx, "select count(*) from raw.requests where run_id = ?", l.Document.RunID).Scan(&rows)
	return rows, err
}

// readPlanHeader reads how many requests the plan says it has, to tell a cut plan
// from a short one.
func readPlanHeader(line []byte) (requests int64, err error) {
	var header struct {
		Schema   string `json:"schema"`
		Requests int64  `json:"requests"`
	}
	if json.Unmarshal(bytes.TrimSpace(line), &header) != nil || header.Schema != planSchema {
		return 0, hint.Errorf("%s", "its first line is not the header of a "+planSchema).
			Hint("it was written by another version of tidemark, or is no plan")
	}
	return header.Requests, nil
}

// samples takes in what the server and the client said about themselves. Lines that
// cannot be read count as rejects; the values are not rows of the source.
func (l *Run) samples(ctx context.Context, tx read.Sink) error {
	p := samples{}
	sum, err := l.file(ctx, tx, samplesFile, p, nil, fmt.Sprintf(
		"insert into raw.samples (run_id, %s) select cast(? as varchar), %s from arriving", p.names(), p.names()))
	l.add(read.Counts{Read: sum.Rejected, Rejected: sum.Rejected, Rejects: sum.Rejects})
	return err
}
