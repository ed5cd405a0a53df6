package send

// The verb rehearse plays a plan in virtual time on the simulator's engine model. Package
// internal/engine/rehearsal plays; this file draws the plan, as replay does, and says what came
// of it. With --keep replay.Rehearse writes the folder of a run, which is ingested and
// judged like any other.
//
// Exit codes: 0, or of a run that is kept as replay's; 2 for a deployment that does not
// exist or choices that make no sense; 4 for anything else.

import (
	"cmp"
	"context"
	"fmt"
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

func RehearseCommand() *cli.Command {
	choices := ChoiceFlags()
	return &cli.Command{
		Name:      "rehearse",
		Usage:     "play a trace on a modelled server, an hour in a second",
		ArgsUsage: "SOURCE | PROFILE | PLAN",
		Description: `Sends nothing and waits for nothing: the same requests as replay would send, on
the same engine model as simulate (scheduler, KV blocks, prefix cache, chunked
prefill, preemption), with the step times of predict. Each replica is an engine
of its own.

Example:
  tidemark rehearse azure-conv --gpu H100 --model llama-3.1-8b
  tidemark rehearse azure-conv --scale 2 --replicas 2 --gpu H100 --model llama-3.1-8b --keep`,
		Flags: kit.WithTableFlags(slices.Concat(choices, kit.DeploymentFlags(choices...), []cli.Flag{
			&cli.Float64Flag{Name: "scale", Usage: "`2` times as much traffic: whole sessions are cloned or left out"},
			&cli.IntFlag{Name: "replicas", Usage: "`N` servers share the traffic", Value: 1},
			&cli.StringFlag{Name: "routing", Usage: "how they share it: in `turns` as replay does, sessions staying together, or least-loaded", Value: rehearsal.Turns},
			&cli.IntFlag{Name: "max-concurrency", Usage: "at most `N` in flight; over an open loop the wait is shown as held"},
			&cli.StringFlag{Name: "history", Usage: "later turns of sessions repeat what was `planned` or what was answered", Value: "planned"},
			&cli.StringFlag{Name: "cache", Usage: "the prefix cache is empty at first (`as-is`), or cold: shares nothing", Value: "as-is"},
			&cli.IntFlag{Name: "block-size", Usage: "`TOKENS` of a KV block", Value: 16},
			&cli.BoolFlag{Name: "no-prefix-caching", Usage: "switch the prefix cache off"},
			&cli.BoolFlag{Name: "keep", Usage: "keep it as a run, with everything that can be asked of one"},
			&cli.StringFlag{Name: "slo", Usage: "with --keep: judge the run by the SLO in `FILE`"},
			&cli.DurationFlag{Name: "warm-up", Usage: "with --keep: flag the first `30s` and leave them out of every figure"},
			&cli.StringFlag{Name: "runs", Usage: "with --keep: keep runs in `DIR`", Value: "runs"},
			&cli.StringFlag{Name: "name", Usage: "with --keep: call the run `NAME`"},
			&cli.StringFlag{Name: "note", Usage: "with --keep: `TEXT` that a reader of the run must know"},
		})...),
		Action: runRehearse,
	}
}

func runRehearse(c *cli.Context) error {
	what, err := kit.OneArgument(c, "source, profile or plan")
	if err != nil {
		return err
	}
	if err := checkRehearse(c); err != nil {
		return err
	}
	if err := setConcurrency(c, what); err != nil {
		return err
	}
	r, err := prepareRehearsal(c, what)
	if err != nil {
		return err
	}
	defer r.drop()
	if c.Bool("keep") {
		return r.keep(c, what)
	}
	return r.say(c, what)
}

// checkRehearse refuses flags that contradict each other before a plan is drawn.
func checkRehearse(c *cli.Context) error {
	if err := kit.RequireFlags(c, "gpu", "model"); err != nil {
		return err
	}
	if err := kit.PositiveFlags(c, "replicas", "block-size", "max-concurrency"); err != nil {
		return err
	}
	if !c.Bool("keep") {
		for _, flag := range []string{"slo", "warm-up", "name", "note", "runs"} {
			if c.IsSet(flag) {
				return hint.Misuse("rehearse: --%s is for a run that is kept", flag).Hint("add --keep")
			}
		}
	}
	for flag, words := range map[string][]string{"routing": {rehearsal.Turns, rehearsal.LeastLoaded}, "cache": {"as-is", "cold"}, "history": {"planned", "answered"}} {
		if !slices.Contains(words, c.String(flag)) {
			return hint.Misuse("rehearse: --%s %s: must be %s or %s", flag, c.String(flag), words[0], words[1])
		}
	}
	if err := settleHistory(c); err != nil {
		return err
	}
	return setScale(c)
}

// setScale turns --scale into the choice of sessions that makes it.
func setScale(c *cli.Context) error {
	if !c.IsSet("scale") {
		return nil
	}
	for _, flag := range []string{"thin", "thicken", "request-rate"} {
		if err := kit.Exclusive(c, "scale", flag); err != nil {
			return err
		}
	}
	scale := c.Float64("scale")
	switch {
	case !(scale > 0 && scale <= 1000):
		return hint.Misuse("%s: --scale %v: must be above 0 and at most 1000", c.Command.Name, scale)
	case scale < 1:
		return c.Set("thin", fmt.Sprint(scale))
	case scale > 1:
		return c.Set("thicken", fmt.Sprint(scale))
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
func prepareRehearsal(c *cli.Context, what string) (r readyRehearsal, err error) {
	named, err := kit.GivenDeployment(c)
	if err != nil {
		return r, err
	}
	isAsked := false
	ask := func(ctx context.Context, w *warehouse.Warehouse) error {
		isAsked = true
		r.deployment, r.settings.Engine, err = engineOf(ctx, w, named)
		return err
	}
	path, drop, err := PlanFor(c, what, ask)
	if err == nil {
		r.drop = drop
		if !isAsked { // a plan file needed no warehouse
			err = kit.Calculator(c, ask)
		}
		if err == nil {
			r.plan, err = plan.Open(path)
		}
		if err != nil {
			drop()
		}
	}
	if err != nil {
		return r, err
	}
	e := &r.settings.Engine
	e.BlockSize = c.Int("block-size")
	e.KVBlocks = e.KVBlocks * 16 / e.BlockSize
	e.EnablePrefixCaching = !c.Bool("no-prefix-caching")
	e.MaxModelLen = min(cmp.Or(r.deployment.MaxModelLen, 131072), e.KVBlocks*e.BlockSize)
	r.settings.Replicas, r.settings.Routing = c.Int("replicas"), c.String("routing")
	r.settings.Mode = cmp.Or(c.String("mode"), r.plan.Header().Mode)
	r.settings.MaxConcurrency = c.Int("max-concurrency")
	r.settings.IsAnswered, r.settings.IsCold = c.String("history") == "answered", c.String("cache") == "cold"
	if r.settings.Mode == "closed" && r.settings.MaxConcurrency == 0 {
		err = hint.Misuse("rehearse: a closed loop needs --max-concurrency").Hint("--max-concurrency 64")
	}
	return r, err
}

// say plays the plan and prints what came of it; nothing is written.
func (r readyRehearsal) say(c *cli.Context, what string) error {
	var s rehearsal.Summary
	r.settings.Sample = s.Sample
	if err := rehearsal.Play(c.Context, r.settings, r.plan.Requests(), s.Add); err != nil {
		return err
	}
	if kit.IsForPrograms(c) {
		return kit.PrintTable(c, r.facts(what, &s))
	}
	kit.Remark(c, "%s", r.firstLine(what, &s))
	kit.Gap(c)
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
	if err := kit.PrintTable(c, table); err != nil {
		return err
	}
	kit.Gap(c)
	kit.Remark(c, "%s", r.lastLine(&s))
	return nil
}

func (r readyRehearsal) firstLine(what string, s *rehearsal.Summary) string {
	servers := "one server"
	if n := r.settings.Replicas; n > 1 {
		servers = fmt.Sprintf("%d servers", n)
	}
	return fmt.Sprintf("%s, rehearsed on %s of %d x %s with %s: p99 TTFT %s and p99 TPOT %s at %s requests/s, %s tokens/s.",
		what, servers, r.deployment.GPUs(), r.deployment.GPU, r.deployment.ModelName(),
		show.Duration(s.TTFT.Quantile(0.99)), show.Duration(s.TPOT.Quantile(0.99)), show.Figures(perSecond(float64(s.Requests), s.End)), show.Figures(perSecond(float64(s.OutputTokens), s.End)))
}

func (r readyRehearsal) lastLine(s *rehearsal.Summary) string {
	line := fmt.Sprintf("%s requests in %s; %s ran at once on a server on average, at most %s waited; the KV cache was at most %.0f %% full",
		show.Count(s.Requests), show.Duration(s.End.Seconds()), show.Figures(s.MeanRunning()), show.Count(s.MaxWaiting), 100*s.MaxKVUsage)
	if s.Preemptions > 0 {
		line += fmt.Sprintf("; %s preemptions", show.Count(s.Preemptions))
	}
	if s.CachedTokens > 0 {
		line += fmt.Sprintf("; the prefix cache had %.0f %% of the prompts", 100*float64(s.CachedTokens)/float64(s.InputTokens))
	}
	if s.Failed > 0 {
		line += fmt.Sprintf("; %s were longer than the model and refused", show.Count(s.Failed))
	}
	return line + "."
}

func perSecond(n float64, d time.Duration) float64 { return n / max(d.Seconds(), 1e-9) }

// facts is everything as one row, for programs.
func (r readyRehearsal) facts(what string, s *rehearsal.Summary) analysis.Table {
	table := kit.TableOf("source", "gpu", "model", "replicas", "requests", "failed", "input_tokens", "output_tokens", "cached_tokens", "preemptions", "duration_s",
		"requests_per_s", "output_tokens_per_s", "mean_running", "max_waiting", "max_kv_usage_ratio")
	row := []any{what, r.deployment.GPU, r.deployment.ModelName(), int64(r.settings.Replicas), int64(s.Requests), int64(s.Failed), s.InputTokens, s.OutputTokens, s.CachedTokens,
		s.Preemptions, s.End.Seconds(), perSecond(float64(s.Requests), s.End), perSecond(float64(s.OutputTokens), s.End), s.MeanRunning(), int64(s.MaxWaiting), s.MaxKVUsage}
	for _, metric := range []struct {
		name   string
		values *rehearsal.Values
	}{{"ttft_s", &s.TTFT}, {"ttft_from_due_s", &s.TTFTFromDue}, {"tpot_s", &s.TPOT}, {"e2e_s", &s.E2E}} {
		table.Columns = append(table.Columns, analysis.Column{Name: "mean_" + metric.name})
		row = append(row, metric.values.Mean())
		for _, p := range []int{50, 90, 95, 99} {
			table.Columns = append(table.Columns, analysis.Column{Name: fmt.Sprintf("p%d_%s", p, metric.name)})
			row = append(row, metric.values.Quantile(float64(p)/100))
		}
	}
	table.Rows = [][]any{row}
	return table
}

// keep writes the rehearsal as a run and ingests it.
func (r readyRehearsal) keep(c *cli.Context, what string) error {
	slo, err := sloOf(c.String("slo"))
	if err != nil {
		return err
	}
	runID := newRunID(what)
	settings := replay.Settings{
		RunID: runID, Name: c.String("name"), Note: c.String("note"), Version: kit.Version, Model: r.deployment.ModelName(),
		Mode: r.settings.Mode, MaxConcurrency: r.settings.MaxConcurrency, History: c.String("history"), WarmUp: c.Duration("warm-up"), SLO: slo,
		Environment: &r.deployment, EnvironmentSource: "flags", Seed: r.plan.Header().Seed,
	}
	if r.settings.IsCold {
		settings.Cache = "cold"
	}
	if err := checkAgainstPlan(settings, r.plan.Header()); err != nil {
		return err
	}
	folder := filepath.Join(c.String("runs"), runID)
	if _, err := replay.Rehearse(c.Context, r.plan, settings, r.settings, folder); err != nil {
		return err
	}
	return conclude(c, AskedFor(c), folder, runID)
}
