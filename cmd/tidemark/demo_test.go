package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"tidemark/internal/warehouse"
	"tidemark/internal/warehouse/warehousetest"
	"tidemark/replay/experiment"
)

// Four runs: one was 50 ms late for want of the CPU, one was too, one is as it should be, one has no row of its own.
const triedRuns = `
insert into raw.runs
select run_id, ord, '{"status": "done", "settings": {"max_lateness_s": 0.01}, "result": {"is_valid": ' || (run_id = 'whole') || ', "invalid_reason": "no file left", "sent": 1, "completed": 1}}'
from (values ('late', 1), ('later', 2), ('whole', 3), ('short', 4)) as runs (run_id, ord);
insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, output_tokens_reported)
select run_id, 0, false, 1, 11, 0, case when starts_with(run_id, 'late') then 0.05 else 0 end, 1, 2, 2, 11 from raw.runs`

// The demo tries a second time where this machine was too busy to send on time, never a third, and reports the last try; the verbs are
// the real ones but for what they do.
func TestTheDemoTriesOnceMoreOnABusyMachine(t *testing.T) {
	dir := t.TempDir()
	if err := warehousetest.Template(filepath.Join(dir, "tidemark.duckdb")); err != nil {
		t.Fatal(err)
	}
	w, err := warehouse.Open(t.Context(), filepath.Join(dir, "tidemark.duckdb"), warehouse.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	warehousetest.Put(t, w, triedRuns)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, tries, reported, busy, err string
	}{
		{"a quiet machine", "whole", "whole", "", ""},
		{"a machine that calms down", "late whole", "whole", "", ""},
		{"a machine that stays busy", "late later", "later", "later is invalid", ""},
		{"a run that is invalid for another reason", "short", "", "", "exit code 3"},
	} {
		var said, told strings.Builder
		app := newApp(strings.NewReader(""), &said, &told)
		tries, reported := strings.Fields(c.tries), ""
		command := func(name string) *cli.Command {
			return app.Commands[slices.IndexFunc(app.Commands, func(c *cli.Command) bool { return c.Name == name })]
		}
		command("ingest").Action = func(*cli.Context) error { return nil }
		command("report").Action = func(c *cli.Context) error { reported = c.Args().First(); return nil }
		command("replay").Action = func(c *cli.Context) error {
			id := tries[0]
			tries = tries[1:]
			asked := askedFor(c)
			asked.result = experiment.Result{RunID: id, Outcome: experiment.Measured, FirstLine: id + " is valid"}
			if id != "whole" {
				asked.result.Outcome, asked.result.FirstLine = experiment.Invalid, id+" is invalid"
				return exitError{code: exitInvalid}
			}
			return nil
		}
		var busy string
		command("demo").Action = func(c *cli.Context) (err error) {
			busy, err = demo{c, dir}.play("trace.jsonl", "http://localhost")
			return err
		}
		err := app.RunContext(t.Context(), []string{"tidemark", "demo"})
		if got := fmt.Sprint(err); len(tries) > 0 || reported != c.reported || busy != c.busy || (err == nil) != (c.err == "") || err != nil && got != c.err {
			t.Errorf("%s: tries left %v, reported %q, busy %q, %v", c.name, tries, reported, busy, err)
		}
		if again := strings.Contains(told.String(), "too busy to measure on; trying once more"); again != (c.reported != "" && strings.Contains(c.tries, " ")) {
			t.Errorf("%s: told %q", c.name, told.String())
		}
	}
}
