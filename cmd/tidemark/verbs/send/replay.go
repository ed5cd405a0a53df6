package send

// The verb replay sends a plan to a server and ingests the run. Package replay sends;
// this file checks before, and judges after.
//
// The order of the steps matters:
//
//  1. Flags are checked against each other, before the warehouse is opened.
//  2. The plan is drawn and the warehouse is closed again (writeplan.go).
//  3. The plan is checked against the flags, before the first request.
//  4. replay.Run sends. Its files are complete whatever happens from here on.
//  5. The run is ingested and judged, also after a Ctrl-C, with a context of its own.
//
// If step 5 cannot have the warehouse the run is safe on disk, and the hint names the
// command that ingests it.
//
// Exit codes: 0 valid, and the SLO met; 1 too many requests failed, or the SLO was not
// met or could not be decided; 3 the client or its set-up spoilt the run; 2 misuse; 4
// anything else; 130 and 143 after a signal.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/watch"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay"
	"tidemark/replay/experiment"
	"tidemark/replay/plan"
)

type replayFlags struct {
	Planning
	kit.Target
	kit.Deployment
	watching
	steps, shard, startAt string
}

func ReplayCommand() *cli.Command {
	f := &replayFlags{}
	choices := f.Choices.Flags()
	return &cli.Command{
		Name:      "replay",
		Usage:     "send a trace to an LLM server, on time; ingest the run",
		ArgsUsage: "SOURCE | PROFILE | PLAN",
		Description: `Each request is sent at its due time, whether or not others have ended. The
key comes from $OPENAI_API_KEY or --api-key-file. The first Ctrl-C stops
sending and lets open streams finish; the second ends the program at once.
The run's folder is complete either way. Exit code 1: too many requests
failed, or the SLO was not met, or more requests are needed to decide; 3:
this client or its set-up made the run invalid; the verdict says why.

Example:
  tidemark replay azure-code --duration 10m --base-url http://gpu1:8000 \
    --model llama --gpu H100 --catalog-model llama-3.1-8b --slo slo.yaml
  tidemark replay gtc-multiturn --steps 0.5,1,2,4 --duration 5m \
    --base-url http://gpu1:8000 --model llama`,
		Flags: f.WarehouseFlags(slices.Concat(choices, f.Target.Flags(), []cli.Flag{
			&cli.StringFlag{Name: "steps", Usage: "one run after the other at `1,2,4` requests/s, or with --mode closed that many in flight; the server drains in between", Destination: &f.steps},
			&cli.StringFlag{Name: "routing", Usage: "several --base-url share it in `turns`, sessions staying together; by least-loaded, or by prefix", Value: rehearsal.Turns, Destination: &f.To.Routing, Action: kit.OneOf("routing", rehearsal.Routings...)},
			&cli.StringFlag{Name: "shard", Usage: "send part `I/N` of a plan, I from 0; /N takes I from $" + completionIndex, Destination: &f.shard},
			&cli.StringFlag{Name: "start-at", Usage: "begin at a `TIME` as in 2026-08-01T12:00:00Z, like the other shards", Destination: &f.startAt},
		}, f.watching.flags(), f.ServedFlags(choices...))...),
		Action: f.Do(f.run),
	}
}

// run checks the flags against each other and the plan before anything is
// sent. Then it sends, and judges what came back.
func (f *replayFlags) run() error {
	what, err := f.OneArgument("source, profile or plan")
	if err != nil {
		return err
	}
	asked := AskedFor(f.Context, f.Wait)
	if asked.isChecked {
		_, err := f.settings(what)
		return err
	}
	if err := errors.Join(f.NotASnapshot(), f.Target.Check(&f.Call)); err != nil {
		return err
	}
	shard, startAt, err := f.shardAsked(what)
	if err != nil {
		return err
	}
	what, drop, err := fetchedPlan(f.Context, what)
	if err != nil {
		return err
	}
	defer drop()
	if f.steps != "" && f.isWatched {
		return hint.Misuse("replay: --steps and --watch exclude each other").Hint("watch one run: replay --watch --request-rate 2")
	}
	if f.steps != "" {
		return f.runSteps(what)
	}
	settings, err := f.settings(what)
	if err != nil {
		return err
	}
	closed, err := f.open(&f.Call)
	if err != nil {
		return err
	}
	defer closed()
	settings.StartAt = startAt
	runID := newRunID(what)
	ready, err := f.prepare(what, settings.Environments)
	if err != nil {
		return err
	}
	defer ready.drop()
	if ready.rejected != "" {
		f.Tell("%s", ready.rejected)
	}
	settings.RunID = runID
	settings.Environment, settings.EnvironmentSource = ready.environment, ready.environmentSource
	settings.Named = ready.named
	settings.CatalogName = func(served string) string {
		return catalogName(f.Context, served, ready.environment.CatalogModel)
	}
	settings.PredictTPOT = ready.predictTPOT
	settings.Series = asked.series
	if shard != nil {
		return f.sendShard(what, *shard, settings)
	}
	folder := filepath.Join(f.Runs, runID)
	sendErr := f.send(ready.planPath, folder, settings)
	if _, err := os.Stat(filepath.Join(folder, "run.json")); err != nil || errors.Is(sendErr, fs.ErrExist) {
		return sendErr // there is no run, or another process has it
	}
	if f.Context.Err() == nil {
		if err := asked.Sent(runID); err != nil {
			return err
		}
	}
	err = conclude(&f.Call, asked, folder, runID)
	switch {
	case asked.Result.Outcome == experiment.NotTakenIn:
		return nil // the experiment ingests it later
	case sendErr == nil:
		return err
	case kit.ExitCode(err) == kit.ExitInvalid, kit.ExitCode(err) == kit.ExitNotMet:
		return kit.ExitError{Code: kit.ExitCode(err), Err: sendErr} // it was ingested as well; the reason why it stopped matters more
	}
	return errors.Join(sendErr, err)
}

// settings are those of the flags, checked against each other.
func (f *replayFlags) settings(what string) (replay.Settings, error) {
	err := errors.Join(f.Target.Check(&f.Call), f.setConcurrency(what, &f.To.MaxConcurrency), f.Choices.Check(&f.Call))
	if err == nil {
		err = f.SettleHistory(&f.Call, f.To.History)
	}
	if err != nil {
		return replay.Settings{}, err
	}
	f.Said.MaxModelLen = f.MaxModelLen
	return f.Settings(&f.Call, f.Mode, f.Said.Engine)
}

// setConcurrency uses the concurrency that a profile or a plan is meant for, unless
// another is requested.
func (p *Planning) setConcurrency(what string, most *int) error {
	if p.IsGiven("max-concurrency") {
		return nil
	}
	if plan.IsFile(what) {
		plan, err := plan.Open(what)
		if err != nil {
			return err
		}
		*most = plan.Header().MaxConcurrency
	} else if shape, err := p.chosenProfile(what); err != nil {
		return err
	} else if shape != nil {
		*most = shape.MaxConcurrency
	}
	if *most > 0 {
		p.Tell("at most %d in flight, as %s has it", *most, what)
	}
	return nil
}

// send replays a plan into a folder.
func (f *replayFlags) send(planPath, folder string, settings replay.Settings) error {
	plan, err := plan.Open(planPath)
	if err != nil {
		return err
	}
	h := plan.Header()
	if f.Mode == "" && h.Mode != "" {
		settings.Mode = h.Mode
	}
	if settings.Mode == "sessions" && h.Mode != "sessions" && h.Sessions < h.Requests {
		// Otherwise a turn may be due before it is read, and would count as late.
		return hint.Misuse("replay: %s was planned for mode open", planPath).Hint("plan it again with --mode sessions")
	}
	if err := checkAgainstPlan(settings, h); err != nil {
		return err
	}
	settings.Seed = privateSeed(h.Seed, settings.RunID)
	tellFaults(&f.Call, f.Runs)
	f.Tell("sending %s to %s; seed %d", f.load(settings.Mode, h), kit.ShownServers(settings), h.Seed)
	title := fmt.Sprintf("%s to %s", cmp.Or(h.Source, "A plan"), kit.ShownServers(settings))
	end, err := f.follow(&f.Call, &settings, title, func() watch.Asked { return watch.AskedBy(settings.Mode, plan.Requests()) })
	if err != nil {
		return err
	}
	settings.Tell = func(text string) { f.Tell("%s", text) }
	silent := context.AfterFunc(f.Context, func() {
		f.Tell("stopping: nothing more is sent, open streams may finish; Ctrl-C again ends at once")
	})
	defer silent()
	_, err = replay.Run(f.Context, plan, settings, folder)
	end()
	return err
}

// privateSeed seeds the tokens that belong to no shared block. In production nobody
// else has these tokens, so two runs of one plan must not find each other's prompts
// in the server's cache. The run keeps the seed.
func privateSeed(planSeed uint64, runID string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", planSeed, runID)
	return h.Sum64() >> 1 // fits SQL's bigint, which is signed
}

// checkAgainstPlan finds settings that contradict this plan, before anything is
// sent.
func checkAgainstPlan(s replay.Settings, h plan.Header) error {
	if s.Mode != "closed" && s.Mode != "sessions" && s.WarmUp > 0 && s.WarmUp.Seconds() >= h.DurationS {
		return hint.Misuse("replay: --warm-up %v is all of the plan: its last request is due at %s", s.WarmUp, show.Duration(h.DurationS)).
			Hint("what is warm-up is left out of every figure: make it shorter, or the plan longer")
	}
	for class := range s.Routes {
		if err := checkClass(h, "--route", class); err != nil {
			return err
		}
	}
	for class := range s.Models {
		if err := checkClass(h, "--class-model", class); err != nil {
			return err
		}
	}
	var slo analysis.SLO
	if s.SLO != nil {
		if err := json.Unmarshal(s.SLO, &slo); err != nil {
			return err
		}
	}
	for _, objective := range slo.Objectives {
		if err := checkClass(h, "--slo", objective.Class); err != nil {
			return err
		}
	}
	return nil
}

// mostClasses is how many classes a plan names. If it has more, no class can be
// refused as unknown.
const mostClasses = 100

// checkClass refuses a class that no request of the plan has: its bound would hold for
// nothing, and its server would get nothing.
func checkClass(h plan.Header, flag, class string) error {
	if class == "" || slices.Contains(h.Classes, class) || len(h.Classes) == mostClasses {
		return nil
	}
	known := "the plan has no classes"
	if len(h.Classes) > 0 {
		known = "its classes are " + strings.Join(h.Classes, ", ")
	}
	return hint.Misuse("replay: %s: no request of the plan is of class %q", flag, class).Hint("%s", known)
}

// load says how much is sent and in which mode.
func (f *replayFlags) load(mode string, h plan.Header) string {
	switch mode {
	case "closed":
		return fmt.Sprintf("%d requests, %d in flight", h.Requests, f.To.MaxConcurrency)
	case "sessions":
		text := fmt.Sprintf("%d requests of sessions, in %s or longer", h.Requests, show.Span(h.DurationS))
		if asked := h.Scaling.DurationS; asked > 0 && h.DurationS > asked {
			text += fmt.Sprintf(" (they begin within %s and go on to their end, with think times)", show.Span(asked))
		}
		return text
	}
	switch {
	case h.MeanRatePerS == 0:
		return fmt.Sprintf("%d requests, all at once,", h.Requests)
	case h.Requests < 10: // their rate is chance
		return fmt.Sprintf("%d requests in %s", h.Requests, show.Span(h.DurationS))
	}
	return fmt.Sprintf("%d requests in %s at %s/s", h.Requests, show.Span(h.DurationS), show.Figures(h.MeanRatePerS))
}

// conclude ingests the run, prints the verdict and returns the exit code.
func conclude(c *kit.Call, asked *Asked, folder, runID string) error {
	// With a context of its own: an interrupted run is ingested too.
	said, err := c.IngestRun(context.WithoutCancel(c.Context), asked.Wait, folder, runID)
	if asked.series != nil && errors.Is(err, warehouse.ErrHeld) {
		c.Tell("%v; the run is kept and will be ingested later", err)
		asked.Result = experiment.Result{RunID: runID, Outcome: experiment.NotTakenIn}
		return nil
	}
	if err != nil {
		return err
	}
	if asked.series != nil {
		c.Remark("%s", said.Headline()) // the experiment prints the figures of all rows
	} else if err := c.PrintRunsEnding(said); err != nil {
		return err
	} else {
		c.Tell("run in %s", folder)
		c.Tell("see it: tidemark report %s --output report.html%s", escape.Shell(runID), c.WarehouseWords())
	}
	asked.Result = experiment.Result{RunID: runID, Outcome: said.Outcome, FirstLine: said.FirstLine}
	return exitOf(said.Outcome)
}

// exitOf is the exit code of a verdict, as an error; nil: 0.
func exitOf(outcome experiment.Outcome) error {
	switch outcome {
	case experiment.Invalid:
		return kit.ExitError{Code: kit.ExitInvalid}
	case experiment.NotMet, experiment.Undecided:
		return kit.ExitError{Code: kit.ExitNotMet}
	}
	return nil
}

var notInID = regexp.MustCompile(`[^a-z0-9-]+`)

// stemOf is a part of a run's name that says what was sent: "azure-code".
func stemOf(what string) string {
	stem := strings.ToLower(filepath.Base(what))
	for _, suffix := range []string{".zst", ".jsonl", ".yaml", ".yml"} {
		stem = strings.TrimSuffix(stem, suffix)
	}
	return strings.Trim(notInID.ReplaceAllString(stem, "-"), "-")
}

// newRunID combines the instant, what is sent and a random part:
// "20260101-093000-azure-code-3f9a". Runs that start at the same time, in whatever
// folders, get different ids.
func newRunID(what string) string {
	return fmt.Sprintf("%s-%s-%04x", time.Now().UTC().Format("20060102-150405"), stemOf(what), rand.N(1<<16))
}
