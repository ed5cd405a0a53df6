//go:build duckdb_arrow

package answers_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"tidemark/analysis/answers"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

func TestSearch(t *testing.T) {
	db := warehousetest.Open(t).DB()
	flags := []answers.Word{{Kind: "flag", Name: "--max-num-seqs", Where: "capacity", Meaning: "sequences in a batch at most"}}
	for text, want := range map[string]string{ // the first rows
		"max_num_seqs":             "word max-num-seqs, flag --max-num-seqs, column max_num_seqs",
		"TPOT":                     "word TPOT",
		"num_requests_running":     "metric vllm:num_requests_running",
		"marts.tpot_gap":           "relation marts.tpot_gap",
		"deployment_fields":        "macro macros.deployment_fields",
		"a draft guesses ahead in": "word num-speculative-tokens", // only its meaning has it
	} {
		found := must.Get(answers.Search(t.Context(), db, text, flags))(t)
		var got []string
		for _, row := range found.Rows {
			got = append(got, fmt.Sprintf("%v %v", row[0], row[1]))
		}
		if !strings.HasPrefix(strings.Join(got, ", ")+", ", want+", ") {
			t.Errorf("%s: got %q, want %q first", text, got, want)
		}
	}
	for _, text := range []string{"frobnicate", " - "} {
		must.Refuse(answers.Search(t.Context(), db, text, nil))(t)
	}
}

// Each column that the glossary names is there, each field of a deployment that is a knob has its word, and docs/glossary.md has the same rows.
func TestTheGlossaryHasWhatItNames(t *testing.T) {
	db := warehousetest.Open(t).DB()
	rows := must.Get(answers.Ask(t.Context(), db, "select word, held_in, meaning, kind from seeds.glossary order by seq"))(t)
	columns := must.Get(answers.Ask(t.Context(), db, "select schema_name || '.' || table_name || '.' || column_name from duckdb_columns() where not internal"))(t)
	known := map[any]bool{}
	for _, row := range columns.Rows {
		known[row[0]] = true
	}
	page := must.Get(os.ReadFile("../../docs/glossary.md"))(t)
	words := map[string]bool{}
	for _, row := range rows.Rows {
		word, held := row[0].(string), strings.Split(row[1].(string), "; ")
		words[word] = true
		for _, one := range held {
			if !strings.HasPrefix(one, "--") && !known[one] {
				t.Errorf("%s: there is no %s", word, one)
			}
		}
		if row[3] == "knob" {
			word = "`" + word + "`"
		}
		if line := fmt.Sprintf("| %s | `%s` | %s |", word, strings.Join(held, "`; `"), row[2]); !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/glossary.md lacks %s", line)
		}
	}
	for _, field := range deployment.Fields {
		switch field.Name { // what the server is, and no knob of it
		case "gpu", "catalog_model", "compute_dtype", "engine", "engine_version", "hbm_bytes_per_s":
		default:
			if !words[field.Flag] {
				t.Errorf("--%s has no word in seeds.glossary", field.Flag)
			}
		}
	}
}
