package read

// The verb compare prints in which settings two runs differ and how their results differ, with
// 90 % intervals. analysis.Compare asks marts.run_differences and marts.run_pairs; repeats
// of either side are named with commas between them.
//
// Two studies, by their names or as files of study --json, are compared by package analysis/study; compare_studies.go prints it.
//
// Exit codes: 0 whatever the difference is, because it is an answer; 2 where the runs are of
// other models, loads or origins and --force is missing, and for a run that does not exist. With
// --fail-if-worse: 1 where package gate says red, 3 where it cannot decide because runs are
// invalid or failed; compare_gate.go prints it.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/study"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

type compareFlags struct {
	kit.Call
	force        bool
	withoutClass string
	gateFlags
}

func CompareCommand() *cli.Command {
	f := &compareFlags{}
	return &cli.Command{
		Name:      "compare",
		Usage:     "what differs between two runs, with 90 % intervals",
		ArgsUsage: "BEFORE AFTER   (a run, or repeats of one: RUN,RUN,RUN; or two studies)",
		Description: `A change is AFTER over BEFORE; ~ means that no difference is shown. Runs of one
plan are paired by request, repeats by plan. Of repeats the unit is the run. Runs
of other models, loads or origins, and of one plan that got other tokens, are
refused (exit 2). Of two studies, by name or from study --json, it says which
answers changed.

Example:
  tidemark compare monday,tuesday,wednesday thursday,friday --json
  tidemark compare monday,tuesday thursday,friday --fail-if-worse 5%
  tidemark compare may.json settings`,
		Flags: f.TableFlags(append(f.gateFlags.flags(),
			&cli.StringFlag{Name: "without-class", Usage: "leave `CLASS` out of both, of which one was sent without it: what it does to the others", Destination: &f.withoutClass},
			&cli.BoolFlag{Name: "force", Usage: "compare runs of other models, loads or origins all the same", Destination: &f.force},
		)...),
		Action: f.Do(f.run),
	}
}

func (f *compareFlags) run() error {
	if f.Args.Len() != 2 {
		return hint.Misuse("compare: %s named, two are needed", show.Things(f.Args.Len(), "run", "runs")).Hint("tidemark compare BEFORE AFTER")
	}
	if study.IsFile(f.Args.Get(0)) && study.IsFile(f.Args.Get(1)) {
		_, err := f.studies(f.Context, nil)
		return err
	}
	before, after := strings.Split(f.Args.Get(0), ","), strings.Split(f.Args.Get(1), ",")
	ready, err := f.gateFor()
	if err != nil {
		return err
	}
	if ready != nil {
		defer ready.close()
	}
	return f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		if areStudies, err := f.studies(ctx, w); areStudies || err != nil {
			return err
		}
		comparison, err := f.compared(ctx, w, before, after)
		if err != nil {
			return err
		}
		why := comparison.Refused()
		if why != "" && !f.force {
			return hint.Misuse("compare: these runs are not alike: %s", why).Hint("give --force if they are to be compared all the same")
		}
		rejected, err := analysis.RejectedRuns(ctx, w.DB(), slices.Concat(comparison.Before, comparison.After))
		if err != nil {
			return err
		}
		notes, err := analysis.RunNotes(ctx, w.DB(), slices.Concat(comparison.Before, comparison.After)...)
		if err != nil {
			return err
		}
		for _, unusable := range slices.Concat(rejected, comparison.Unusable, notes) {
			f.Tell("%s", unusable)
		}
		if f.withoutClass == "" { // lint knows the runs as they are
			if err := f.lint(ctx, w, comparison.Before, comparison.After); err != nil {
				return err
			}
		}
		if ready == nil {
			return f.print(comparison, why, comparison.Results)
		}
		decision, err := ready.decide(ctx, w, comparison)
		if err != nil {
			return err
		}
		f.Remark("%s", decision.FirstLine())
		if !f.IsForPrograms() {
			if err := printDecision(&f.Call, decision); err != nil {
				return err
			}
		}
		return cmp.Or(f.print(comparison, why, decision.ForPrograms()), gateEnding(decision))
	})
}

// lint says in a line what is wrong with each run, and with comparing the first of each side.
func (f *compareFlags) lint(ctx context.Context, w *warehouse.Warehouse, before, after []string) error {
	each, err := analysis.LintRuns(ctx, w.DB(), slices.Concat(before, after)...)
	if err != nil {
		return err
	}
	beside, err := analysis.LintBeside(ctx, w.DB(), before[0], after[0])
	if err != nil {
		return err
	}
	f.Tell("lint: %s", each.And(beside).InBrief())
	return nil
}

// print shows a comparison, to programs as this table; why are the reasons that --force overruled.
func (f *compareFlags) print(comparison analysis.Comparison, why string, forPrograms analysis.Table) error {
	f.Remark("%s", comparison.FirstLine())
	if why != "" {
		f.Remark("not alike, compared by --force: %s", why)
	}
	if f.IsForPrograms() {
		for _, row := range kit.RowsOf(comparison.Settings) {
			f.Tell("%s: %s, then %s", row.Text("setting"), row.Text("value"), row.Text("other_value"))
		}
		return f.PrintTable(forPrograms)
	}
	return printComparison(&f.Call, comparison)
}

// compared takes runs by their ids or names.
func (f *compareFlags) compared(ctx context.Context, w *warehouse.Warehouse, before, after []string) (analysis.Comparison, error) {
	ids, err := analysis.RunIDs(ctx, w.DB(), slices.Concat(before, after))
	if err != nil {
		return analysis.Comparison{}, err
	}
	if f.withoutClass != "" {
		if len(ids) != 2 {
			return analysis.Comparison{}, hint.Misuse("compare: --without-class compares one run with one other, and %d are named", len(ids))
		}
		comparison, said, err := analysis.CompareWithout(ctx, f.Warehouse, ids[0], ids[1], f.withoutClass)
		if err == nil {
			f.Remark("%s", said)
		}
		return comparison, err
	}
	return analysis.Compare(ctx, w.DB(), ids[:len(before)], ids[len(before):])
}

// printComparison prints the settings that differ and the results, a table each.
func printComparison(c *kit.Call, comparison analysis.Comparison) error {
	c.Gap()
	if len(comparison.Settings.Rows) == 0 {
		c.Remark("no setting differs")
	} else {
		settings := kit.TableOf("setting", "before", "after")
		for _, row := range kit.RowsOf(comparison.Settings) {
			settings.Rows = append(settings.Rows, []any{row.Text("setting"), row.Text("value"), row.Text("other_value")})
		}
		if err := c.PrintTable(settings); err != nil {
			return err
		}
	}
	c.Gap()
	if err := c.PrintForms(resultForms(comparison)...); err != nil {
		return err
	}
	c.Gap()
	c.Remark("%s", basisOf(comparison))
	return nil
}

// resultForms are the results, the widest first: a narrow terminal shows the change with its interval, the narrowest the change alone.
func resultForms(comparison analysis.Comparison) []analysis.Table {
	full := kit.TableOf("metric", "before", "after", "change", "90 % interval")
	changes, least := kit.TableOf("metric", "change", "90 % interval"), kit.TableOf("metric", "after", "change")
	for _, row := range kit.RowsOf(comparison.Results) {
		cells := resultForPeople(row)
		full.Rows = append(full.Rows, cells)
		changes.Rows = append(changes.Rows, []any{cells[0], cells[3], cells[4]})
		least.Rows = append(least.Rows, []any{cells[0], cells[2], cells[3]})
	}
	return []analysis.Table{full, changes, least}
}

// resultForPeople is one row: ~ in the place of a change that the interval does not show.
func resultForPeople(row kit.RowOf) []any {
	value := func(column string) string {
		if !kit.HasValue(row.Number(column)) {
			return "-"
		}
		return analysis.ValueOf(row.Text("metric"), row.Number(column))
	}
	change, interval := analysis.Change(row["ratio"]), row.Text("reason")
	if kit.HasValue(row.Number("low_ratio")) {
		interval = analysis.Change(row["low_ratio"]) + " to " + analysis.Change(row["high_ratio"])
		if row["is_different"] != true {
			change = "~"
		}
	} else if interval != "" {
		interval = "none: " + interval
	}
	name := analysis.StatisticName(row.Text("statistic"), row.Text("metric"))
	return []any{name, tables.Figure(value("value")), tables.Figure(value("other_value")), tables.Figure(change), interval}
}

// basisOf says on what the intervals rest.
func basisOf(comparison analysis.Comparison) string {
	rows := kit.RowsOf(comparison.Results)
	if len(rows) == 0 {
		return "no metric has a value in both"
	}
	if len(comparison.Before)+len(comparison.After) > 2 && rows[0]["is_paired"] == true {
		return fmt.Sprintf("%d plans that both sides were sent: paired by plan; a value is their geometric mean, and the interval is Student's over the ratios", len(comparison.Before))
	}
	if len(comparison.Before)+len(comparison.After) > 2 {
		return fmt.Sprintf("%d and %d runs; a value is their geometric mean, and the interval is Welch's over the runs", len(comparison.Before), len(comparison.After))
	}
	at := max(slices.IndexFunc(rows, func(row kit.RowOf) bool { return row.Text("metric") == "e2e_s" }), 0)
	samples, others := show.Count(rows[at].Number("samples")), show.Count(rows[at].Number("other_samples"))
	if rows[at]["is_paired"] == true {
		return fmt.Sprintf("one plan: paired by %s requests that are successful in both; intervals by blocks of time", samples)
	}
	return fmt.Sprintf("two plans, not paired: %s and %s requests; intervals by blocks of time", samples, others)
}
