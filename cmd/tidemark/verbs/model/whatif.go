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
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/queueing"
	"tidemark/cmd/tidemark/verbs/send"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

func WhatIfCommand() *cli.Command {
	return &cli.Command{
		Name:      "what-if",
		Usage:     "the same traffic on another GPU, degree, format or limit",
		ArgsUsage: "RUN | SOURCE | PROFILE | PLAN",
		Description: `Predicts before a GPU is rented. Several values, separated by commas, make a
row each, in all combinations. For a run the base is what it ran on, and
what it measured is shown too; other traffic needs --gpu and --model. Exits
1 where no row has an answer or, with --slo, none meets it.

Example:
  tidemark what-if RUN --gpu H100,H200 --tensor-parallel-size 1,2 --slo slo.yaml
  tidemark what-if azure-code --gpu H200 --model llama-3.1-70b --replicas 1,2,4`,
		Flags:  kit.WithTableFlags(slices.Concat(gridFlags(), whatIfFlags(), trafficFlags())...),
		Action: runWhatIf,
	}
}

func whatIfFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "slo", Usage: "bounds in a YAML `FILE`: capacity is then the largest rate that keeps to them"},
		&cli.IntFlag{Name: "max-concurrency", Usage: "a closed loop of `N` clients in place of a rate"},
		&cli.IntFlag{Name: "split-input-tokens", Usage: "also each pool alone: prompts of up to `N` tokens, and longer ones"},
		&cli.BoolFlag{Name: "rehearse", Usage: "play the requests on each row's servers in virtual time: tails come from that, and not from formulas"},
		&cli.BoolFlag{Name: "no-enable-prefix-caching", Usage: "no prompt finds anything in a cache"},
		&cli.StringFlag{Name: "measured", Usage: "compare with what `RUN`s measured, separated by commas, each at its own rate on what it ran on"},
	}
}

// trafficFlags choose from a source as plan does.
func trafficFlags() []cli.Flag {
	return slices.DeleteFunc(send.ChoiceFlags(), func(flag cli.Flag) bool { return flag.Names()[0] == "mode" })
}

// traffic is what is asked about, read as often as there are pools.
type traffic struct {
	name     string
	requests iter.Seq2[plan.Request, error]
	run      *analysis.RunTraffic // nil: it is no run
	clients  int
}

// runWhatIf predicts all rows with one call: asking the warehouse once per row would be
// much slower.
func runWhatIf(c *cli.Context) error {
	name, err := kit.OneArgument(c, "run, source, profile or plan")
	if err != nil {
		return err
	}
	grid, err := gridOf(c)
	if err != nil {
		return err
	}
	var slo analysis.SLO
	if path := c.String("slo"); path != "" {
		if slo, err = analysis.ReadSLO(path); err != nil {
			return hint.AsMisuse(err)
		}
	}
	return withTraffic(c, name, func(ctx context.Context, w *warehouse.Warehouse, t traffic) error {
		rows, err := scenariosOf(ctx, c, w, t, grid, len(slo.Objectives) > 0)
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
		if c.Bool("rehearse") {
			if err := rehearseRows(ctx, c, w, t, rows, slo); err != nil {
				return err
			}
		}
		if err := printWhatIf(c, t, rows, slo); err != nil {
			return err
		}
		return whatIfVerdict(rows, slo)
	})
}

// rehearseRows takes the tails of all rows from rehearsals; the requests are read once.
func rehearseRows(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, t traffic, rows []whatIfRow, slo analysis.SLO) error {
	var requests []plan.Request
	for r, err := range t.requests {
		if err != nil {
			return err
		}
		requests = append(requests, r)
	}
	for i := range rows {
		row := &rows[i]
		if row.isOther { // another run's rate with these lengths: there are no such requests
			continue
		}
		differ, err := row.Scenario.Rehearse(ctx, w.DB(), &row.Outlook, requests, row.choice, slo)
		if err != nil {
			return err
		}
		row.differ = differ
	}
	return nil
}

// withTraffic gives a function the requests and a warehouse, or the built-in catalogue where a plan needs none.
func withTraffic(c *cli.Context, name string, use func(context.Context, *warehouse.Warehouse, traffic) error) error {
	var run *analysis.RunTraffic
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
		run = &of
		return err
	}
	if !send.IsPlanFile(name) && !send.IsProfileFile(name) {
		if err := kit.WithWarehouseIfAny(c, find); err != nil {
			return err
		}
	}
	if run != nil {
		for _, flag := range send.ChoiceFlagNames {
			if c.IsSet(flag) && flag != "request-rate" && flag != "class" {
				return hint.Misuse("what-if: --%s chooses from a source; %s is a run, and all its requests are taken", flag, name)
			}
		}
		return kit.Calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
			return use(ctx, w, traffic{name: name, requests: run.All(), run: run, clients: run.MaxConcurrency})
		})
	}
	path, drop, err := send.PlanFor(c, name, nil)
	if err != nil {
		return err
	}
	defer drop()
	plan, err := plan.Open(path)
	if err != nil {
		return err
	}
	t := traffic{name: name, requests: plan.Requests()}
	if header := plan.Header(); header.MeanRatePerS == 0 {
		t.clients = header.MaxConcurrency
	}
	return kit.Calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error { return use(ctx, w, t) })
}

// whatIfRow is a line of the answer: what changed, and what comes of it.
type whatIfRow struct {
	change string
	pool   string
	choice analysis.MixChoice // of the requests that Mix is of
	analysis.Scenario
	analysis.Outlook
	differ                     []string // what a rehearsal says against the formulas
	measuredTPOT, measuredTTFT *float64
	invalid                    string // why what was measured is no measurement; empty: it is one
	isOther                    bool   // what another run measured: no choice
}

// scenariosOf are the base and the grid around it, for each pool.
func scenariosOf(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, t traffic, grid []dimension, byClass bool) (rows []whatIfRow, err error) {
	base := analysis.Scenario{Replicas: 1, Scale: 1}
	if t.run != nil {
		base.Deployment, base.Replicas = t.run.Deployment, t.run.Replicas
	}
	base.TensorParallelSize = max(1, base.TensorParallelSize)
	if c.IsSet("max-model-len") {
		base.MaxModelLen = c.Int("max-model-len")
	}
	if t.run == nil || t.run.IsDraft {
		if err := startFrom(c, &base, grid, t); err != nil {
			return nil, err
		}
	}
	for _, pool := range poolsOf(c) {
		mix, err := mixOf(c, t, pool.MixChoice, byClass)
		if err != nil {
			return nil, err
		}
		base.Mix = mix
		for _, row := range rowsOfGrid(base, grid, t.run != nil && !t.run.IsDraft) {
			row.pool, row.choice = pool.name, choiceOf(c, t, pool.MixChoice, byClass)
			rows = append(rows, row)
		}
	}
	if len(rows) > mostScenarios {
		return nil, hint.Misuse("what-if: %d rows are too many; at most %d", len(rows), mostScenarios)
	}
	if t.run != nil && !c.IsSet("request-rate") && !c.IsSet("max-concurrency") && !c.IsSet("class") {
		rows[0].measuredTPOT, rows[0].measuredTTFT, rows[0].invalid = &t.run.TPOT, &t.run.TTFT, t.run.Invalid
	}
	for i := range rows {
		if rows[i].Deployment, err = analysis.Spelled(ctx, w.DB(), rows[i].Deployment); err != nil {
			return nil, err
		}
	}
	measured, err := measuredRows(ctx, c, w, rows[0].Mix)
	return append(rows, measured...), err
}

// mostScenarios keep a slip of the keys from asking for thousands.
const mostScenarios = 500

// pool is a part of the traffic that could have servers of its own.
type pool struct {
	name string
	analysis.MixChoice
}

func poolsOf(c *cli.Context) []pool {
	pools := []pool{{}}
	if at := c.Int("split-input-tokens"); at > 0 {
		pools = append(pools,
			pool{fmt.Sprintf("up to %d", at), analysis.MixChoice{InputUpTo: at}},
			pool{fmt.Sprintf("above %d", at), analysis.MixChoice{InputAbove: at}})
	}
	return pools
}

// mixOf condenses the traffic. A closed loop has clients, and a rate that the user gives
// turns it into an open one.
func mixOf(c *cli.Context, t traffic, choice analysis.MixChoice, byClass bool) (queueing.Mix, error) {
	mix, err := analysis.MixOf(t.requests, choiceOf(c, t, choice, byClass))
	if err != nil {
		return mix, err
	}
	if t.run != nil && c.IsSet("request-rate") {
		mix.RequestsPerS = c.Float64("request-rate")
	}
	return mix, nil
}

// choiceOf says which requests of a pool count, and how.
func choiceOf(c *cli.Context, t traffic, choice analysis.MixChoice, byClass bool) analysis.MixChoice {
	choice.ByClass, choice.IsCold, choice.MaxConcurrency = byClass, c.Bool("no-enable-prefix-caching"), t.clients
	if t.run != nil { // a profile's class is drawn alone already
		choice.Class = c.String("class")
	}
	if c.IsSet("max-concurrency") {
		choice.MaxConcurrency = c.Int("max-concurrency")
	}
	if t.run != nil && c.IsSet("request-rate") {
		choice.MaxConcurrency = 0
	}
	return choice
}

// measuredRows ask the model for other runs' deployments and rates with these lengths, next to what those runs measured.
func measuredRows(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, mix queueing.Mix) (rows []whatIfRow, err error) {
	measured, err := analysis.RunIDs(ctx, w.DB(), valuesOf(c, "measured"))
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
		its, err := analysis.MixOf(run.All(), analysis.MixChoice{MaxConcurrency: run.MaxConcurrency})
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
		Hint("name --gpu and --model; the next replay with --gpu and --catalog-model keeps them in its run.json")
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
		flag := f.Flag
		if f.Name == "catalog_model" {
			flag = "model"
		}
		changes = append(changes, gridChange{flag, f.Usage, f.Label, func(s *analysis.Scenario, value string) error {
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

func gridFlags() (flags []cli.Flag) {
	for _, change := range gridChanges {
		flags = append(flags, &cli.StringFlag{Name: change.flag, Usage: change.usage})
	}
	return flags
}

// valuesOf are what a flag lists.
func valuesOf(c *cli.Context, flag string) (values []string) {
	for word := range strings.SplitSeq(c.String(flag), ",") {
		if word = strings.TrimSpace(word); word != "" {
			values = append(values, word)
		}
	}
	return values
}

// gridOf are the flags that were given, each of whose values must make sense.
func gridOf(c *cli.Context) (grid []dimension, err error) {
	for _, change := range gridChanges {
		if !c.IsSet(change.flag) {
			continue
		}
		values := valuesOf(c, change.flag)
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
	if err := kit.PositiveFlags(c, "max-concurrency", "split-input-tokens"); err != nil {
		return nil, err
	}
	return grid, kit.Exclusive(c, "max-concurrency", "request-rate")
}

// startFrom makes the first value of each flag the base: traffic that has run nowhere has no other.
func startFrom(c *cli.Context, base *analysis.Scenario, grid []dimension, t traffic) error {
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
	return kit.RequireFlags(c, "gpu", "model")
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
