package week

import (
	"strings"
	"testing"

	"tidemark/analysis/week"
	"tidemark/reports/week/sample"
)

// The page of the demo told to collect, which refused: its service file names no server.
func TestAServiceWithoutAPrometheusNamesItFirst(t *testing.T) {
	for text, names := range map[string]bool{"service: chat\nslo: s.yaml\n": true, "service: chat\nmetrics: http://p:9090\n": false, "": false} {
		f := &facts{Report: &week.Report{File: week.File{Path: "chat.yaml", Text: text}}}
		got := f.byCollect("Latencies are not known. This command fetches them:")
		if strings.Contains(got.Text, "Once the service file names its Prometheus (metrics: ") != names || got.Command != "tidemark collect --service chat.yaml" {
			t.Errorf("%q: got %+v", text, got)
		}
	}
}

func TestMarkdownOfAComparison(t *testing.T) {
	if got := markdown("p99 > 2 s, a<b"); got != "p99 > 2 s, a&lt;b" { // > was &gt;
		t.Errorf("got %s", got)
	}
}

// The cell said it twice, and a nine that costs nothing more was "0.00".
func TestACellSaysAThingOnce(t *testing.T) {
	r := sample.Report()
	r.Nines[1].More = new(0.0)
	r.Alternatives[1].IsOther, r.Alternatives[1].Why = true, "holds; answers may differ, as the weights have another format"
	f := newFacts(r)
	if got := f.nines().Rows[1].Cells[3].Text; got != "nothing" {
		t.Errorf("more: got %q", got)
	}
	for _, row := range f.others().Rows {
		if n := strings.Count(row.Cells[5].Text+row.Cells[5].Small, "answers may differ"); n > 1 {
			t.Errorf("%s: said %d times", row.Cells[0].Text, n)
		}
	}
}
