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

	"golang.org/x/sys/unix"
)

// onTerminal runs the program with a terminal for stdout and stderr, and gives what the terminal was sent, less what
// replaces a line of progress.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	defer master.Close()
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		text, _ := io.ReadAll(master) // ends with an error when the slave is closed
		shown <- string(text)
	}()
	run(append([]string{"tidemark"}, args...), strings.NewReader(""), slave, slave)
	slave.Close()
	return strings.ReplaceAll(strings.ReplaceAll(<-shown, "\r\n", "\n"), "\r\x1b[K", "")
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
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
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
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		together += string(text)
	}
	if strings.ContainsAny(together, "\x1b\a\u009b\u202e") || !strings.Contains(together, `\x1b[2J`) {
		t.Errorf("a terminal that shows the exported markdown obeys %q", together)
	}
}

// What programs read keeps its bytes.
func TestAProductKeepsItsBytes(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("small.jsonl", []byte(`{"timestamp": 0, "input_length": 10, "output_length": 2, "hash_ids": [1]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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
