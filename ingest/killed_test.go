//go:build duckdb_arrow

package ingest_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/ingest"
	"tidemark/internal/warehouse"
)

// childVariable makes the test binary take a file in and end: the process that
// the tests kill, or starve of disk.
const (
	childVariable = "TIDEMARK_TEST_INGEST"    // warehouse|file
	limitVariable = "TIDEMARK_TEST_FILE_SIZE" // no file may grow past this many bytes
)

func child(arguments string) {
	path, file, _ := strings.Cut(arguments, "|")
	var limit uint64
	if _, err := fmt.Sscan(os.Getenv(limitVariable), &limit); err == nil {
		signal.Ignore(unix.SIGXFSZ) // so that the write fails, as on a full disk
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	w, err := warehouse.Open(context.Background(), path, warehouse.ReadWrite)
	if err == nil {
		fmt.Println("open")
		_, err = ingest.Load(context.Background(), w, []string{file}, ingest.Options{})
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func childOf(path, file string, variables ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), childVariable+"="+path+"|"+file), variables...)
	return cmd
}

// madeWarehouse is a file with two rows in it.
func madeWarehouse(t *testing.T) string {
	t.Helper()
	path := emptyFile(t)
	w, err := warehouse.Open(t.Context(), path, warehouse.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	load(t, w, write(t, "before.csv", []byte(twoRows)), ingest.Options{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// state is what a reader finds: the sources, and whether their rows add up.
func state(t *testing.T, path string) string {
	t.Helper()
	w, err := warehouse.Open(t.Context(), path, warehouse.ReadOnly)
	if err != nil {
		t.Fatalf("the warehouse does not open: %v", err)
	}
	defer w.Close()
	if broken := table(t, w, "select * from checks.rows_add_up"); len(broken) > 0 {
		t.Errorf("checks.rows_add_up: %v", broken)
	}
	return fmt.Sprint(table(t, w, `
		select name, count(*) as rows
		from raw.arrivals left join raw.sources using (source_id)
		group by name order by name`))
}

// runChild runs the child and kills it so long after it has opened the warehouse.
// It returns how long the child took from there.
func runChild(t *testing.T, cmd *exec.Cmd, killAfter time.Duration) (time.Duration, error) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	opened := time.Now()
	kill := time.AfterFunc(killAfter, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	err = cmd.Wait()
	return time.Since(opened), err
}

// kill -9 at any time during an ingest: the source is absent or whole.
func TestKilled(t *testing.T) {
	const rows = 400_000
	file := write(t, "big.csv", someRows(rows))
	absent, whole := "[[before 2]]", fmt.Sprintf("[[before 2] [big %d]]", rows)

	path := madeWarehouse(t)
	duration, err := runChild(t, childOf(path, file), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if got := state(t, path); got != whole {
		t.Fatalf("not killed: got %s, want %s", got, whole)
	}

	seen := map[string]int{}
	for range 10 {
		path := madeWarehouse(t)
		_, _ = runChild(t, childOf(path, file), rand.N(duration))
		got := state(t, path)
		if got != absent && got != whole {
			t.Errorf("after a kill: got %s, want %s or %s", got, absent, whole)
		}
		seen[got]++
	}
	t.Logf("of 10 kills within %v: %v", duration, seen)
}

// A full disk: the error says so, and what was there is there. The child cannot
// write past a limit on the size of its files, which looks the same to it.
func TestFullDisk(t *testing.T) {
	file := write(t, "big.csv", someRows(400_000))
	path := madeWarehouse(t)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []int64{0, 64 << 10, 512 << 10} {
		out, err := childOf(path, file, fmt.Sprintf("%s=%d", limitVariable, info.Size()+more)).CombinedOutput()
		if err == nil {
			t.Fatalf("%d more bytes: no error: %s", more, out)
		}
		if !bytes.Contains(out, []byte("the disk is full")) || !bytes.Contains(out, []byte("big.csv")) {
			t.Errorf("%d more bytes: the error says %q", more, out)
		}
		if got := state(t, path); got != "[[before 2]]" {
			t.Errorf("%d more bytes: got %s, want what was there", more, got)
		}
	}
}
