//go:build duckdb_arrow && (accuracy || knees)

package accuracy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// putTable puts a table between its marks on a page with update, and otherwise sees that it is the one there.
func putTable(t *testing.T, page, name, text, target string, update bool) {
	t.Helper()
	fmt.Printf("%s\n%s\n", name, text)
	old := must.Get(os.ReadFile(page))(t)
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(string(old), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s: no place for the table %s", page, name)
	}
	anew := before + begin + "\n" + text + "\n" + end + after
	if update {
		must.Do(t, os.WriteFile(page, []byte(anew), 0o644))
	} else if anew != string(old) {
		t.Logf("%s: %s is not what was measured now; %s UPDATE=1 writes it", page, name, target)
	}
}
