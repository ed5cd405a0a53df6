//go:build duckdb_arrow

package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/cli/terminal"
	"tidemark/internal/cli/terminal/terminaltest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

// sit starts a shell on a warehouse, and waits for its first prompt.
func sit(t *testing.T, historyFile string) *terminaltest.Person {
	t.Helper()
	path := filepath.Join(t.TempDir(), "w.duckdb")
	must.Do(t, warehousetest.Template(path))
	person := terminaltest.Sit(t, 80, func(tty *os.File) {
		console := terminal.New(tty, tty, nil)
		defer console.Close()
		err := Shell{
			In: tty, Out: terminal.Raw(console.Stdout), Draw: terminal.Drawing(console.Stdout),
			Width: func() int { return 80 }, Path: path, History: historyFile, Mode: "box",
			Open: func(ctx context.Context, path string, use func(context.Context, *warehouse.Warehouse) error) error {
				w, err := warehouse.Open(ctx, path, warehouse.ReadOnly)
				if err != nil {
					return err
				}
				return errors.Join(use(ctx, w), w.Close())
			},
			Report: func(err error) {
				fmt.Fprintf(terminal.Raw(console.Stdout), "error: %v; hint: %s\n", err, hint.Of(err))
			},
		}.Run(context.Background())
		if err != nil {
			t.Error(err)
		}
	})
	person.Sees(prompt)
	return person
}

func TestAQuestionMayTakeSeveralLines(t *testing.T) {
	person := sit(t, "")
	person.Types("select 'a;b' as text, -- not the end;\r")
	person.Sees(promptMore)
	person.Types("85.5e9 as kv_bytes\r")
	person.Sees(promptMore)
	person.Types("; select 2 as second_question;\r")
	person.Sees("│ a;b  │  85.5 GB │")
	person.Sees("│ second_question │")
	person.Sees(prompt)
	person.Types(".quit\r")
	person.Leaves()
}

// Ctrl-C ends the question that runs, then the line that is typed, and never the shell.
func TestCtrlCEndsOneThing(t *testing.T) {
	person := sit(t, "")
	person.Types("select sleep_ms(600000);\r")
	person.Sees("600000);")
	person.Types("\x03")
	person.Sees("stopped")
	person.Sees(prompt)
	person.Types("select nonsense from\r")
	person.Sees(promptMore)
	person.Types("where\x03")
	person.Sees(prompt)
	person.Types("select 7 as seven;\r")
	person.Sees("│ seven │")
	person.Sees(prompt)
	person.Types("\x04")
	person.Leaves()
}

func TestTabCompletesAndShowsUnits(t *testing.T) {
	person := sit(t, "")
	person.Types("select res\x1b[D\x1b[D\x1b[D from marts.tpot_gap_ru\t")
	person.Sees("marts.tpot_gap_runs")
	person.Types("\x03")
	person.Sees(prompt)
	person.Types("from marts.tpot_gap_runs where resid\t")
	person.Sees("residual_s")
	person.Types("\t") // the word is whole: what it is
	person.Sees("residual_s  double  tpot_s - predicted_tpot_s, seconds")
	person.Types("\x03")
	person.Sees(prompt)
	person.Types(".mo\tli\t\r")
	person.Sees(".mode line")
	person.Sees(prompt)
	person.Types("select 1 as one, 2 as two;\r")
	person.Sees("one  1\r\ntwo  2\r\n")
}

func TestCommands(t *testing.T) {
	person := sit(t, "")
	for _, c := range []struct{ typed, seen string }{
		{".help", "Ctrl-C ends"},
		{".tables money", "marts.goodput"},
		{".tables", "seeds.prices"},
		{".schema tpot_gap_runs", "measured time per token"},
		{".schema marts.tpot_gp", "did you mean marts.tpot_gap"},
		{".examples", "slowest_ten"},
		{".examples which_gpu", "MI355X"},
		{".mode sideways", "known modes are box, line, csv, json"},
		{".mode json", prompt},
		{"select 1.5::double as tpot_s;", `{"tpot_s": 1.5}`},
		{".mode csv", prompt},
		{"select 1.5::double as tpot_s;", "tpot_s\r\n1.5\r\n"},
		{".open none.duckdb", "none.duckdb: no such file"},
		{".timer on", "timer on"},
		{"select 1 as n;", "s\r\n"},
		{".quit x", ".quit takes no word after it"},
		{".tabels", "did you mean .tables?"},
		{"from marts.tpot_gapp;", "hint: did you mean marts.tpot_gap"},
		{"create table t (a int);", "not a query"},
	} {
		person.Types(c.typed + "\r")
		person.Sees("\r\n") // the echo
		person.Sees(c.seen)
	}
}

// What a question brings along is shown, not obeyed, also by a terminal in raw mode.
func TestATerminalInRawModeObeysNobody(t *testing.T) {
	person := sit(t, "")
	person.Types("select chr(27) || '[2J' as a;\r")
	person.Sees(`\x1b[2J`)
}

func TestHistoryIsKeptBetweenSessions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "history")
	person := sit(t, file)
	person.Types("select 41 + 1 -- a comment\r")
	person.Sees(promptMore)
	person.Types("as answer;\r")
	person.Sees("│     42 │")
	person.Sees(prompt)
	person.Types("\x04")
	person.Leaves()
	text, err := os.ReadFile(file)
	if err != nil || string(text) != "select 41 + 1 as answer;\n" {
		t.Errorf("history: got %q, %v", text, err)
	}
	person = sit(t, file)
	person.Types("\x1b[A\r")
	person.Sees("│     42 │")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history: got mode %v, %v", info.Mode(), err)
	}
}

func TestHistoryFile(t *testing.T) {
	t.Setenv("HOME", "/home/a")
	t.Setenv("XDG_STATE_HOME", "")
	for _, c := range []struct {
		why, name, value, want string
	}{
		{"the state folder of the home", "XDG_STATE_HOME", "", "/home/a/.local/state/tidemark/history"},
		{"the one that is set", "XDG_STATE_HOME", "/state", "/state/tidemark/history"},
		{"a file of one's own", "TIDEMARK_HISTORY", "/h", "/h"},
		{"none is wanted", "TIDEMARK_HISTORY", "", ""},
	} {
		t.Setenv(c.name, c.value)
		if got := HistoryFile(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.why, got, c.want)
		}
	}
}

func TestCompletions(t *testing.T) {
	w := warehousetest.Open(t)
	c := must.Get(readCatalogue(context.Background(), w.DB()))(t)
	for _, x := range []struct{ why, before, after, want string }{
		{"a relation by the name that it has in its schema", "from arrival_h", "", "marts.arrival_hours"},
		{"a schema", "from mar", "", "marts."},
		{"a relation", "from marts.arrival_h", "", "marts.arrival_hours"},
		{"a macro", "select macros.floor_s", "", "macros.floor_s"},
		{"a column of a relation that stands behind the cursor", "select mean_rate", " from marts.arrival_hours", "mean_rate_per_s"},
		{"a column by an alias", "select h.mean_rate", " from marts.arrival_hours as h", "mean_rate_per_s"},
		{"a column by the relation's name", "select arrival_hours.mean_rate", " from marts.arrival_hours", "mean_rate_per_s"},
		{"no column of another relation", "select h.hour", " from marts.sources as h", ""},
		{"a keyword", "select 1 order", "", "order by"},
		{"in capitals", "SEL", "", "select"},
	} {
		_, found := c.completions(x.before, x.before+x.after)
		var names []string
		for _, one := range found {
			names = append(names, one.name)
		}
		if got := strings.Join(names, " "); got != x.want {
			t.Errorf("%s: %q: got %q, want %q", x.why, x.before, got, x.want)
		}
	}
}
