package send

// The verb experiment and replay --steps: one replay after the other with one setting
// varied. replay/experiment has the file format, the journal and the order of the rows;
// this file plays one row, by running the verb replay inside this process with a
// command line made from the row's options.
//
// Why the inner replay is a whole command line: an option of an experiment is a flag
// of replay, with the same checks and messages, and nothing is written twice. What an
// inner replay must know beyond its flags travels in the context (type asked).
//
// Locks: an experiment runs for hours and must not end because somebody reads the
// warehouse. A row whose run cannot be ingested within a tenth of --wait is noted in the
// journal and ingested between later rows or at the end. Only drawing a plan waits
// without limit, because without a plan there is nothing to send.
//
// Signals: the first Ctrl-C ends the running row in order and leaves the journal
// complete, so that the same command continues with the next row.
//
// Exit codes: 1 no row met the SLO, or without one too many requests of a row failed; 3
// some row has no valid run; 4 some run is not ingested yet.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/commandline"
	"tidemark/internal/cli/endings"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay"
	"tidemark/replay/experiment"
)

func ExperimentCommand() *cli.Command {
	return &cli.Command{
		Name:      "experiment",
		Usage:     "all rows of an experiment, one after the other; resumable",
		ArgsUsage: "FILE.yaml",
		Description: `The file has the hypothesis, what is sent, the one setting that varies and
its values. Options are the flags of "tidemark replay". "cache: reset" is
the default, so that no row finds another row's prompts in the server's
cache. After an interrupt, the same command continues where it stopped. A
locked warehouse does not end an experiment: its runs are kept and ingested
later. Exit code 1: no row met the SLO or, without one, too many requests of
some row failed; 3: some row has no valid run; 4: some run is not ingested
yet.

Example file:
  schema: tidemark.experiment/1
  name: chat-rates
  hypothesis: TPOT binds before TTFT
  expect: {met_at: 1, binds: tpot}           # optional: lets it be judged
  send: gtc-multiturn
  options: {base-url: "http://gpu1:8000", model: llama, duration: 5m}
  variable: request-rate
  rows: [0.5, 1, 1.5, 2]
  repeats: 3
  slo: slo.yaml
  stop_after_not_met: 1
  before: [./restart-server.sh, "{value}"]   # optional, before each row

Example:
  tidemark experiment chat-rates.yaml`,
		Flags: kit.WithTableFlags(
			&cli.StringSliceFlag{Name: "base-url", Usage: "send to `http://host:port` instead of what the file says"},
			&cli.StringFlag{Name: "model", Usage: "the `NAME` the server serves, instead of what the file says"},
			&cli.StringFlag{Name: "runs", Usage: "keep runs and the journal in `DIR`", Value: "runs"},
			&cli.BoolFlag{Name: "restart", Usage: "start again; the journal so far is kept under another name"},
		),
		Action: runExperiment,
	}
}

// stepsFlag belongs to replay; an inner replay of an experiment must not have it.
func stepsFlag() cli.Flag {
	return &cli.StringFlag{Name: "steps", Usage: "one run after the other at `1,2,4` requests/s, or with --mode closed that many in flight; the server drains in between"}
}

// runExperiment reads the file, and the journal of an earlier attempt if there is
// one. Paths in the file are relative to the file.
func runExperiment(c *cli.Context) error {
	path, err := kit.OneArgument(c, "experiment file")
	if err != nil {
		return err
	}
	if err := kit.NotASnapshot(c); err != nil {
		return err
	}
	file, err := experiment.Read(path)
	if err != nil {
		return hint.AsMisuse(err)
	}
	if file.SLO != "" && !filepath.IsAbs(file.SLO) {
		file.SLO = filepath.Join(filepath.Dir(path), file.SLO)
	}
	file.Override(optionsOf(c, "runs", "restart", "warehouse", "wait", "quiet", "csv", "json"))
	journal := filepath.Join(c.String("runs"), file.Name+".experiment.jsonl")
	return playExperiment(c, file, journal)
}

// runSteps is an experiment written on the command line: replay --steps 1,2,4.
func runSteps(c *cli.Context, what string) error {
	variable := "request-rate"
	if c.String("mode") == "closed" {
		variable = "max-concurrency"
	}
	if c.IsSet(variable) {
		return hint.Misuse("--steps and --%s exclude each other", variable)
	}
	options := optionsOf(c, "steps", "slo", "warehouse", "wait", "quiet", "runs", "name")
	if !c.IsSet("drain-timeout") {
		options["drain-timeout"] = "5m"
	}
	name := stemOf(what) + "-steps"
	if c.IsSet("name") {
		name = stemOf(c.String("name"))
	}
	values := strings.Split(c.String("steps"), ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	file, err := experiment.New(name, "what each "+variable+" does to latency", what, variable, values, options)
	if err != nil {
		return hint.AsMisuse(err)
	}
	file.SLO = c.String("slo")
	stamp := time.Now().UTC().Format("20060102-150405")
	return playExperiment(c, file, filepath.Join(c.String("runs"), stamp+"-"+name+".experiment.jsonl"))
}

// optionsOf are the flags that were given, by name, without some.
func optionsOf(c *cli.Context, except ...string) map[string]any {
	options := map[string]any{}
	for _, flag := range c.Command.Flags {
		name := flag.Names()[0]
		if !c.IsSet(name) || slices.Contains(except, name) {
			continue
		}
		options[name] = c.Value(name)
		if _, isList := flag.(*cli.StringSliceFlag); isList {
			var values []any // as YAML has them
			for _, value := range c.StringSlice(name) {
				values = append(values, value)
			}
			options[name] = values
		}
	}
	return options
}

// playExperiment plays the rows and prints their table.
func playExperiment(c *cli.Context, file experiment.File, journal string) error {
	if err := checkOptions(file); err != nil {
		return err
	}
	if err := checkRows(c, file); err != nil {
		return err
	}
	if varied := file.Varied(); len(varied) > 1 {
		kit.Tell(c, "note: rows differ in %s: an effect cannot be attributed to one of them", strings.Join(varied, " and "))
	}
	log, err := experiment.OpenLog(journal, file, c.Bool("restart"), time.Now)
	if err != nil {
		return err
	}
	defer log.Close()
	kit.Tell(c, "experiment %s: %s", file.Name, file.Hypothesis)
	done, err := experiment.Play(c.Context, file, log, experiment.Callbacks{
		Run: func(ctx context.Context, step experiment.Step, sent func(string) error) (experiment.Result, error) {
			return playStep(ctx, c, file, log.SeriesID, step, sent)
		},
		TakeIn: func(ctx context.Context, done experiment.Done, takesTime bool) (experiment.Result, error) {
			return ingestLater(ctx, c, done, takesTime)
		},
		Tell: func(line string) { kit.Tell(c, "%s", line) },
	})
	if len(done) > 0 {
		err = errors.Join(err, printSteps(c, log.SeriesID, file, done))
	}
	if left := notIngested(c, done); left != nil && c.Context.Err() != nil {
		kit.Tell(c, "%v; %s", left, hint.Of(left)) // after an interrupt the error itself is not printed
	} else {
		err = errors.Join(err, left)
	}
	if err != nil && c.Command.Name == "experiment" {
		kit.Tell(c, "the journal is in %s: the same command continues there", journal)
	}
	if err != nil {
		return err
	}
	return experimentCode(file, done)
}

// experimentCode is 3 if some row has no valid run, and 1 if no row met the SLO or,
// without an SLO, too many requests of a row failed.
func experimentCode(file experiment.File, done []experiment.Done) error {
	rows := valuesByOutcome(done)
	switch {
	case len(rows[experiment.Invalid]) > 0:
		return kit.ExitError{Code: kit.ExitInvalid}
	case file.SLO != "" && len(rows[experiment.Met]) == 0, file.SLO == "" && len(rows[experiment.NotMet]) > 0:
		return kit.ExitError{Code: kit.ExitNotMet}
	}
	return nil
}

// ingestLater ingests and judges a run that a row has left behind.
func ingestLater(ctx context.Context, c *cli.Context, done experiment.Done, takesTime bool) (experiment.Result, error) {
	wait := betweenRows(c)
	if takesTime {
		wait = 10 * c.Duration("wait")
	}
	said, err := kit.IngestRun(ctx, c, wait, filepath.Join(c.String("runs"), done.RunID), done.RunID)
	switch {
	case ctx.Err() != nil:
		return experiment.Result{}, ctx.Err()
	case errors.Is(err, warehouse.ErrHeld):
		return experiment.Result{Outcome: experiment.NotTakenIn}, nil
	case err != nil:
		return experiment.Result{}, err
	}
	kit.Tell(c, "%s, ingested now: %s", done.RunID, said.Headline())
	return experiment.Result{RunID: done.RunID, Outcome: said.Outcome, FirstLine: said.FirstLine}, nil
}

// betweenRows is how long a row waits for the warehouse before the next row is
// sent. The server is idle meanwhile.
func betweenRows(c *cli.Context) time.Duration { return c.Duration("wait") / 10 }

// notIngested is an error if runs are still not ingested at the end.
func notIngested(c *cli.Context, done []experiment.Done) error {
	var folders []string
	for _, d := range done {
		if d.Outcome == experiment.NotTakenIn {
			folders = append(folders, filepath.Join(c.String("runs"), d.RunID))
		}
	}
	if len(folders) == 0 {
		return nil
	}
	return hint.Errorf("%d of %d runs are not ingested yet: another process holds the warehouse", len(folders), len(done)).
		Hint("nothing is lost; when it is free: tidemark ingest %s%s", strings.Join(folders, " "), kit.WarehouseWords(c))
}

// checkOptions finds a flag that replay does not have, before the first row is
// sent.
func checkOptions(file experiment.File) error {
	var known []string
	for _, flag := range ReplayCommand().Flags {
		known = append(known, flag.Names()[0])
	}
	for _, step := range file.Steps() {
		for name := range step.Options {
			if !slices.Contains(known, name) || name == "steps" {
				return hint.Misuse("experiment %s: %q is no option of replay", file.Name, name).Hint("tidemark replay --help-all lists them")
			}
		}
	}
	return nil
}

// checkRows finds what replay would refuse of any row, before the first row is
// sent: a mistake in row five should not cost an hour.
func checkRows(c *cli.Context, file experiment.File) error {
	for _, step := range file.Steps() {
		app := kit.Another(c, strings.NewReader(""), io.Discard, io.Discard)
		app.Command("replay").Action = func(c *cli.Context) error {
			err := errors.Join(needTarget(c), setConcurrency(c, file.Send), checkChoices(c))
			if err == nil {
				_, err = settingsOf(c)
			}
			return err
		}
		if err := app.RunContext(c.Context, commandline.FlagsFirst(app, argsOfStep(c, file, step))); err != nil {
			return kit.ExitError{Code: kit.ExitCode(err), Err: fmt.Errorf("row %q: %w", step.Value, err)}
		}
	}
	return nil
}

// argsOfStep is the command line of one step. Rows would find each other's prompts
// in the server's prefix cache, so each starts with a reset cache unless the author
// says otherwise.
func argsOfStep(c *cli.Context, file experiment.File, step experiment.Step) []string {
	args := []string{"tidemark", "replay", file.Send, "--warehouse", c.String("warehouse"), "--runs", c.String("runs"),
		"--wait", kit.UntilFree.String()}
	if c.Bool("quiet") {
		args = append(args, "--quiet")
	}
	if file.SLO != "" {
		args = append(args, "--slo", file.SLO)
	}
	if step.Options["name"] == nil {
		args = append(args, "--name", file.Name+" "+step.Value)
	}
	if step.Options["cache"] == nil {
		args = append(args, "--cache", "reset")
	}
	return append(args, argsOf(step.Options)...)
}

// playStep replays one step with the verb itself, as a user would.
func playStep(ctx context.Context, c *cli.Context, file experiment.File, seriesID string, step experiment.Step, sent func(runID string) error) (experiment.Result, error) {
	if step.Repeat == 0 && len(file.Before) > 0 {
		if err := runBefore(ctx, c, file.Before, step.Value); err != nil {
			return experiment.Result{}, err
		}
	}
	asked := &Asked{Sent: sent, Wait: betweenRows(c), series: &replay.Series{
		ID: seriesID, Name: file.Name, Hypothesis: file.Hypothesis, Variable: strings.Join(file.Varied(), "+"),
		Value: step.Value, Row: step.Row, Repeat: step.Repeat, Expect: replay.Expect(file.Expect),
	}}
	if asked.series.Variable == "" {
		asked.series.Variable = file.Variable
	}
	// The output of a replay is only progress here; the product is the table of all
	// rows.
	app := kit.Another(c, strings.NewReader(""), kit.Messages(c), kit.Messages(c))
	err := app.RunContext(context.WithValue(ctx, AskedKey{}, asked), commandline.FlagsFirst(app, argsOfStep(c, file, step)))
	if code := kit.ExitCode(err); code == kit.ExitNotMet || code == kit.ExitInvalid {
		err = nil // the exit code is the outcome
	}
	return asked.Result, err
}

// argsOf writes options as flags, in order of their names.
func argsOf(options map[string]any) []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(options)) {
		values := []any{options[name]}
		if list, isList := options[name].([]any); isList {
			values = list
		}
		for _, value := range values {
			args = append(args, fmt.Sprintf("--%s=%v", name, value))
		}
	}
	return args
}

// Asked is what an experiment wants from the replay that it calls, and what came of
// it. It travels in the context, because the verb's own interface is its flags.
type Asked struct {
	series *replay.Series
	Sent   func(runID string) error // the run's files are complete
	Wait   time.Duration            // for the warehouse
	Result experiment.Result
}

type AskedKey struct{}

// AskedFor is what the caller of this replay asked for; a replay that a user started has
// no series and waits as long as --wait says.
func AskedFor(c *cli.Context) *Asked {
	if a, is := c.Context.Value(AskedKey{}).(*Asked); is {
		return a
	}
	return &Asked{Sent: func(string) error { return nil }, Wait: c.Duration("wait")}
}

// printSteps prints the conclusion and a row for each level. A program gets the columns of marts.steps.
func printSteps(c *cli.Context, seriesID string, file experiment.File, done []experiment.Done) error {
	ctx := context.WithoutCancel(c.Context)
	return kit.WithWarehouse(ctx, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		ending, err := endings.Experiment(ctx, w.DB(), seriesID, file, done)
		if err != nil {
			return err
		}
		if !kit.IsForPrograms(c) {
			return kit.PrintEnding(c, ending)
		}
		for _, sentence := range ending.Lead {
			kit.Tell(c, "%s", sentence)
		}
		return kit.PrintQuery(ctx, c, w, "from marts.steps where series_id = ? order by series_row", seriesID)
	})
}

// valuesByOutcome are the values of the rows, by what came of all repeats of a row.
func valuesByOutcome(done []experiment.Done) map[experiment.Outcome][]string {
	values := map[experiment.Outcome][]string{}
	for _, d := range done {
		if d.Repeat == 0 {
			outcome := experiment.RowOutcome(done, d.Row)
			values[outcome] = append(values[outcome], d.Value)
		}
	}
	return values
}

// runBefore runs the program that an experiment's author wants before a row, and
// waits for it. Its output goes to the person, never into the product.
func runBefore(ctx context.Context, c *cli.Context, before []string, value string) error {
	args := make([]string, len(before))
	for i, arg := range before {
		args[i] = strings.ReplaceAll(arg, "{value}", value)
	}
	kit.Tell(c, "$ %s", strings.Join(args, " "))
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	if talks := terminal.FileOf(kit.Messages(c)); talks != nil {
		// The file itself, not a pipe of ours: Wait would wait for a server that
		// the program leaves in the background.
		command.Stdout, command.Stderr = talks, talks
	}
	if err := command.Run(); err != nil {
		return hint.Errorf("experiment: before: %s: %w", args[0], err).
			Hint("the row was not started; repair the program and run the same command again")
	}
	return nil
}
