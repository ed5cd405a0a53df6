//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/proof/must"
)

func sloFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slo.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const chatSLO = `schema: tidemark.slo/1
name: chat
objectives:
  - {metric: ttft, percentile: 99, at_most: 1s, class: P0}
  - metric: tpot
    percentile: 99
    at_most: 60ms
  - {metric: failure_ratio, at_most: 0.01}
cost: {per_gpu_hour: 3.5}
`

func TestReadSLO(t *testing.T) {
	slo := must.Get(analysis.ReadSLO(sloFile(t, chatSLO)))(t)
	got, err := json.Marshal(slo)
	const want = `{"schema":"tidemark.slo/2","name":"chat","objectives":[{"metric":"ttft_from_due","percentile":99,"at_most":1,"class":"P0"},` +
		`{"metric":"tpot","percentile":99,"at_most":0.06},{"metric":"failure_ratio","at_most":0.01}],"cost":{"per_gpu_hour":3.5}}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	literal, err := analysis.ReadSLO(sloFile(t, strings.Replace(chatSLO, "slo/1", "slo/2", 1)))
	if err != nil || literal.Objectives[0].Metric != "ttft" || literal.Objectives[0].String() != "p99 TTFT of class P0" {
		t.Errorf("in tidemark.slo/2: got %v, %v; want ttft as it is", literal.Objectives, err)
	}
}

func TestSLOsThatCannotBeMeant(t *testing.T) {
	replaced := func(old, by string) string { return strings.Replace(chatSLO, old, by, 1) }
	for _, c := range []struct{ why, text, words string }{
		{"an unknown key", replaced("percentile: 99\n", "percentil: 99\n"), `line 6: objectives[1]: unknown key "percentil"; did you mean percentile? known are at_most, class`},
		{"a file of something else", "root-password: hunter2\n", "line 1: has none of the keys cost, name, objectives, schema"},
		{"an unknown key at the top", replaced("name: chat", "nom: chat"), `line 2: unknown key "nom"; known are cost, name`},
		{"no percentile", replaced("    percentile: 99\n", ""), "line 5: objectives[1]: tpot: no percentile"},
		{"no bound", replaced("    at_most: 60ms\n", ""), "line 5: objectives[1]: tpot: no at_most"},
		{"a bound without its unit", replaced("60ms", "60"), `line 5: objectives[1]: at_most "60": want a time with its unit`},
		{"a bound below zero", replaced("60ms", "-60ms"), `line 5: objectives[1]: at_most "-60ms"`},
		{"a percentile of 100", replaced("percentile: 99\n", "percentile: 100\n"), "line 5: objectives[1]: percentile 100"},
		{"a word for a percentile", replaced("percentile: 99\n", "percentile: most\n"), `line 6: objectives[1].percentile: "most" is not a number`},
		{"a list for a bound", replaced("60ms", "[60ms]"), "line 7: objectives[1].at_most: must be text"},
		{"a word for the objectives", "schema: tidemark.slo/1\nname: chat\nobjectives: fast\n", "line 3: objectives: must be a list of at least one"},
		{"a number for the cost", replaced("{per_gpu_hour: 3.5}", "3.5"), "line 9: cost: must be a mapping with per_gpu_hour"},
		{"a list for the file", "- fast\n", "line 1: must be a mapping with cost, name"},
		{"a tab", replaced("    percentile: 99\n", "\tpercentile: 99\n"), "line 6: starts with a tab; indent with spaces"},
		{"one number bound twice", replaced("tpot\n", "ttft_from_due\n    class: P0\n"), "line 5: objectives[1]: p99 TTFT from due of class P0 is bound twice, by objectives[0]"},
		{"a metric that is none", replaced("metric: tpot", "metric: speed"), `line 5: objectives[1].metric: "speed": must be ttft, ttft_from_due`},
		{"no metric", replaced("metric: failure_ratio, ", ""), "line 8: objectives[2].metric: is missing"},
		{"a percentile of a share", replaced("metric: failure_ratio,", "metric: failure_ratio, percentile: 99,"), "line 8: objectives[2]: a failure_ratio has no percentile"},
		{"a share that is a time", replaced("0.01", "10ms"), `line 8: objectives[2]: at_most "10ms": want a share`},
		{"a share in percent", replaced("0.01", "1"), `line 8: objectives[2]: at_most "1"`},
		{"another schema", replaced("slo/1", "slo/9"), `line 1: schema: "tidemark.slo/9": must be tidemark.slo/2`},
		{"no schema", replaced("schema: tidemark.slo/1\n", ""), "line 1: schema: is missing"},
		{"no name", replaced("name: chat\n", ""), "line 1: name: is missing"},
		{"no objectives", "schema: tidemark.slo/1\nname: chat\nobjectives: []\n", "line 3: objectives: must be a list"},
		{"a cost of nothing", replaced("3.5", "0"), "line 9: cost.per_gpu_hour: 0: must be from 0.0001 to 1000000"},
		{"an empty file", "", "line 1: the file is empty"},
		{"no YAML", "schema: [", "line 1: "},
		{"two documents", chatSLO + "---\nname: other\n", "line 10: a second document starts here"},
	} {
		path := sloFile(t, c.text)
		_, err := analysis.ReadSLO(path)
		if err == nil {
			t.Errorf("%s: no error", c.why)
			continue
		}
		must.Fail(t, err, "slo "+path+": "+c.words, "at_most: 1s")
	}
	for written, hint := range map[string]string{"0.99": "write 99 for p99", "0.999": "write 99.9 for p99.9", "0.29": "write 29 for p29"} {
		must.Refuse(analysis.ReadSLO(sloFile(t, replaced("percentile: 99\n", "percentile: "+written+"\n"))))(t, "line 5: objectives[1]: percentile "+written+": a percentile is not written as a share", hint)
	}
	must.Refuse(analysis.ReadSLO("nowhere.yaml"))(t, "slo nowhere.yaml: no such file or directory", "name the file")
}

// withSLO puts objectives into a run's document.
func withSLO(document, objectives string) string {
	return strings.Replace(document, `{"status"`, `{"slo": {"name": "chat", "objectives": [`+objectives+`]}, "status"`, 1)
}

func TestJudgeSLO(t *testing.T) {
	const (
		within    = `{"metric": "ttft", "percentile": 99, "at_most": 1.5}`
		above     = `{"metric": "tpot", "percentile": 99, "at_most": 0.009}`
		onIt      = `{"metric": "failure_ratio", "at_most": 0.005}`
		ofNoClass = `{"metric": "ttft", "percentile": 99, "at_most": 1.5, "class": "P9"}`
	)
	w := open(t,
		run("met", 600, 1e-3, withSLO(draft, within)),
		run("priced", 600, 1e-3, strings.Replace(withSLO(strings.Replace(draft, `"server"`, `"environment": {"gpu": "H100", "catalog_model": "llama-9"}, "server"`, 1), within), `"objectives"`, `"cost": {"per_gpu_hour": 3.6}, "objectives"`, 1)),
		run("all", 60, 1e-3, withSLO(draft, above)),
		run("burst", 2000, 1e-3, withSLO(draft, within)),
		"update raw.requests set first_token_s = first_token_s + 1, last_token_s = last_token_s + 1, done_s = done_s + 1 where run_id = 'burst' and seq % 1000 between 500 and 509",
		run("bursts", 2000, 1e-3, withSLO(draft, within)),
		"update raw.requests set first_token_s = first_token_s + 1, last_token_s = last_token_s + 1, done_s = done_s + 1 where run_id = 'bursts' and seq % 100 < 2",
		run("missed", 600, 1e-3, withSLO(draft, within+","+above)),
		run("few", 120, 1e-3, withSLO(draft, within)),
		run("close", 600, 1e-3, withSLO(draft, within+","+onIt)),
		"update raw.requests set failure = 'cut_stream' where run_id = 'close' and seq < 3",
		run("both", 600, 1e-3, withSLO(draft, ofNoClass+","+onIt)),
		"update raw.requests set failure = 'cut_stream' where run_id = 'both' and seq < 3",
		run("none", 600, 1e-3, withSLO(draft, ofNoClass)),
		run("late", 600, 0.05, withSLO(draft, within)),
		run("plain", 600, 1e-3, draft),
		run("failing", 600, 1e-3, withSLO(draft, within)),
		"update raw.requests set failure = 'cut_stream' where run_id = 'failing' and seq < 20",
	)
	const rest = "; valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; vllm 0.32.0"
	for _, c := range []struct{ run, outcome, line string }{
		{"met", analysis.Met, "SLO chat met: p99 TTFT from due 51.0 ms (no interval) of at most 1.50 s (0 of 600 samples beyond)" + rest},
		{"missed", analysis.NotMet, "SLO chat not met: p99 TPOT 10.0 ms (no interval) of at most 9.00 ms (600 of 600 samples beyond)" + rest},
		// 599.151 s of a GPU at 0.001 a second, for 600 x 11 tokens.
		{"priced", analysis.Met, "SLO chat met: p99 TTFT from due 51.0 ms (no interval) of at most 1.50 s (0 of 600 samples beyond); 90.8 per million accepted output tokens; valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; no prediction for this deployment: no model named \"llama-9\"; vllm 0.32.0 on H100 x1"},
		// A p99 bound of 9 ms that 60 of 60 missed was undecided, and an experiment never stopped.
		{"all", analysis.NotMet, "SLO chat not met: p99 TPOT: 60 of 60 beyond 9.00 ms; valid; p50 TTFT 50.0 ms, p50 TPOT 10.0 ms (p99 withheld below 100 samples: 60); a draft, not compared with the prediction; vllm 0.32.0"},
		{"burst", analysis.Undecided, "SLO chat undecided, too few independent bursts to tell, about 990 more requests: p99 TTFT from due 61.0 ms (no interval) of at most 1.50 s (0 of 2,000 samples beyond, worth 200 independent ones); valid; p99 TTFT 60.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; vllm 0.32.0"},
		{"bursts", analysis.Met, "SLO chat met: p99 TTFT from due 1.05 s (1.05 to 1.05 s) of at most 1.50 s (2,000 samples, worth 618 independent ones); valid; p99 TTFT 1.05 s, p99 TPOT 10.0 ms; a draft, not compared with the prediction; vllm 0.32.0"},
		{"few", analysis.Undecided, "SLO chat undecided, about 179 more requests: p99 TTFT from due 51.0 ms (no interval) of at most 1.50 s (0 of 120 samples beyond); valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms (of 120 samples only); a draft, not compared with the prediction; vllm 0.32.0"},
		{"close", analysis.Undecided, "SLO chat undecided, on the bound: share of failures 0.500 % (no interval) of at most 0.500 % (3 of 600 failed, worth 200 independent ones); valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; 597 of 600 requests completed, 3 failed by cut_stream; vllm 0.32.0"},
		{"both", analysis.Undecided, "SLO chat undecided, about 299 more requests, 1 on the bound: p99 TTFT from due of class P9 withheld, of 0 samples, of at most 1.50 s, share of failures 0.500 % (no interval) of at most 0.500 % (3 of 600 failed, worth 200 independent ones); valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; 597 of 600 requests completed, 3 failed by cut_stream; vllm 0.32.0"},
		{"none", analysis.Undecided, "SLO chat undecided, about 299 more requests: p99 TTFT from due of class P9 withheld, of 0 samples, of at most 1.50 s" + rest},
		{"late", analysis.Invalid, "invalid, neither pass nor fail: p99 lateness 50.0 ms is above 10.0 ms; who had the CPU is not known: give the client a core of its own; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; vllm 0.32.0"},
		// 20 / 600. The objective is met, and the line gave no reason.
		{"failing", analysis.NotMet, "20 of 600 failed (20 cut_stream); SLO chat not met: share of failures 3.33 % of at most 1.00 %, the limit where an SLO has no failure_ratio (20 of 600 failed); the others: p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; vllm 0.32.0"},
		{"plain", "", "valid; p99 TTFT 50.0 ms, p99 TPOT 10.0 ms; a draft, not compared with the prediction; vllm 0.32.0"},
	} {
		verdict := must.Get(analysis.JudgeSLO(context.Background(), w.DB(), c.run))(t)
		if verdict.Outcome != c.outcome || verdict.FirstLine() != c.line {
			t.Errorf("%s: got %q\n got %s\nwant %s", c.run, verdict.Outcome, verdict.FirstLine(), c.line)
		}
	}
	must.Refuse(analysis.JudgeSLO(context.Background(), w.DB(), "nobody"))(t, `no run named "nobody"`, "known runs are")
}

func TestCertificate(t *testing.T) {
	w := open(t, run("a", 600, 0.05, draft))
	table, err := analysis.Certificate(context.Background(), w.DB(), "a")
	if err != nil || len(table.Rows) != 23 {
		t.Fatalf("got %d lines, %v; want 23", len(table.Rows), err)
	}
	if first, last := table.Rows[1], table.Rows[22]; first[0] != "lateness" || first[3] != "breaks" ||
		last[1] != "invalid: p99 lateness 50.0 ms is above 10.0 ms; who had the CPU is not known: give the client a core of its own" {
		t.Errorf("got %v ... %v", first, last)
	}
	must.Refuse(analysis.Certificate(context.Background(), w.DB(), "none"))(t, `no run named "none"`, "known runs are a")
}
