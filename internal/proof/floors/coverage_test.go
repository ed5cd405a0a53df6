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

var testNamed = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+|[a-z_./-]+\\.txtar)`")

// What docs/coverage.md names as proof must be there.
func TestCoverageNamesTestsThatExist(t *testing.T) {
	text := must.Get(os.ReadFile("../../../docs/coverage.md"))(t)
	named := testNamed.FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Fatal("docs/coverage.md names no test")
	}
	sources := goTests(t)
	for _, match := range named {
		name := match[1]
		if strings.HasSuffix(name, ".txtar") {
			if _, err := os.Stat("../../../" + name); err != nil {
				t.Errorf("docs/coverage.md names %s: %v", name, err)
			}
		} else if !strings.Contains(sources, "func "+name+"(") {
			t.Errorf("docs/coverage.md names %s: no such test", name)
		}
	}
}

func goTests(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	must.Do(t, filepath.WalkDir("../../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	}))
	return all.String()
}
