//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// Rows at 0 and 3000 s alone are two windows of ten minutes; of a file of five minutes' windows all are that long.
func TestHolesBetweenServeGenWindows(t *testing.T) {
	for _, c := range []struct{ starts, want, note string }{
		{"0 3000", " 0.0 600.0 300.0    | 3000.0 3600.0 300.0    ", "windows are 600 s long, and 1 of them do not begin"},
		{"0 300 900", " 0.0 300.0 150.0    | 300.0 600.0 150.0    | 900.0 1200.0 150.0    ", "windows are 300 s long, and 1 of them"},
		{"0 600 1200", " 0.0 600.0 300.0    | 600.0 1200.0 300.0    | 1200.0 1800.0 300.0    ", ""},
	} {
		var content strings.Builder
		for _, start := range strings.Fields(c.starts) {
			fmt.Fprintf(&content, "%s,0.5,1,,0,0\n", start)
		}
		w := open(t)
		result := load(t, w, write(t, "r.csv", []byte(content.String())), ingest.Options{})
		answers(t, w, allRates, c.want)
		if got := strings.Join(result.Notes, "\n"); !strings.Contains(got, c.note) || c.note == "" && got != "" {
			t.Errorf("%s: notes %q, want %q", c.starts, got, c.note)
		}
	}
}

// What a plan cannot have of histograms is said when they come in, and of whole ones nothing.
func TestWhatHistogramsLack(t *testing.T) {
	const header = "input_up_to,output_up_to,class,requests\n"
	for _, c := range []struct{ content, want string }{
		{header + "100,10,chat,3\n200,20,,1\n", ""},
		{header + "0,10,,1\n300,10,,3\n", "25 % of its prompts have no token: they cannot be sent, and a plan leaves them out"},
		{header + "300,0,,1\n300,10,,2\n", "33.3 % of its answers have no token: they cannot be sent, and a plan leaves them out"},
		{"input_up_to,requests\n10,1\n", "it says nothing of the lengths of answers: a plan takes both lengths of another source, --lengths-of SOURCE"},
		{"output_up_to,requests\n10,1\n", "it says nothing of the lengths of prompts: a plan takes both lengths of another source, --lengths-of SOURCE"},
		{header + "100,10,what is the best thing to do,3\n200,20,chat,1\n", "1 rows have a class that is not a short word: it may be text, so it was left out"},
		{`{"0": {"input_tokens": "{0: 0.5, 300: 0.5}", "output_tokens": "{5: 1.0}"}}`, "50 % of its prompts have no token: they cannot be sent, and a plan leaves them out"},
	} {
		result := load(t, open(t), write(t, "l.csv", []byte(c.content)), ingest.Options{})
		if got := strings.Join(result.Notes, "\n"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.content, got, c.want)
		}
	}
}

// A class that is a sentence is left out and counted, in traces as well.
func TestClassesThatAreText(t *testing.T) {
	for name, content := range map[string]string{
		"burstgpt": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,m,10,5,15,tell me what to do now\n6,m,10,5,15,API log\n",
		"plain":    "arrival_s,input_tokens,output_tokens,class\n0,10,5,tell me what to do now\n1,10,5,chat\n",
	} {
		w := open(t)
		result := load(t, w, write(t, name+".csv", []byte(content)), ingest.Options{})
		must.Say(t, strings.Join(result.Notes, "\n"), "1 rows have a class that is not a short word")
		answers(t, w, "select count(*), count(class) from raw.arrivals", "2 1")
	}
}

// Labels that hold what people wrote, or who they are, keep only which were alike.
func TestLabelsOfTexts(t *testing.T) {
	for _, label := range []string{"prompt", "text", "message", "content", "query", "question", "Prompt", "user", "user_name", "session_id", "customer"} {
		content := fmt.Sprintf("# TYPE a counter\na{%[1]s=\"canary one\",model=\"m\"} 1\na{%[1]s=\"canary two\",model=\"m\"} 2\nb{%[1]s=\"canary one\"} 3\n", label)
		w := open(t)
		load(t, w, write(t, "m.prom", []byte(content)), ingest.Options{})
		all := joined(table(t, w, "select name, labels from raw.metrics order by all"))
		if strings.Contains(all, "canary") || strings.Count(all, label+`="1"`) != 2 || strings.Count(all, label+`="2"`) != 1 {
			t.Errorf("%s: got\n%s", label, all)
		}
	}
}
