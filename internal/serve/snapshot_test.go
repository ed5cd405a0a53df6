//go:build duckdb_arrow

package serve_test

import (
	"bytes"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/serve"
)

// A new snapshot is served without a restart. A query that runs keeps the one that it began with.
func TestANewSnapshotIsServed(t *testing.T) {
	s := serving(t, nil)
	running := s.ask(t, "from staging.million")
	defer running.Body.Close()
	first := make([]byte, 1000) // the rest waits in the worker: pipes and sockets hold less than 60 MB
	must.Get(io.ReadFull(running.Body, first))(t)
	publish(t, s.folder, otherSnapshot(t))
	if status, got := text(t, s.ask(t, "select name from marts.news", "Accept", asCSV)); status != 200 || got != "name\nnew\n" {
		t.Errorf("after publishing: got %d %q, want the new snapshot", status, got)
	}
	if rows, sum := readArrow(t, io.MultiReader(bytes.NewReader(first), running.Body)); rows != 1e6 || sum != 1e6*(1e6-1)/2 {
		t.Errorf("the running query has %d rows, sum %d; want all of the old snapshot", rows, sum)
	}
	// What cannot be a snapshot is not taken up.
	publish(t, s.folder, []byte("not a DuckDB file"))
	if status, got := text(t, s.ask(t, "select name from marts.news", "Accept", asCSV)); status != 200 || got != "name\nnew\n" {
		t.Errorf("after a broken snapshot: got %d %q, want the last good one", status, got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.told, func(line string) bool { return strings.Contains(line, "not a DuckDB file") }) {
		t.Errorf("the operator is told %q, want that the snapshot is broken", s.told)
	}
}

// Who ends publishing sees it in /healthz, and answers go on from the last snapshot, with its date.
func TestHealthSaysThatTheSnapshotIsGone(t *testing.T) {
	s := serving(t, nil)
	health := func() (int, string) {
		t.Helper()
		response := must.Get(s.do("GET", "/healthz", nil))(t)
		return text(t, response)
	}
	must.Do(t, os.Remove(filepath.Join(s.folder, serve.SnapshotName)))
	if status, got := health(); status != 503 || !strings.Contains(got, "is not there any more; answers are of that of 20") || strings.Contains(got, s.folder) {
		t.Errorf("without a snapshot: got %d %q", status, got)
	}
	answer := s.ask(t, "select 1 as one", "Accept", asCSV)
	if date := answer.Header.Get("Tidemark-Snapshot"); date == "" {
		t.Error("the answer has no date")
	}
	if status, got := text(t, answer); status != 200 || got != "one\n1\n" {
		t.Errorf("got %d %q, want the answer of the last snapshot", status, got)
	}
	publish(t, s.folder, []byte("not a DuckDB file"))
	if status, got := health(); status != 503 || !strings.Contains(got, "is damaged") {
		t.Errorf("a damaged snapshot: got %d %q", status, got)
	}
	publish(t, s.folder, otherSnapshot(t))
	if status, got := health(); status != 200 || got != "ok\n" {
		t.Errorf("with one again: got %d %q", status, got)
	}
}

// A file that begins like a snapshot and is none is not taken up, and /healthz says so. A server does not start with one.
func TestASnapshotThatCannotBeOpened(t *testing.T) {
	s := serving(t, nil)
	good := otherSnapshot(t)
	flipped := bytes.Clone(good)
	for i := 4096; i < 3*4096; i++ {
		flipped[i] ^= 0xff
	}
	for what, bad := range map[string][]byte{"cut short": good[:len(good)/3], "flipped bytes": flipped} {
		publish(t, s.folder, bad)
		for range 2 {
			if status, got := text(t, s.ask(t, "select count(*) as n from staging.million", "Accept", asCSV)); status != 200 || got != "n\n1000000\n" {
				t.Errorf("%s: got %d %q, want the answer of the last good one", what, status, got)
			}
		}
		response := must.Get(s.do("GET", "/healthz", nil))(t)
		if status, got := text(t, response); status != 503 || !strings.Contains(got, "cannot be opened") {
			t.Errorf("%s: /healthz says %d %q", what, status, got)
		}
		s.awaitMetric(t, "tidemark_serve_published_up", "0")
		must.Refuse(serve.New(serve.Config{Published: s.folder, Workers: 1, Timeout: time.Second, MemoryBytes: 1 << 30, Tell: t.Logf}))(t, "tidemark warehouse publish")
	}
	publish(t, s.folder, good)
	if status, got := text(t, s.ask(t, "select name from marts.news", "Accept", asCSV)); status != 200 || got != "name\nnew\n" {
		t.Errorf("with a good one again: got %d %q", status, got)
	}
}

// A snapshot of which a worker dies without a word is not tried again with every query, and the next one is.
func TestASnapshotOfWhichAWorkerDies(t *testing.T) {
	s := serving(t, nil)
	log := filepath.Join(t.TempDir(), "died")
	publish(t, s.folder, []byte(deadly+log))
	for range 5 {
		if status, got := text(t, s.ask(t, "select count(*) as n from staging.million", "Accept", asCSV)); status != 200 || got != "n\n1000000\n" {
			t.Errorf("got %d %q, want the answer of the last good one", status, got)
		}
	}
	response := must.Get(s.do("GET", "/healthz", nil))(t)
	if status, got := text(t, response); status != 503 {
		t.Errorf("/healthz says %d %q", status, got)
	}
	if died, err := os.ReadFile(log); err != nil || len(died) == 0 || len(died) >= 5 {
		t.Errorf("%d workers died of it (%v), want one, or a few where this machine is slow", len(died), err)
	}
	publish(t, s.folder, otherSnapshot(t))
	if status, got := text(t, s.ask(t, "select name from marts.news", "Accept", asCSV)); status != 200 || got != "name\nnew\n" {
		t.Errorf("with a good one: got %d %q", status, got)
	}
}

func otherSnapshot(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.duckdb")
	db := must.Get(sql.Open("duckdb", path))(t)
	must.Get(db.Exec("create schema marts; create table marts.news as select 'new' as name; checkpoint"))(t)
	must.Do(t, db.Close())
	content := must.Get(os.ReadFile(path))(t)
	return content
}
