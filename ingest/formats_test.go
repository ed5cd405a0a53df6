//go:build duckdb_arrow

package ingest_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// Every file of fixtures/traces comes out as the .want.csv next to it says.
func TestFixtures(t *testing.T) {
	paths, err := filepath.Glob("../fixtures/traces/*.want.csv")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, wanted := range paths {
		base := strings.TrimSuffix(wanted, ".want.csv")
		t.Run(filepath.Base(base), func(t *testing.T) {
			path := base
			for _, ending := range []string{".csv", ".jsonl", ".json"} {
				if _, err := os.Stat(base + ending); err == nil {
					path = base + ending
				}
			}
			w := open(t)
			result := load(t, w, path, ingest.Options{})
			want := readCSV(t, wanted)
			got := table(t, w, fmt.Sprintf("select %s from raw.arrivals left join raw.arrival_details using (source_id, line) order by line",
				strings.Join(want[0], ", ")))
			if !slices.EqualFunc(got, want[1:], slices.Equal) {
				t.Errorf("got\n%v\nwant\n%v", got, want[1:])
			}
			if kept := int64(len(want) - 1); result.RowsRead != kept || result.RowsKept != kept || result.RowsRejected != 0 {
				t.Errorf("got %d read, %d kept, %d rejected; want %d kept", result.RowsRead, result.RowsKept, result.RowsRejected, kept)
			}
		})
	}
}

// What is known of a whole file stands in raw.sources.
func TestSources(t *testing.T) {
	cases := []struct{ file, want string }{
		{"azure-2023.csv", "azure,2023-11-16 23:59:58.97996+00,true,datetime,no zone given, read as UTC,"},
		{"azure-2024.csv", "azure,2024-05-10 00:00:00.00993+00,true,datetime,,"},
		{"vidur.csv", "azure,,false,s,,"},
		{"splitwise-sim.csv", "azure,,false,s,,"},
		{"mooncake.jsonl", "mooncake,,false,ms,,512"},
		{"mooncake-16.jsonl", "mooncake,,false,ms,,16"},
		{"mooncake-sessions.jsonl", "mooncake,,false,ms,,"},
		{"gmi.jsonl", "mooncake,2025-07-28 09:19:22.340138+00,true,ns,,"},
		{"burstgpt.csv", "burstgpt,,false,s,,"},
		{"bailian.jsonl", "bailian,,false,s,,16"},
		{"dynamo.jsonl", "dynamo,2026-04-27 18:00:00+00,true,ms,,64"},
		{"aibrix.jsonl", "aibrix,,false,ms,,"},
		{"agentic.json", "agentic,,false,s,,64"},
		{"swissai.jsonl", "swissai,2025-10-01 08:00:00.25+00,true,datetime,no zone given, read as UTC,16"},
	}
	for _, c := range cases {
		w := open(t)
		load(t, w, "../fixtures/traces/"+c.file, ingest.Options{})
		got := table(t, w, "select format, origin_at, is_dated, time_unit, zone_assumption, block_tokens from raw.sources")
		if strings.Join(got[0], ",") != c.want {
			t.Errorf("%s: got %s, want %s", c.file, strings.Join(got[0], ","), c.want)
		}
	}
}

// Whatever is worth knowing of a file is said once, in its notes.
func TestNotes(t *testing.T) {
	azure := "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	cases := []struct{ why, name, content, want string }{
		{"rows out of order are taken in and counted", "a.csv",
			azure + "2024-01-01 00:00:02,1,1\n2024-01-01 00:00:01,1,1\n2024-01-01 00:00:03,1,1\n", "1 row is earlier than the row before"},
		{"a column that nobody asked for", "b.csv",
			"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2024-01-01 00:00:02,0,1,1\n", "columns passed over: NumImages"},
		{"a key that nobody asked for", "c.jsonl",
			`{"timestamp":1,"input_length":2,"output_length":3,"text_input":"secret"}` + "\n", "1 rows have keys that were passed over"},
		{"more block ids than the prompt has blocks", "d.jsonl",
			`{"timestamp":1,"input_length":600,"output_length":3,"hash_ids":[1,2]}` + "\n" +
				`{"timestamp":1,"input_length":600,"output_length":3,"hash_ids":[1,2,3]}` + "\n", "1 rows have more block ids"},
		{"rows that are there twice", "f.csv",
			azure + strings.Repeat("2024-01-01 00:00:02,1,1\n", 3) + "2024-01-01 00:00:03,1,1\n2024-01-01 00:00:03,1,2\n", "2 rows are exact duplicates; kept"},
		{"rows that are there twice, not one behind the other", "i.csv",
			azure + "2024-01-01 00:00:02,1,1\n2024-01-01 00:00:03,1,1\n2024-01-01 00:00:02,1,1\n", "1 row is an exact duplicate; kept"},
		{"rows that are there twice, blocks and all", "g.jsonl",
			strings.Repeat(`{"timestamp":1,"input_length":600,"output_length":3,"hash_ids":[1,2]}`+"\n", 2) +
				`{"timestamp":1,"input_length":600,"output_length":3,"hash_ids":[1,3]}` + "\n", "1 row is an exact duplicate; kept"},
		{"seconds with fractions where milliseconds should be", "o.jsonl", stampsOf("0.0", "0.2", "0.4", "0.9", "1.5", "3.25"),
			"stamps are read as seconds, 1.54 requests/s: milliseconds would make 1538; --time-unit ms says otherwise"},
		{"milliseconds that come fast", "p.jsonl", stampsOf("1", "1", "2", "2"), "stamps are read as milliseconds, 3000 requests/s; --time-unit s says otherwise"},
		{"fractions within a second", "q.jsonl", stampsOf("0.5", "120.25", "340.5"), "stamps are read as milliseconds, 6 requests/s; --time-unit s says otherwise"},
		{"Unix seconds where milliseconds should be", "h.jsonl",
			`{"timestamp":1700000000,"input_length":2,"output_length":3}` + "\n" + `{"timestamp":1700000001,"input_length":2,"output_length":3}` + "\n",
			"stamps are Unix s, by their magnitude"},
		{"Unix milliseconds", "k.jsonl",
			`{"timestamp":1700000000000,"input_length":2,"output_length":3}` + "\n", "stamps are Unix ms, by their magnitude"},
		{"a string of Unix seconds", "l.jsonl",
			`{"timestamp":"1700000000.25","input_length":2,"output_length":3}` + "\n", "stamps are Unix s, by their magnitude"},
		{"Unix microseconds", "m.jsonl",
			`{"timestamp":1700000000000000,"input_length":2,"output_length":3}` + "\n", "stamps are Unix us, by their magnitude"},
		{"block ids of no fixed size", "n.jsonl", strings.Repeat(`{"timestamp":1,"input_length":340,"output_length":3,"hash_ids":[1,2,3,4,5,6,7,8,9,10]}`+"\n"+
			`{"timestamp":2,"input_length":331,"output_length":3,"hash_ids":[1,2,3,4,5,6,7]}`+"\n", 10), "block ids stand for no fixed number of tokens"},
		{"blocks of another size", "e.jsonl",
			`{"timestamp":1,"input_length":33,"output_length":3,"hash_ids":[1,2,3]}` + "\n", "prefix blocks of 16 tokens"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			result := load(t, open(t), write(t, c.name, []byte(c.content)), ingest.Options{})
			must.Say(t, strings.Join(result.Notes, "\n"), c.want)
			must.NotSay(t, fmt.Sprintf("%+v", result), "secret")
		})
	}
}

// A note that is not true of a file is not said of it.
func TestNotesThatDoNotHold(t *testing.T) {
	row := func(stamps ...int64) (content string) {
		for i, stamp := range stamps {
			content += fmt.Sprintf(`{"timestamp":%d,"input_length":%d,"output_length":3}`+"\n", stamp, i)
		}
		return content
	}
	for why, content := range map[string]string{
		"a trace from its begin":                        row(0, 1000, 2_000_000_000),
		"a cut from a long trace, with minutes between": row(1_000_000_000, 1_000_060_000, 1_000_120_000),
	} {
		result := load(t, open(t), write(t, "a.jsonl", []byte(content)), ingest.Options{})
		if len(result.Notes) > 0 {
			t.Errorf("%s: notes %q", why, result.Notes)
		}
	}
}

// The format is seen in the content, whatever the file is called.
func TestWhatItTakesAFileFor(t *testing.T) {
	w := open(t)
	path := write(t, "trace.parquet", []byte("\xef\xbb\xbf\n\n timestamp , \"ContextTokens\",GeneratedTokens\n2024-01-01T00:00:00Z, 7 ,\"8\"\n\n"))
	result := load(t, w, path, ingest.Options{})
	if result.Format != "azure" || result.Name != "trace.parquet" || !strings.Contains(result.FormatWhy, "ContextTokens") {
		t.Errorf("got %+v", result)
	}
	if got := table(t, w, "select line, input_tokens, output_tokens from raw.arrivals"); fmt.Sprint(got) != "[[4 7 8]]" {
		t.Errorf("byte order mark, blank lines, blanks and quotes: got %v", got)
	}
}

func TestSourceNames(t *testing.T) {
	cases := []struct{ file, want string }{
		{"AzureLLMInferenceTrace_code.csv", "azure-code"},
		{"AzureLLMInferenceTrace_conv_1week.csv", "azure-conv-1week"},
		{"conversation_trace.jsonl", "conversation-trace"},
		{"my Trace (2).csv.gz", "my-trace-2"},
		{"llama3.1.jsonl", "llama3.1"},
	}
	for _, c := range cases {
		content := []byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:02,1,1\n")
		if got := load(t, open(t), write(t, c.file, content), ingest.Options{}).Name; got != c.want {
			t.Errorf("name of %s: got %s, want %s", c.file, got, c.want)
		}
	}
}

// stampsOf are rows in Mooncake's form with these stamps.
func stampsOf(stamps ...string) string {
	var rows strings.Builder
	for _, stamp := range stamps {
		fmt.Fprintf(&rows, `{"timestamp": %s, "input_length": 10, "output_length": 5, "hash_ids": [0]}`+"\n", stamp)
	}
	return rows.String()
}

// Seconds were read as milliseconds: 1.5 requests a second became 1,538, and 10 seconds 10 ms.
func TestStampsOfDoubtfulUnit(t *testing.T) {
	var second []string // of 20 requests each
	for i := range 60 {
		second = append(second, fmt.Sprint(i/20))
	}
	for _, c := range []struct {
		why, unit, rows string
		spanS           float64
		says            string
	}{
		{"seconds with fractions", "", stampsOf("0.0", "0.2", "0.4", "0.9", "1.5", "3.25"), 3.25, ""},
		{"Unix seconds", "", stampsOf("1763632800", "1763632801", "1763632803", "1763632810"), 10, ""},
		{"Unix seconds with fractions", "", stampsOf("1763632800.5", "1763632801", "1763632803", "1763632810.5"), 10, ""},
		{"milliseconds", "", stampsOf("0", "200", "3250"), 3.25, ""},
		{"milliseconds with fractions", "", stampsOf("0.5", "200.25", "3250.5"), 3.25, ""},
		{"seconds by what the user says", "s", stampsOf("0", "2", "3"), 3, ""},
		{"milliseconds by what the user says", "ms", stampsOf("0.0", "0.2", "3.25"), 0.00325, ""},
		{"Unix microseconds by what the user says", "us", stampsOf("1763632800000000", "1763632802500000"), 2.5, ""},
		{"fractions of either", "", stampsOf("0.5", "120.25", "340.5"), 0.34, ""},
		{"whole numbers of either", "", stampsOf(second...), 0, "seconds would make 29.5 requests/s, milliseconds 29500"},
		{"a plain table", "ms", "timestamp,prompt_tokens,completion_tokens\n0,10,5\n2500,10,5\n", 2.5, ""},
		{"a format that has a unit", "ms", "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:02,1,1\n", 0, "--time-unit ms: times of the format azure have a unit"},
	} {
		w := open(t)
		_, err := ingest.Load(t.Context(), w, []string{write(t, "trace", []byte(c.rows))}, ingest.Options{TimeUnit: c.unit})
		if c.says != "" {
			must.Fail(t, err, c.says)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		var spanS float64
		if err := w.DB().QueryRow("select (max(arrival_ns) - min(arrival_ns)) / 1e9 from raw.arrivals").Scan(&spanS); err != nil || math.Abs(spanS-c.spanS) > 1e-9 {
			t.Errorf("%s: the trace spans %v s, %v; want %v", c.why, spanS, err, c.spanS)
		}
	}
}
