//go:build duckdb_arrow

package ingest

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/ingest/read"
	"tidemark/internal/proof/must"
)

// A file is recognised by one format alone, guesses apart, so that the order of the list
// does not matter to it. These fixtures are the exceptions, the first format being the one
// that reads them.
var seenByTwo = map[string]string{
	"traces/aiperf-turns.jsonl": "aiperf-turns mooncake",
}

func TestOneFormatForEachFixture(t *testing.T) {
	const root = "../fixtures"
	recognised := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		in, err := read.Open(t.Context(), path, nil)
		if err != nil {
			return err
		}
		defer in.Close()
		first, err := read.NewBlocks(in, read.BlockSize, read.LineLimit).Next()
		if err != nil {
			return nil // empty, or cut: other tests read those
		}
		var names []string
		h := read.NewHead(first.Data, (&read.Document{Path: path}).Base())
		for _, f := range formats {
			if !f.IsGuess && f.Sees(h) != "" {
				names = append(names, f.Name)
			}
		}
		inside, _ := filepath.Rel(root, path)
		if len(names) > 0 {
			recognised++
		}
		if len(names) > 1 && strings.Join(names, " ") != seenByTwo[filepath.ToSlash(inside)] {
			t.Errorf("%s is recognised as %s: which of them reads it depends on their order", inside, strings.Join(names, " and "))
		}
		return nil
	})
	must.Do(t, err)
	if recognised < 90 {
		t.Errorf("%d fixtures were recognised; there are more than 90", recognised)
	}
}

// Guesses come last, names are unique, and each format has one reader.
func TestTheListOfFormats(t *testing.T) {
	var names []string
	isGuess := false
	for _, f := range formats {
		if isGuess && !f.IsGuess {
			t.Errorf("%s stands after a guess, which would take its files", f.Name)
		}
		isGuess = f.IsGuess
		if slices.Contains(names, f.Name) {
			t.Errorf("two formats are called %s", f.Name)
		}
		names = append(names, f.Name)
		if (f.Open == nil) == (f.Read == nil) || f.Kind == "" || f.Wants == "" {
			t.Errorf("%s: one of Open and Read, a kind and what it wants must be there", f.Name)
		}
	}
}
