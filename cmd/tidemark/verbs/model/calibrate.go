package model

// The verb calibrate fits the constants of the bandwidth model to runs or to a table of measured
// points, and lists or forgets what was fitted. analysis.Calibrate fits, analysis/regression has the
// arithmetic, and later predictions read the result from the warehouse.
//
// The warehouse is opened for update even with --dry-run, because the fit reads
// views that only an up-to-date warehouse has. The constants are stored before
// anything is printed: a reader who sees the table can rely on it.
//
// Exit codes: 0 also where nothing was asked to be kept (--dry-run); 1 where the median
// error would grow, so nothing was kept; 2 for flags that contradict each other.
//
// Units: the table for people has times in microseconds, because a constant of a
// step is a few of them. Programs get seconds.

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

type calibrateFlags struct {
	kit.Call
	kit.Deployment
	points, plan  string
	isDry, isList bool
	isStepped     bool
	forgotten     *int64
}

func CalibrateCommand() *cli.Command {
	f := &calibrateFlags{}
	return &cli.Command{
		Name:      "calibrate",
		Usage:     "constants of one deployment from measurements, with intervals",
		ArgsUsage: "[RUN...]",
		Description: `Fits the deployment's constants to the runs, each near what kernels were
measured to do. A constant that the runs do not determine keeps its value,
and the output says so: two runs that differ in batch, context and prompt
length determine more than one. The result is stored with the names of its
runs, and every later prediction of the same GPU, model, degree, formats and
minor version uses it. Drafts, invalid and simulated runs and those on a
shared server are refused. Where the median error would grow, nothing is
stored and the exit code is 1.

With --steps the runs' requests are played step by step on the model of the
whole server, and first tokens are fitted as well: that tells its API server
and its host from its GPU. --plan writes the run that tells most, at most
three minutes long and made for the deployment: replay it, then calibrate.

With --points the measurements are the rows of a CSV instead, as "predict
--points" reads them: results of other tools, or hours of a server's metrics.

Examples:
  tidemark calibrate 20261121-101500-busy 20261121-103000-idle
  tidemark calibrate --plan c.jsonl.zst --gpu H100 --catalog-model llama-3.1-8b
  tidemark calibrate --points points.csv --gpu H100 --catalog-model llama-3.1-8b`,
		Flags: f.TableFlags(append(
			f.Deployment.Flags(),
			&cli.StringFlag{Name: "points", Usage: "CSV `FILE` of measured points of one deployment (-: stdin); flags say what it does not", Destination: &f.points},
			&cli.StringFlag{Name: "plan", Usage: "write a workload that tells the constants of this deployment apart to `FILE`, usually .jsonl.zst", Destination: &f.plan},
			&cli.BoolFlag{Name: "steps", Usage: "fit the whole server by playing the runs step by step", Destination: &f.isStepped},
			&cli.BoolFlag{Name: "dry-run", Usage: "fit and print, store nothing", Destination: &f.isDry},
			&cli.BoolFlag{Name: "list", Usage: "list the stored calibrations", Destination: &f.isList},
			&cli.Int64Flag{Name: "forget", Usage: "remove calibration `ID`: the one before it counts again, else the built-in constants", Action: kit.Said(&f.forgotten)},
		)...),
		Action: f.Do(f.run),
	}
}

// run lists, forgets or makes calibrations, depending on the flags.
func (f *calibrateFlags) run() error {
	isForget, flag := f.forgotten != nil, f.First()
	switch {
	case f.isList && isForget || (f.isList || isForget) && (f.Args.Len() > 0 || f.isDry || f.points != ""):
		return hint.Misuse("calibrate: runs, --points, --list and --forget exclude each other")
	case f.plan != "" && (f.points != "" || f.isList || isForget || f.isStepped || f.isDry || f.Args.Len() > 0):
		return hint.Misuse("calibrate: --plan is for a deployment alone").Hint("leave the rest out; calibrate when the plan has been sent")
	case f.plan != "":
		return f.Calculator(f.writePlan)
	case f.isStepped && (f.points != "" || f.isList || isForget):
		return hint.Misuse("calibrate: --steps is for runs").Hint("leave it out, or name runs")
	case f.points != "" && f.Args.Len() > 0:
		return hint.Misuse("calibrate: runs or --points, not both").Hint("a run is calibrated on by its requests; take it in and name it alone")
	case f.points == "" && flag != "":
		return hint.Misuse("calibrate: --%s is for --points; a run has its own deployment", flag).Hint("leave it out")
	case f.isList:
		return f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
			return listCalibrations(ctx, &f.Call, w)
		})
	case !isForget && f.Args.Len() == 0 && f.points == "":
		return hint.Misuse("calibrate: no run named").Hint(`"tidemark runs" lists the runs`)
	}
	return f.WithWarehouse(f.Context, warehouse.Update, func(ctx context.Context, w *warehouse.Warehouse) error {
		if isForget {
			return f.forgetCalibration(ctx, w)
		}
		return f.calibrate(ctx, w)
	})
}

// writePlan writes a workload for the deployment of the flags.
func (f *calibrateFlags) writePlan(ctx context.Context, w *warehouse.Warehouse) error {
	cost, err := analysis.LoadStepCost(ctx, w.DB(), f.Said)
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	requests, takes, err := cost.CalibrationPlan(ctx, analysis.LongestCalibration)
	if err != nil {
		return err
	}
	header, err := plan.Write(f.plan, plan.Header{Source: "calibration"}, plan.Choices{Mode: schedule.Open}, plan.Each(requests))
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	f.Tell("%s: %s, %s by the model; send it: tidemark replay %s --base-url URL --model M --cache cold", f.plan, show.Things(int(header.Requests), "request", "requests"),
		show.Duration(takes.Seconds()), escape.Shell(f.plan))
	return nil
}

// calibrate fits constants to the runs and stores them, unless the user only wants
// to see them.
func (f *calibrateFlags) calibrate(ctx context.Context, w *warehouse.Warehouse) error {
	calibration, err := f.fitCalibration(ctx, w)
	if err != nil {
		return err
	}
	if !f.isDry && !calibration.IsWorse() {
		if err := calibration.Keep(ctx, w.DB()); err != nil {
			return err
		}
	}
	if err := printCalibration(&f.Call, calibration); err != nil {
		return err
	}
	for _, warning := range calibration.Warnings {
		f.Tell("calibrate: warning: %s", warning)
	}
	if calibration.IsWorse() {
		return kit.ExitError{Code: kit.ExitNotMet, Err: hint.Errorf("calibrate: nothing was kept: predictions of these measurements would be off by %s %% (median), and by %s %% without it",
			percent(calibration.After.Median), percent(calibration.Before.Median)).Hint(`what is off is no constant of the deployment: ask "tidemark diagnose"`)}
	}
	if calibration.ID == 0 {
		f.Tell("nothing was kept")
		return nil
	}
	f.Tell("kept as calibration %d: predictions of this deployment use it from now on; tidemark calibrate --forget %d%s takes it back",
		calibration.ID, calibration.ID, f.WarehouseWords())
	return nil
}

// fitCalibration fits to the named runs, or to the points of a file.
func (f *calibrateFlags) fitCalibration(ctx context.Context, w *warehouse.Warehouse) (analysis.Calibration, error) {
	if f.points == "" {
		runs, err := analysis.RunIDs(ctx, w.DB(), f.Args.Slice())
		if err != nil {
			return analysis.Calibration{}, err
		}
		if f.isStepped {
			return analysis.CalibrateServer(ctx, w.DB(), runs, time.Now())
		}
		return analysis.Calibrate(ctx, w.DB(), runs, time.Now())
	}
	points, err := readPoints(&f.Call, f.points)
	if err != nil {
		return analysis.Calibration{}, err
	}
	name := filepath.Base(f.points)
	if f.points == "-" {
		name = "stdin"
	}
	calibration, err := analysis.CalibratePoints(ctx, w.DB(), points, analysis.Point{Deployment: f.Said}, name, time.Now())
	if err != nil {
		return calibration, fmt.Errorf("calibrate: %s: %w", name, err)
	}
	return calibration, nil
}

// printCalibration says what changed, and why the rest did not.
func printCalibration(c *kit.Call, calibration analysis.Calibration) error {
	if c.IsForPrograms() {
		return c.PrintTable(calibration.Table())
	}
	if calibration.Points > 0 {
		c.Remark("%s: %s of %s.", deploymentText(calibration.Deployment), show.Things(calibration.Points, "measured point", "measured points"), calibration.Runs[0])
	} else {
		c.Remark("%s: %s requests of %s, as good as %s independent measurements.", deploymentText(calibration.Deployment),
			show.Count(float64(calibration.Requests)), strings.Join(calibration.Runs, ", "), kit.Tenths(calibration.Weight))
	}
	fmt.Fprintln(c.App.Writer)
	shown := kit.TableOf(calibratedColumns...)
	var reasons []string
	for _, one := range calibration.Constants {
		if one.Held != "" {
			shown.Rows = append(shown.Rows, []any{one.Name + forFormat(one.Format), constantText(one.Name, one.Before), "as it was", ""})
			reasons = append(reasons, one.Name+": "+one.Held)
			continue
		}
		shown.Rows = append(shown.Rows, calibratedRow(one.Name, one.Format, one.Before, one.Value, one.Low, one.High))
	}
	if err := c.PrintTable(shown); err != nil {
		return err
	}
	fmt.Fprintln(c.App.Writer)
	if len(reasons) > 0 {
		c.Remark("What these measurements do not tell: %s.", strings.Join(slices.Compact(reasons), "; "))
	}
	c.Remark("Of the measurements that it was fitted to, the prediction was off by %s %% (median; bias %s %%) before and by %s %% (%s %%) after. How right it is of others only another run can tell.",
		percent(calibration.Before.Median), percent(calibration.Before.Bias), percent(calibration.After.Median), percent(calibration.After.Bias))
	return nil
}

// percent has one decimal place, because errors of a few percent are compared.
func percent(ratio float64) string { return fmt.Sprintf("%.1f", 100*ratio) }

// constantText shows times in microseconds, because constants are of that size.
func constantText(name string, value float64) string {
	if strings.HasSuffix(name, "_s") {
		return show.Figures(1e6*value) + " us"
	}
	return show.Figures(value)
}

// listCalibrations shows what is stored and from which runs it came.
func listCalibrations(ctx context.Context, c *kit.Call, w *warehouse.Warehouse) error {
	table, err := analysis.Calibrations(ctx, w.DB())
	if err != nil {
		return err
	}
	if c.IsForPrograms() {
		return c.PrintTable(table)
	}
	if len(table.Rows) == 0 {
		c.Remark("None is kept: predictions use the built-in constants. tidemark calibrate RUN makes one.")
		return nil
	}
	rows := kit.RowsOf(table)
	for begin, end := 0, 0; begin < len(rows); begin = end {
		shown := kit.TableOf(calibratedColumns...)
		first := rows[begin]
		for ; end < len(rows) && rows[end]["calibration_id"] == first["calibration_id"]; end++ {
			row := rows[end]
			shown.Rows = append(shown.Rows, calibratedRow(row.Text("name"), row.Text("format"),
				row.Number("before"), row.Number("value"), row.Number("low"), row.Number("high")))
		}
		if begin > 0 {
			fmt.Fprintln(c.App.Writer)
		}
		of := show.Count(first.Number("requests")) + " requests of " + strings.Join(strings.Fields(first.Text("run_ids")), ", ")
		if first.Number("requests") == 0 {
			of = "points of " + first.Text("run_ids")
		}
		c.Remark("Calibration %s, %s, %s: %s.", first.Text("calibration_id"), first["made_at"].(time.Time).UTC().Format(time.DateOnly), of, deploymentText(deployment.Deployment{
			GPU: first.Text("gpu"), CatalogModel: first.Text("model"), TensorParallelSize: int(first.Number("tensor_parallel_size")),
			Quantization: first.Text("weight_format"), KVCacheDtype: first.Text("kv_format"), Engine: first.Text("engine"), EngineVersion: first.Text("engine_version"),
		}))
		fmt.Fprintln(c.App.Writer)
		if err := c.PrintTable(shown); err != nil {
			return err
		}
	}
	return nil
}

var calibratedColumns = []string{"constant", "built in", "now", "90 % interval"}

func calibratedRow(name, format string, before, value, low, high float64) []any {
	return []any{name + forFormat(format), constantText(name, before), constantText(name, value), constantText(name, low) + " to " + constantText(name, high)}
}

// deploymentText names what a calibration holds for: another degree, format or minor
// version has constants of its own.
func deploymentText(d deployment.Deployment) string {
	return strings.TrimSpace(fmt.Sprintf("%s in %s on %d x %s, KV cache in %s, %s %s",
		d.CatalogModel, d.Quantization, d.TensorParallelSize, d.GPU, d.KVCacheDtype, d.Engine, d.EngineVersion))
}

// forFormat names the format that a constant belongs to; "*" is every format.
func forFormat(format string) string {
	if format == "*" {
		return ""
	}
	return ", " + format
}

// forgetCalibration removes a stored calibration; predictions use the built-in
// constants again.
func (f *calibrateFlags) forgetCalibration(ctx context.Context, w *warehouse.Warehouse) error {
	constants, err := analysis.ForgetCalibration(ctx, w.DB(), *f.forgotten)
	if err != nil {
		return err
	}
	f.Tell("calibration %d is forgotten: %d constants of its deployment are as they were before it", *f.forgotten, constants)
	return nil
}
