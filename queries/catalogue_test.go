//go:build duckdb_arrow

package queries_test

import (
	"database/sql"
	"os"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/queries"
)

// A macro without a comment, an example or a group is found by nobody.
func TestEveryMacroIsDocumented(t *testing.T) {
	macros := queries.Macros()
	if len(macros) < 200 {
		t.Fatalf("%d macros", len(macros))
	}
	for _, macro := range macros {
		switch {
		case macro.Comment == "":
			t.Errorf("%s: %s has no comment above it", macro.Path, macro.Name)
		case !strings.Contains(macro.Example, macro.Name+"(") && !strings.Contains(macro.Path, "model_config"):
			t.Errorf(`%s: %s has no example at the end of its comment ("--   select ..."): %q`, macro.Path, macro.Name, macro.Example)
		case queries.GroupPlace(macro.Group) == len(queries.Groups):
			t.Errorf("%s: its header names no group of queries.Groups", macro.Path)
		}
	}
}

// Every file of a view or a seed names its group.
func TestEveryRelationHasAGroup(t *testing.T) {
	for _, schema := range append([]string{"seeds", "examples"}, queries.Views...) {
		for _, file := range queries.In(schema, ".sql") {
			if queries.GroupPlace(queries.GroupOf(file.Text)) == len(queries.Groups) {
				t.Errorf(`%s: wants a line "-- group: NAME" at the end of its header's prose, with a name of queries.Groups`, file.Path)
			}
		}
	}
}

// Each macro's example gives a first row without a null. Examples with the same "from" are asked together, because DuckDB plans a
// deployment for a tenth of a second each time.
func TestEveryMacroExampleRuns(t *testing.T) {
	db := filled(t, small(t))
	var froms []string
	asked := map[string][]string{}
	for _, macro := range queries.Macros() {
		head, from, hasFrom := strings.Cut(macro.Example, " from ")
		if !hasFrom || !strings.HasPrefix(head, "select ") || strings.ContainsAny(from, ",") && strings.Contains(from, " limit ") {
			head, from = "", macro.Example
		}
		if asked[from] == nil {
			froms = append(froms, from)
		}
		asked[from] = append(asked[from], strings.TrimPrefix(head, "select "))
	}
	for _, from := range froms {
		query := from
		if heads := asked[from]; heads[0] != "" {
			query = "select " + strings.Join(heads, ", ") + " from " + from
		}
		rows, err := ask(db, query)
		if err != nil {
			t.Errorf("%v\n%s", err, query)
			continue
		}
		if len(rows) < 2 {
			t.Errorf("no rows\n%s", query)
			continue
		}
		for i, cell := range rows[1] {
			if cell == "" {
				t.Errorf("%s is null\n%s", rows[0][i], query)
			}
		}
	}
}

// examplesAnswer wants an answer from each example question, as it stands.
func examplesAnswer(t *testing.T, db *sql.DB) {
	t.Helper()
	examples := queries.Examples()
	if len(examples) < 20 {
		t.Errorf("%d examples, want at least 20", len(examples))
	}
	for _, example := range examples {
		if !strings.HasSuffix(example.Question, "?") || example.Meaning == "" {
			t.Errorf("%s: its header wants a question in the first paragraph and what the answer means in the second", example.Path)
		}
		rows, err := ask(db, example.SQL)
		if err != nil {
			t.Errorf("%s: %v", example.Path, err)
		} else if len(rows) < 2 {
			t.Errorf("%s: no rows", example.Path)
		}
	}
}

func exampleSQL(t *testing.T, name string) string {
	t.Helper()
	for _, example := range queries.Examples() {
		if example.Name == name {
			return example.SQL
		}
	}
	t.Fatalf("no queries/examples/%s.sql", name)
	return ""
}

// Engines begin their metrics with their name and a colon. Series that write it otherwise, as ray_vllm_..., are read under the seed's name.
func TestSeriesAreReadUnderTheSeedsNames(t *testing.T) {
	var engines []string
	for _, file := range queries.In("seeds", ".csv") {
		if file.Name != "metric_names" {
			continue
		}
		for _, line := range strings.Split(file.Text, "\n") {
			name, _, _ := strings.Cut(line, ",")
			if engine, _, has := strings.Cut(name, ":"); has && !slices.Contains(engines, engine) {
				engines = append(engines, engine)
			}
		}
	}
	text := must.Get(os.ReadFile("macros/felt.sql"))(t)
	if want := "'^(?:ray_)?(" + strings.Join(engines, "|") + ")[:_]'"; len(engines) < 3 || !strings.Contains(string(text), want) {
		t.Errorf("macros.metric_series_of (queries/macros/felt.sql) does not read every engine of seeds/metric_names.csv: write %s there", want)
	}
}
