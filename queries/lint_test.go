package queries_test

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, rows, _ := strings.Cut(string(text), "-- want.csv --\n")
			wanted += strings.NewReplacer(" ", ",", ";", ",", "\"", ",").Replace("\n" + rows)
			wanted = strings.ReplaceAll(wanted, "\n", ",")
		}
	}
	seed, err := os.Open("seeds/lint_rules.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer seed.Close()
	rules, err := csv.NewReader(seed).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules[1:] {
		if name := rule[1]; !strings.Contains(wanted, ","+name+",") && !strings.Contains(wanted, ","+strings.ReplaceAll(name, "_", ",")+",") {
			t.Errorf("%s: fires in no test of marts.lint_*, marts.symptoms or marts.audit", name)
		}
	}
}
