package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/cli/kit"
	"tidemark/internal/escape"
	"tidemark/internal/proof/must"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ text, kept, want string }{
		{"größe 日本 \"a\" C:\\b.csv", "", "größe 日本 \"a\" C:\\b.csv"},
		{"a\x1b[2Jb", "", `a\x1b[2Jb`},
		{"a\nb\tc", "", `a\nb\tc`},
		{"a\nb\tc\r", "\n\t", "a\nb\tc\\r"},
		{"\u009b1m\u202exe\x9b", "", `\u009b1m\u202exe\x9b`},
	} {
		if got := escape.Controls(c.text, c.kept); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

// A file's name can hold what a terminal obeys: no verb passes it on.
func TestNamesOfFilesAreShownNotObeyed(t *testing.T) {
	t.Chdir(t.TempDir())
	path := "a\x1b[2J\ntidemark: error: made up.csv"
	must.Do(t, os.WriteFile(path, []byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:00:00.0,10,5\n"), 0o600))
	for _, args := range [][]string{
		{"ingest", path, "--name", "a"}, {"ingest", path}, {"sources", "a"}, {"sql", "select path from staging.sources"}, {"ingest", filepath.Join("nowhere", path)},
	} {
		var out, said bytes.Buffer
		run(append([]string{"tidemark"}, args...), strings.NewReader(""), &out, &said)
		both := out.String() + said.String()
		if strings.Contains(both, "\x1b") || args[0] != "sql" && strings.Contains(both, "\ntidemark: error: made up") {
			t.Errorf("%q: a terminal would obey %q", args, both)
		}
		if !strings.Contains(both, `\x1b`) {
			t.Errorf("%q: the name is not shown: %q", args, both)
		}
	}
}

func TestAnErrorOfSeveralLines(t *testing.T) {
	var said bytes.Buffer
	kit.PrintError(&said, errors.New("a\x1b[2J\nb"))
	if want := "tidemark: error: a\\x1b[2J\n  b\n"; said.String() != want {
		t.Errorf("got %q, want %q", said.String(), want)
	}
}
