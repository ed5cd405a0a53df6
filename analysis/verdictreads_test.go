//go:build duckdb_arrow

package analysis

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"tidemark/internal/proof/must"
)

// A relation that a verdict asks and that judge does not fill would be empty there, and nobody would be told.
func TestJudgeFillsWhatAVerdictReads(t *testing.T) {
	relation := regexp.MustCompile(`(?:from|join) ((?:staging|marts)\.[a-z0-9_]+)`)
	filled := regexp.MustCompile(`[a-z]+\.[a-z0-9_]+`).FindAllString(verdictReads, -1)
	found := 0
	for _, name := range []string{"verdict.go", "verdictbasis.go", "judge_slo.go"} {
		for _, match := range relation.FindAllStringSubmatch(string(must.Get(os.ReadFile(name))(t)), -1) {
			found++
			if match[1] != "marts.certificate" && !slices.Contains(filled, match[1]) { // Certificate is asked of the user's own warehouse
				t.Errorf("%s: %s is not in verdictReads", name, match[1])
			}
		}
	}
	if found < len(filled) {
		t.Errorf("%d relations were found in the files, want the %d of verdictReads at least", found, len(filled))
	}
}
