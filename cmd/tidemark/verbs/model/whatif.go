package model

// The verb what-if predicts the same traffic on other deployments: a row per combination
// of the values given, printed by whatifprint.go. The traffic is
// condensed once into a mix of lengths and arrivals (analysis.MixOf), then
// analysis.WhatIf asks the bandwidth model and the queue for each row.
//
// A run brings its own deployment, which is the base, and what it measured, which stands
// next to the prediction. A trace, profile or plan has run nowhere: the first value of
// each flag is the base.
//
// Exit codes: 0; 1 where no row has an answer or, with --slo, none meets it; 2 for
// values that make no sense.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/queueing"
	"tidemark/cmd/tidemark/verbs/send"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

type whatIfFlags struct {
	send.Planning
	grid                             []string // the values of gridChanges
	slo, measured, withoutClass      string
	maxConcurrency, splitInputTokens int
	window                           time.Duration
	isRehearsed, isFormula, isCold   bool
}

func WhatIfCommand() *cli.Command {
	f := &whatIfFlags{}
	return &cli.Command{
		Name:      "what-if",
		Usage:     "the same traffic on another GPU, degree, format or limit",
		ArgsUsage: "RUN | SOURCE | PROFILE | PLAN",
		Description: `Predicts before a GPU is rented. Several values, separated by commas, make a
row each, in all combinations. For a run the base is what it ran on, and
what it measured is shown too; other traffic needs --gpu and --catalog-model. Exits
1 where no row has an answer or, with --slo, none meets it.

Example:
  tidemark what-if RUN --gpu H100,H200 --tensor-parallel-size 1,2 --slo slo.yaml
  tidemark what-if azure-code --gpu H200 --catalog-model llama-3.1-70b --replicas 1,2,4`,
		Flags:  f.TableFlags(slices.Concat(f.gridFlags(), f.ownFlags(), kit.Without(f.Choices.Flags(), "mode", "without-class"))...),
		Action: f.Do(f.run),
	}
}

func (f *whatIfFlags) ownFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "slo", Usage: "bounds in a YAML `FILE`: what keeps to them is then rehearsed, as by capacity", Destination: &f.slo},
		send.WindowFlag(&f.window),
		&cli.IntFlag{Name: "max-concurrency", Usage: "a closed loop of `N` clients in place of a rate", Destination: &f.maxConcurrency, Action: kit.AtLeastOne[int]("max-concurrency")},
		&cli.IntFlag{Name: "split-input-tokens", Usage: "also each pool alone: prompts of up to `N` tokens, and longer ones", Destination: &f.splitInputTokens, Action: kit.AtLeastOne[int]("split-input-tokens")},
		&cli.StringFlag{Name: "without-class", Usage: "rehearse with and without `CLASS`: how much longer it makes the p99 TTFT of all others", Destination: &f.withoutClass},
		&cli.BoolFlag{Name: "rehearse", Usage: "without --slo too: play the requests on each row's servers in virtual time; tails come from that, and not from formulas", Destination: &f.isRehearsed},
		&cli.BoolFlag{Name: "formula", Usage: "with --slo: no rehearsal, closed formulas for all; they say nothing of bursts", Destination: &f.isFormula},
		&cli.BoolFlag{Name: "no-enable-prefix-caching", Usage: "no prompt finds anything in a cache", Destination: &f.isCold},
		&cli.StringFlag{Name: "measured", Usage: "compare with what `RUN`s measured, separated by commas, each at its own rate on what it ran on", Destination: &f.measured},
	}
}

// traffic is what is asked about, read as often as there are pools.
type traffic struct {
	name     string
	requests iter.Seq2[plan.Request, error]
	run      *analysis.RunTraffic // nil: it is no run
	clients  int
	plan     plan.Header
	window   time.Duration // of it that a capacity is asked about; 0: all
	runID    string
}

// run predicts all rows with one call: asking the warehouse once per row would be
// much slower.
func (f *whatIfFlags) run() error {
	name, err := f.OneArgument("run, source, profile or plan")
	if err != nil {
		return err
	}
	grid, err := f.gridOf()
	if err != nil {
		return err
	}
	var slo analysis.SLO
	if f.slo != "" {
		if slo, err = analysis.ReadSLO(f.slo); err != nil {
			return hint.AsMisuse(err)
		}
		f.isRehearsed = f.isRehearsed || !f.isFormula
	}
	if f.IsGiven("without-class") && f.withoutClass == "" {
		return hint.Misuse("what-if: --without-class names no class").Hint("write the class, or leave the flag out")
	}
	f.isRehearsed = f.isRehearsed || f.withoutClass != ""
	if f.IsGiven("window") && (f.slo == "" || f.isFormula) {
		return hint.Misuse("what-if: --window is what a capacity within an SLO is asked about, and none is rehearsed").Hint("name an SLO with --slo, without --formula")
	}
	if f.isRehearsed && f.isFormula {
		asked := map[bool]string{true: "without-class", false: "rehearse"}[f.withoutClass != ""]
		return hint.Misuse("what-if: --%s and --formula contradict each other", asked).Hint("leave one out")
	}
	answers := &analysis.Answers{Asked: analysis.AskedCapacity{Verb: "what-if", Version: kit.Version}}
	err = f.withTraffic(name, func(ctx context.Context, w *warehouse.Warehouse, t traffic) error {
		_, noWarehouse := os.Stat(f.Warehouse)
		answers.IsKept, answers.Asked.Source, answers.Asked.SourceSHA256 = noWarehouse == nil && !w.IsOfOtherVersion(), cmp.Or(t.runID, t.name), t.plan.SourceSHA256
		rows, err := f.scenariosOf(ctx, w, t, grid, len(slo.Objectives) > 0)
		if err != nil {
			return err
		}
		scenarios := make([]analysis.Scenario, len(rows))
		for i, row := range rows {
			scenarios[i] = row.Scenario
		}
		outlooks, err := analysis.WhatIf(ctx, w.DB(), scenarios, slo)
		if err != nil {
			return err
		}
		for i := range rows {
			rows[i].Outlook = outlooks[i]
		}
		if f.isRehearsed {
			answers.DB, answers.Asked.SLO = w.DB(), slo
			if err := f.rehearseRows(ctx, answers, t, rows, slo); err != nil {
				return err
			}
		}
		if err := f.printWhatIf(t, rows, slo); err != nil {
			return err
		}
		return whatIfVerdict(rows, slo)
	})
	f.keep(answers)
	return err
}

// keep puts what was rehearsed into the warehouse. Where that is held it is not worth a wait: it would only be rehearsed again.
func (f *whatIfFlags) keep(answers *analysis.Answers) {
	if !answers.IsKept || !answers.IsNew() || f.NotASnapshot() != nil {
		return
	}
	if err := f.WithWarehouseWithin(f.Context, 0, warehouse.ReadWrite, answers.Keep); err != nil && !errors.Is(err, warehouse.ErrHeld) {
		f.Tell("not kept for the next time: %v", err)
	}
}

// rehearseRows takes the tails of all rows from rehearsals; the requests are read once.
func (f *whatIfFlags) rehearseRows(ctx context.Context, answers *analysis.Answers, t traffic, rows []whatIfRow, slo analysis.SLO) error {
	var requests []plan.Request
	for r, err := range t.requests {
		if err != nil {
			return err
		}
		requests = append(requests, r)
	}
	began := time.Now()
	for i := range rows {
		row := &rows[i]
		if n := len(rows); n > 1 && time.Since(began) > 5*time.Second {
			f.Tell("row %d of %d is rehearsed, %s so far; --formula needs no rehearsal", i+1, n, show.Duration(time.Since(began).Seconds()))
		}
		if row.isOther { // another run's rate with these lengths: there are no such requests
			continue
		}
		differ, err := row.Scenario.Rehearse(ctx, answers, &row.Outlook, requests, row.choice, slo)
		if err != nil {
			return err
		}
		row.differ = differ
		if f.withoutClass != "" && row.pool == "" && row.Why == "" {
			h, err := row.Scenario.HeadOfLine(ctx, answers, &row.Outlook, requests, row.choice, f.withoutClass)
			if err != nil {
				return err
			}
			row.headOfLine = &h
		}
	}
	return nil
}

// withTraffic gives a function the requests and a warehouse, or the built-in catalogue where a plan needs none.
func (f *whatIfFlags) withTraffic(name string, use func(context.Context, *warehouse.Warehouse, traffic) error) error {
	var run *analysis.RunTraffic
	var runID string
	find := func(ctx context.Context, w *warehouse.Warehouse) error {
		if w == nil {
			return nil // no warehouse, no run
		}
		id, err := analysis.Subject(ctx, w.DB(), name)
		if err != nil {
			return err
		}
		isRun, err := analysis.IsRun(ctx, w.DB(), id)
		if err != nil || !isRun {
			return nil // who plans it says what it is not
		}
		of, err := analysis.TrafficOfRun(ctx, w.DB(), id)
		run, runID = &of, id
		return err
	}
	if !plan.IsFile(name) && !send.IsProfileFile(name) {
		if err := f.WithWarehouseIfAny(find); err != nil {
			return err
		}
	}
	if run != nil {
		if flag := f.GivenOf(&f.Call, "request-rate", "class"); flag != "" {
			return hint.Misuse("what-if: --%s chooses from a source; %s is a run, and all its requests are taken", flag, name)
		}
		isClosed := f.maxConcurrency > 0 || run.MaxConcurrency > 0 && f.RequestRate == 0
		window, err := f.WindowLength(name, isClosed, f.window)
		if err != nil {
			return err
		}
		return f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
			return use(ctx, w, traffic{name: name, runID: runID, requests: plan.Each(run.Requests), run: run, window: window, clients: run.MaxConcurrency})
		})
	}
	path, drop, err := f.PlanFor(name, nil)
	if err != nil {
		return err
	}
	defer drop()
	plan, err := plan.Open(path)
	if err != nil {
		return err
	}
	t := traffic{name: name, requests: plan.Requests(), plan: plan.Header()}
	if t.plan.MeanRatePerS == 0 {
		t.clients = t.plan.MaxConcurrency
	}
	if t.window, err = f.WindowLength(name, t.clients > 0 || f.maxConcurrency > 0, f.window); err != nil {
		return err
	}
	return f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error { return use(ctx, w, t) })
}

// whatIfRow is a line of the answer: what changed, and what comes of it.
type whatIfRow struct {
	change string
	pool   string
	choice analysis.MixChoice // of the requests that Mix is of
	analysis.Scenario
	analysis.Outlook
	differ                     []string             // what a rehearsal says against the formulas
	headOfLine                 *analysis.HeadOfLine // nil: not asked
	measuredTPOT, measuredTTFT *float64
	invalid                    string // why what was measured is no measurement; empty: it is one
	isOther                    bool   // what another run measured: no choice
}

// scenariosOf are the base and the grid around it, for each pool.
func (f *whatIfFlags) scenariosOf(ctx context.Context, w *warehouse.Warehouse, t traffic, grid []dimension, byClass bool) (rows []whatIfRow, err error) {
	base := analysis.Scenario{Replicas: 1, Scale: 1, Plan: t.plan, Window: t.window}
	if t.run != nil {
		base.Deployment, base.Replicas = t.run.Deployment, t.run.Replicas
	}
	base.TensorParallelSize = max(1, base.TensorParallelSize)
	if f.MaxModelLen > 0 {
		base.MaxModelLen = f.MaxModelLen
	}
	if t.run == nil || t.run.IsDraft {
		if err := f.startFrom(&base, grid, t); err != nil {
			return nil, err
		}
	}
	for _, pool := range f.poolsOf() {
		mix, err := f.mixOf(t, pool.MixChoice, byClass)
		if err != nil {
			return nil, err
		}
		base.Mix = mix
		for _, row := range rowsOfGrid(base, grid, t.run != nil && !t.run.IsDraft) {
			row.pool, row.choice = pool.name, f.choiceOf(t, pool.MixChoice, byClass)
			rows = append(rows, row)
		}
	}
	if len(rows) > mostScenarios {
		return nil, hint.Misuse("what-if: %d rows are too many; at most %d", len(rows), mostScenarios)
	}
	if t.run != nil && f.RequestRate == 0 && f.maxConcurrency == 0 && f.Class == "" {
		rows[0].measuredTPOT, rows[0].measuredTTFT, rows[0].invalid = &t.run.TPOT, &t.run.TTFT, t.run.Invalid
	}
	for i := range rows {
		if rows[i].Deployment, err = analysis.Spelled(ctx, w.DB(), rows[i].Deployment); err != nil {
			return nil, err
		}
	}
	measured, err := f.measuredRows(ctx, w, rows[0].Mix)
	return append(rows, measured...), err
}

// mostScenarios keep a slip of the keys from asking for thousands.
const mostScenarios = 500

// pool is a part of the traffic that could have servers of its own.
type pool struct {
	name string
	analysis.MixChoice
}

func (f *whatIfFlags) poolsOf() []pool {
	pools := []pool{{}}
	if at := f.splitInputTokens; at > 0 {
		pools = append(pools,
			pool{fmt.Sprintf("up to %d", at), analysis.MixChoice{InputUpTo: at}},
			pool{fmt.Sprintf("above %d", at), analysis.MixChoice{InputAbove: at}})
	}
	return pools
}

// mixOf condenses the traffic. A closed loop has clients, and a rate that the user gives
// turns it into an open one.
func (f *whatIfFlags) mixOf(t traffic, choice analysis.MixChoice, byClass bool) (queueing.Mix, error) {
	mix, err := analysis.MixOf(t.requests, f.choiceOf(t, choice, byClass))
	if err != nil {
		return mix, err
	}
	if t.run != nil && f.RequestRate > 0 {
		mix.RequestsPerS = f.RequestRate
		return mix, nil
	}
	// The mean rate of a burst says nothing of what comes before and after it: ten requests within 2 ms are no 5,000 a second.
	if n := len(mix.Arrivals); mix.Clients == 0 && choice == (analysis.MixChoice{}) && n > 1 {
		if span := mix.Arrivals[n-1].DueS - mix.Arrivals[0].DueS; span > 0 && span < 1 {
			return mix, hint.Misuse("what-if: all %s requests come within %s: that is a burst, and no rate", show.Count(mix.Requests), show.Duration(span)).
				Hint("name a longer part, or how many come at once with --max-concurrency")
		}
	}
	return mix, nil
}

// choiceOf says which requests of a pool count, and how.
func (f *whatIfFlags) choiceOf(t traffic, choice analysis.MixChoice, byClass bool) analysis.MixChoice {
	choice.ByClass, choice.IsCold, choice.MaxConcurrency = byClass, f.isCold, t.clients
	if t.run != nil { // a profile's class is drawn alone already
		choice.Class = f.Class
	}
	if f.maxConcurrency > 0 {
		choice.MaxConcurrency = f.maxConcurrency
	}
	if t.run != nil && f.RequestRate > 0 {
		choice.MaxConcurrency = 0
	}
	return choice
}

// measuredRows ask the model for other runs' deployments and rates with these lengths, next to what those runs measured.
func (f *whatIfFlags) measuredRows(ctx context.Context, w *warehouse.Warehouse, mix queueing.Mix) (rows []whatIfRow, err error) {
	measured, err := analysis.RunIDs(ctx, w.DB(), valuesOf(f.measured))
	if err != nil {
		return nil, err
	}
	for _, name := range measured {
		isRun, err := analysis.IsRun(ctx, w.DB(), name)
		if err == nil && !isRun {
			err = hint.Misuse("what-if: --measured %s: not a run; only a run has measured anything", name)
		}
		if err != nil {
			return nil, err
		}
		run, err := analysis.TrafficOfRun(ctx, w.DB(), name)
		if err != nil {
			return nil, err
		}
		if run.IsDraft {
			return nil, withoutEnvironment(name)
		}
		its, err := analysis.MixOf(plan.Each(run.Requests), analysis.MixChoice{MaxConcurrency: run.MaxConcurrency})
		if err != nil {
			return nil, err
		}
		asked := mix
		asked.RequestsPerS, asked.Clients, asked.ArrivalCV = its.RequestsPerS, its.Clients, its.ArrivalCV
		rows = append(rows, whatIfRow{
			change: "as " + run.Name, isOther: true, measuredTPOT: &run.TPOT, measuredTTFT: &run.TTFT, invalid: run.Invalid,
			Scenario: analysis.Scenario{Deployment: run.Deployment, Replicas: run.Replicas, Scale: 1, Mix: asked},
		})
	}
	return rows, nil
}

// withoutEnvironment is the error for a run that recorded no deployment.
func withoutEnvironment(run string) error {
	return hint.Misuse("what-if: run %s: its deployment is not known", run).
		Hint("name --gpu and --catalog-model; the next replay with --gpu and --catalog-model keeps them in its run.json")
}

// whatIfVerdict is exit code 1 where no row has an answer, or an SLO was given that none keeps to.
func whatIfVerdict(rows []whatIfRow, slo analysis.SLO) error {
	isAnswer := func(row whatIfRow) bool { return row.SLO == analysis.Met || len(slo.Objectives) == 0 && row.Why == "" }
	if slices.ContainsFunc(rows, isAnswer) {
		return nil
	}
	return kit.ExitError{Code: kit.ExitNotMet}
}

// The grid of what-if: every flag of a deployment takes several values, separated by
// commas, and all combinations become rows. The flags come from the one list of fields
// in internal/deployment, plus the replicas and the scale of the rate.

// dimension is one thing that changes, with its values as they were written.
type dimension struct {
	gridChange
	values []string
}

// gridChange is a flag whose values make rows.
type gridChange struct {
	flag  string
	usage string
	label string // what a row says of a value, %s
	apply func(*analysis.Scenario, string) error
}

// gridChanges are the fields of a deployment, and what only what-if knows. --max-model-len is not among them: it has one value,
// because it also chooses the requests.
var gridChanges = append(deploymentChanges(),
	gridChange{"replicas", "`N,N` servers that share the traffic evenly: 1,2,4", "x %s", func(s *analysis.Scenario, value string) error {
		number, err := strconv.Atoi(value)
		if err != nil || number < 1 {
			return fmt.Errorf("must be a whole number, at least 1")
		}
		s.Replicas = number
		return nil
	}},
	gridChange{"scale", "`N,N` times the traffic's rate: 0.5,1,2", "rate x%s", func(s *analysis.Scenario, value string) error {
		factor, err := strconv.ParseFloat(value, 64)
		if err != nil || !(factor > 0 && factor < 1e6) {
			return fmt.Errorf("must be above 0")
		}
		s.Scale = factor
		return nil
	}},
)

// deploymentChanges leaves --max-model-len out; see gridChanges.
func deploymentChanges() (changes []gridChange) {
	for _, f := range deployment.Fields {
		if f.Name == "max_model_len" {
			continue
		}
		changes = append(changes, gridChange{f.Flag, f.Usage, f.Label, func(s *analysis.Scenario, value string) error {
			if err := f.Set(&s.Deployment, value); err != nil {
				return err
			}
			s.Deployment = s.Deployment.Normal()
			if engine := s.Engine; engine != "" && !slices.Contains(deployment.Engines, engine) {
				return fmt.Errorf("known engines are %s", strings.Join(deployment.Engines, ", "))
			}
			return nil
		}})
	}
	return changes
}

func (f *whatIfFlags) gridFlags() (flags []cli.Flag) {
	f.grid = make([]string, len(gridChanges))
	for i, change := range gridChanges {
		flags = append(flags, &cli.StringFlag{Name: change.flag, Usage: change.usage, Destination: &f.grid[i]})
	}
	return kit.WithOldNames(flags)
}

// valuesOf are what a flag lists.
func valuesOf(text string) (values []string) {
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			values = append(values, word)
		}
	}
	return values
}

// gridOf are the flags that were given, each of whose values must make sense.
func (f *whatIfFlags) gridOf() (grid []dimension, err error) {
	for i, change := range gridChanges {
		if !f.IsGiven(change.flag) {
			continue
		}
		values := valuesOf(f.grid[i])
		if len(values) == 0 {
			return nil, hint.Misuse("what-if: --%s: no value", change.flag)
		}
		for _, value := range values {
			if err := change.apply(&analysis.Scenario{}, value); err != nil {
				return nil, hint.Misuse("what-if: --%s %s: %w", change.flag, value, err)
			}
		}
		grid = append(grid, dimension{change, values})
	}
	return grid, f.Exclusive("max-concurrency", "request-rate")
}

// startFrom makes the first value of each flag the base: traffic that has run nowhere has no other.
func (f *whatIfFlags) startFrom(base *analysis.Scenario, grid []dimension, t traffic) error {
	for _, d := range grid {
		if err := d.apply(base, d.values[0]); err != nil {
			return err
		}
	}
	if base.GPU != "" && base.CatalogModel != "" {
		return nil
	}
	if t.run != nil {
		return withoutEnvironment(t.name)
	}
	return f.Require("gpu", "catalog-model")
}

// rowsOfGrid are all values with each other, after the base; each says in what it differs. ranThere: the base is how
// it ran.
func rowsOfGrid(base analysis.Scenario, grid []dimension, ranThere bool) []whatIfRow {
	rows := []whatIfRow{{Scenario: base}}
	for _, d := range grid {
		var more []whatIfRow
		for _, row := range rows {
			for _, value := range d.values {
				next := row
				if d.apply(&next.Scenario, value); !isSame(next.Scenario, row.Scenario) {
					next.change = strings.TrimPrefix(row.change+", "+fmt.Sprintf(d.label, value), ", ")
				}
				more = append(more, next)
			}
		}
		rows = more
	}
	all := []whatIfRow{{Scenario: base, change: "base"}}
	if ranThere {
		all[0].change = "as it ran"
	}
	for _, row := range rows {
		if row.change != "" {
			all = append(all, row)
		}
	}
	return all
}

// isSame says whether two scenarios differ in nothing but their traffic.
func isSame(a, b analysis.Scenario) bool {
	a.Mix, b.Mix = queueing.Mix{}, queueing.Mix{}
	return reflect.DeepEqual(a, b)
}
