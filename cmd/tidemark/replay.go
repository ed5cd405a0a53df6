package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/warehouse"
	"tidemark/replay"
	"tidemark/replay/experiment"
)

func replayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "send a trace to a vLLM server, on time; take the run in",
		ArgsUsage: "SOURCE | PROFILE | PLAN",
		Description: `Each request goes at its due time whether or not others have ended. The key
comes from $OPENAI_API_KEY or --api-key-file. First Ctrl-C: nothing more is
sent and streams are let finish; the second leaves at once. The run's folder
is whole either way. Exit code 1: the SLO was not met, or more requests are
needed to tell; 3: the run cannot be trusted, and says why.

Example:
  tidemark replay azure-code --duration 10m --base-url http://gpu1:8000 \
    --model llama --gpu H100 --catalog-model llama-3.1-8b --slo slo.yaml
  tidemark replay gtc-multiturn --steps 0.5,1,2,4 --duration 5m \
    --base-url http://gpu1:8000 --model llama`,
		Flags:  everywhere(slices.Concat(choiceFlags(), targetFlags(), []cli.Flag{stepsFlag()}, environmentFlags())...),
		Action: runReplay,
	}
}

func runReplay(c *cli.Context) error {
	what, err := oneArgument(c, "source, profile or plan")
	if err != nil {
		return err
	}
	if err := needTarget(c); err != nil {
		return err
	}
	if c.IsSet("steps") {
		return runSteps(c, what)
	}
	if err := setConcurrency(c, what); err != nil {
		return err
	}
	settings, err := settingsOf(c)
	if err != nil {
		return err
	}
	runID := newRunID(c.String("runs"), what)
	ready, err := prepare(c, what)
	if err != nil {
		return err
	}
	defer ready.drop()
	settings.RunID = runID
	settings.Environment, settings.EnvironmentSource = ready.environment, ready.environmentSource
	settings.PredictTPOT = ready.predictTPOT
	settings.Series = askedFor(c).series
	folder := filepath.Join(c.String("runs"), runID)
	sendErr := send(c, ready.planPath, folder, settings)
	if _, err := os.Stat(filepath.Join(folder, "run.json")); err != nil {
		return sendErr // stopped before there was a run
	}
	err = conclude(c, folder, runID)
	if sendErr == nil {
		return err
	}
	// A run that stopped by itself was taken in too; why it stopped is the news.
	if exitCode(err) == exitInvalid {
		err = nil
	}
	return errors.Join(sendErr, err)
}

// setConcurrency takes the concurrency of a closed loop from a profile that says
// what it is meant for, unless another is asked for.
func setConcurrency(c *cli.Context, what string) error {
	if c.String("mode") != "closed" || c.IsSet("max-concurrency") {
		return nil
	}
	shape, err := chosenProfile(c, what)
	if err != nil || shape == nil || shape.MaxConcurrency == 0 {
		return err
	}
	return c.Set("max-concurrency", strconv.Itoa(shape.MaxConcurrency))
}

func needTarget(c *cli.Context) error {
	if len(c.StringSlice("base-url")) == 0 && len(c.StringSlice("route")) == 0 {
		return misuse("%s: --base-url is missing", c.Command.Name).hint("tidemark %s --help", c.Command.Name)
	}
	return need(c, "model")
}

// send replays a plan into a folder.
func send(c *cli.Context, planPath, folder string, settings replay.Settings) error {
	plan, err := replay.OpenPlan(planPath)
	if err != nil {
		return err
	}
	h := plan.Header()
	if !c.IsSet("mode") && h.Mode != "" {
		settings.Mode = h.Mode
	}
	if settings.Mode == "sessions" && h.Mode != "sessions" && h.Sessions < h.Requests {
		// A turn may then be due before it is read, and would count as late.
		return misuse("replay: %s was planned for mode open", planPath).hint("plan it again with --mode sessions")
	}
	tell(c, "sending %s to %s; seed %d", load(c, settings.Mode, h), strings.Join(settings.BaseURLs, ", "), h.Seed)
	progress, end := progressLine(talk(c))
	settings.Progress = progress
	silent := context.AfterFunc(c.Context, func() {
		tell(c, "stopping: nothing more is sent, streams are let finish; Ctrl-C again leaves at once")
	})
	defer silent()
	_, err = replay.Run(c.Context, plan, settings, folder)
	end()
	return err
}

// load says how much is sent in which way.
func load(c *cli.Context, mode string, h replay.Header) string {
	switch mode {
	case "closed":
		return fmt.Sprintf("%d requests, %d in flight", h.Requests, c.Int("max-concurrency"))
	case "sessions":
		return fmt.Sprintf("%d requests of sessions, in %s or longer", h.Requests, readableNumber("_s", h.DurationS))
	}
	return fmt.Sprintf("%d requests in %s at %s/s", h.Requests, readableNumber("_s", h.DurationS), digits(h.MeanRatePerS))
}

// conclude takes the run in, prints the verdict and gives the exit code.
func conclude(c *cli.Context, folder, runID string) error {
	if err := takeIn(c, folder); err != nil {
		return err
	}
	var said judged
	ctx := context.WithoutCancel(c.Context)
	err := withWarehouse(ctx, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		said, err = judge(ctx, w, runID)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(c.App.Writer, said.firstLine)
	tell(c, "run in %s; see it: tidemark report %s --output report.html%s", folder, runID, warehouseWords(c))
	asked := askedFor(c)
	asked.result = experiment.Result{RunID: runID, Outcome: said.outcome, FirstLine: said.firstLine}
	switch said.outcome {
	case experiment.Invalid:
		return exitError{code: exitInvalid}
	case experiment.NotMet, experiment.Undecided:
		return exitError{code: exitNotMet}
	}
	return nil
}

// judged is what a run came to.
type judged struct {
	outcome   experiment.Outcome
	firstLine string
}

// judge asks whether the run may be believed, and then whether it met its SLO.
func judge(ctx context.Context, w *warehouse.Warehouse, runID string) (judged, error) {
	verdict, err := analysis.JudgeSLO(ctx, w.DB(), runID)
	if err != nil {
		return judged{}, err
	}
	outcome := experiment.Outcome(verdict.Outcome)
	switch {
	case !verdict.IsValid:
		outcome = experiment.Invalid
	case verdict.Outcome == "":
		outcome = experiment.Measured
	}
	return judged{outcome, verdict.FirstLine()}, nil
}

var notInID = regexp.MustCompile(`[^a-z0-9-]+`)

// stemOf is what is sent, as part of a name: "azure-code".
func stemOf(what string) string {
	stem := strings.ToLower(filepath.Base(what))
	for _, suffix := range []string{".zst", ".jsonl", ".yaml", ".yml"} {
		stem = strings.TrimSuffix(stem, suffix)
	}
	return strings.Trim(notInID.ReplaceAllString(stem, "-"), "-")
}

// newRunID is the instant and what is sent: "20261121-093000-azure-code", with
// a number behind it where that is taken.
func newRunID(runs, what string) string {
	base := time.Now().UTC().Format("20060102-150405") + "-" + stemOf(what)
	id := base
	for n := 2; ; n++ {
		// Any error is as good as "not there": making the folder names it.
		if _, err := os.Stat(filepath.Join(runs, id)); err != nil {
			return id
		}
		id = fmt.Sprintf("%s-%d", base, n)
	}
}
