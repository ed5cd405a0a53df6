package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// What a kill has cut is replaced by the next line, at whatever byte it fell, and a journal that is only looked at stays as it is.
func TestAJournalGoesOnAfterAKillAtAnyByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "a.study.jsonl")
	aside := filepath.Join(filepath.Dir(path), "earlier.jsonl")
	open := func(aside string) (*Journal, [][]byte) {
		t.Helper()
		j, lines, err := OpenJournal(path, aside)
		must.Do(t, err)
		return j, lines
	}
	j, _ := open("")
	for _, line := range []string{"first", "second"} {
		must.Do(t, j.Add(map[string]string{"schema": line}))
	}
	if _, _, err := OpenJournal(path, ""); !errors.Is(err, ErrBusy) {
		t.Errorf("a second process: %v", err)
	}
	j.Close()
	text := must.Get(os.ReadFile(path))(t)
	for n := 1; n <= len(text); n++ {
		must.Do(t, os.WriteFile(path, text[:n], 0o600))
		j, lines := open("")
		if want := strings.Count(string(text[:n]), "\n"); len(lines) != want {
			t.Fatalf("after %d bytes: %d lines, want %d", n, len(lines), want)
		}
		holds(t, path, string(text[:n]))
		must.Do(t, j.Add("next"))
		whole := string(text[:n])
		holds(t, path, whole[:strings.LastIndexByte(whole, '\n')+1]+"\"next\"\n")
		j.Close()
	}
	j, lines := open(aside)
	if len(lines) != 0 {
		t.Errorf("a fresh journal has %q", lines)
	}
	j.Add("new")
	j.Close()
	holds(t, path, "\"new\"\n")
	holds(t, aside, string(text)+"\"next\"\n")
}

// A disk that is full in the middle of a line costs that line alone.
func TestAJournalGoesOnAfterALineThatFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	j, _, err := OpenJournal(path, "")
	must.Do(t, err)
	defer j.Close()
	must.Do(t, j.Add("first"))
	file := j.File
	j.File = must.Get(os.Open(path))(t) // which cannot be written
	if err := j.Add("failed"); err == nil {
		t.Error("no error")
	}
	j.File.Close()
	must.Get(file.WriteString(`"fai`))(t)
	j.File = file
	must.Do(t, j.Add("next"))
	must.Do(t, j.Add("last"))
	holds(t, path, "\"first\"\n\"next\"\n\"last\"\n")
}

// One line without an end looks like a journal whose first line was cut by a kill. A user's own file of that kind is not written over.
func TestAFileOfAnotherKindIsNoJournal(t *testing.T) {
	for _, notes := range []string{"my notes", `{"mine":1}`} {
		path := filepath.Join(t.TempDir(), "notes.jsonl")
		must.Do(t, os.WriteFile(path, []byte(notes), 0o600))
		if _, _, err := OpenJournal(path, ""); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: got %v, want that it is foreign", notes, err)
		}
		holds(t, path, notes)
	}
}

func TestStartingOverKeepsTheJournalUnderTheTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.study.jsonl")
	goOn := func(isFresh bool) (*Journal, bool, error) {
		at := time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC)
		return GoOn("study", path, isFresh, at, "a", Owner{Schema: "a"}, func(int, Owner) bool { return true })
	}
	j, isNew, err := goOn(false)
	must.Do(t, errors.Join(err, j.Add(Owner{Schema: "a"})))
	if _, _, err := goOn(true); !isNew || err == nil || !strings.Contains(err.Error(), "another process goes on with it") {
		t.Errorf("new %t; a second process: %v", isNew, err)
	}
	j.Close()
	j, isNew, err = goOn(true)
	must.Do(t, errors.Join(err, j.Close()))
	if !isNew {
		t.Error("a fresh journal is not new")
	}
	holds(t, strings.TrimSuffix(path, ".jsonl")+".20261128-010203.jsonl", "{\"schema\":\"a\"}\n")
}
