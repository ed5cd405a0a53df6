package worker

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"os"

	"tidemark/internal/escape"
	"tidemark/internal/hint"
)

// Reporter writes a report as HTML. The program passes it in, so that this package needs no reports.
type Reporter func(ctx context.Context, db *sql.DB, page Page, w io.Writer) error

// Child does the work of a process that was started as a worker, and ends the process. In every other process it
// returns at once. The program calls it before anything else.
func Child(report Reporter) {
	told := os.Getenv(variable)
	if told == "" {
		return
	}
	out := &framer{to: os.Stdout}
	if err := live(told, report, out); err != nil {
		out.fail(err)
	}
	os.Exit(0)
}

// live opens the snapshot, waits for the errand and does it.
func live(told string, report Reporter, out *framer) error {
	var setup Setup
	if err := json.Unmarshal([]byte(told), &setup); err != nil {
		return err
	}
	if setup.IsReporter {
		return liveAsReporter(setup, report, out)
	}
	s, err := open(setup)
	if err != nil {
		return err
	}
	if err := s.readComments(); err != nil {
		return err
	}
	if err := limitMemory(setup.MemoryBytes); err != nil {
		return err
	}
	errand, err := awaitErrand(out)
	if err != nil {
		return err
	}
	if errand.Form == Parquet {
		return s.answerParquet(errand, out)
	}
	if err := limitFiles(0); err != nil {
		return err
	}
	return s.answer(errand, out)
}

// awaitErrand says that the worker is ready and waits for its errand, which is one line. After it the server keeps stdin
// open as long as it wants the answer. When it closes it, or dies, the worker ends.
func awaitErrand(out *framer) (Errand, error) {
	if err := writeFrame(out.to, FrameReady, nil); err != nil {
		return Errand{}, err
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	line, err := in.ReadBytes('\n')
	if err != nil {
		os.Exit(0) // never needed
	}
	go func() {
		_, _ = in.ReadByte()
		os.Exit(0)
	}()
	var errand Errand
	return errand, json.Unmarshal(line, &errand)
}

// liveAsReporter makes one report. Its queries are the program's own, so files are only closed to DuckDB.
func liveAsReporter(setup Setup, report Reporter, out *framer) error {
	db, err := openForReports(setup)
	if err != nil {
		return err
	}
	// memory_limit holds for its queries; drawing the charts takes more.
	const forCharts = 8 << 30 // bytes, of which few are used
	if err := limitMemory(setup.MemoryBytes + forCharts); err != nil {
		return err
	}
	errand, err := awaitErrand(out)
	if err != nil {
		return err
	}
	// The page is made as a whole before it is written, so nothing of a report that fails is sent.
	err = report(context.Background(), db, errand.Page, &headFirst{to: out})
	switch {
	case err == nil:
		return out.end(1)
	case hint.IsMisuse(err):
		return &Failure{Kind: NoRun, Text: err.Error(), Hint: hint.Of(err)}
	}
	return err
}

// headFirst writes the head before the first bytes.
type headFirst struct {
	to     *framer
	isOpen bool
}

func (h *headFirst) Write(p []byte) (int, error) {
	if !h.isOpen {
		h.isOpen = true
		if err := h.to.head(Head{}); err != nil {
			return 0, err
		}
	}
	return h.to.Write(p)
}

// fail says why there is no more. An error of the program itself is told in its kind only.
func (f *framer) fail(err error) {
	var failure *Failure
	if !errors.As(err, &failure) {
		failure = &Failure{Kind: Broken, Text: err.Error()}
	}
	shown := *failure
	shown.Text, shown.Hint = escape.Controls(shown.Text, "\n\t"), escape.Controls(shown.Hint, "\n\t")
	const longest = 4 << 10 // bytes; DuckDB repeats the query in some messages
	if len(shown.Text) > longest {
		shown.Text = escape.Controls(shown.Text[:longest], "\n\t") + "…"
	}
	text, _ := json.Marshal(shown)
	_ = writeFrame(f.to, FrameError, text)
}
