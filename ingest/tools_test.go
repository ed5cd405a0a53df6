//go:build duckdb_arrow

package ingest_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

// What the user must say of a file that does not say it.
var columnsOfTools = map[string]map[string]string{
	"locust/requests.csv": {"ttft_s": "ttft"},
	"optuna/trials.csv":   {"maximize": "values_throughput"},
}

// partsOfTools are taken in with another file, or refused.
var partsOfTools = []string{
	"agentperf/sessions_per_turn.json", "aiperf-search/phases/baseline_traffic/profile_export_aiperf.json",
	"aiperf-search/phases/storm/profile_export_aiperf.json", "aiperf-search/phases/warmup/profile_export_aiperf.json", "blis/generated.csv",
	"blis/trace.yaml", "evalscope/benchmark_args.json", "evalscope/benchmark_percentile.json", "genai-bench/experiment_metadata.json",
	"inference-perf/config.yaml", "llmperf/small-8b_550_150_individual_responses.json", "locust/run_failures.csv",
}

// Each small file of another tool comes in as the file next to it says: its format, then points,
// figures with their units as they stand, requests, rejects.
func TestToolsFixtures(t *testing.T) {
	const folder = "../fixtures/tools"
	const write = "TIDEMARK_WRITE_WANTED=1 go test -tags duckdb_arrow ./ingest -run TestToolsFixtures"
	isWriting := os.Getenv("TIDEMARK_WRITE_WANTED") != ""
	var files []string
	must.Do(t, filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		file, _ := filepath.Rel(folder, path)
		if file = filepath.ToSlash(file); err == nil && !entry.IsDir() && strings.Contains(file, "/") && !strings.HasSuffix(file, ".want.txt") {
			files = append(files, file)
		}
		return err
	}))
	for _, file := range files {
		if slices.Contains(partsOfTools, file) {
			continue
		}
		if _, err := os.Stat(filepath.Join(folder, file+".want.txt")); err != nil && !isWriting {
			t.Errorf("nothing says what comes of fixtures/tools/%s: %s writes %s.want.txt next to it, whose figures are yours to check; or it is one of partsOfTools", file, write, path.Base(file))
			continue
		}
		t.Run(file, func(t *testing.T) {
			w := open(t)
			path := filepath.Join(folder, file)
			result := load(t, w, path, ingest.Options{Columns: columnsOfTools[file], MaxRejectedRatio: 1})
			if result.RowsRead != result.RowsKept+result.RowsRejected {
				t.Errorf("%d read, %d kept, %d rejected", result.RowsRead, result.RowsKept, result.RowsRejected)
			}
			got := "format " + result.Format + "\n" + measured(t, w)
			wanted := path + ".want.txt"
			if isWriting {
				must.Do(t, os.WriteFile(wanted, []byte(got), 0o600))
			}
			want := must.Get(os.ReadFile(wanted))(t)
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s\nwhere got is right: %s", got, want, write)
			}
		})
	}
}

// measured is all that results put into the warehouse, as text.
func measured(t *testing.T, w *warehouse.Warehouse) string {
	t.Helper()
	var text strings.Builder
	for _, part := range []struct{ name, query string }{
		{"points", `select * exclude (source_id) from raw.points order by point`},
		{"figures", `select point, name, statistic, unit, value from raw.figures order by point, name, statistic`},
		{"requests", `select point, seq, due_s, round(started_s, 6) as started_s, input_tokens, output_tokens, round(ttft_s, 6) as ttft_s, round(e2e_s, 6) as e2e_s,
			tpot_s, chunk_gaps_us, cached_tokens, session_id, turn, is_warm_up, failure, finish_reason from raw.result_requests order by point, seq`},
		{"rejects", `select line, column_name, reason from raw.rejects order by line`},
	} {
		rows := must.Get(w.DB().Query("select columns(*)::varchar from (" + part.query + ")"))(t)
		names := must.Get(rows.Columns())(t)
		found := table(t, w, part.query)
		rows.Close()
		if len(found) == 0 {
			continue
		}
		text.WriteString(part.name + "\n")
		for _, row := range found {
			var cells []string
			for i, cell := range row {
				if cell != "" {
					cells = append(cells, names[i]+"="+cell)
				}
			}
			text.WriteString("  " + strings.Join(cells, " ") + "\n")
		}
	}
	return text.String()
}

// Nothing that names a person, a place or a secret, and no text, is anywhere in
// the warehouse, although the files have them.
func TestToolsKeepNoTexts(t *testing.T) {
	folder := filepath.Join("..", "fixtures", "tools")
	w := open(t)
	_, err := ingest.Load(t.Context(), w, []string{folder}, ingest.Options{MaxRejectedRatio: 1})
	if err != nil && !strings.Contains(err.Error(), "Locust's failures") {
		t.Fatal(err)
	}
	if sources := number(t, w, "select count(*) from raw.sources"); sources < 20 {
		t.Fatalf("%d sources came in", sources)
	}
	all := measured(t, w)
	given := 0
	for _, secret := range []string{"ada", "Ada", "sk-not", "10.0.0.7", "10.12.33", "10.39.39", "Once upon", "there was", "somebody", "try later", "it took", "tried by hand", "/home"} {
		must.NotSay(t, all, secret)
		_ = filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
			if text, readErr := os.ReadFile(path); err == nil && readErr == nil && bytes.Contains(text, []byte(secret)) {
				given++
			}
			return nil
		})
	}
	if given < 13 {
		t.Errorf("the files hold %d of what is looked for: this test proves nothing", given)
	}
}

// Who refuses texts is told which field holds them.
func TestToolsRefuseTexts(t *testing.T) {
	for file, word := range map[string]string{
		"guidellm/v2.json": "request_args", "guidellm/v0.3.json": "prompt", "inference-perf/per_request_lifecycle_metrics.json": "request",
		"llmperf/small-8b_550_150_summary.json": "error_msg", "blis/trace.csv": "error_message", "locust/requests.csv": "exception",
		"sglang-auto/results.jsonl": "error", "agentperf/chat.json": "error", "inference-perf-goodput/stage_0_lifecycle_metrics.json": "by_label",
	} {
		refused(t, open(t), filepath.Join("..", "fixtures", "tools", file), ingest.Options{RefuseText: true, MaxRejectedRatio: 1}, "holds text", word)
	}
}

// A part of a result is taken in with its whole; alone, it says so.
func TestPartsOfResults(t *testing.T) {
	folder := filepath.Join("..", "fixtures", "tools")
	for file, word := range map[string]string{
		"llmperf/small-8b_550_150_individual_responses.json":    "_summary.json",
		"evalscope/benchmark_percentile.json":                   "benchmark_summary.json",
		"genai-bench/experiment_metadata.json":                  "aggregated_metrics is missing",
		"locust/run_failures.csv":                               "no measurement",
		"aiperf-search/phases/storm/profile_export_aiperf.json": "one phase of a run",
	} {
		refused(t, open(t), filepath.Join(folder, file), ingest.Options{}, word)
	}
	// Without its summary, it stands for itself.
	text := must.Get(os.ReadFile(filepath.Join(folder, "llmperf/small-8b_550_150_individual_responses.json")))(t)
	w := open(t)
	load(t, w, write(t, "alone_individual_responses.json", text), ingest.Options{})
	if got := table(t, w, "select label, requests, completed, failed from raw.points"); len(got) != 1 || strings.Join(got[0], " ") != "alone 3 2 1" {
		t.Errorf("got %v", got)
	}
}

// An SQLite file says how to export it, word by word.
func TestSQLiteSaysHow(t *testing.T) {
	err := refused(t, open(t), write(t, "benchmark_data.db", []byte("SQLite format 3\x00\x10\x00\n create table result(first_chunk_latency real)")), ingest.Options{}, "an SQLite file")
	must.Say(t, hint.Of(err), "sqlite3 -csv -header benchmark_data.db")
	err = refused(t, open(t), write(t, "study.db", []byte("SQLite format 3\x00\x10\x00\n create table trial_params(x)")), ingest.Options{}, "an SQLite file")
	must.Say(t, hint.Of(err), "optuna trials --storage")
}

// A generated BLIS trace has arrivals, and no measurement.
func TestBLISTrace(t *testing.T) {
	w := open(t)
	if result := load(t, w, filepath.Join("..", "fixtures", "tools", "blis", "generated.csv"), ingest.Options{}); result.Format != "blis-trace" {
		t.Errorf("taken for %s", result.Format)
	}
	got := table(t, w, "select arrival_ns, input_tokens, output_tokens, session_id, turn, class from raw.arrivals order by line")
	want := [][]string{{"0", "10", "5", "s1", "0", "standard"}, {"100000000", "12", "6", "s1", "1", "batch"}}
	if len(got) != 2 || strings.Join(got[0], " ") != strings.Join(want[0], " ") || strings.Join(got[1], " ") != strings.Join(want[1], " ") {
		t.Errorf("got %v, want %v", got, want)
	}
}

// What each tool's words mean is in seeds.definitions: a time per token that has the
// first one in it is no TPOT, whatever the tool calls it.
func TestToolsWordsAreDefined(t *testing.T) {
	w := open(t)
	_, err := ingest.Load(t.Context(), w, []string{filepath.Join("..", "fixtures", "tools")}, ingest.Options{MaxRejectedRatio: 1})
	if err != nil && !strings.Contains(err.Error(), "Locust's failures") {
		t.Fatal(err)
	}
	for _, c := range []struct{ tool, name, quantity, value string }{
		{"guidellm", "time_per_output_token_ms", "latency_per_token_s", "0.0375"},
		{"guidellm", "inter_token_latency_ms", "tpot_s", "0.035"},
		{"inference-perf", "normalized_time_per_output_token", "latency_per_token_s", "0.05"},
		{"inference-perf", "time_per_output_token", "tpot_s", "0.04"},
		{"inference-perf", "requests_per_sec", "requests_per_s", "1.5"},
		{"inference-perf", "achieved_rate", "sent_requests_per_s", "2.0"},
		{"llm-d-benchmark", "time_per_output_token", "tpot_s", "0.008"}, // ms/token there
		{"llmperf", "inter_token_latency_s", "latency_per_token_s", "0.025"},
		{"genai-bench", "tpot", "tpot_s", "0.02"}, // ms there
		{"auto-tune", "throughput", "requests_per_s", "12.5"},
		{"evalscope", "TTFT", "ttft_s", "0.12"},
		{"locust", "Response Time", "e2e_s", "0.4205"},
	} {
		got := table(t, w, `select quantity, round(value, 9) as value from staging.figures
			where tool = '`+c.tool+`' and name = '`+c.name+`' and statistic in ('mean', 'value') order by figures.value desc limit 1`)
		if want := c.quantity + " " + c.value; joined(got) != want {
			t.Errorf("%s %s: got %s, want %s", c.tool, c.name, joined(got), want)
		}
	}
	// Names without a definition are counts, and what nobody compares.
	undefined := table(t, w, `
		select distinct figures.name
		from raw.figures
		join raw.points using (source_id, point)
		left join seeds.definitions on definitions.tool = points.tool and definitions.name = figures.name
		where definitions.tool is null
			and points.tool <> 'optuna'
			and not (points.tool = 'k6' and regexp_matches(figures.name, '^(my_ttft|queue_ms)$|[{](turn|url):')) -- of a script's own
			and not regexp_matches(figures.name, '(?i)(count|requests|num_|number_|total|failures|incomplete|error_rate|concurrency|duration)$|num_|number_|^(image|text|resources|observability|other)\.|Requests$')
		order by figures.name`)
	if len(undefined) > 0 {
		t.Errorf("no definition of %s", joined(undefined))
	}
}

// The trials that none beats are those that a comparison of each with each finds.
func TestTrialsAgainstBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("number,values_0,values_1,values_2,params_x,state\n")
	var trials [][3]float64
	for i := range 150 {
		values := [3]float64{float64(random.IntN(12)), float64(random.IntN(12)), float64(random.IntN(12))}
		trials = append(trials, values)
		fmt.Fprintf(&text, "%d,%g,%g,%g,%d,COMPLETE\n", i, values[0], values[1], values[2], i)
	}
	var want []string
	for i, mine := range trials {
		beaten := false
		for _, other := range trials {
			// The first is to be large, the others small.
			atLeast := other[0] >= mine[0] && other[1] <= mine[1] && other[2] <= mine[2]
			beaten = beaten || atLeast && other != mine
		}
		if !beaten {
			want = append(want, fmt.Sprintf("trial %d", i))
		}
	}
	w := open(t)
	load(t, w, write(t, "trials.csv", []byte(text.String())), ingest.Options{Columns: map[string]string{"maximize": "values_0"}})
	got := joined(table(t, w, "select label from marts.trials where is_unbeaten order by point"))
	if got != strings.Join(want, "|") || len(want) < 3 {
		t.Errorf("got %s, want %s", got, strings.Join(want, "|"))
	}
}

// Tools print 0 for a latency that they do not have: answers of one token have no time per token, and no percentile lies below the least.
func TestZerosThatMeanUnknown(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "one-token.json", []byte(`{"date": "20260217-101010", "endpoint_type": "openai", "backend": "openai", "model_id": "org/toy", "tokenizer_id": "org/toy",`+
		`"num_prompts": 960, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 32, "duration": 120.0, "completed": 960, "total_input_tokens": 2976000, "total_output_tokens": 960,`+
		`"request_throughput": 8.0, "output_throughput": 8.0, "total_token_throughput": 24808.0, "mean_ttft_ms": 3900.0, "median_ttft_ms": 3950.0, "std_ttft_ms": 200.0, "p99_ttft_ms": 4200.0,`+
		`"mean_tpot_ms": 0.0, "median_tpot_ms": 0.0, "std_tpot_ms": 0.0, "p99_tpot_ms": 0.0, "mean_itl_ms": 0.0, "median_itl_ms": 0.0, "std_itl_ms": 0.0, "p99_itl_ms": 0.0}`)), ingest.Options{})
	load(t, w, write(t, "history.csv", []byte("Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,95%,100%,Total Request Count,Total Failure Count,"+
		"Total Median Response Time,Total Average Response Time,Total Min Response Time,Total Max Response Time,Total Average Content Size\n"+
		"1682349005,3,GET,chat,0.000000,0.000000,0,0,0,12,0,410,421.5,100,900,10\n1682349005,3,,Aggregated,2.400000,0.000000,410,460,500,12,0,410,421.5,100,900,10\n")), ingest.Options{})
	var tpot, ttft, printed *float64
	if err := w.DB().QueryRow("select mean_tpot_s, mean_ttft_s from marts.points where tool = 'vllm-bench-serve'").Scan(&tpot, &ttft); err != nil || tpot != nil || ttft == nil || *ttft != 3.9 {
		t.Errorf("answers of one token: TPOT %v, TTFT %v, %v; want null and 3.9 s", tpot, ttft, err)
	}
	var zeros, percentiles int
	if err := w.DB().QueryRow("select count(*) filter (where printed = 0), count(*), max(printed) from staging.figures where name = 'Response Time of 10s'").Scan(&zeros, &percentiles, &printed); err != nil || zeros != 0 || percentiles != 2 {
		t.Errorf("a history: %d of %d percentiles are 0, %v", zeros, percentiles, err)
	}
}
