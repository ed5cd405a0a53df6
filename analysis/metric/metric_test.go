package metric

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// An SLO's metrics are judged by two queries. One that a query does not know would count as kept, or stay undecided.
func TestSQLKnowsTheMetricsOfAnSLO(t *testing.T) {
	header := regexp.MustCompile(`(?m)^--.*$`)
	for _, path := range []string{"marts/slo.sql", "marts/slo_misses.sql"} {
		query := header.ReplaceAllString(read(t, "../../queries/"+path), "")
		for _, metric := range All {
			must.Say(t, query, "'"+metric+"'")
		}
	}
	for _, metric := range All {
		if column := Column(metric); column != "" && !strings.Contains(read(t, "../../queries/staging/requests.sql"), "\n-- "+column+" ") {
			t.Errorf("staging.requests has no column %s", column)
		}
	}
}

func TestDocumentsKnowTheMetricsOfAnSLO(t *testing.T) {
	for path, sign := range map[string]string{"queries/marts/slo.sql": "'", "queries/staging/slo_objectives.sql": "'", "docs/files.md": "`"} {
		sentence := regexp.MustCompile(`(?m)^(-- metric |Metrics are ).*\n?.*$`).FindString(read(t, "../../"+path))
		for _, metric := range All {
			must.Say(t, sentence, sign+metric+sign)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}
