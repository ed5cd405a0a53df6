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
			if !strings.Contains(query, "'"+metric+"'") {
				t.Errorf("queries/%s judges no '%s': add it where it has '%s'", path, metric, E2EFromDue)
			}
		}
	}
	for _, metric := range All {
		if column := Column(metric); column != "" && !strings.Contains(read(t, "../../queries/staging/requests.sql"), "\n-- "+column+" ") {
			t.Errorf("queries/staging/requests.sql has no column %s, or no header line of it", column)
		}
	}
}

func TestDocumentsKnowTheMetricsOfAnSLO(t *testing.T) {
	for path, sign := range map[string]string{"queries/marts/slo.sql": "'", "queries/staging/slo_objectives.sql": "'", "docs/files.md": "`"} {
		sentence := regexp.MustCompile(`(?m)^(-- metric |Metrics are ).*\n?.*$`).FindString(read(t, "../../"+path))
		for _, metric := range All {
			if !strings.Contains(sentence, sign+metric+sign) {
				t.Errorf("%s lists the metrics of an SLO without %s: it has %q", path, sign+metric+sign, sentence)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return string(text)
}
