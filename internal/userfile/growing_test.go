package userfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tidemark/internal/proof/must"
)

func grown(t *testing.T, path, aside, text string) *Growing {
	t.Helper()
	g := must.Get(Grow(path, aside))(t)
	must.Get(io.WriteString(g, text))(t)
	return g
}

func holds(t *testing.T, path, want string) {
	t.Helper()
	if text, err := os.ReadFile(path); string(text) != want || err != nil {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(path), text, err, want)
	}
}

// Beginning again renamed a file that another process was adding to, and two files that were put aside in one second became one.
func TestAFileThatIsPutAsideIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "week.jsonl")
	aside := path + ".noon.old"
	first := grown(t, path, aside, "first")
	if _, err := Grow(path, aside); !errors.Is(err, ErrBusy) {
		t.Errorf("a file that is being added to was given away: %v", err)
	}
	holds(t, path, "first")
	first.Close()
	grown(t, path, aside, "second").Close()
	grown(t, path, aside, "third").Close()
	holds(t, path, "third")
	holds(t, aside, "first")
	holds(t, path+".noon-2.old", "second")
	grown(t, path, "", " and more").Close()
	holds(t, path, "third and more")
}

// A process that wrote nothing removed the file of the one that came after it.
func TestOnlyAnOwnEmptyFileIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "week.jsonl")
	grown(t, path, "", "").Close()
	if _, err := os.Stat(path); err == nil {
		t.Error("an empty file is left")
	}
	empty := grown(t, path, "", "")
	must.Do(t, os.Rename(path, path+".moved"))
	grown(t, path, "", "of another").Close()
	empty.Close()
	holds(t, path, "of another")
}

func TestGrowFollowsNoLinkAndTakesNoDevice(t *testing.T) {
	folder := t.TempDir()
	path, victim := filepath.Join(folder, "week.jsonl"), filepath.Join(folder, "victim")
	must.Do(t, errors.Join(os.WriteFile(victim, []byte("mine"), 0o600), os.Symlink(victim, path)))
	for _, path := range []string{path, os.DevNull} {
		if _, err := Grow(path, ""); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: got %v", path, err)
		}
	}
	holds(t, victim, "mine")
}
