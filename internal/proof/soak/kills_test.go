//go:build soak

package soak

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// Kills (-9) of ingests of traces and of runs, publications and purges, each at a random instant of the verb's usual time.
// After each the warehouse and the snapshot open; a trace is there whole or not at all, a run with all its kept tables or
// not at all; what a verb acknowledged by its exit code holds; and every part that the manifest names is there and of its
// size. Every fifth kill hits a warehouse so large that its snapshot is brought up to date and not copied. All the while two readers open the
// snapshots, one after the other: each opens, and nothing in it is torn.
//
//	SOAK_KILLS=200     how many
//	SOAK_OPENS=0       how often the readers open a snapshot at least; they go on after the last kill until they have
//	SOAK_TIDEMARK=FILE the program
func TestKilledAnywhere(t *testing.T) {
	program := os.Getenv("SOAK_TIDEMARK")
	if program == "" {
		t.Skip("SOAK_TIDEMARK names no program: run make soak")
	}
	kills := int(number(t, "SOAK_KILLS", 200))
	seed := uint64(number(t, "SOAK_SEED", float64(time.Now().UnixNano()%1e9)))
	t.Logf("SOAK_SEED=%d", seed)
	folder := t.TempDir()
	rnd := rand.New(rand.NewPCG(1, seed))
	small := newMortal(t, program, folder, "small", rnd)
	large := newMortal(t, program, folder, "large", rnd)
	run := small.replayed()
	large.trace("bulk", rowsOfBulk)
	for _, k := range []*mortal{small, large} {
		k.trace("base", rowsOfATrace)
		k.takeIn("base", "base.csv")
	}
	large.takeIn("bulk", "bulk.csv")
	readers := newReaders(t, small, large)
	began, killed, done := time.Now(), map[string]int{}, 0
	for i := range kills {
		if timeIsUp(t) {
			t.Logf("the time is up after %d of %d kills", i, kills)
			break
		}
		k, verb := small, []string{"trace", "run", "trace", "purge", "publish"}[rnd.IntN(5)]
		if i%5 == 4 { // a purge would write the whole file anew
			k, verb = large, []string{"trace", "trace", "publish"}[rnd.IntN(3)]
		}
		if k.dies(verb, i, run) {
			killed[k.name+" "+verb]++
		}
		k.check(i)
		if done++; done%50 == 0 {
			t.Logf("%d of %d, %.0f s; snapshots were opened %d times", done, kills, time.Since(began).Seconds(), readers.opens.Load())
		}
	}
	t.Logf("%d kills, %v of them before the verb's end", done, killed)
	opens, absent := readers.stopAfter(int64(number(t, "SOAK_OPENS", 0)))
	t.Logf("snapshots were opened %d times; %d times there was none, after a killed purge", opens, absent)
}

// timeIsUp leaves a minute for the end of the test: with -timeout 30m it does as much as fits.
func timeIsUp(t *testing.T) bool {
	end, has := t.Deadline()
	return has && time.Until(end) < time.Minute
}

const (
	rowsOfATrace = 500
	rowsOfARun   = 20         // as in the text of sources
	rowsOfBulk   = 16_000_000 // a warehouse above 128 MiB
)

// mortal is a warehouse whose writers are killed.
type mortal struct {
	t       *testing.T
	program string
	folder  string
	name    string
	rnd     *rand.Rand
	usual   map[string]time.Duration // what a verb takes that nobody kills
	known   map[string]bool          // sources: true where an ingest was acknowledged; absent where it was removed
	unsure  map[string]bool          // sources whose ingest or purge was killed
}

func newMortal(t *testing.T, program, folder, name string, rnd *rand.Rand) *mortal {
	k := &mortal{t: t, program: program, folder: filepath.Join(folder, name), name: name, rnd: rnd, usual: map[string]time.Duration{}, known: map[string]bool{}, unsure: map[string]bool{}}
	must.Do(t, os.Mkdir(k.folder, 0o700))
	return k
}

// trace writes a trace unlike any other.
func (k *mortal) trace(name string, rows int) { k.traceUpTo(name, rows, 100_000) }

func (k *mortal) traceUpTo(name string, rows, tokens int) {
	var text strings.Builder
	text.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
	begin := time.Date(2023, 11, 16, 18, 0, 0, 0, time.UTC)
	for i := range rows {
		text.WriteString(begin.Add(time.Duration(i) * time.Millisecond).Format("2006-01-02 15:04:05.000"))
		fmt.Fprintf(&text, ",%d,%d\n", 1+k.rnd.IntN(tokens), 1+k.rnd.IntN(tokens))
	}
	if err := os.WriteFile(filepath.Join(k.folder, name+".csv"), []byte(text.String()), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// replayed is the folder of a run against the simulator, of which each run that is taken in is a copy under another id.
func (k *mortal) replayed() string {
	server, err := startServer("127.0.0.1:0")
	if err != nil {
		k.t.Fatal(err)
	}
	defer server.Stop()
	k.traceUpTo("sent", rowsOfARun, 30)
	k.run("ingest", "sent.csv", "--warehouse", "sent.duckdb")
	k.run("replay", "sent", "--base-url", "http://"+server.Address, "--model", modelName, "--warehouse", "sent.duckdb", "--runs", "sent", "--max-lateness", "1m", "--max-stall", "1m")
	found, err := filepath.Glob(filepath.Join(k.folder, "sent", "*", "run.json"))
	if err != nil || len(found) != 1 {
		k.t.Fatalf("%d runs (%v)", len(found), err)
	}
	return filepath.Dir(found[0])
}

// copied copies a run's folder under another id.
func (k *mortal) copied(run, id string) {
	folder := filepath.Join(k.folder, id)
	if err := os.CopyFS(folder, os.DirFS(run)); err != nil {
		k.t.Fatal(err)
	}
	document := filepath.Join(folder, "run.json")
	text, err := os.ReadFile(document)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := os.WriteFile(document, bytes.ReplaceAll(text, []byte(filepath.Base(run)), []byte(id)), 0o600); err != nil {
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

func (k *mortal) takeIn(name, path string) {
	k.run("ingest", path)
	k.known[name] = true
}

// dies starts a verb, kills it within its usual time, and reports whether it was still at work.
func (k *mortal) dies(verb string, i int, run string) bool {
	name := fmt.Sprintf("%s%d", verb, i)
	var args []string
	switch verb {
	case "trace":
		k.trace(name, rowsOfATrace)
		args = []string{"ingest", name + ".csv"}
	case "run":
		k.copied(run, name)
		args = []string{"ingest", name}
	case "purge":
		if name = k.oneOf(); name == "" {
			return false
		}
		args = []string{"warehouse", "purge", name}
	case "publish":
		k.trace(name, rowsOfATrace)
		k.run("ingest", name+".csv", "--publish", "off")
		k.known[name] = true
		args = []string{"warehouse", "publish"}
	}
	if k.usual[verb] == 0 { // the first of its kind lives
		began := time.Now()
		k.run(args...)
		k.usual[verb] = time.Since(began)
		k.acknowledge(verb, name)
		return false
	}
	command := k.command(args...)
	if err := command.Start(); err != nil {
		k.t.Fatal(err)
	}
	timer := time.AfterFunc(time.Duration(k.rnd.Float64()*float64(k.usual[verb])), func() { command.Process.Kill() })
	defer timer.Stop()
	if command.Wait() != nil {
		if verb != "publish" {
			delete(k.known, name)
			k.unsure[name] = true
		}
		return true
	}
	k.acknowledge(verb, name)
	return false
}

func (k *mortal) acknowledge(verb, name string) {
	delete(k.unsure, name)
	if verb == "purge" {
		delete(k.known, name)
	} else {
		k.known[name] = true
	}
}

// oneOf is any source that is surely there, other than the first.
func (k *mortal) oneOf() string {
	names := slices.Sorted(maps.Keys(k.known))
	names = slices.DeleteFunc(names, func(name string) bool { return name == "base" || name == "bulk" })
	if len(names) == 0 {
		return ""
	}
	return names[k.rnd.IntN(len(names))]
}

// sources are the names of all sources that are whole; a torn one has a question mark.
const sources = `
select name || case
    when kind = 'run' and name not in (select run_id from warehouse.kept) then '?'
    when kind = 'run' and (select count(*) from raw.requests where run_id = name) <> 20 then '?'
    when kind = 'run' and (select count(*) from staging.requests where run_id = name) <> 20 then '?'
    when kind <> 'run' and rows_kept <> (select count(*) from raw.arrivals where arrivals.source_id = sources.source_id) then '?'
    else '' end as source
from raw.sources
order by all`

func (k *mortal) check(i int) {
	// What is published opens as it is, before any verb repairs it.
	snapshot := filepath.Join(k.folder, "tidemark.published", "latest.duckdb")
	if _, err := os.Stat(snapshot); errors.Is(err, fs.ErrNotExist) {
		k.isPurged(i)
	} else if torn := k.run("sql", "--csv", sources, "--warehouse", snapshot, "--publish", "off"); strings.Contains(torn, "?") {
		k.t.Fatalf("kill %d, the snapshot of %s: %s", i, k.name, torn)
	}
	k.parts(i)
	text := k.run("sql", "--csv", sources) // the next reader brings the snapshot up to date
	there := map[string]bool{}
	for name := range strings.Lines(strings.TrimPrefix(text, "source\n")) {
		name = strings.TrimSpace(name)
		there[name] = true
		if !k.known[name] && !k.unsure[name] {
			k.t.Fatalf("kill %d, %s: %q is torn, or was purged; there are\n%s", i, k.name, name, text)
		}
	}
	for name := range k.known {
		if !there[name] {
			k.t.Fatalf("kill %d, %s: %s was acknowledged and is not there; there are\n%s", i, k.name, name, text)
		}
	}
	for name := range k.unsure { // what a verb that was killed has done stays as it is now
		if there[name] {
			k.known[name] = true
		}
	}
	clear(k.unsure)
	k.parts(i)
}

// isPurged fails unless a killed purge explains that nothing is published: it removes the manifest first, and then writes one that names the
// warehouse and no snapshot.
func (k *mortal) isPurged(i int) {
	text, err := os.ReadFile(filepath.Join(k.folder, "tidemark.published", "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var manifest struct{ Snapshot string }
	if err = errors.Join(err, json.Unmarshal(text, &manifest)); err != nil || manifest.Snapshot != "" {
		k.t.Fatalf("kill %d, %s: there is no snapshot, and the manifest says %s (%v)", i, k.name, text, err)
	}
}

// parts looks whether every part that the manifest names is there.
func (k *mortal) parts(i int) {
	text, err := os.ReadFile(filepath.Join(k.folder, "tidemark.published", "manifest.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return // a purge was killed: nothing is promised until the next reader
	}
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
