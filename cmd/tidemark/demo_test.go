package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/week/service"
	"tidemark/cmd/tidemark/verbs/send"
	"tidemark/fixtures"
	"tidemark/fixtures/seeded"
	"tidemark/internal/cli/kit"
	"tidemark/replay/experiment"
)

// What the engine says of runs: two were late, one lacked files, one is as it should be.
var triedRuns = map[string]string{
	"late":  `{"status": "done", "result": {"is_valid": false, "invalid_reason": "p99 lateness 0.05 s is above 0.01 s"}}`,
	"later": `{"status": "done", "result": {"is_valid": false, "invalid_reason": "the client itself stood still for 0.4 s, more than 0.25 s"}}`,
	"short": `{"status": "done", "result": {"is_valid": false, "invalid_reason": "no file left", "client_limit": "no file left"}}`,
	"whole": `{"status": "done", "result": {"is_valid": true}}`,
}

// The demo tries a second time where this machine was too busy to send on time, never a third, and reports the last try; the verbs are
// the real ones but for what they do.
func TestTheDemoTriesOnceMoreOnABusyMachine(t *testing.T) {
	dir := t.TempDir()
	for id, document := range triedRuns {
		folder := filepath.Join(dir, "runs", id)
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "run.json"), []byte(document), 0o644)); err != nil {
			t.Fatal(err)
		}
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
			asked := send.AskedFor(c.Context, 0)
			if err := asked.Sent(id); err != nil || asked.Wait == 0 {
				t.Errorf("%s: a replay cannot say that it was sent: %v", id, err)
			}
			asked.Result = experiment.Result{RunID: id, Outcome: experiment.Measured, FirstLine: id + " is valid"}
			if id != "whole" {
				asked.Result.Outcome, asked.Result.FirstLine = experiment.Invalid, id+" is invalid"
				return kit.ExitError{Code: kit.ExitInvalid}
			}
			return nil
		}
		var busy string
		d := &demo{dir: dir}
		command("demo").Action = d.Do(func() (err error) {
			busy, err = d.play("http://localhost", func() {})
			return err
		})
		kit.WithMaker(app, func(io.Reader, io.Writer, io.Writer) *cli.App { return app })
		err := app.RunContext(t.Context(), []string{"tidemark", "demo"})
		if got := fmt.Sprint(err); len(tries) > 0 || reported != c.reported || busy != c.busy || (err == nil) != (c.err == "") || err != nil && got != c.err {
			t.Errorf("%s: tries left %v, reported %q, busy %q, %v", c.name, tries, reported, busy, err)
		}
		if again := strings.Contains(told.String(), "too busy to measure on; trying once more"); again != (c.reported != "" && strings.Contains(c.tries, " ")) {
			t.Errorf("%s: told %q", c.name, told.String())
		}
	}
}

// The files that the demo writes are those that its steps name.
func TestTheDemosServiceFileIsOfItsWeeks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string][]byte{"demo-chat.yaml": fixtures.DemoService, "slo.yaml": fixtures.DemoSLO} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := service.Read(filepath.Join(dir, "demo-chat.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := analysis.ReadSLO(file.SLO); err != nil {
		t.Error(err)
	}
	for _, name := range demoWeeks {
		if ok, err := filepath.Match(file.Traffic[0].Source, strings.TrimSuffix(name, ".csv")); !ok || err != nil {
			t.Errorf("%s is not of the service's traffic, %s: %v", name, file.Traffic[0].Source, err)
		}
	}
	if zone := seeded.Demo().Zone.String(); file.TimeZone != zone {
		t.Errorf("the file's zone is %s, the traffic's %s", file.TimeZone, zone)
	}
	week, err := service.ParseWeek(seeded.DemoWeek, file.Zone)
	if begin := fmt.Sprintf("arrival_at >= '%s+00'", week.Start().UTC().Format(time.DateTime)); err != nil || !strings.Contains(busiestMinutes, begin) {
		t.Errorf("the busiest five minutes are not asked for from %s: %v", begin, err)
	}
}

func TestWhatTheDemoPrintsCanBeTyped(t *testing.T) {
	if got, want := asTyped([]string{"sql", "select 1", "--json"}), `sql "select 1" --json`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
