//go:build soak

package soak

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Kills (-9) of ingests, publications and purges, each at a random instant. After each the warehouse and the snapshot
// open, what was taken in is there whole or not at all, and every part that the manifest names is there and of its size.
//
//	SOAK_KILLS=200     how many
//	SOAK_TIDEMARK=FILE the program
func TestKilledAnywhere(t *testing.T) {
	program := os.Getenv("SOAK_TIDEMARK")
	if program == "" {
		t.Skip("SOAK_TIDEMARK names no program: run make soak")
	}
	k := &mortal{t: t, program: program, folder: t.TempDir(), rnd: rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))}
	k.trace("base", 1)
	k.run("ingest", "base.csv")
	kills := 0
	for i := range int(number(t, "SOAK_KILLS", 200)) {
		name := fmt.Sprintf("trace%d", i)
		k.trace(name, i+2)
		action := []string{"ingest", name + ".csv"}
		if i%4 == 3 {
			action = []string{"purge", fmt.Sprintf("trace%d", i-1)}
		}
		if k.dies(action...) {
			kills++
		}
		k.check(i)
	}
	t.Logf("%d of the processes were killed before their end", kills)
}

// mortal is a folder with a warehouse in which processes are killed.
type mortal struct {
	t       *testing.T
	program string
	folder  string
	rnd     *rand.Rand
}

const rowsOfATrace = 500

// trace writes a trace of 500 requests, unlike any other.
func (k *mortal) trace(name string, seed int) {
	var text strings.Builder
	text.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	for i := range rowsOfATrace {
		fmt.Fprintf(&text, "2023-11-16 18:00:%02d.%03d,%d,%d\n", i/10, i, 100+i, seed)
	}
	if err := os.WriteFile(filepath.Join(k.folder, name+".csv"), []byte(text.String()), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *mortal) command(args ...string) *exec.Cmd {
	command := exec.Command(k.program, args...)
	command.Dir = k.folder
	return command
}

func (k *mortal) run(args ...string) string {
	out, err := k.command(args...).Output()
	if err != nil {
		k.t.Fatalf("%q: %v\n%s", args, err, err.(*exec.ExitError).Stderr)
	}
	return string(out)
}

// dies kills a process within 1.2 s, and reports whether it was still at work.
func (k *mortal) dies(args ...string) bool {
	command := k.command(args...)
	if err := command.Start(); err != nil {
		k.t.Fatal(err)
	}
	time.AfterFunc(time.Duration(k.rnd.IntN(1200))*time.Millisecond, func() { command.Process.Kill() })
	return command.Wait() != nil
}

func (k *mortal) check(i int) {
	// What is published opens as it is, before any verb repairs it.
	snapshot := filepath.Join(k.folder, "tidemark.published", "latest.duckdb")
	for _, where := range [][]string{{"--warehouse", snapshot, "--publish", "off"}, nil} {
		torn := k.run(append([]string{"sql", "--csv", fmt.Sprintf(`
			select coalesce(sum((n <> %d)::int), 0) as torn
			from (select source_name, count(*) as n from staging.arrivals group by all) as each`, rowsOfATrace)}, where...)...)
		if torn != "torn\n0\n" {
			k.t.Fatalf("kill %d, %q: %s", i, where, torn)
		}
	}
	text, err := os.ReadFile(filepath.Join(k.folder, "tidemark.published", "manifest.json"))
	if err != nil {
		k.t.Fatalf("kill %d: %v", i, err)
	}
	var manifest struct {
		Parts []struct {
			Path  string
			Bytes int64
		}
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		k.t.Fatalf("kill %d: %v", i, err)
	}
	for _, part := range manifest.Parts {
		if info, err := os.Stat(filepath.Join(k.folder, "tidemark.published", part.Path)); err != nil || info.Size() != part.Bytes {
			k.t.Fatalf("kill %d: the part %s: %v", i, part.Path, err)
		}
	}
}
