package read

// The verb lint names what makes the figures of an experiment mean less than they seem to, and what to do about it. The cases are in
// seeds.lint_rules, and analysis.LintOf asks marts.lint, which says when each fires.
//
// Exit codes: 0 where no case fires; 1 where one does; 2 for a name that does not exist.

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

type lintFlags struct {
	kit.Call
	list bool
}

func LintCommand() *cli.Command {
	f := &lintFlags{}
	return &cli.Command{
		Name:      "lint",
		Usage:     "what is wrong with an experiment, and what to do",
		ArgsUsage: "[RUN | RESULT | SOURCE | PLAN | SERIES]...   (none: everything)",
		Description: `Runs, results of other tools, traces, plan files (.zst) and series. Of several runs the later ones
are also looked at beside the first. Exits 1 when a case fires.

Example:
  tidemark lint RUN --json
  tidemark lint --list`,
		Flags:  f.TableFlags(&cli.BoolFlag{Name: "list", Usage: "print every case that is looked for", Destination: &f.list}),
		Action: f.Do(f.run),
	}
}

func (f *lintFlags) run() error {
	if f.list && f.Args.Present() {
		return hint.Misuse("lint: --list prints every case, of nothing in particular").Hint("leave %s out", f.Args.First())
	}
	names := f.Args.Slice()
	isNoPlan := func(name string) bool { return !plan.IsFile(name) }
	if f.list || len(names) > 0 && !slices.ContainsFunc(names, isNoPlan) {
		return kit.InCatalogue(f.Context, func(w *warehouse.Warehouse) error { return f.look(f.Context, w) }) // plans and rules are in no warehouse
	}
	return f.WithWarehouse(f.Context, warehouse.ReadOnly, f.look)
}

func (f *lintFlags) look(ctx context.Context, w *warehouse.Warehouse) error {
	if f.list {
		return f.printRules(ctx, w)
	}
	found, err := analysis.LintOf(ctx, w.DB(), f.Args.Slice())
	if err != nil {
		return err
	}
	f.Remark("%s", found.FirstLine())
	if f.IsForPrograms() {
		err = f.PrintTable(found.Found)
	} else {
		err = writeCases(f.App.Writer, found, terminal.Width(f.App.Writer))
	}
	if err == nil && len(found.Found.Rows) > 0 {
		return kit.ExitError{Code: kit.ExitNotMet}
	}
	return err
}

// writeCases writes a paragraph for each case, under the name of what it was found in.
func writeCases(w io.Writer, found analysis.Lint, width int) error {
	const names = 10
	var b strings.Builder
	subject := ""
	for _, row := range kit.RowsOf(found.Found) {
		if subject != row.Text("subject") {
			subject = row.Text("subject")
			b.WriteString("\n")
			kit.Labelled(&b, "", 0, row.Text("subject_kind")+" "+subject, width)
		}
		fmt.Fprintf(&b, "\n! %s\n", row.Text("rule"))
		kit.Labelled(&b, "    found", names, row.Text("found"), width)
		kit.Labelled(&b, "    wrong", names, row.Text("wrong"), width)
		kit.Labelled(&b, "    do", names, row.Text("remedy"), width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printRules prints every case, to people as a paragraph each.
func (f *lintFlags) printRules(ctx context.Context, w *warehouse.Warehouse) error {
	rules, err := analysis.LintRules(ctx, w.DB())
	if err != nil || f.IsForPrograms() {
		return f.PrintAnswer(rules, err)
	}
	const names = 10
	var b strings.Builder
	for _, row := range kit.RowsOf(rules) {
		fmt.Fprintf(&b, "%s (%s)\n", row.Text("rule"), strings.ReplaceAll(row.Text("applies_to"), ";", ", "))
		kit.Labelled(&b, "    wrong", names, row.Text("wrong"), terminal.Width(f.App.Writer))
		kit.Labelled(&b, "    do", names, row.Text("remedy"), terminal.Width(f.App.Writer))
	}
	_, err = io.WriteString(f.App.Writer, b.String())
	return err
}
