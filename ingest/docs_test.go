//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"strings"
	"testing"

	"tidemark/ingest"
)

// docs/formats.md names every format that there is.
func TestFormatsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ingest.Formats() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/formats.md does not name %s", name)
		}
	}
}
