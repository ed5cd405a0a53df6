package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// A disk that fills while an ingest publishes, and a folder that cannot be written, cost the ingest nothing: it says so,
// readers of the snapshot see the state before, and the program's own readers get the present one from the warehouse.
func TestPublishingThatFailsFailsNoVerb(t *testing.T) {
	r := inFolder(t)
	for i := range 3 {
		r.write(t, fmt.Sprintf("t%d.csv", i), fmt.Sprintf(oneRow, i+1))
	}
	must.Do(t, os.Mkdir(filepath.Join(r.dir, "tidemark.published"), 0o700))
	// The disk has room for one snapshot and not for the next one beside it. It is seen by this shell alone.
	script := exec.Command("sh", "-c", `
		mount -t tmpfs -o size=16m none tidemark.published || { echo no mount; exit 0; }
		sources() { tidemark sql --csv "select string_agg(name, ' ' order by name) as names from raw.sources" "$@" 2>"$said"; }
		said=/dev/null
		tidemark ingest t0.csv 2>&1 | grep 'published for readers'
		tidemark ingest t1.csv 2>full; echo "full disk: $?"
		sources --warehouse tidemark.published/latest.duckdb --publish off
		said=reader; sources; said=/dev/null
		mount -o remount,ro tidemark.published
		tidemark ingest t2.csv 2>readonly; echo "read-only: $?"
		sources --warehouse tidemark.published/latest.duckdb --publish off
		mount -o remount,rw,size=60m tidemark.published
		sources
		sources --warehouse tidemark.published/latest.duckdb --publish off`)
	script.Dir = r.dir
	script.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := script.CombinedOutput()
	if _, isExit := err.(*exec.ExitError); err != nil && !isExit || strings.Contains(string(out), "no mount") {
		t.Skipf("no process can have a disk of its own here: %v %s", err, out)
	}
	var seen []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "full") || strings.HasPrefix(line, "read-only") || strings.HasPrefix(line, "t0") && !strings.Contains(line, "azure") {
			seen = append(seen, line)
		}
	}
	want := "full disk: 0; t0; t0 t1; read-only: 0; t0; t0 t1 t2; t0 t1 t2"
	if got := strings.Join(seen, "; "); got != want {
		t.Errorf("got %s, want %s; all that was said:\n%s", got, want, out)
	}
	for file, words := range map[string]string{
		"full":     "no space left on device",
		"readonly": "read-only file system",
		"reader":   "the answer is from tidemark.duckdb itself",
	} {
		said, err := os.ReadFile(filepath.Join(r.dir, file))
		if err != nil || !strings.Contains(strings.ToLower(string(said)), words) || !strings.Contains(string(said), "warning: publish into tidemark.published") {
			t.Errorf("%s: said %q (%v), want a warning with %q", file, said, err, words)
		}
	}
}

// While another process writes, a new version of the program reads the snapshot of the old one, and says whose it is.
func TestTheSnapshotOfAnotherVersionIsReadAndNamed(t *testing.T) {
	r := inFolder(t)
	r.write(t, "trace.csv", fmt.Sprintf(oneRow, 5))
	r.tidemark(t, "ingest", "trace.csv")
	snapshot, manifest := filepath.Join(r.dir, "tidemark.published", "latest.duckdb"), filepath.Join(r.dir, "tidemark.published", "manifest.json")
	w, err := warehouse.Open(t.Context(), snapshot, warehouse.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.DB().Exec("update warehouse.stamp set stamp = 'of an older version'")
	if closeErr := w.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var older []string
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, ` "version":`):
			line = ` "version": "0.0.9",` + "\n"
		case strings.HasPrefix(line, ` "stamp":`):
			line = ` "stamp": "of an older version",` + "\n"
		}
		older = append(older, line)
	}
	must.Do(t, os.WriteFile(manifest, []byte(strings.Join(older, "")), 0o600))
	trace, more := io.Pipe()
	writes := r.begin(t, trace, "ingest", "-", "--name", "late")
	writes.waitUntilHeld(t)
	reads := r.begin(t, nil, "sources", "trace")
	if code := reads.exitCode(t); code != 0 || !strings.Contains(reads.stderr.String(), "the answer is from what tidemark 0.0.9 published at ") {
		t.Errorf("the reader: exit code %d, want 0 and which version it is of; stderr:\n%s", code, reads.stderr.String())
	}
	more.Close()
	writes.exitCode(t)
}
