//go:build duckdb_arrow

package ingest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

const twoRows = header + "2024-01-01 00:00:00,1,1\n2024-01-01 00:00:01,2,2\n"

// The same bytes are one source, whatever the file is called.
func TestSameBytesAreOneSource(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "first.csv", []byte(twoRows)), ingest.Options{})
	before := fingerprint(t, w)
	for _, opts := range []ingest.Options{{}, {Name: "first"}} {
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

// The same rows packed and unpacked were two sources, which a pattern counted twice.
func TestTheSameRowsPackedAreOneSource(t *testing.T) {
	gz, zst := gzipOf(t, []byte(twoRows)), zstdOf(t, []byte(twoRows))
	packed := map[string][]byte{"trace.csv": []byte(twoRows), "trace.csv.gz": gz, "trace.csv.zst": zst, "another.csv.gz": gz}
	for first := range packed {
		w := open(t)
		name := load(t, w, write(t, first, packed[first]), ingest.Options{}).Name
		before := fingerprint(t, w)
		for second, content := range packed {
			if result := load(t, w, write(t, second, content), ingest.Options{}); !result.AlreadyKnown || result.Name != name {
				t.Errorf("%s after %s: got %+v, want known as %s", second, first, result, name)
			}
		}
		if after := fingerprint(t, w); after != before {
			t.Errorf("the warehouse changed: %s, then %s", before, after)
		}
	}
	// All at once, as a folder.
	w, folder := open(t), t.TempDir()
	for name, content := range packed {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	results, err := ingest.Load(t.Context(), w, []string{folder}, ingest.Options{})
	if err != nil || len(results) != 4 || number(t, w, "select count(*) from raw.sources") != 1 || number(t, w, "select count(*) from raw.arrivals") != 2 {
		t.Errorf("got %+v, %v", results, err)
	}
}

// A warehouse that knows a packed file by its packed bytes, as they all did once, still knows it.
func TestPackedFilesOfOldWarehousesAreKnown(t *testing.T) {
	w, path := open(t), write(t, "trace.csv.gz", gzipOf(t, []byte(twoRows)))
	load(t, w, path, ingest.Options{})
	sum := sha256.Sum256(gzipOf(t, []byte(twoRows)))
	must.Get(w.DB().ExecContext(t.Context(), "update raw.sources set sha256 = ?", hex.EncodeToString(sum[:])))(t)
	if result := load(t, w, path, ingest.Options{}); !result.AlreadyKnown {
		t.Errorf("got %+v, want it known", result)
	}
}

// The name was dropped without a word.
func TestAKnownFileGetsNoSecondName(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "first.csv", []byte(twoRows)), ingest.Options{})
	for _, path := range []string{write(t, "second.csv", []byte(twoRows)), write(t, "second.csv.gz", gzipOf(t, []byte(twoRows)))} {
		err := refused(t, w, path, ingest.Options{Name: "another"}, "it is in the warehouse already, as first, and has no second name")
		if !hint.IsMisuse(err) || hint.Of(err) != "use first, or remove it first: tidemark warehouse purge first" {
			t.Errorf("got %v, hint %q", err, hint.Of(err))
		}
	}
}

// A table that is cut inside its last number is a whole one with another number.
func TestAMissingLastLineEndIsNoted(t *testing.T) {
	const note = "the last line has no line end: if the file was cut, its last value may be too"
	w := open(t)
	for name, content := range map[string]string{
		"cut.csv":     header + "2024-01-01 00:00:00,1,100\n2024-01-01 00:00:01,2,2",
		"whole.csv":   header + "2024-01-01 00:00:00,1,100\n2024-01-01 00:00:01,2,200\n",
		"lines.jsonl": `{"timestamp": 0, "input_length": 100, "output_length": 10, "hash_ids": [0]}`,
	} {
		result := load(t, w, write(t, name, []byte(content)), ingest.Options{})
		if got := strings.Contains(strings.Join(result.Notes, "\n"), note); got != (name == "cut.csv") {
			t.Errorf("%s: notes %q", name, result.Notes)
		}
	}
}

// Other bytes of the same name need another.
func TestTakenNames(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "trace.csv", []byte(twoRows)), ingest.Options{})
	other := []byte(twoRows + "2024-01-01 00:00:02,3,3\n")
	err := refused(t, w, write(t, "trace.csv", other), ingest.Options{}, "the name trace is taken by another file")
	must.Say(t, hint.Of(err), "--name")
	if result := load(t, w, write(t, "trace.csv", other), ingest.Options{Name: "longer"}); result.Name != "longer" {
		t.Errorf("got %+v", result)
	}
	must.Refuse(ingest.Load(t.Context(), w, []string{"a", "b", "c"}, ingest.Options{Name: "x"}))(t)
}

// Nobody knows how much comes through a pipe.
func TestAPipeIsReadInLimitedMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.duckdb")
	must.Do(t, warehousetest.Template(path))
	w := must.Get(warehouse.Open(context.Background(), path, warehouse.ReadWrite))(t)
	defer w.Close()
	limit := func() string { return fmt.Sprint(table(t, w, "select current_setting('memory_limit')")) }
	before := limit()
	load(t, w, write(t, "a.csv", []byte(twoRows)), ingest.Options{})
	if got := limit(); got != before {
		t.Errorf("a small file: the limit was %s, is %s", before, got)
	}
	load(t, w, "-", ingest.Options{Stdin: strings.NewReader(twoRows + "2024-01-01 00:00:02,1,1\n")})
	if got := limit(); got == before || !strings.Contains(got, "MiB") {
		t.Errorf("a pipe: the limit was %s, is %s", before, got)
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
	answers(t, w, "select count(*) from raw.arrivals", "0")
	load(t, w, write(t, "after.csv", []byte(twoRows)), ingest.Options{}) // and it still works
}

// A mapping that was corrected changed nothing: the file was known, and rows kept the wrong unit.
func TestACorrectedMappingIsNotIgnored(t *testing.T) {
	w := open(t)
	path := write(t, "log.csv", []byte("when,in,out\n0,10,5\n7,10,5\n"))
	wrong := map[string]string{"arrival_ms": "when", "input_tokens": "in", "output_tokens": "out"}
	right := map[string]string{"arrival_s": "when", "input_tokens": "in", "output_tokens": "out"}
	if result := load(t, w, path, ingest.Options{Columns: wrong}); !strings.Contains(strings.Join(result.Notes, "\n"), "when: read as milliseconds") {
		t.Errorf("got the notes %q", result.Notes)
	}
	for _, c := range []struct {
		why  string
		opts ingest.Options
		says string
	}{
		{"the same again", ingest.Options{Columns: wrong}, ""},
		{"nothing said", ingest.Options{}, ""},
		{"another unit", ingest.Options{Columns: right}, "read as arrival_ms=when, input_tokens=in, output_tokens=out and not as arrival_s=when, input_tokens=in, output_tokens=out"},
		{"swapped", ingest.Options{Columns: map[string]string{"arrival_ms": "when", "input_tokens": "out", "output_tokens": "in"}}, "not as arrival_ms=when, input_tokens=out"},
		{"no such column", ingest.Options{Columns: map[string]string{"arrival_s": "When", "input_tokens": "in", "output_tokens": "out"}}, "not as arrival_s=When"},
		{"another format", ingest.Options{Format: "azure"}, ""},
	} {
		results, err := ingest.Load(t.Context(), w, []string{path}, c.opts)
		switch {
		case c.why == "another format":
			if err == nil {
				t.Errorf("%s: got %v", c.why, results)
			}
		case c.says == "" && (err != nil || !results[0].AlreadyKnown):
			t.Errorf("%s: got %v, %v; want that it is known", c.why, results, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || !hint.IsMisuse(err) || hint.Of(err) != "remove it first: tidemark warehouse purge log"):
			t.Errorf("%s: got %v (%s)", c.why, err, hint.Of(err))
		}
	}
	trace := write(t, "trace.jsonl", []byte(stampsOf("0", "1000")))
	load(t, w, trace, ingest.Options{})
	must.Refuse(ingest.Load(t.Context(), w, []string{trace}, ingest.Options{TimeUnit: "s"}))(t, "read as its content says and not as time unit s")
}

// Of a file that grew while it was read rows were missing, without a word.
func TestAFileThatGrowsIsNamed(t *testing.T) {
	w := open(t)
	path := write(t, "growing.csv", []byte(header+strings.Repeat("2024-01-01 00:00:00,1,1\n", 400_000)))
	grown := false
	result := load(t, w, path, ingest.Options{Progress: func(p ingest.Progress) {
		if grown || p.Rows == 0 {
			return
		}
		grown = true
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteString("2024-01-01 00:00:01,2,2\n")
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			t.Error(err)
		}
	}})
	if said := strings.Contains(strings.Join(result.Notes, "\n"), "the file grew while it was read"); !grown || !said {
		t.Errorf("grown: %t, notes %q", grown, result.Notes)
	}
}
