package hint_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"tidemark/internal/hint"
)

func TestAnErrorKeepsItsCauseItsHintAndWhoseMistakeItIs(t *testing.T) {
	_, missing := os.ReadFile("no/such/file")
	held := errors.New("held")
	for _, c := range []struct {
		what       string
		err        error
		text, todo string
		isMisuse   bool
		is         error
	}{
		{"a cause", hint.Errorf("slo a.yaml: %w", missing).Hint("name a file"), "slo a.yaml: open no/such/file: no such file or directory", "name a file", false, fs.ErrNotExist},
		{"a wrapped misuse", fmt.Errorf("row 3: %w", hint.Misuse("--speed 0").Hint("above %d", 0)), "row 3: --speed 0", "above 0", true, nil},
		{"the outermost hint", hint.Wrap(hint.Errorf("no column").Hint("inner")).Hint("outer"), "no column", "outer", false, nil},
		{"an inner hint is kept", hint.AsMisuse(hint.Errorf("bad key").Hint("inner")), "bad key", "inner", true, nil},
		{"a mark", hint.Errorf("busy").Mark(held), "busy", "", false, held},
		{"a plain error", errors.New("plain"), "plain", "", false, nil},
	} {
		if c.err.Error() != c.text || hint.Of(c.err) != c.todo || hint.IsMisuse(c.err) != c.isMisuse || c.is != nil && !errors.Is(c.err, c.is) {
			t.Errorf("%s: got %q, hint %q, misuse %v; want %q, %q, %v, and %v in it", c.what, c.err, hint.Of(c.err), hint.IsMisuse(c.err), c.text, c.todo, c.isMisuse, c.is)
		}
	}
	if hint.AsMisuse(nil) != nil {
		t.Error("no error became one")
	}
}
