package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/internal/cli/kit"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/internal/vllmsim"
)

// inFolder is a folder with an empty warehouse, in which a test runs the program.
func inFolder(t *testing.T) *running {
	r := &running{dir: t.TempDir()}
	must.Do(t, warehousetest.Template(filepath.Join(r.dir, "tidemark.duckdb")))
	return r
}

func (r *running) write(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644))
}

// begin starts a second process in the same folder.
func (r *running) begin(t *testing.T, stdin io.Reader, args ...string) *running {
	t.Helper()
	other := &running{dir: r.dir, url: r.url, cmd: exec.Command("tidemark", args...), stderr: new(lockedBuffer), done: make(chan error, 1)}
	other.cmd.Dir, other.cmd.Stdin, other.cmd.Stderr = r.dir, stdin, other.stderr
	must.Do(t, other.cmd.Start())
	t.Cleanup(func() { other.cmd.Process.Kill() })
	go func() { other.done <- other.cmd.Wait() }()
	return other
}

// waitUntilHeld waits until the process has opened the warehouse.
func (r *running) waitUntilHeld(t *testing.T) {
	t.Helper()
	r.waitUntilOpened(t, "tidemark.duckdb")
}

// waitUntilOpened waits until the process has opened a file of DuckDB.
func (r *running) waitUntilOpened(t *testing.T, name string) {
	t.Helper()
	file := must.Get(os.Open(filepath.Join(r.dir, name)))(t)
	defer file.Close()
	r.waitFor(t, "the warehouse is held", func() bool {
		lock := unix.Flock_t{Type: unix.F_WRLCK}
		err := unix.FcntlFlock(file.Fd(), unix.F_GETLK, &lock)
		return err == nil && int(lock.Pid) == r.cmd.Process.Pid
	})
}

func (r *running) waitUntilSaid(t *testing.T, text string) {
	t.Helper()
	r.waitFor(t, text, func() bool { return strings.Contains(r.stderr.String(), text) })
}

const oneRow = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00.0,10,%d\n"

// aLongSelect sleeps in DuckDB, which does not notice that it is interrupted.
const aLongSelect = "select sleep_ms(600000)"

// Four that begin together make one warehouse, and each takes in its file. The first left an empty file behind, at
// which all stopped.
func TestFourIngestsAtOnce(t *testing.T) {
	r := &running{dir: t.TempDir()}
	var all sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprintf("trace%d.csv", i)
		r.write(t, name, fmt.Sprintf(oneRow, i))
		all.Go(func() {
			command := exec.Command("tidemark", "ingest", name)
			command.Dir = r.dir
			if said, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, said)
			}
		})
	}
	all.Wait()
	if got := r.tidemark(t, "sql", "--csv", "select count(*) as n from raw.sources"); got != "n\n4\n" {
		t.Errorf("got %q, want 4 sources", got)
	}
}

// A long question reads the published snapshot: an ingest does not wait for it, and a second question sees what the
// ingest brought.
func TestALongSelectHoldsUpNobody(t *testing.T) {
	r := inFolder(t)
	r.write(t, "trace.csv", fmt.Sprintf(oneRow, 5))
	r.tidemark(t, "warehouse", "publish")
	reads := r.begin(t, nil, "sql", aLongSelect)
	reads.waitUntilOpened(t, "tidemark.published/latest.duckdb")
	r.tidemark(t, "ingest", "trace.csv")
	if got := r.tidemark(t, "sql", "--csv", "select count(*) as n from staging.arrivals"); got != "n\n1\n" {
		t.Errorf("got %q, want the row of the ingest", got)
	}
	reads.cmd.Process.Signal(syscall.SIGINT)
	if code := reads.exitCode(t); code != 130 || reads.stderr.String() != "" {
		t.Errorf("the select: exit code %d, want 130 and not a word; stderr:\n%s", code, reads.stderr.String())
	}
}

// While an ingest goes on, a question is answered at once.
func TestAnIngestHoldsUpNoReader(t *testing.T) {
	r := inFolder(t)
	r.write(t, "trace.csv", fmt.Sprintf(oneRow, 5))
	r.tidemark(t, "ingest", "trace.csv")
	trace, more := io.Pipe()
	writes := r.begin(t, trace, "ingest", "-", "--name", "late")
	writes.waitUntilHeld(t)
	reads := r.begin(t, nil, "sources", "trace")
	if code := reads.exitCode(t); code != 0 || reads.stderr.String() != "" {
		t.Errorf("the reader: exit code %d, want 0 and not a word; stderr:\n%s", code, reads.stderr.String())
	}
	fmt.Fprintf(more, oneRow, 6)
	more.Close()
	if code := writes.exitCode(t); code != 0 {
		t.Errorf("the ingest: exit code %d, want 0; stderr:\n%s", code, writes.stderr.String())
	}
	r.tidemark(t, "sources", "late")
}

// Where nothing is published yet, a question waits.
func TestASelectWaitsForAnIngest(t *testing.T) {
	r := inFolder(t)
	trace, more := io.Pipe()
	writes := r.begin(t, trace, "ingest", "-", "--name", "late")
	writes.waitUntilHeld(t)
	reads := r.begin(t, nil, "sources", "late")
	reads.waitUntilSaid(t, fmt.Sprintf("held by process %d (", writes.cmd.Process.Pid))
	fmt.Fprintf(more, oneRow, 5)
	more.Close()
	if code := writes.exitCode(t); code != 0 {
		t.Errorf("the ingest: exit code %d, want 0; stderr:\n%s", code, writes.stderr.String())
	}
	if code := reads.exitCode(t); code != 0 {
		t.Errorf("the reader: exit code %d, want 0, with the source in it; stderr:\n%s", code, reads.stderr.String())
	}
}

// Who has read all, and prints it into a pager that shows the first page, keeps nobody waiting.
func TestWhoOnlyPrintsHoldsNothing(t *testing.T) {
	r := inFolder(t)
	r.write(t, "trace.csv", fmt.Sprintf(oneRow, 5))
	unread, pager, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	reads := &running{dir: r.dir, cmd: exec.Command("tidemark", "sql", "--csv", "select range, repeat('x', 100) from range(100000)"), stderr: new(lockedBuffer), done: make(chan error, 1)}
	reads.cmd.Dir, reads.cmd.Stdout = r.dir, pager
	must.Do(t, reads.cmd.Start())
	defer reads.cmd.Process.Kill()
	go func() { reads.done <- reads.cmd.Wait() }()
	pager.Close()
	must.Get(io.ReadFull(unread, make([]byte, 100)))(t)
	r.tidemark(t, "ingest", "trace.csv")
	select {
	case err := <-reads.done:
		t.Fatalf("the reader has ended (%v): it had 10 MB to print into a pipe", err)
	default:
	}
	reads.cmd.Process.Signal(syscall.SIGINT)
	if code := reads.exitCode(t); code != 130 {
		t.Errorf("exit code %d of who was interrupted while it printed, want 130", code)
	}
}

// Another writer keeps runs from being taken in. Each row is sent all the same, once, and what is not in
// is said and taken in later: by the same experiment, or when it is begun again.
func TestAnExperimentDoesNotDependOnALock(t *testing.T) {
	r := inFolder(t)
	config := must.Get(simulated())(t)
	config.Fixed = &vllmsim.Fixed{TTFT: time.Millisecond, TPOT: time.Millisecond}
	server, url, err := startServer(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	r.write(t, "small.jsonl", `{"timestamp": 0, "input_length": 10, "output_length": 2, "hash_ids": [1]}`+"\n")
	r.write(t, "lock.yaml", `schema: tidemark.experiment/1
name: lock
hypothesis: a lock ends nothing
send: small
options: {base-url: "`+url+`", model: llama-3.1-8b, max-lateness: 1m, max-stall: 1m}
variable: speed
rows: [1, 2]
`)
	r.tidemark(t, "ingest", "small.jsonl")
	runs := func() int {
		folders, _ := filepath.Glob(filepath.Join(r.dir, "runs", "*", "run.json"))
		return len(folders)
	}

	trace, more := io.Pipe()
	writes := r.begin(t, trace, "ingest", "-", "--name", "late")
	writes.waitUntilHeld(t)
	code, said := r.fails(t, "experiment", "lock.yaml", "--wait", "20ms")
	if code != kit.ExitFailed || !strings.Contains(said, "2 of 2 runs are not ingested yet") || !strings.Contains(said, "hint: nothing is lost; when it is free: tidemark ingest runs/") || runs() != 2 {
		t.Errorf("exit code %d with %d runs, want %d with 2 and how to take them in; stderr:\n%s", code, runs(), kit.ExitFailed, said)
	}

	again := r.begin(t, nil, "experiment", "lock.yaml")
	again.waitUntilSaid(t, "done before, not taken in")
	again.waitUntilSaid(t, fmt.Sprintf("held by process %d (", writes.cmd.Process.Pid))
	fmt.Fprintf(more, oneRow, 6)
	more.Close()
	if code := again.exitCode(t); code != 0 || runs() != 2 {
		t.Errorf("exit code %d with %d runs, want 0 with the same 2; stderr:\n%s", code, runs(), again.stderr.String())
	}
	if got := r.tidemark(t, "sql", "--csv", "select value, completed from marts.runs order by value"); got != "value,completed\n1,1\n2,1\n" {
		t.Errorf("in the warehouse are %q, want both rows", got)
	}
}
