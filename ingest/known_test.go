//go:build duckdb_arrow

package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
)

const twoRows = header + "2024-01-01 00:00:00,1,1\n2024-01-01 00:00:01,2,2\n"

// The same bytes are one source, whatever the file is called.
func TestSameBytesAreOneSource(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "first.csv", []byte(twoRows)), ingest.Options{})
	before := fingerprint(t, w)
	for _, opts := range []ingest.Options{{}, {Name: "another"}} {
		result := load(t, w, write(t, "second.csv", []byte(twoRows)), opts)
		if !result.AlreadyKnown || result.Name != "first" || result.RowsKept != 2 {
			t.Errorf("got %+v, want known as first", result)
		}
	}
	// Where the size is not known, it turns out at the end.
	result := load(t, w, "-", ingest.Options{Stdin: strings.NewReader(twoRows)})
	if !result.AlreadyKnown || result.Name != "first" {
		t.Errorf("from stdin: got %+v, want known as first", result)
	}
	if after := fingerprint(t, w); after != before {
		t.Errorf("the warehouse changed: %s, then %s", before, after)
	}
}

// Compressed, they are other bytes, and so another source.
func TestTakenNames(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "trace.csv", []byte(twoRows)), ingest.Options{})
	other := []byte(twoRows + "2024-01-01 00:00:02,3,3\n")
	err := refused(t, w, write(t, "trace.csv", other), ingest.Options{}, "the name trace is taken by another file")
	if !strings.Contains(hint.Of(err), "--name") {
		t.Errorf("hint: got %q", hint.Of(err))
	}
	if result := load(t, w, write(t, "trace.csv", other), ingest.Options{Name: "longer"}); result.Name != "longer" {
		t.Errorf("got %+v", result)
	}
	if _, err := ingest.Load(t.Context(), w, []string{"a", "b", "c"}, ingest.Options{Name: "x"}); err == nil {
		t.Error("one name for several paths: no error")
	}
}

func TestStdinAndProgress(t *testing.T) {
	w := open(t)
	var last ingest.Progress
	result := load(t, w, "-", ingest.Options{
		Stdin:    strings.NewReader(twoRows),
		Progress: func(p ingest.Progress) { last = p },
	})
	if result.Name != "stdin" || result.RowsKept != 2 {
		t.Errorf("got %+v", result)
	}
	if last.Rows != 2 || last.Bytes != int64(len(twoRows)) {
		t.Errorf("progress: got %+v", last)
	}
	if got := table(t, w, "select size_bytes, path from raw.sources"); fmt.Sprint(got) != fmt.Sprintf("[[%d -]]", len(twoRows)) {
		t.Errorf("source: got %v", got)
	}
}

// endless is a trace that never ends.
type endless struct {
	cancel context.CancelFunc
	read   int
}

func (e *endless) Read(p []byte) (int, error) {
	row := "2024-01-01 00:00:00,1,1\n"
	if e.read == 0 {
		row = header
	}
	if e.read += len(row); e.read > 8<<20 {
		e.cancel()
	}
	return copy(p, row), nil
}

// Cancelled in the middle, nothing is left and no goroutine runs on.
func TestCancel(t *testing.T) {
	w := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := ingest.Load(ctx, w, []string{"-"}, ingest.Options{Stdin: &endless{cancel: cancel}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if got := number(t, w, "select count(*) from raw.arrivals"); got != 0 {
		t.Errorf("%d rows are left", got)
	}
	load(t, w, write(t, "after.csv", []byte(twoRows)), ingest.Options{}) // and it still works
}
