package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"tidemark/internal/cli/terminal/terminaltest"
	"tidemark/internal/proof/must"
)

// onTerminal runs the program with a terminal for stdout and stderr, and gives what the terminal was sent, less what
// replaces a line of progress.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	return strings.ReplaceAll(redrawn(t, columns, args...), "\r\x1b[K", "")
}

// redrawn is the same with what begins a line anew.
func redrawn(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	master, slave := terminaltest.Open(t, columns)
	defer master.Close()
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // ends with an error when the slave is closed
		shown <- string(text)
	}()
	run(append([]string{"tidemark"}, args...), strings.NewReader(""), slave, slave)
	slave.Close()
	return strings.ReplaceAll(<-shown, "\r\n", "\n")
}

// A question in a terminal without a query: a shell. It holds no lock while it waits, so others write meanwhile.
func TestAShellHoldsNoLock(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TIDEMARK_HISTORY", "")
	ingest := func(name string, inputTokens int) {
		row := fmt.Sprintf(`{"timestamp": 0, "input_length": %d, "output_length": 2, "hash_ids": [1]}`, inputTokens)
		must.Do(t, os.WriteFile(name, []byte(row+"\n"), 0o600))
		var said bytes.Buffer
		if code := run([]string{"tidemark", "ingest", "--wait", "0s", name}, strings.NewReader(""), io.Discard, &said); code != 0 {
			t.Fatal(said.String())
		}
	}
	ingest("one.jsonl", 10)
	code := -1
	person := terminaltest.Sit(t, 80, func(tty *os.File) { code = run([]string{"tidemark", "sql"}, tty, tty, tty) })
	person.Sees("tidemark> ")
	person.Types("select count(*) as n from raw.sources;\r")
	person.Sees("│ 1 │")
	person.Sees("tidemark> ")
	ingest("two.jsonl", 11)
	person.Types("select count(*) as n from raw.sources;\r")
	person.Sees("│ 2 │")
	person.Sees("tidemark> ")
	person.Types("\x04")
	person.Leaves()
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// People see units, programs see numbers. A single record is transposed for those who ask for it.
func TestNumbersForPeopleAndForPrograms(t *testing.T) {
	t.Chdir(t.TempDir())
	onTerminal(t, 80, "ingest", writeTrace(t))
	query := "select 85520809984.0::double as memory_bytes, 0.0132::double as tpot_s, 1234567 as input_tokens"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sql", query}, "│ memory_bytes │  tpot_s │ input_tokens │"},
		{[]string{"sql", query}, "│      85.5 GB │ 13.2 ms │    1,234,567 │"},
		{[]string{"sql", "--line", query}, "memory_bytes  85.5 GB\ntpot_s        13.2 ms\ninput_tokens  1,234,567\n"},
		{[]string{"sql", "--csv", query}, "8.5520809984e+10,0.0132,1234567\n"},
	} {
		if shown := onTerminal(t, 80, c.args...); !strings.Contains(shown, c.want) {
			t.Errorf("%q: got\n%s\nwant %q in it", c.args, shown, c.want)
		}
	}
	var out, said bytes.Buffer
	if code := run([]string{"tidemark", "sql", query}, strings.NewReader(""), &out, &said); code != 0 {
		t.Fatal(said.String())
	}
	if want := "    memory_bytes  tpot_s  input_tokens\n8.5520809984e+10  0.0132       1234567\n"; out.String() != want {
		t.Errorf("in a pipe: got\n%swant\n%s", out.String(), want)
	}
}

func writeTrace(t *testing.T) string {
	t.Helper()
	must.Do(t, os.WriteFile("small.jsonl", []byte(`{"timestamp": 0, "input_length": 10, "output_length": 2, "hash_ids": [1]}`+"\n"), 0o600))
	return "small.jsonl"
}

// A box fits the terminal however much is in it.
func TestABoxFitsTheTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	onTerminal(t, 80, "ingest", writeTrace(t))
	for _, query := range []string{"from seeds.gpus", "from marts.runs", "from seeds.symptoms", "select repeat('x', 500) as text, 1 as n", "select * from range(1200)"} {
		shown := onTerminal(t, 80, "sql", query)
		for line := range strings.Lines(shown) {
			if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 80 {
				t.Errorf("%s: a line of %d columns: %s", query, width, line)
				break
			}
		}
	}
}

// On a narrow terminal a text stands below its name: help and schema went on beyond the last column.
func TestHelpAndSchemaFitANarrowTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	onTerminal(t, 80, "ingest", writeTrace(t))
	for _, columns := range []int{80, 40} {
		for _, args := range []string{"help", "schema", "schema traces", "schema macros", "schema marts.runs", "schema macros.prediction"} {
			for line := range strings.Lines(onTerminal(t, uint16(columns), strings.Fields(args)...)) {
				if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > columns {
					t.Errorf("%s: a line of %d columns at a terminal of %d: %s", args, width, columns, line)
				}
			}
		}
	}
}

// Lists were transposed unasked: a line for each of 4,955 values of "schema --stable". And of these examples the column that answers
// the question did not fit.
func TestListsAndAnswersFitTheTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	onTerminal(t, 80, "ingest", writeTrace(t))
	for _, c := range []struct {
		args string
		want string
	}{
		{"runs", "│ run │ verdict │ p99_ttft_s │"},
		{"schema marts.points", "│ predicted_tpot_s             │ DOUBLE "},
		{"schema --stable", "│ staging.absences          │ run_id, endpoint, "},
		{"schema --stable tpot_gap", "│ slowdown_ratio "},
		{"sql --example error_of_prediction", "│ run_id │ slowdown_ratio │ in_band_ratio │"},
		{"sql --example gpu_use", "│ run_id │ mbu_ratio │ mfu_ratio │"},
		{"sql --example kv_cache_use", "│ run_id │ from_second │ max_kv_ratio │ max_waiting │"},
		{"sql --example two_runs", "│ ratio │ low │ high │ is_different │"},
	} {
		if shown := onTerminal(t, 80, strings.Fields(c.args)...); !strings.Contains(shown, c.want) {
			t.Errorf("%s: got\n%s\nwant %q in it", c.args, shown, c.want)
		}
	}
}

// evil clears the screen and sets the window's title; the second in the form of a single byte, and what follows is
// read from right to left.
const evil = "a\x1b[2J\x1b]0;owned\a\u009b2J\u202eb"

// What a server, a trace or a query brings along is shown by a terminal, not obeyed.
func TestATerminalObeysNobodyElse(t *testing.T) {
	t.Chdir(t.TempDir())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			fmt.Fprintf(w, `{"version":"0.23.1a\u001b[2J\u001b]0;owned\u0007\u009b2J\u202eb"}`)
			return
		}
		serving(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"id":"cmpl-1","choices":[{"index":0,"text":" a","token_ids":[300],"finish_reason":"a\u001b[2J\u001b]0;owned\u0007\u009b2J\u202eb"}]}`+"\n\ndata: [DONE]\n\n")
		})(w, r)
	}))
	t.Cleanup(server.Close)
	for name, text := range map[string]string{
		"small.jsonl":  `{"timestamp": 0, "input_length": 10, "output_length": 2, "hash_ids": [1]}` + "\n",
		evil + ".json": `{"timestamp": 0, "input_length": 10, "output_length": 2, "hash_ids": [1]}` + "\n",
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	onTerminal(t, 80, "ingest", "small.jsonl")
	query := `select chr(27) || '[2J' as "` + evil + `"`
	for _, c := range []struct {
		what string
		args []string
	}{
		{"the name of a file", []string{"ingest", evil + ".json", "--name", evil}},
		{"the name of a source", []string{"privacy", "check", evil}},
		{"and of one that is not there", []string{"sources", evil + "?"}},
		{"a column's name", []string{"sql", query}},
		{"a column's name in CSV", []string{"sql", "--csv", query}},
		{"a column's name in JSON", []string{"sql", "--json", query}},
		{"a server's version and reason to finish", []string{"replay", "small", "--base-url", server.URL, "--model", "llama-3.1-8b"}},
	} {
		shown := onTerminal(t, 80, c.args...)
		if strings.ContainsAny(shown, "\x1b\a\u009b\u202e\r") {
			t.Errorf("%s: a terminal obeys %q", c.what, shown)
		}
		if !strings.Contains(shown, `\x1b[2J`) && !strings.Contains(shown, `\u001b[2J`) {
			t.Errorf("%s: is not shown: %q", c.what, shown)
		}
	}
	runs, _ := filepath.Glob("runs/*/run.json")
	if len(runs) != 1 {
		t.Fatalf("%d runs, want 1", len(runs))
	}
	onTerminal(t, 80, "export", filepath.Base(filepath.Dir(runs[0])), "--output", "exported")
	pages, _ := filepath.Glob("exported/*.md")
	together := ""
	for _, page := range pages {
		text := must.Get(os.ReadFile(page))(t)
		together += string(text)
	}
	if strings.ContainsAny(together, "\x1b\a\u009b\u202e") || !strings.Contains(together, `\x1b[2J`) {
		t.Errorf("a terminal that shows the exported markdown obeys %q", together)
	}
}

// What programs read keeps its bytes.
func TestAProductKeepsItsBytes(t *testing.T) {
	t.Chdir(t.TempDir())
	must.Do(t, os.WriteFile("small.jsonl", []byte(`{"timestamp": 0, "input_length": 10, "output_length": 2, "hash_ids": [1]}`+"\n"), 0o600))
	var out, said bytes.Buffer
	if code := run([]string{"tidemark", "ingest", "small.jsonl"}, strings.NewReader(""), &out, &said); code != 0 {
		t.Fatal(said.String())
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sql", "--csv", "select '" + evil + "' as \"" + evil + "\""}, evil + "\n" + evil + "\n"},
		{[]string{"sql", "--json", "select '\u202e' as \"\u009b\""}, "[\n  {\"\u009b\": \"\u202e\"}\n]\n"},
		{[]string{"plan", "small", "--output", "-"}, "\x28\xb5\x2f\xfd"}, // where zstd begins
	} {
		out.Reset()
		said.Reset()
		code := run(append([]string{"tidemark"}, c.args...), strings.NewReader(""), &out, &said)
		if code != 0 || !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("%q: exit code %d with %q, want %q; stderr:\n%s", c.args, code, out.String(), c.want, said.String())
		}
	}
}
