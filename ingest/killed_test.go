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
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/ingest"
	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// childVariable makes the test binary take a file in and end: the process that
// the tests kill, or starve of disk.
const (
	childVariable = "TIDEMARK_TEST_INGEST"    // warehouse|file or folder
	killsVariable = "TIDEMARK_TEST_KILLS"     // how often TestKilled kills; once, or ten times in a proof, where nothing is said
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
	w := must.Get(warehouse.Open(t.Context(), path, warehouse.ReadWrite))(t)
	load(t, w, write(t, "before.csv", []byte(twoRows)), ingest.Options{})
	must.Do(t, w.Close())
	return path
}

// state is what a reader finds: the sources, and whether their rows add up.
func state(t *testing.T, path string) string {
	t.Helper()
	w, err := warehouse.Open(t.Context(), path, warehouse.ReadOnly)
	must.Do(t, err)
	defer w.Close()
	if broken := table(t, w, "select * from checks.rows_add_up"); len(broken) > 0 {
		t.Errorf("checks.rows_add_up: %v", broken)
	}
	if halves := table(t, w, `
		select source_id from raw.arrival_details where source_id not in (select source_id from raw.sources)`); len(halves) > 0 {
		t.Errorf("details without their source: %v", halves)
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
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	opened := time.Now()
	kill := time.AfterFunc(killAfter, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Wait()
	return time.Since(opened), err
}

// kill -9 at any time during an ingest of several files at once, of one by many
// workers and of one by a reader of its own: each source is absent or whole.
func TestKilled(t *testing.T) {
	const rows, chats = 300_000, 40_000
	folder := t.TempDir()
	for name, content := range map[string][]byte{"big.csv": someRows(rows), "chats.csv": someChats(chats)} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), content, 0o600))
	}
	before, big, chat := "[before 2]", fmt.Sprintf("[big %d]", rows), fmt.Sprintf("[chats %d]", chats)
	whole := map[string]bool{"[" + before + "]": true, "[" + before + " " + big + "]": true, "[" + before + " " + chat + "]": true,
		"[" + before + " " + big + " " + chat + "]": true}

	path := madeWarehouse(t)
	duration := must.Get(runChild(t, childOf(path, folder), time.Hour))(t)
	if got, want := state(t, path), "["+before+" "+big+" "+chat+"]"; got != want {
		t.Fatalf("not killed: got %s, want %s", got, want)
	}

	kills := proof.Many(1, 10)
	if text := os.Getenv(killsVariable); text != "" {
		kills = must.Get(strconv.Atoi(text))(t)
	}
	seen := map[string]int{}
	for range kills {
		path := madeWarehouse(t)
		_, _ = runChild(t, childOf(path, folder), rand.N(duration))
		got := state(t, path)
		if !whole[got] {
			t.Errorf("after a kill: got %s, want each source absent or whole", got)
		}
		seen[got]++
	}
	t.Logf("of %d kills within %v: %v", kills, duration, seen)
}

// someChats is a trace that one worker reads into two tables.
func someChats(rows int) []byte {
	text := []byte("Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n")
	for i := range rows {
		text = fmt.Appendf(text, "%d,s%d,1.5,GPT-4,%d,%d,%d,Conversation log\n", i, i/3, i%999+1, i%99+1, i%999+i%99+2)
	}
	return text
}

// A full disk: the error says so, and what was there is there. The child cannot
// write past a limit on the size of its files, which looks the same to it.
func TestFullDisk(t *testing.T) {
	file := write(t, "big.csv", someRows(1_500_000))
	path := madeWarehouse(t)
	info := must.Get(os.Stat(path))(t)
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
