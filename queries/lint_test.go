package queries_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// A case of seeds.lint_rules that no test makes fire may be one that cannot: each is in the wanted rows of a view that lint reads.
func TestEveryLintRuleFires(t *testing.T) {
	wanted := ""
	for _, pattern := range []string{"marts/lint*.txtar", "marts/symptoms*.txtar", "marts/audit*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text := must.Get(os.ReadFile(file))(t)
			_, rows, _ := strings.Cut(string(text), "-- want.csv --\n")
			wanted += strings.NewReplacer(" ", ",", ";", ",", "\"", ",").Replace("\n" + rows)
			wanted = strings.ReplaceAll(wanted, "\n", ",")
		}
	}
	seed := must.Get(os.Open("seeds/lint_rules.csv"))(t)
	defer seed.Close()
	rules := must.Get(csv.NewReader(seed).ReadAll())(t)
	for _, rule := range rules[1:] {
		if name := rule[1]; !strings.Contains(wanted, ","+name+",") && !strings.Contains(wanted, ","+strings.ReplaceAll(name, "_", ",")+",") {
			t.Errorf("%s: fires in no test of marts.lint_*, marts.symptoms or marts.audit", name)
		}
	}
}
