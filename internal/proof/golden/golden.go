// Package golden compares pages with files that are kept in testdata.
package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// Check compares a page with its file in testdata, which update writes anew. whole is the page with what the file leaves out: it is put where
// it can be looked at.
func Check(t testing.TB, file, got, whole string, update bool) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if update {
		must.Do(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(path))(t)
	if got == string(want) {
		return
	}
	seen := filepath.Join(os.TempDir(), "tidemark-"+file)
	must.Do(t, os.WriteFile(seen, []byte(whole), 0o644))
	t.Errorf("it differs from %s\n%s\nall of it is %s: look at it, then run this test with -update", path, Difference(string(want), got), seen)
}

// Difference shows the first line in which two texts differ.
func Difference(a, b string) string {
	ones, others := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(ones), len(others)) {
		if ones[i] != others[i] {
			return fmt.Sprintf("from line %d:\n%.300s\n%.300s", i+1, ones[i], others[i])
		}
	}
	return "in their length"
}

// Says checks that a page has some texts and has not others.
func Says(t testing.TB, what, html string, says, nots []string) {
	t.Helper()
	for _, text := range says {
		if !strings.Contains(html, text) {
			t.Errorf("%s: the page does not say %q", what, text)
		}
	}
	for _, text := range nots {
		if strings.Contains(html, text) {
			t.Errorf("%s: the page says %q", what, text)
		}
	}
}
