package floors

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

var (
	windowOfAllRows = regexp.MustCompile(`(\w+)\([^()]*\) over \(\s*\)`)
	// DuckDB numbers rows while they stream by, by another operator, which has not failed.
	streams = map[string]bool{"row_number": true}
)

// A window without partition and order fails by chance in DuckDB 1.5: analysis/answers/faults.go.
func TestNoWindowOfAllRows(t *testing.T) {
	read := 0
	must.Do(t, filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		isCode := strings.HasSuffix(path, ".sql") || strings.HasSuffix(path, ".html") || strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
		if !isCode || strings.Contains(path, "testdata") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		read++
		for _, found := range windowOfAllRows.FindAllSubmatch(text, -1) {
			if !streams[string(found[1])] {
				t.Errorf("%s: %s: write over (partition by true), or a cross join with the aggregate", path, found[0])
			}
		}
		return nil
	}))
	if read < 500 {
		t.Errorf("read %d files of code, want all of them", read)
	}
}
