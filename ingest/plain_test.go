//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

var logFormats = map[string]string{
	"plain": "plain", "openai": "plain", "nanoseconds": "plain", "otlp": "otel", "agents": "otel", "envoy": "envoy",
	"litellm": "litellm", "litellm-api": "litellm", "freeinference": "freeinference",
}

// Every file of fixtures/logs comes out as the .want.csv next to it says, and no
// text of it is in the warehouse.
func TestLogFixtures(t *testing.T) {
	paths, err := filepath.Glob("../fixtures/logs/*.want.csv")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, wanted := range paths {
		base := strings.TrimSuffix(wanted, ".want.csv")
		t.Run(filepath.Base(base), func(t *testing.T) {
			path := base + ".csv"
			for _, ending := range []string{".jsonl", ".json", ".log"} {
				if _, err := os.Stat(base + ending); err == nil {
					path = base + ending
				}
			}
			w := open(t)
			result := load(t, w, path, ingest.Options{})
			want := readCSV(t, wanted)
			got := table(t, w, fmt.Sprintf(`select %s from raw.arrivals left join raw.arrival_details using (source_id, line) order by line`,
				strings.Join(want[0], ", ")))
			if !slices.EqualFunc(got, want[1:], slices.Equal) {
				t.Errorf("got\n%v\nwant\n%v", got, want[1:])
			}
			if format := logFormats[filepath.Base(base)]; result.Format != format {
				t.Errorf("taken for %s, want %s", result.Format, format)
			}
			if kept := int64(len(want) - 1); result.RowsRead != kept || result.RowsKept != kept {
				t.Errorf("got %d read, %d kept; want %d", result.RowsRead, result.RowsKept, kept)
			}
			must.NotSay(t, strings.Join(result.Notes, "\n"), "never kept")
		})
	}
}

// What the user says of the columns goes before what their names say.
func TestColumnsSaid(t *testing.T) {
	cases := []struct {
		why, content string
		columns      map[string]string
		want         string // arrival_ns, input_tokens, output_tokens, e2e_s
	}{
		{"names that nobody could guess", "a,b,c,d\n0.5,1,2,30\n1,3,4,50\n",
			map[string]string{"arrival_s": "a", "input_tokens": "b", "output_tokens": "c", "e2e_ms": "d"}, "[[500000000 1 2 0.03] [1000000000 3 4 0.05]]"},
		{"a unit that the name lacks", "timestamp,input_tokens,output_tokens\n2500,1,2\n",
			map[string]string{"arrival_ms": "timestamp"}, "[[2500000000 1 2 ]]"},
		{"another column than the usual one", "timestamp,queued,input_tokens,output_tokens\n9,1,1,2\n",
			map[string]string{"arrival_s": "queued"}, "[[1000000000 1 2 ]]"},
		{"a prefix that the length holds, rounds with arrivals of their own", "arrival_s,prefix_len,round_idx,input_len,output_len\n1,2,0,3,4\n",
			map[string]string{"input_tokens": "input_len", "arrival_s": "arrival_s"}, "[[1000000000 3 4 ]]"},
		{"a file that is a known format", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:00,1,2\n",
			map[string]string{"input_tokens": "GeneratedTokens", "output_tokens": "ContextTokens"}, "[[0 2 1 ]]"},
		{"a nested key", `{"at": {"us": "1.5"}, "in": 1, "out": 2}` + "\n",
			map[string]string{"arrival_us": "at.us", "input_tokens": "in", "output_tokens": "out"}, "[[1500 1 2 ]]"},
		{"a web server's log, by places", `10.0.0.1 - - [28/Jul/2025:09:19:22 +0000] "POST /v1/completions HTTP/1.1" 200 311 "-" "curl, 8" 0.250 17 42` + "\n" +
			`10.0.0.1 - - [28/Jul/2025:11:19:23 +0200] "POST /v1/completions HTTP/1.1" 503 311 "-" "curl" 0.5 17 -` + "\n",
			map[string]string{"arrival": "#4", "status": "#6", "e2e_s": "#10", "input_tokens": "#11", "output_tokens": "#12"}, "[[0 17 42 0.25] [1000000000 17 0 0.5]]"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			w := open(t)
			load(t, w, write(t, "a.csv", []byte(c.content)), ingest.Options{Columns: c.columns})
			got := table(t, w, "select arrival_ns, input_tokens, output_tokens, e2e_s from raw.arrivals left join raw.arrival_details using (source_id, line) order by line")
			if fmt.Sprint(got) != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

// What is said wrongly, or cannot be known, is refused with what to do.
func TestColumnsRefused(t *testing.T) {
	cases := []struct {
		why, content string
		columns      map[string]string
		want, hint   string
	}{
		{"ours that is not ours", "a,b\n1,2\n", map[string]string{"arrivals": "a"}, "no such column of ours", "known are arrival"},
		{"theirs that is not there", "timestamp,input_tokens,output_tokens\n1,2,3\n", map[string]string{"class": "kind"}, "no column kind", "there are timestamp"},
		{"a part that is missing", "when,input_tokens,output_tokens\n1,2,3\n", map[string]string{"class": "when"}, "no column that is arrival", "--column arrival=NAME"},
		{"two columns that are one thing", "timestamp,prompt_tokens,prompt_tokens,output_tokens\n1,2,3,4\n", nil, "both the same", "--column"},
		{"a time without a unit", "timestamp,input_tokens,output_tokens\n2500,1,2\n", nil, "timestamp: nothing says whether it is in seconds or milliseconds", "--time-unit ms"},
		{"an end without a unit", `{"arrival_s":1,"end_time":2,"input_tokens":2,"output_tokens":3}` + "\n", nil, "end_time: nothing says", "--time-unit ms"},
		{"a prefix beside the length", "arrival_s,prefix_len,input_len,output_len\n1,2,3,4\n", nil, "column prefix_len: the file does not say whether the prompt's length holds it", "--column input_tokens=NAME"},
		{"a prefix as a key", `{"arrival_s":1,"prefix_tokens":2,"input_tokens":2,"output_tokens":3}` + "\n", nil, "column prefix_tokens: the file does not say", "--column input_tokens=NAME"},
		{"rounds of a session", "arrival_s,round_idx,input_len,output_len\n1,2,3,4\n", nil, "column round_idx: the file does not say whether an arrival is of a request or of its session", "--column arrival_ms=NAME"},
		{"a key that is missing", `{"when":1,"input_tokens":2,"output_tokens":3}` + "\n", map[string]string{"class": "when"}, "no column that is arrival", "--column arrival=NAME"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			err := refused(t, open(t), write(t, "a.csv", []byte(c.content)), ingest.Options{Columns: c.columns}, c.want)
			must.Say(t, hint.Of(err), c.hint)
		})
	}
}

// A reject of a table says where and what, and adds up.
func TestTableRejects(t *testing.T) {
	head := "timestamp,prompt_tokens,completion_tokens,ttft_s\n"
	cases := []struct{ why, content, want string }{
		{"a time that is none", head + "1,2,3,\nsecret,2,3,\n", "line 3: timestamp: not a number"},
		{"a part of a token", head + "1,2,3,\n1,2.5,3,\n", "line 3: prompt_tokens: not an integer"},
		{"no tokens", head + "1,2,3,\n1,,3,\n", "line 3: prompt_tokens: missing"},
		{"too many tokens", head + "1,2,3,\n1,9e99,3,\n", "line 3: prompt_tokens: too large"},
		{"a latency that is not finite", head + "1,2,3,\n1,2,3,1e999\n", "line 3: ttft_s: not a finite number"},
		{"a latency below zero", head + "1,2,3,\n1,2,3,-1\n", "line 3: ttft_s: negative"},
		{"more columns", head + "1,2,3,\n1,2,3,4,5\n", "line 3: more columns than the header"},
		{"a quote that never ends: each of its lines", head + "1,2,3,\n1,2,3,\"4\n1,2,3,\n", "line 3: a quote is not closed on its line; line 4: a quote"},
		{"a line that is no object", `{"ts":1,"input_tokens":2,"output_tokens":3}` + "\n[1]\n", "line 2: not a JSON object"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			w := open(t)
			result := load(t, w, write(t, "a.csv", []byte(c.content)), ingest.Options{MaxRejectedRatio: 1, TimeUnit: "s"})
			notes := strings.Join(result.Notes, "\n")
			must.Say(t, notes, c.want)
			must.NotSay(t, notes, "secret")
			if result.RowsKept != 1 || result.RowsRejected < 1 {
				t.Errorf("got %+v", result)
			}
		})
	}
}

// Prompts stay out, or the whole file does, as the user says.
func TestTextStaysOut(t *testing.T) {
	csv := "timestamp_s,prompt_tokens,completion_tokens,prompt\n1,2,3,a canary sings\n"
	json := `{"timestamp_s":1,"messages":[{"role":"user","content":"a canary sings"}],"prompt_tokens":2,"completion_tokens":3}` + "\n"
	unnamed := "timestamp_s,prompt_tokens,completion_tokens,x\n1,2,3," + strings.Repeat("a canary sings ", 20) + "\n"
	for why, content := range map[string]string{"csv": csv, "json": json, "text under another name": unnamed} {
		t.Run(why, func(t *testing.T) {
			path := write(t, "a.txt", []byte(content))
			refused(t, open(t), path, ingest.Options{RefuseText: true}, "it holds text")
			file := emptyFile(t)
			w := openFile(t, file)
			result := load(t, w, path, ingest.Options{})
			must.Say(t, strings.Join(result.Notes, "\n"), "text was left out")
			must.Do(t, w.Close())
			if content, err := os.ReadFile(file); err != nil || strings.Contains(string(content), "canary") {
				t.Errorf("the text is in the warehouse's bytes (%v)", err)
			}
		})
	}
}

func TestQuotesInAClass(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "q.csv", []byte("timestamp,input_tokens,output_tokens,class\n2026-11-16T00:00:00Z,10,20,\"say \"\"hi\"\"\"\n")), ingest.Options{})
	answers(t, w, "select class from raw.arrivals", `say "hi"`)
}
