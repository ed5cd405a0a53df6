//go:build duckdb_arrow

package queries_test

import (
	"bytes"
	"encoding/csv"
	"flag"
	"os"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/queries"
)

var update = flag.Bool("update", false, "write stable.csv anew: only to promise more")

// What is in the published lake is promised: each column keeps its name, its type and its meaning (the text of its
// header). A new column is promised with -args -update.
func TestPromisedColumnsStayAsTheyAre(t *testing.T) {
	db := open(t).DB()
	now := map[string][]string{}
	var all [][]string
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			if !file.IsKept() && !file.IsPublishedPerRun() && !file.IsPublishedPerSource() && !file.IsPublishedPerWeek() {
				continue
			}
			header := queries.ReadHeader(file.Text)
			columns := must.Get(ask(db, "select column_name, column_type from (describe "+file.Relation()+")"))(t)
			for _, column := range columns[1:] {
				row := []string{file.Relation(), column[0], column[1], header.Columns[column[0]]}
				now[row[0]+"."+row[1]] = row
				all = append(all, row)
			}
		}
	}
	if *update {
		var text bytes.Buffer
		writer := csv.NewWriter(&text)
		writer.Write([]string{"relation", "column", "type", "meaning"})
		writer.WriteAll(all)
		must.Do(t, os.WriteFile("stable.csv", text.Bytes(), 0o644))
		return
	}
	promised := map[string]bool{}
	for _, row := range queries.Stable() {
		name := row[0] + "." + row[1]
		promised[name] = true
		switch is := now[name]; {
		case is == nil:
			t.Errorf("%s was promised and is gone", name)
		case is[2] != row[2]:
			t.Errorf("%s was promised as %s and is %s", name, row[2], is[2])
		case is[3] != row[3]:
			t.Errorf("%s was promised to mean %q and means %q: if only the words are others, write stable.csv anew (-args -update)", name, row[3], is[3])
		}
	}
	for name := range now {
		if !promised[name] {
			t.Errorf("%s is in the lake and not promised: go test -tags duckdb_arrow ./queries -run TestPromised -args -update", name)
		}
	}
}
