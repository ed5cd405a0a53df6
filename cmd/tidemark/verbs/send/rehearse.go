package send

// The verb rehearse plays a plan in virtual time on the simulator's engine model. Package
// internal/engine/rehearsal plays; this file draws the plan, as replay does, and says what came
// of it. With --keep replay.Rehearse writes the folder of a run, which is ingested and
// judged like any other; with --slo alone that happens in a folder that is removed again.
//
// Exit codes: 0, or of a run that is kept or judged as replay's; 2 for a deployment that does not
// exist or choices that make no sense; 4 for anything else.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay"
	"tidemark/replay/plan"
)

type rehearseFlags struct {
	Planning
	kit.Deployment
	kit.Engine
	scale                                             float64
	replicas, maxConcurrency                          int
	routing, history, cache, slo, runs, runName, note string
	isKept                                            bool
	warmUp                                            time.Duration
}

func RehearseCommand() *cli.Command {
	f := &rehearseFlags{}
	choices := f.Choices.Flags()
	return &cli.Command{
		Name:      "rehearse",
		Usage:     "play a trace on a modelled server, an hour in a second",
		ArgsUsage: "SOURCE | PROFILE | PLAN",
		Description: `Sends nothing and waits for nothing: the same requests as replay would send, on
the same engine model as simulate (scheduler, KV blocks, prefix cache, chunked
prefill, preemption), with the step times of predict. Each replica is an engine
of its own.

Example:
  tidemark rehearse azure-conv --gpu H100 --catalog-model llama-3.1-8b
  tidemark rehearse azure-conv --scale 2 --replicas 2 --gpu H100 --catalog-model llama-3.1-8b --keep`,
		Flags: f.TableFlags(slices.Concat(choices, f.Deployment.Flags(choices...), []cli.Flag{
			&cli.Float64Flag{Name: "scale", Usage: "`2` times as much traffic: whole sessions are cloned or left out", Destination: &f.scale},
			&cli.IntFlag{Name: "replicas", Usage: "`N` servers share the traffic", Value: 1, Destination: &f.replicas, Action: kit.AtLeastOne[int]("replicas")},
			&cli.StringFlag{Name: "routing", Usage: "how they share it: in `turns` as replay does, sessions staying together, least-loaded, or by prefix", Value: rehearsal.Turns, Destination: &f.routing, Action: kit.OneOf("routing", rehearsal.Routings...)},
			&cli.IntFlag{Name: "max-concurrency", Usage: "at most `N` in flight; over an open loop the wait is shown as held", Destination: &f.maxConcurrency, Action: kit.AtLeastOne[int]("max-concurrency")},
			&cli.StringFlag{Name: "history", Usage: "later turns of sessions repeat what was `planned` or what was answered", Value: "planned", Destination: &f.history, Action: kit.OneOf("history", "planned", "answered")},
			&cli.StringFlag{Name: "cache", Usage: "the prefix cache is empty at first (`as-is`), or cold: shares nothing", Value: "as-is", Destination: &f.cache, Action: kit.OneOf("cache", "as-is", "cold")},
		}, f.Engine.Flags(), []cli.Flag{
			&cli.BoolFlag{Name: "keep", Usage: "keep it as a run, with everything that can be asked of one", Destination: &f.isKept},
			&cli.StringFlag{Name: "slo", Usage: "judge it by the SLO in `FILE`", Destination: &f.slo},
			&cli.DurationFlag{Name: "warm-up", Usage: "with --keep or --slo: flag the first `30s` and leave them out of every figure", Destination: &f.warmUp},
			&cli.StringFlag{Name: "runs", Usage: "with --keep: keep runs in `DIR`", Value: "runs", Destination: &f.runs},
			&cli.StringFlag{Name: "name", Usage: "with --keep: call the run `NAME`", Destination: &f.runName},
			&cli.StringFlag{Name: "note", Usage: "with --keep: `TEXT` that a reader of the run must know", Destination: &f.note},
		})...),
		Action: f.Do(f.run),
	}
}

func (f *rehearseFlags) run() error {
	what, err := f.OneArgument("source, profile or plan")
	if err != nil {
		return err
	}
	if err := f.check(what); err != nil {
		return err
	}
	r, err := f.prepareRehearsal(what)
	if err != nil {
		return err
	}
	defer r.drop()
	switch {
	case f.isKept:
		return f.keep(r, what)
	case f.slo != "":
		return f.judge(r, what)
	}
	return r.say(&f.Call, what)
}

// check refuses flags that contradict each other before a plan is drawn.
func (f *rehearseFlags) check(what string) error {
	if err := f.Require("gpu", "catalog-model"); err != nil {
		return err
	}
	if flag := f.Given("name", "note", "runs"); flag != "" && !f.isKept {
		return hint.Misuse("rehearse: --%s is for a run that is kept", flag).Hint("add --keep")
	}
	if f.IsGiven("warm-up") && !f.isKept && f.slo == "" {
		return hint.Misuse("rehearse: --warm-up is for a run that is kept or judged").Hint("add --keep, or --slo FILE")
	}
	if err := errors.Join(f.SettleHistory(&f.Call, f.history), f.setScale(what)); err != nil {
		return err
	}
	f.Said.MaxModelLen = f.MaxModelLen
	return f.setConcurrency(what, &f.maxConcurrency)
}

// setScale turns --scale into the choice of sessions that makes it.
func (f *rehearseFlags) setScale(what string) error {
	if !f.IsGiven("scale") {
		return nil
	}
	if flag := f.Given("thin", "thicken", "request-rate"); flag != "" {
		return f.Exclusive("scale", flag)
	}
	if plan.IsFile(what) {
		return hint.Misuse("rehearse: --scale chooses from a source; %s is a plan already", what)
	}
	switch {
	case !(f.scale > 0 && f.scale <= 1000):
		return hint.Misuse("%s: --scale %v: must be above 0 and at most 1000", f.Verb, f.scale)
	case f.scale < 1:
		f.Thin = f.scale
	case f.scale > 1:
		f.Thicken = f.scale
	}
	return nil
}

// readyRehearsal is a plan and the servers that it is played on.
type readyRehearsal struct {
	plan       *plan.Plan
	deployment deployment.Deployment
	settings   rehearsal.Settings
	drop       func()
}

// prepareRehearsal draws the plan and asks for the step cost while the warehouse is open once.
func (f *rehearseFlags) prepareRehearsal(what string) (r readyRehearsal, err error) {
	path, drop, err := f.PlanFor(what, func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		var cost analysis.StepCost
		cost, r.settings.Engine, err = engineOf(ctx, w, f.Said)
		r.deployment = cost.Deployment
		return err
	})
	if err != nil {
		return r, err
	}
	r.drop = drop
	if r.plan, err = plan.Open(path); err != nil {
		drop()
		return r, err
	}
	f.Engine.Set(&r.settings.Engine)
	r.settings.Engine.MaxModelLen = min(cmp.Or(r.deployment.MaxModelLen, 131072), r.settings.Engine.KVTokens())
	r.settings.Replicas, r.settings.Routing = f.replicas, f.routing
	r.settings.Mode = cmp.Or(f.Mode, r.plan.Header().Mode)
	r.settings.MaxConcurrency = f.maxConcurrency
	r.settings.IsAnswered, r.settings.IsCold = f.history == "answered", f.cache == "cold"
	if r.settings.Mode == "closed" && r.settings.MaxConcurrency == 0 {
		drop()
		err = hint.Misuse("rehearse: a closed loop needs --max-concurrency").Hint("--max-concurrency 64")
	}
	return r, err
}

// say plays the plan and prints what came of it; nothing is written.
func (r readyRehearsal) say(c *kit.Call, what string) error {
	var s rehearsal.Summary
	r.settings.Sample = s.Sample
	if err := rehearsal.Play(c.Context, r.settings, r.plan.Requests(), s.Add); err != nil {
		return err
	}
	if c.IsForPrograms() {
		return c.PrintTable(r.facts(what, &s))
	}
	c.Remark("%s", r.firstLine(what, &s))
	c.Gap()
	table := kit.TableOf("", "mean", "p50", "p90", "p95", "p99")
	for _, row := range []struct {
		name   string
		values *rehearsal.Values
	}{{"TTFT", &s.TTFT}, {"TTFT from due", &s.TTFTFromDue}, {"TPOT", &s.TPOT}, {"E2E", &s.E2E}} {
		cells := []any{row.name, show.Duration(row.values.Mean())}
		for _, q := range []float64{0.5, 0.9, 0.95, 0.99} {
			cells = append(cells, show.Duration(row.values.Quantile(q)))
		}
		table.Rows = append(table.Rows, cells)
	}
	if err := c.PrintTable(table); err != nil {
		return err
	}
	c.Gap()
	c.Remark("%s", r.lastLine(&s))
	return nil
}

func (r readyRehearsal) firstLine(what string, s *rehearsal.Summary) string {
	servers := "one server"
	if n := r.settings.Replicas; n > 1 {
		servers = fmt.Sprintf("%d servers", n)
	}
	rate := show.Figures(s.RequestsPerS()) + " requests/s"
	if h := r.plan.Header(); s.IsOverloaded(h.DurationS) && r.settings.Mode != "closed" {
		rate = fmt.Sprintf("%s requests/s served of %s offered: overloaded", show.Figures(s.RequestsPerS()), show.Figures(h.MeanRatePerS))
	}
	return fmt.Sprintf("%s, rehearsed on %s of %d x %s with %s: p99 TTFT %s and p99 TPOT %s at %s, %s tokens/s.",
		what, servers, r.deployment.GPUs(), r.deployment.GPU, r.deployment.ModelName(),
		show.Duration(s.TTFT.Quantile(0.99)), show.Duration(s.TPOT.Quantile(0.99)), rate, show.Figures(s.OutputPerS()))
}

func (r readyRehearsal) lastLine(s *rehearsal.Summary) string {
	line := fmt.Sprintf("%s requests in %s; %s ran at once on a server on average, at most %s waited; the KV cache was at most %.0f %% full",
		show.Count(s.Requests), show.Duration(s.End.Seconds()), show.Figures(s.MeanRunning()), show.Count(s.MaxWaiting), 100*s.MaxKVUsage)
	if s.Preemptions > 0 {
		line += fmt.Sprintf("; %s preemptions", show.Count(s.Preemptions))
	}
	if s.CachedTokens > 0 {
		line += fmt.Sprintf("; the prefix cache had %.0f %% of the prompts", 100*s.CachedRatio())
	}
	if s.Failed > 0 {
		line += fmt.Sprintf("; %s were longer than the model and refused", show.Count(s.Failed))
	}
	return line + "."
}

// facts is everything as one row, for programs.
func (r readyRehearsal) facts(what string, s *rehearsal.Summary) analysis.Table {
	table := kit.TableOf("source", "gpu", "model", "replicas", "requests", "failed", "input_tokens", "output_tokens", "cached_tokens", "preemptions", "duration_s",
		"requests_per_s", "output_tokens_per_s", "mean_running", "max_waiting", "max_kv_usage_ratio")
	row := []any{what, r.deployment.GPU, r.deployment.ModelName(), int64(r.settings.Replicas), int64(s.Requests), int64(s.Failed), s.InputTokens, s.OutputTokens, s.CachedTokens,
		s.Preemptions, s.End.Seconds(), s.RequestsPerS(), s.OutputPerS(), s.MeanRunning(), int64(s.MaxWaiting), s.MaxKVUsage}
	for _, metric := range []struct {
		name   string
		values *rehearsal.Values
	}{{"ttft_s", &s.TTFT}, {"ttft_from_due_s", &s.TTFTFromDue}, {"tpot_s", &s.TPOT}, {"e2e_s", &s.E2E}} {
		table.Columns = append(table.Columns, "mean_"+metric.name)
		row = append(row, metric.values.Mean())
		for _, p := range []int{50, 90, 95, 99} {
			table.Columns = append(table.Columns, fmt.Sprintf("p%d_%s", p, metric.name))
			row = append(row, metric.values.Quantile(float64(p)/100))
		}
	}
	table.Rows = [][]any{row}
	return table
}

// keep writes the rehearsal as a run and ingests it.
func (f *rehearseFlags) keep(r readyRehearsal, what string) error {
	folder, runID, err := f.write(r, what)
	if err != nil {
		return err
	}
	return conclude(&f.Call, AskedFor(f.Context, f.Wait), folder, runID)
}

// judge judges the rehearsal as a run that is kept, and keeps nothing.
func (f *rehearseFlags) judge(r readyRehearsal, what string) (err error) {
	if f.runs, err = os.MkdirTemp("", "tidemark-rehearsal-"); err != nil {
		return err
	}
	defer os.RemoveAll(f.runs)
	folder, runID, err := f.write(r, what)
	if err != nil {
		return err
	}
	said, err := f.JudgeApart(f.Context, folder, runID)
	if err != nil {
		return err
	}
	return cmp.Or(f.PrintRunsEnding(said), exitOf(said.Outcome))
}

// write plays the plan and writes the folder of a run.
func (f *rehearseFlags) write(r readyRehearsal, what string) (folder, runID string, err error) {
	slo, err := kit.SLOOf(f.slo)
	if err != nil {
		return "", "", err
	}
	runID = newRunID(what)
	settings := replay.Settings{
		RunID: runID, Name: f.runName, Note: f.note, Version: kit.Version, Model: r.deployment.ModelName(),
		Mode: r.settings.Mode, MaxConcurrency: r.settings.MaxConcurrency, History: f.history, WarmUp: f.warmUp, SLO: slo,
		Environment: &r.deployment, EnvironmentSource: "flags", Seed: r.plan.Header().Seed,
	}
	if r.settings.IsCold {
		settings.Cache = "cold"
	}
	if err := checkAgainstPlan(settings, r.plan.Header()); err != nil {
		return "", "", err
	}
	folder = filepath.Join(f.runs, runID)
	_, err = replay.Rehearse(f.Context, r.plan, settings, r.settings, folder)
	return folder, runID, err
}
