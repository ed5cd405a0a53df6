package analysis

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// An SLO's metrics are judged by two queries. One that a query does not know would count as kept, or stay undecided.
func TestSQLKnowsTheMetricsOfAnSLO(t *testing.T) {
	for _, path := range []string{"../queries/marts/slo.sql", "../queries/marts/goodput.sql"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(`(?m)^--.*$`).ReplaceAll(text, nil) // a header is not a query
		for _, metric := range sloMetrics {
			if !strings.Contains(string(text), "'"+metric+"'") {
				t.Errorf("%s does not know the metric '%s'", path, metric)
			}
		}
	}
}
