package take

// The verb privacy checks sources or exported files against the privacy rules, and
// exports a trace or its histograms without what could be traced back to a person.
// internal/privacy has the rules, the export and the manifest.
//
// Exit codes: 0 every rule is kept; 1 a rule is broken, or with --strict something is
// not k-anonymous. An export that breaks a rule writes nothing, unless --even-so is
// given; then it writes and still exits with 1.
//
// The key of an export is printed once, on stderr, and stored nowhere: who has it and
// the source can undo the pseudonyms.

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/maybe"
	"tidemark/internal/privacy"
	"tidemark/internal/store/warehouse"
)

type privacyFlags struct {
	kit.Call
	privacy.Options
	output, answers, keyFile string
	isStrict                 bool
}

func PrivacyCommand() *cli.Command {
	f := &privacyFlags{}
	usual := privacy.Default()
	return &cli.Command{
		Name:      "privacy",
		Usage:     "prove that nothing personal is in; write what may leave",
		ArgsUsage: "check [SOURCE | FILE...] | export SOURCE",
		Description: `check tests sources (all, if none is named) or exported files against the
rules and exits with 1 where one is broken. A trace that keeps them all is
still not k-anonymous: a trace with times never is, histograms are; --strict
exits with 1 on that too. export writes a trace (JSON lines) or its
histograms (CSV, and the rates in .rates.csv) without what could be traced
back, and FILE.privacy.json that says how. Two exports of one source can be
linked by their counts per tick and by requests alone in their second,
whatever their keys. The key that it draws is shown once and stored nowhere.

Example:
  tidemark privacy export azure-code --output out.jsonl.zst
  tidemark privacy check out.jsonl.zst`,
		Flags: f.TableFlags(
			&cli.StringFlag{Name: "output", Usage: "export: write `FILE`; .jsonl a trace, .csv a histogram; with .zst or .gz behind it, compressed", Destination: &f.output},
			&cli.StringFlag{Name: "as", Usage: "export: `trace` or histogram", Value: usual.Form, Destination: &f.Form},
			&cli.Int64Flag{Name: "k", Usage: "no cell of fewer than `10` requests", Value: usual.K, Destination: &f.K},
			&cli.DurationFlag{Name: "time", Usage: "export: times to `1s`, 10s or 60s, anywhere inside it", Value: usual.Tick, Destination: &f.Tick},
			&cli.BoolFlag{Name: "keep-weekday", Usage: "export: dated, in a random week, weekday and hour kept (without: times from 0)", Destination: &f.KeepsWeekday},
			&cli.Float64Flag{Name: "user-cap", Usage: "no tenant, or session where there are none, with more than a `0.01` share of the rows", Value: usual.UserCap, Destination: &f.UserCap},
			&cli.StringFlag{Name: "answers", Usage: "export: lengths of a trace's answers at the `middle` of their step of the ladder, or down to its start", Value: "middle", Destination: &f.answers, Action: kit.OneOf("answers", "down", "middle")},
			&cli.Float64Flag{Name: "epsilon", Usage: "export: noise on a histogram's counts, so that one user changes no chance by more than e^`1`", Destination: &f.Epsilon, Action: kit.Fits("epsilon", "above 0", func(v float64) bool { return v > 0 })},
			&cli.Float64Flag{Name: "delta", Usage: "export: with --epsilon, show a cell of one user alone with a chance of `1e-6` at most", Destination: &f.Delta},
			&cli.StringFlag{Name: "key-file", Usage: "export: take the key from `FILE`, to link exports (openssl rand -hex 32)", Destination: &f.keyFile},
			kit.SeedFlag(&f.Seed),
			&cli.BoolFlag{Name: "even-so", Usage: "export: write also what fails a rule", Destination: &f.EvenSo},
			&cli.BoolFlag{Name: "strict", Usage: "check: exit with 1 also where a source is not k-anonymous, as no trace is; export: write nothing where a rule is not met, as without this", Destination: &f.isStrict},
			&cli.BoolFlag{Name: "force", Usage: "export: write over files that are there", Destination: &f.Force},
		),
		Action: f.Do(f.run),
	}
}

// run runs one of the two sub-verbs; the flags of both are in one list, and each
// flag's help starts with the sub-verb it belongs to.
func (f *privacyFlags) run() error {
	switch verb := f.Args.First(); verb {
	case "check":
		return f.checkPrivacy(f.Args.Tail())
	case "export":
		if f.Args.Len() != 2 {
			return hint.Misuse("privacy export: one source").Hint("tidemark privacy --help")
		}
		if err := f.Require("output"); err != nil {
			return err
		}
		return f.exportPrivately(f.Args.Get(1))
	default:
		return hint.Misuse("privacy: %q: must be check or export", verb).Hint("tidemark privacy --help")
	}
}

// checkPrivacy exits with 1 if a rule is broken, and with --strict also if
// something is not k-anonymous.
func (f *privacyFlags) checkPrivacy(names []string) error {
	if flag := f.Given("output", "as", "time", "keep-weekday", "answers", "epsilon", "delta", "key-file", "seed", "even-so", "force"); flag != "" {
		return hint.Misuse("privacy check: --%s is for export", flag).Hint("tidemark privacy export SOURCE --output FILE writes what may leave")
	}
	terms := privacy.Terms{K: f.K, UserCap: f.UserCap}
	if terms.K < 2 || !(terms.UserCap > 0 && terms.UserCap <= 1) {
		return hint.Misuse("privacy check: --k must be at least 2, --user-cap above 0 and at most 1")
	}
	checks := &privacyChecks{terms: terms, table: kit.TableOf("source", "rule", "truth", "verdict", "figures")}
	if err := checks.all(&f.Call, names); err != nil {
		return err
	}
	if err := printVerdicts(&f.Call, checks.table); err != nil {
		return err
	}
	switch {
	case checks.broken > 0:
		return kit.ExitError{Code: kit.ExitNotMet, Err: hint.Errorf("%d of %d may not leave as they are", checks.broken, checks.checked).
			Hint("write what may: tidemark privacy export SOURCE --output FILE")}
	case f.isStrict && checks.notAnonymous > 0:
		return kit.ExitError{Code: kit.ExitNotMet, Err: hint.Errorf("every rule is kept, but not k-anonymous: %d of %d", checks.notAnonymous, checks.checked).
			Hint("export histograms: tidemark privacy export SOURCE --as histogram --output FILE.csv")}
	}
	return nil
}

// privacyChecks are the verdicts on everything that is checked. The last row of
// each source belongs to no rule: it says whether the source is k-anonymous.
type privacyChecks struct {
	terms                         privacy.Terms
	table                         analysis.Table
	checked, broken, notAnonymous int
}

// all checks exported files and sources of the warehouse; every source if nothing
// is named.
func (p *privacyChecks) all(c *kit.Call, names []string) error {
	var sources []string
	for _, name := range names {
		if !isExport(name) {
			sources = append(sources, name)
			continue
		}
		rules, anonymity, err := privacy.CheckFile(name, p.terms)
		if err != nil {
			return err
		}
		p.add(name, rules, anonymity)
	}
	if len(names) > 0 && len(sources) == 0 {
		return nil
	}
	return c.WithWarehouse(c.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		if len(names) == 0 {
			if sources, err = privacy.Names(ctx, w); err != nil {
				return err
			}
		}
		for _, name := range sources {
			rules, anonymity, err := privacy.CheckSource(ctx, w, name, p.terms)
			if err != nil {
				return err
			}
			p.add(name, rules, anonymity)
		}
		return nil
	})
}

func (p *privacyChecks) add(name string, rules []privacy.Verdict, anonymity privacy.Verdict) {
	for _, v := range rules {
		p.table.Rows = append(p.table.Rows, []any{name, int64(v.Rule), v.Truth, v.Verdict, v.Figures})
	}
	p.table.Rows = append(p.table.Rows, []any{name, nil, anonymity.Truth, anonymity.Verdict, anonymity.Figures})
	p.checked++
	if !privacy.Passed(rules) {
		p.broken++
	}
	if anonymity.Verdict == privacy.NotAnonymous {
		p.notAnonymous++
	}
}

// isExport tells a file from a source by its extension only, so that an export that
// does not exist is reported as a missing file.
func isExport(name string) bool {
	plain := strings.TrimSuffix(strings.TrimSuffix(name, ".zst"), ".gz")
	return strings.HasSuffix(plain, ".jsonl") || strings.HasSuffix(plain, ".csv")
}

// settle makes a new key unless --key-file names one. A given key is not shown
// again: its owner has it.
func (f *privacyFlags) settle() (err error) {
	f.AnswersAtMiddle, f.Version, f.IsKeyGiven = f.answers == "middle", kit.Version, f.keyFile != ""
	switch {
	case f.Form == "histogram" && f.IsGiven("answers"):
		return hint.Misuse("privacy export: --answers is for a trace; a histogram has cells").Hint("leave it out, or take --as trace")
	case f.EvenSo && f.isStrict:
		return hint.Misuse("privacy export: --strict and --even-so: one or the other")
	case f.IsKeyGiven:
		f.Key, err = privacy.ReadKey(f.keyFile)
	default:
		f.Key, err = privacy.NewKey()
	}
	return err
}

// exportPrivately writes the export, shows a new key once, and prints what the
// export costs.
func (f *privacyFlags) exportPrivately(source string) error {
	if err := f.settle(); err != nil {
		return err
	}
	var result *privacy.Result
	err := f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		result, err = privacy.Export(ctx, w, source, f.output, f.Options)
		return err
	})
	if err != nil {
		return err
	}
	if err := f.PrintTable(exportTable(result, !f.IsForPrograms())); err != nil {
		return err
	}
	if !result.Passed {
		for _, v := range result.Manifest.Rules {
			if v.Verdict == privacy.Fails {
				f.Tell("rule %d, %s: %s", v.Rule, v.Truth, v.Figures)
			}
		}
	}
	if len(result.Written) == 0 {
		return kit.ExitError{Code: kit.ExitNotMet, Err: hint.Errorf("nothing was written: a rule is not met").
			Hint("ask for other terms: --k, --user-cap, --time; --even-so writes it")}
	}
	for _, note := range result.Notes {
		f.Tell("note: %s", note)
	}
	if !f.IsKeyGiven {
		f.Tell("key: %s", f.Key)
		f.Tell("it is stored nowhere; with it and the source the export can be made again, and undone: keep it as a secret, or forget it")
	}
	f.Tell("written: %s; seed %d; see what it says: tidemark privacy check %s", strings.Join(result.Written, ", "), f.Seed, escape.Shell(f.output))
	if !result.Passed {
		return kit.ExitError{Code: kit.ExitNotMet, Err: hint.Errorf("a rule is not met").
			Hint("do not let it leave; ask for other terms: --k, --user-cap, --time")}
	}
	return nil
}

// exportTable lists what an export dropped and what it costs. Shifts are ratios, or
// percent for people.
func exportTable(r *privacy.Result, forPeople bool) analysis.Table {
	table := kit.TableOf("what", "before", "after")
	add := func(what string, before, after any) { table.Rows = append(table.Rows, []any{what, before, after}) }
	add("requests", r.Read, r.Rows)
	add("left out: of users above the cap", nil, r.Dropped.RowsOfHeavyUsers)
	add("classes, tenants put to other", nil, int64(r.Dropped.RareClasses+r.Dropped.RareTenants))
	add("prompts cut at the top", nil, r.Dropped.ToppedInputs)
	add("answers cut at the top", nil, r.Dropped.ToppedOutputs)
	if r.Dropped.MovedUp > 0 {
		add("requests moved out of small cells", nil, r.Dropped.MovedUp)
	}
	addBoth := func(what string, before, after *float64) {
		if before != nil && after != nil {
			add(what, *before, *after)
		}
	}
	addBoth("share of prompt blocks used again", r.Loss.ReusedBefore, r.Loss.ReusedAfter)
	addBoth("dispersion of counts in 10 s", r.Loss.DispersionBefore, r.Loss.DispersionAfter)
	if r.Loss.ThinkMeanBefore != nil {
		add("think time, mean, s", *r.Loss.ThinkMeanBefore, maybe.Cell(r.Loss.ThinkMeanAfter)) // null: too few to publish
	}
	add("minutes with another count", nil, *r.Loss.ChangedMinutes)
	for _, side := range []struct {
		name  string
		ks    float64
		shift map[string]float64
	}{{"prompts", r.Loss.InputKS, r.Loss.InputShift}, {"answers", r.Loss.OutputKS, r.Loss.OutputShift}} {
		add(side.name+": Kolmogorov-Smirnov distance", nil, side.ks)
		for _, name := range []string{"mean", "p50", "p90", "p99"} {
			var shift any = side.shift[name]
			if forPeople {
				shift = fmt.Sprintf("%+.1f %%", 100*side.shift[name])
			}
			add(side.name+": shift of "+name, nil, shift)
		}
	}
	return table
}

// printVerdicts writes one paragraph per rule for people, and the conclusion.
func printVerdicts(c *kit.Call, table analysis.Table) error {
	if c.IsForPrograms() {
		return c.PrintTable(table)
	}
	source := ""
	var broken []string
	for _, row := range table.Rows {
		if row[0] != source {
			source, broken = row[0].(string), nil
			c.PrintLine("%s", source)
		}
		mark, text := "pass  "+fmt.Sprint(row[1]), fmt.Sprintf("%s: %s", row[2], row[4])
		switch {
		case row[1] == nil:
			mark, text = "so", rulesKept(broken)+anonymitySaid(row[3].(string), row[4])
		case row[3] == privacy.Fails:
			mark = privacy.Fails + "  " + fmt.Sprint(row[1])
			broken = append(broken, fmt.Sprint(row[1]))
		}
		lines := terminal.Wrapped(text, max(40, terminal.Width(c.App.Writer)-11))
		fmt.Fprintf(c.App.Writer, "  %-7s  %s\n", mark, strings.Join(lines, "\n           "))
	}
	return nil
}

// rulesKept sums up the rules of one source.
func rulesKept(broken []string) string {
	switch len(broken) {
	case 0:
		return "rules kept"
	case 1:
		return "rule " + broken[0] + " is not kept"
	}
	return "rules " + strings.Join(broken, ", ") + " are not kept"
}

// anonymitySaid is empty for a source without requests.
func anonymitySaid(verdict string, figures any) string {
	switch verdict {
	case privacy.NotAnonymous:
		return fmt.Sprintf("; not k-anonymous: %s", figures)
	case privacy.Holds:
		return fmt.Sprintf("; k-anonymous, counting requests, not users: %s", figures)
	}
	return ""
}
