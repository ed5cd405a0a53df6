package read

// The verb decide judges a run, or the rows of an experiment, by a metric contract and
// keeps what was decided: package decide gathers the facts, walks the tree of
// seeds.decision_tree and writes raw.decisions, to which rows are only added.
//
// The warehouse is read first and opened to write only for the record, because to judge
// by another SLO than a run was sent for takes a copy of its file.
//
// Exit codes: 0 accepted; 1 rejected, or undecided; 3 the run is invalid; 2 a mistake in
// the contract, and a name that does not exist. Of an undecided or invalid run nothing is
// kept, unless --even-so accepts it.

import (
	"context"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/decide"
	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
)

type decideFlags struct {
	kit.Call
	contract, reason, by, output string
	rejected                     cli.StringSlice
	evenSo                       bool
}

func DecideCommand() *cli.Command {
	f := &decideFlags{}
	return &cli.Command{
		Name:      "decide",
		Usage:     "accept or reject a run by a contract, and keep why",
		ArgsUsage: "RUN | SERIES",
		Description: `Of an experiment the cheapest row that meets the contract is accepted and the
others are rejected. A configuration that was rejected says so when it comes
up again. Exits 1 where it is rejected or undecided, 3 where it is invalid.

Example:
  tidemark decide RUN --contract contract.yaml --reason 'least cost'`,
		Flags: f.WarehouseFlags(
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the record: why, in a sentence", Destination: &f.reason},
			&cli.StringFlag{Name: "contract", Usage: "judge by the contract in this YAML `FILE` (default: by the run's own SLO)", Destination: &f.contract},
			&cli.StringSliceFlag{Name: "rejected", Usage: "reject this `RUN` too; may be repeated", Destination: &f.rejected},
			&cli.StringFlag{Name: "by", Usage: "`NAME` of who decides (default: the user's)", Destination: &f.by},
			&cli.BoolFlag{Name: "even-so", Usage: "accept the run whatever the verdict is; the record says so", Destination: &f.evenSo},
			&cli.StringFlag{Name: "output", Usage: "write the record to `FILE.md` (default: to stdout)", Destination: &f.output},
		),
		Action: f.Do(f.run),
	}
}

func (f *decideFlags) run() error {
	name, err := f.OneArgument("run or experiment")
	if err != nil {
		return err
	}
	if err := f.Require("reason"); err != nil {
		return err
	}
	if strings.TrimSpace(f.reason) == "" {
		return hint.Misuse("decide: --reason is empty").Hint("a decision without its reason cannot be followed in a year")
	}
	if err := f.NotASnapshot(); err != nil {
		return err
	}
	if f.output != "-" && f.output != "" {
		if err := userfile.MayReplace(f.output); err != nil {
			return err
		}
	}
	var contract *decide.Contract
	if f.contract != "" {
		read, err := decide.ReadContract(f.contract)
		if err != nil {
			return err
		}
		contract = &read
	}
	var decision decide.Decision
	err = f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		decision, err = f.decideOn(ctx, w, name, contract)
		return err
	})
	if err != nil {
		return err
	}
	if len(decision.Runs) > 0 {
		if err := f.WithWarehouse(f.Context, warehouse.Update, func(ctx context.Context, w *warehouse.Warehouse) error { return decision.Keep(ctx, w) }); err != nil {
			return err
		}
	}
	if err := f.show(decision); err != nil {
		return err
	}
	return decideEnding(decision)
}

// decideOn judges what is named: a run and those that are rejected with it, or an experiment.
func (f *decideFlags) decideOn(ctx context.Context, w *warehouse.Warehouse, name string, contract *decide.Contract) (d decide.Decision, err error) {
	runs, values, err := decide.Series(ctx, w.DB(), name)
	isSeries := len(runs) > 0
	if err != nil {
		return d, err
	}
	switch {
	case isSeries && (f.evenSo || len(f.rejected.Value()) > 0):
		return d, hint.Misuse("decide: %s is an experiment: the contract chooses among its rows", name).Hint("name the run to decide otherwise")
	case !isSeries:
		if runs, err = analysis.RunIDs(ctx, w.DB(), append([]string{name}, f.rejected.Value()...)); err != nil {
			return d, err
		}
	}
	judged, err := decide.Judge(ctx, w.DB(), f.Warehouse, runs, contract)
	if err != nil {
		return d, err
	}
	before, err := analysis.RejectedRuns(ctx, w.DB(), runs)
	if err != nil {
		return d, err
	}
	for _, line := range before {
		f.Tell("%s", line)
	}
	words := decide.Words{Reason: f.reason, By: f.who(), Version: kit.Version, At: time.Now()}
	if isSeries {
		return decide.OfSeries(decide.OfRows(judged, values), contract, words)
	}
	return decide.OfRun(judged, contract, f.evenSo, words), nil
}

// who is the name that the user gives, else that of the account.
func (f *decideFlags) who() string {
	if f.by != "" {
		return f.by
	}
	if account, err := user.Current(); err == nil {
		return account.Username
	}
	return os.Getenv("USER")
}

func (f *decideFlags) show(d decide.Decision) error {
	f.Tell("%s", d.Headline())
	if f.output == "" || f.output == "-" {
		_, err := f.App.Writer.Write(d.Markdown())
		return err
	}
	if err := userfile.WholeBytes(f.output, d.Markdown()); err != nil {
		return hint.Errorf("decide: the decision is kept, and --output could not be written: %w", err).Hint(`see it: tidemark sql "from marts.decisions"`)
	}
	f.Tell("record in %s", f.output)
	return nil
}

func decideEnding(d decide.Decision) error {
	switch {
	case d.IsAccepted():
		return nil
	case len(d.Runs) == 0 && d.Undecided[0].Outcome == analysis.Invalid:
		return kit.ExitError{Code: kit.ExitInvalid}
	}
	return kit.ExitError{Code: kit.ExitNotMet}
}
