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

	"tidemark/analysis"
	"tidemark/internal/cli/commandline"
	"tidemark/internal/cli/endings"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay"
	"tidemark/replay/experiment"
)

type experimentFlags struct {
	kit.Call
	runs    string
	restart bool
}

func ExperimentCommand() *cli.Command {
	f := &experimentFlags{}
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
yet. Rows that were sent the same plans, such as routers, are compared with the
first; "order: alternate" sends each repeat to all of them.

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
		Flags: f.TableFlags(
			&cli.StringSliceFlag{Name: "base-url", Usage: "send to `http://host:port` instead of what the file says"},
			&cli.StringFlag{Name: "model", Usage: "the `NAME` the server serves, instead of what the file says"},
			&cli.StringFlag{Name: "runs", Usage: "keep runs and the journal in `DIR`", Value: "runs", Destination: &f.runs},
			&cli.BoolFlag{Name: "restart", Usage: "start again; the journal so far is kept under another name", Destination: &f.restart},
		),
		Action: f.Do(f.run),
	}
}

// run reads the file, and the journal of an earlier attempt if there is
// one. Paths in the file are relative to the file.
func (f *experimentFlags) run() error {
	path, err := f.OneArgument("experiment file")
	if err != nil {
		return err
	}
	if err := f.NotASnapshot(); err != nil {
		return err
	}
	file, err := experiment.Read(path)
	if err != nil {
		return hint.AsMisuse(err)
	}
	if file.SLO != "" && !filepath.IsAbs(file.SLO) {
		file.SLO = filepath.Join(filepath.Dir(path), file.SLO)
	}
	file.Override(optionsOf(&f.Call, "runs", "restart", "warehouse", "wait", "quiet", "csv", "json"))
	journal := filepath.Join(f.runs, file.Name+".experiment.jsonl")
	return player{Call: &f.Call, runs: f.runs, file: file, isFresh: f.restart}.play(journal)
}

// runSteps is an experiment written on the command line: replay --steps 1,2,4.
func (f *replayFlags) runSteps(what string) error {
	variable := "request-rate"
	if f.Mode == "closed" {
		variable = "max-concurrency"
	}
	if f.IsGiven(variable) {
		return hint.Misuse("--steps and --%s exclude each other", variable)
	}
	options := optionsOf(&f.Call, "steps", "slo", "warehouse", "wait", "quiet", "runs", "name")
	if !f.IsGiven("drain-timeout") {
		options["drain-timeout"] = "5m"
	}
	name := stemOf(what) + "-steps"
	if f.To.Name != "" {
		name = stemOf(f.To.Name)
	}
	values := strings.Split(f.steps, ",")
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	file, err := experiment.New(name, "what each "+variable+" does to latency", what, variable, values, options)
	if err != nil {
		return hint.AsMisuse(err)
	}
	file.SLO = f.SLO
	stamp := time.Now().UTC().Format("20060102-150405")
	return player{Call: &f.Call, runs: f.Runs, file: file}.play(filepath.Join(f.Runs, stamp+"-"+name+".experiment.jsonl"))
}

// optionsOf are the flags that were given, by name, without some.
func optionsOf(c *kit.Call, except ...string) map[string]any {
	options := c.Values(except...)
	for name, value := range options {
		if list, isList := value.(cli.StringSlice); isList {
			var values []any // as YAML has them
			for _, one := range list.Value() {
				values = append(values, one)
			}
			options[name] = values
		}
	}
	return options
}

// player plays an experiment.
type player struct {
	*kit.Call
	runs    string // the folder of the runs
	file    experiment.File
	isFresh bool // a journal that is there is put aside
}

// play plays the rows and prints their table.
func (p player) play(journal string) error {
	seriesID, done, err := p.rows(journal)
	if len(done) > 0 {
		err = errors.Join(err, p.printSteps(seriesID, done))
	}
	if err = p.withLeft(err, done); err != nil && seriesID != "" && p.Verb == "experiment" {
		p.Tell("the journal is in %s: the same command continues there", journal)
	}
	if err != nil {
		return err
	}
	return experimentCode(p.file, done)
}

// rows plays the rows that are left and returns all that have ended.
func (p player) rows(journal string) (seriesID string, done []experiment.Done, err error) {
	if err := p.checkOptions(); err != nil {
		return "", nil, err
	}
	if err := p.checkRows(); err != nil {
		return "", nil, err
	}
	if varied := p.file.Varied(); len(varied) > 1 {
		p.Tell("note: rows differ in %s: an effect cannot be attributed to one of them", strings.Join(varied, " and "))
	}
	log, err := experiment.OpenLog(journal, p.file, p.isFresh, time.Now)
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	p.Tell("experiment %s: %s", p.file.Name, p.file.Hypothesis)
	done, err = experiment.Play(p.Context, p.file, log, experiment.Callbacks{
		Run: func(ctx context.Context, step experiment.Step, sent func(string) error) (experiment.Result, error) {
			return p.playStep(ctx, log.SeriesID, step, sent)
		},
		TakeIn: func(ctx context.Context, done experiment.Done, takesTime bool) (experiment.Result, error) {
			return p.ingestLater(ctx, done, takesTime)
		},
		Tell: func(line string) { p.Tell("%s", line) },
	})
	return log.SeriesID, done, err
}

// withLeft adds to an error that runs are not ingested yet. After an interrupt the error itself is not printed.
func (p player) withLeft(err error, done []experiment.Done) error {
	left := p.notIngested(done)
	if left != nil && p.Context.Err() != nil {
		p.Tell("%v; %s", left, hint.Of(left))
		return err
	}
	return errors.Join(err, left)
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
func (p player) ingestLater(ctx context.Context, done experiment.Done, takesTime bool) (experiment.Result, error) {
	wait := p.betweenRows()
	if takesTime {
		wait = 10 * p.Wait
	}
	said, err := p.IngestRun(ctx, wait, filepath.Join(p.runs, done.RunID), done.RunID)
	switch {
	case ctx.Err() != nil:
		return experiment.Result{}, ctx.Err()
	case errors.Is(err, warehouse.ErrHeld):
		return experiment.Result{Outcome: experiment.NotTakenIn}, nil
	case err != nil:
		return experiment.Result{}, err
	}
	p.Tell("%s, ingested now: %s", done.RunID, said.Headline())
	return experiment.Result{RunID: done.RunID, Outcome: said.Outcome, FirstLine: said.FirstLine}, nil
}

// betweenRows is how long a row waits for the warehouse before the next row is
// sent. The server is idle meanwhile.
func (p player) betweenRows() time.Duration { return p.Wait / 10 }

// notIngested is an error if runs are still not ingested at the end.
func (p player) notIngested(done []experiment.Done) error {
	var folders []string
	for _, d := range done {
		if d.Outcome == experiment.NotTakenIn {
			folders = append(folders, filepath.Join(p.runs, d.RunID))
		}
	}
	if len(folders) == 0 {
		return nil
	}
	return hint.Errorf("%d of %d runs are not ingested yet: another process holds the warehouse", len(folders), len(done)).
		Hint("nothing is lost; when it is free: tidemark ingest %s%s", escape.ShellWords(folders), p.WarehouseWords())
}

// checkOptions finds a flag that replay does not have, before the first row is
// sent.
func (p player) checkOptions() error {
	var known []string
	for _, flag := range ReplayCommand().Flags {
		known = append(known, flag.Names()[0])
	}
	for _, step := range p.file.Steps() {
		for name := range step.Options {
			if !slices.Contains(known, name) || name == "steps" {
				return hint.Misuse("experiment %s: %q is no option of replay", p.file.Name, name).Hint("tidemark replay --help-all lists them")
			}
		}
	}
	return nil
}

// checkRows finds what replay would refuse of any row, before the first row is
// sent: a mistake in row five should not cost an hour.
func (p player) checkRows() error {
	for _, step := range p.file.Steps() {
		app := p.Another(strings.NewReader(""), io.Discard, io.Discard)
		if err := app.RunContext(context.WithValue(p.Context, AskedKey{}, &Asked{isChecked: true}), commandline.FlagsFirst(app, p.argsOfStep(step))); err != nil {
			return kit.ExitError{Code: kit.ExitCode(err), Err: fmt.Errorf("row %q: %w", step.Value, err)}
		}
	}
	return nil
}

// argsOfStep is the command line of one step. Rows would find each other's prompts
// in the server's prefix cache, so each starts with a reset cache unless the author
// says otherwise.
func (p player) argsOfStep(step experiment.Step) []string {
	args := []string{"tidemark", "replay", p.file.Send, "--warehouse", p.Warehouse, "--runs", p.runs,
		"--wait", kit.UntilFree.String()}
	if p.Quiet {
		args = append(args, "--quiet")
	}
	if p.file.SLO != "" {
		args = append(args, "--slo", p.file.SLO)
	}
	if step.Options["name"] == nil {
		args = append(args, "--name", p.file.Name+" "+step.Value)
	}
	if step.Options["cache"] == nil {
		args = append(args, "--cache", "reset")
	}
	return append(args, argsOf(step.Options)...)
}

// playStep replays one step with the verb itself, as a user would.
func (p player) playStep(ctx context.Context, seriesID string, step experiment.Step, sent func(runID string) error) (experiment.Result, error) {
	if (step.Repeat == 0 || p.file.Alternates) && len(p.file.Before) > 0 {
		if err := p.runBefore(ctx, step.Value); err != nil {
			return experiment.Result{}, err
		}
	}
	asked := &Asked{Sent: sent, Wait: p.betweenRows(), series: &replay.Series{
		ID: seriesID, Name: p.file.Name, Hypothesis: p.file.Hypothesis, Variable: strings.Join(p.file.Varied(), "+"),
		Value: step.Value, Row: step.Row, Repeat: step.Repeat, Expect: replay.Expect(p.file.Expect),
	}}
	if asked.series.Variable == "" {
		asked.series.Variable = p.file.Variable
	}
	// The output of a replay is only progress here; the product is the table of all
	// rows.
	app := p.Another(strings.NewReader(""), p.Messages(), p.Messages())
	err := app.RunContext(context.WithValue(ctx, AskedKey{}, asked), commandline.FlagsFirst(app, p.argsOfStep(step)))
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
	series    *replay.Series
	isChecked bool                     // its flags alone: nothing is sent
	Sent      func(runID string) error // the run's files are complete
	Wait      time.Duration            // for the warehouse
	Result    experiment.Result
}

type AskedKey struct{}

// AskedFor is what the caller of this replay asked for; a replay that a user started has
// no series and waits as long as --wait says.
func AskedFor(ctx context.Context, wait time.Duration) *Asked {
	if a, is := ctx.Value(AskedKey{}).(*Asked); is {
		return a
	}
	return &Asked{Sent: func(string) error { return nil }, Wait: wait}
}

// printSteps prints the conclusion and a row for each level. A program gets the columns of marts.steps.
func (p player) printSteps(seriesID string, done []experiment.Done) error {
	ctx := context.WithoutCancel(p.Context)
	return p.WithWarehouse(ctx, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		ending, err := endings.Experiment(ctx, w.DB(), seriesID, p.file, done)
		if err != nil {
			return err
		}
		if !p.IsForPrograms() {
			return p.PrintEnding(ending)
		}
		for _, sentence := range ending.Lead {
			p.Tell("%s", sentence)
		}
		return p.PrintAnswer(analysis.Steps(ctx, w.DB(), seriesID))
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
func (p player) runBefore(ctx context.Context, value string) error {
	args := make([]string, len(p.file.Before))
	for i, arg := range p.file.Before {
		args[i] = strings.ReplaceAll(arg, "{value}", value)
	}
	p.Tell("$ %s", strings.Join(args, " "))
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	if talks := terminal.FileOf(p.Messages()); talks != nil {
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
