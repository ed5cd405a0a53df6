package week_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"tidemark/analysis/week"
	"tidemark/reports/week/sample"
)

var (
	sqlBlock = regexp.MustCompile(`<pre class="sql" tabindex="0"><code>([^<]*)</code></pre>`)
	asked    = regexp.MustCompile(`(?s)^select (.*?)\nfrom (\S+)`)
)

// The marts of services have the columns of the contract, so that a query under a chart asks for nothing else.
func TestQueriesAskForColumnsOfTheContract(t *testing.T) {
	columns := map[string]map[string]bool{"marts.service_hours": fieldsOf(reflect.TypeFor[week.Hour]()), "marts.service_weeks": fieldsOf(reflect.TypeFor[week.Sums]())}
	found := 0
	for _, block := range sqlBlock.FindAllStringSubmatch(write(t, sample.Report()), -1) {
		query := asked.FindStringSubmatch(strings.ReplaceAll(block[1], "&#39;", "'"))
		if query == nil {
			t.Errorf("not a select of ours: %s", block[1])
			continue
		}
		known, isOfService := columns[query[2]]
		if !isOfService {
			continue
		}
		found++
		for _, column := range strings.Split(query[1], ", ") {
			if !known[column] {
				t.Errorf("%s has no column %s", query[2], column)
			}
		}
	}
	if found < 6 {
		t.Errorf("got %d queries of the marts of services, want at least 6", found)
	}
}

func fieldsOf(of reflect.Type) map[string]bool {
	out := map[string]bool{}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		out[name] = true
	}
	return out
}
