package userfile

import (
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
	open := func(isFresh bool) (*Journal, [][]byte) {
		t.Helper()
		j, lines, err := OpenJournal(path, isFresh, time.Date(2026, 11, 28, 1, 2, 3, 0, time.UTC))
		must.Do(t, err)
		return j, lines
	}
	j, _ := open(false)
	for _, line := range []string{"first", "second"} {
		must.Do(t, j.Add(line))
	}
	if _, _, err := OpenJournal(path, false, time.Now()); err == nil || !strings.Contains(err.Error(), "another process goes on with it") {
		t.Errorf("a second process: %v", err)
	}
	j.Close()
	text := must.Get(os.ReadFile(path))(t)
	for n := 1; n <= len(text); n++ {
		must.Do(t, os.WriteFile(path, text[:n], 0o600))
		j, lines := open(false)
		if want := strings.Count(string(text[:n]), "\n"); len(lines) != want {
			t.Fatalf("after %d bytes: %d lines, want %d", n, len(lines), want)
		}
		holds(t, path, string(text[:n]))
		must.Do(t, j.Add("next"))
		whole := string(text[:n])
		holds(t, path, whole[:strings.LastIndexByte(whole, '\n')+1]+"\"next\"\n")
		j.Close()
	}
	j, lines := open(true)
	if len(lines) != 0 {
		t.Errorf("a fresh journal has %q", lines)
	}
	j.Add("new")
	j.Close()
	holds(t, path, "\"new\"\n")
	holds(t, strings.TrimSuffix(path, ".jsonl")+".20261128-010203.jsonl", string(text)+"\"next\"\n")
}
