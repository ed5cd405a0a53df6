package read

// The verb drift says whether the system of a service changed or its workload, and on which day. week.DriftSince finds out; this file reads the service
// file and prints the answer.
//
// Exit codes: 0 where no change is shown; 1 where one is, or where nothing is known of the system; 2 for a service file that says what cannot be; 4 where
// there are no two weeks of data, or a file is missing.

import (
	"context"

	"github.com/urfave/cli/v2"

	"tidemark/analysis/week"
	"tidemark/analysis/week/service"
	"tidemark/internal/cli/kit"
	"tidemark/internal/store/warehouse"
)

type driftFlags struct {
	kit.Call
	week  string
	weeks int
}

func DriftCommand() *cli.Command {
	f := &driftFlags{}
	return &cli.Command{
		Name:      "drift",
		Usage:     "did the system of a service change or its workload, and when",
		ArgsUsage: "SERVICE.yaml",
		Description: `Looks for a day on which the time per token changed at the same batch and
lengths (the system), or the rate, the lengths and the cached share (the
workload). Exits 1 where a change is shown, or the system is not known.

Example:
  tidemark drift chat.yaml --week 2026-W47`,
		Flags: f.TableFlags(
			&cli.StringFlag{Name: "week", Usage: "up to ISO week `2026-W47` in the service's time zone (default: the last week that the data cover to its end)", Destination: &f.week},
			&cli.IntFlag{Name: "weeks", Usage: "look at `N` weeks, 2 to 12", Value: week.DriftWeeks, Destination: &f.weeks,
				Action: kit.Fits("weeks", "2 to 12", func(n int) bool { return n >= 2 && n <= 12 })},
		),
		Action: f.Do(f.run),
	}
}

func (f *driftFlags) run() error {
	path, err := f.OneArgument("service file")
	if err != nil {
		return err
	}
	file, err := service.Read(path)
	if err != nil {
		return err
	}
	told, end := f.Doing("drift")
	var found *week.Changed
	err = f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		found, err = week.DriftSince(ctx, w.DB(), file, week.DriftOptions{Week: f.week, Weeks: f.weeks, Told: told})
		return err
	})
	end()
	if err != nil {
		return err
	}
	f.Remark("%s", found.Sentence)
	if err := f.print(found); err != nil {
		return err
	}
	if found.Verdict != "none" {
		return kit.ExitError{Code: kit.ExitNotMet}
	}
	return nil
}

// print prints a row for each figure and for each that was rehearsed; for people they are two tables.
func (f *driftFlags) print(found *week.Changed) error {
	table := kit.TableOf("figure", "of", "is_changed", "changed_on", "low_changed_on", "high_changed_on", "is_gradual", "change_ratio", "low_change_ratio", "high_change_ratio",
		"p_value", "visible_ratio", "then_value", "now_value", "traffic_ratio", "system_ratio")
	people, parts := kit.TableOf("figure", "changed on", "change %", "low", "high", "visible %"), kit.TableOf("rehearsed", "then", "now", "traffic %", "system %")
	if table.Rows = found.Rows(); f.IsForPrograms() {
		return f.PrintTable(table)
	}
	people.Rows, parts.Rows = found.Shown()
	f.Gap()
	if err := f.PrintList(people, "--csv has them all"); err != nil || len(parts.Rows) == 0 {
		return err
	}
	f.Gap()
	f.Remark("The hours from %s, rehearsed on then's constants of the server and on now's:", found.RehearsedOf)
	return f.PrintList(parts, "--csv has them all")
}
