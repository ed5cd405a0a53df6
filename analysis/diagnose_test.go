//go:build duckdb_arrow

package analysis_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/analysis/answers"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// A figure in no mart never fires anything; a figure that no rule and no table names is work for nothing.
func TestEveryFigureOfARuleIsWorkedOut(t *testing.T) {
	w := warehousetest.Open(t)
	figures := must.Get(answers.Ask(t.Context(), w.DB(), `
select figure, 'condition' from staging.symptom_conditions
union
select times_figure, 'factor' from staging.symptom_conditions where times_figure is not null
union
select figure, 'dictionary' from staging.evidence_figures`))(t)
	marts := readAll(t, "evidence_*.sql")
	for _, row := range figures.Rows {
		if !strings.Contains(marts, "{'figure': '"+row[0].(string)+"'") {
			t.Errorf("no queries/marts/evidence_*.sql has a line {'figure': '%s', ...}, of which a %s is", row[0], row[1])
		}
	}
	for _, made := range regexp.MustCompile(`\{'figure': '([a-z0-9_]+)'`).FindAllStringSubmatch(marts, -1) {
		known, err := answers.Ask(t.Context(), w.DB(), "from staging.evidence_figures where figure = ?", made[1])
		if err != nil || len(known.Rows) != 1 {
			t.Errorf("%s has no words in seeds.evidence_figures (%v)", made[1], err)
		}
	}
}

func TestARuleHasFiguresWordsAndKnownNeighbours(t *testing.T) {
	w := warehousetest.Open(t)
	for what, query := range map[string]string{
		"a condition without words": "select symptom, figure from staging.symptom_conditions where says is null or times_figure is not null and times_says is null",
		"a condition of no symptom": "select symptom from staging.symptom_conditions except select symptom from staging.symptoms",
		"a symptom that never fires": `select symptom from staging.symptoms
			except select symptom from staging.symptom_conditions where role = 'needs' and alternative > 0`,
		"an explanation of no name": "select unnest(unless) from staging.symptoms except select symptom from staging.symptoms",
		"an unknown comparison":     "select symptom from staging.symptom_conditions where comparison not in ('>', '>=', '<', '<=')",
		"an unknown role":           "select symptom from staging.symptom_conditions where role not in ('needs', 'unless', 'confirms')",
		"an unknown kind":           "select symptom from staging.symptoms where kind not in ('invalid', 'problem', 'by design')",
	} {
		found := must.Get(answers.Ask(t.Context(), w.DB(), query))(t)
		if len(found.Rows) > 0 {
			t.Errorf("%s: %v", what, found.Rows)
		}
	}
}

// How busy a GPU looks is context: no symptom may fire on it.
func TestNoVerdictDependsOnUtilization(t *testing.T) {
	w := warehousetest.Open(t)
	found := must.Get(answers.Ask(t.Context(), w.DB(), "from staging.symptom_conditions where figure like 'sm_active%' or figure like '%busy%'"))(t)
	if len(found.Rows) > 0 {
		t.Errorf("rules look at utilization: %v", found.Rows)
	}
}

// Each symptom fires in a case of queries/marts/symptoms*.txtar, and each of these files has a run that shows none.
func TestEverySymptomHasACase(t *testing.T) {
	w := warehousetest.Open(t)
	cases := map[string]string{}
	var all string
	names, err := filepath.Glob("../queries/marts/symptoms*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, name := range names {
		text := must.Get(os.ReadFile(name))(t)
		_, want, _ := strings.Cut(string(text), "-- want.csv --\n")
		cases[name], all = want, all+want
	}
	for name, want := range cases {
		if !regexp.MustCompile(`(?m)^[^,]+,,?$`).MatchString(want) {
			t.Errorf("%s has no run without a symptom", name)
		}
	}
	symptoms := must.Get(answers.Ask(t.Context(), w.DB(), "select symptom from staging.symptoms"))(t)
	for _, row := range symptoms.Rows {
		if !regexp.MustCompile(`[, ]` + row[0].(string) + `\b`).MatchString(all) {
			t.Errorf("%s fires in no case: add a run that has it to a queries/marts/symptoms*.txtar, and its row to the rows wanted there", row[0])
		}
	}
}

func readAll(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob("../queries/marts/" + pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no queries/marts/%s: %v", pattern, err)
	}
	var b strings.Builder
	for _, name := range names {
		b.Write(must.Get(os.ReadFile(name))(t))
	}
	return b.String()
}
