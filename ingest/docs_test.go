//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// docs/formats.md names every format that there is.
func TestFormatsAreDocumented(t *testing.T) {
	text := must.Get(os.ReadFile("../docs/formats.md"))(t)
	for _, name := range ingest.Formats() {
		must.Say(t, string(text), "`"+name+"`")
	}
}
