package model

// The verb predict computes TPOT, TTFT and their limits for one configuration or for a
// table of them (--points). analysis.Argue and analysis.PredictPoints ask the bandwidth
// model in SQL; predictprint.go shows one prediction to people, predictPoints
// handles tables.
//
// A default must be visible: whatever the user did not say and the model assumed is in
// the table "Taken without being said", or in the column "assumptions" for programs.
//
// Exit codes: 0; 1 where the model does not fit or a prompt exceeds the context; 2 for
// flags that contradict each other. With --points a row without a prediction carries
// its reason in the column "why", and the exit code stays 0.

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
)

type predictFlags struct {
	kit.Call
	kit.Deployment
	load               analysis.Load // in a table of points its lengths are those that a flag gives
	points, parameters string
	staticBatch        float64
	drafts             int
}

func PredictCommand() *cli.Command {
	f := &predictFlags{}
	return &cli.Command{
		Name:      "predict",
		Usage:     "TPOT of a configuration and its floor; also fit, kv, queue",
		ArgsUsage: "[fit | kv | queue]",
		Description: `One configuration by flags: the answer, its terms, TTFT, the limits, and all
that was assumed, with sources. Many by --points: a CSV whose columns are
named like the flags (tp, input_len, concurrency, ...); one row in is one
row out, in order, with the prediction behind it, or why there is none. A
measured tpot_ms or tpot_s is compared. Flags say what the file does not.
Exits 1 where the model does not fit. "predict fit" says how many requests
fit, "predict kv" what a context costs, "predict queue" what a queue does.

Examples:
  tidemark predict --gpu H200 --catalog-model llama-3.1-70b --quantization fp8 --concurrency 64
  tidemark predict --points points.csv --csv > predicted.csv`,
		Flags:  f.TableFlags(append(f.Deployment.Flags(), f.loadFlags()...)...),
		Action: f.Do(f.run),
	}
}

// loadFlags are the load and the speculation, next to the flags of a deployment.
func (f *predictFlags) loadFlags() []cli.Flag {
	positive := func(flag string) func(*cli.Context, float64) error {
		return func(_ *cli.Context, number float64) error {
			if !(number > 0 && !math.IsInf(number, 0)) {
				return hint.Misuse("predict: --%s %v: more than 0 is needed", flag, number)
			}
			return nil
		}
	}
	return []cli.Flag{
		&cli.StringFlag{Name: "points", Usage: "CSV `FILE` of many configurations (-: stdin)", Destination: &f.points},
		&cli.Float64Flag{Name: "concurrency", Usage: "closed loop: so many `CLIENTS`, each sending again when served (default: 1)", Destination: &f.load.Clients, Action: positive("concurrency")},
		&cli.Float64Flag{Name: "request-rate", Usage: "open loop: `REQUESTS` a second", Destination: &f.load.RequestsPerS, Action: positive("request-rate")},
		&cli.Float64Flag{Name: "static-batch", Usage: "offline: so many `REQUESTS` sent at once, and no more", Destination: &f.staticBatch, Action: positive("static-batch")},
		&cli.Float64Flag{Name: "input-tokens", Usage: "mean `TOKENS` of a prompt", Value: 1000, Destination: &f.load.InputTokens, Action: positive("input-tokens")},
		&cli.Float64Flag{Name: "output-tokens", Usage: "mean `TOKENS` of an answer", Value: 500, Destination: &f.load.OutputTokens, Action: positive("output-tokens")},
		&cli.Float64Flag{Name: "cached-tokens", Usage: "mean `TOKENS` of a prompt that a cache has", Destination: &f.load.CachedTokens},
		&cli.IntFlag{Name: "num-speculative-tokens", Usage: "`DRAFTS` a step", Destination: &f.drafts, Action: kit.AtLeastOne[int]("num-speculative-tokens")},
		&cli.Float64Flag{Name: "acceptance-rate", Usage: "`CHANCE` of a draft to be kept", Action: kit.Said(&f.load.AcceptanceRate)},
		&cli.Float64Flag{Name: "acceptance-length", Usage: "measured `TOKENS` a step: 1 + accepted / drafts", Destination: &f.load.TokensPerStep},
		&cli.StringFlag{Name: "parameters", Usage: "`8B`: no model, weights over bandwidth alone", Destination: &f.parameters},
	}
}

// run handles three questions: many points, weights alone, one configuration.
func (f *predictFlags) run() error {
	if err := f.NoArguments("a file of points goes behind --points"); err != nil {
		return err
	}
	point, err := f.point()
	if err != nil {
		return err
	}
	switch {
	case f.points != "":
		return f.predictPoints(point)
	case f.parameters != "":
		return f.weightsAlone(point)
	}
	if err := f.Require("gpu", "catalog-model"); err != nil {
		return err
	}
	if point.Clients == 0 && point.RequestsPerS == 0 {
		point.Clients = 1
	}
	if err := point.Load.Check(); err != nil {
		return hint.Misuse("predict: %w", err)
	}
	return f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
		argument, err := analysis.Argue(ctx, w.DB(), point)
		if err != nil {
			return err
		}
		if argument.Why != "" {
			return kit.ExitError{Code: kit.ExitNotMet, Err: hint.Errorf("%s", "predict: "+argument.Why).Hint("%s", whatToDo(argument.Why))}
		}
		if f.IsForPrograms() {
			return f.PrintTable(argumentTable(argument))
		}
		together, err := argument.TogetherTTFT(ctx, w.DB())
		if err != nil {
			return err
		}
		return f.printArgument(argument, together)
	})
}

// whatToDo is the hint for a configuration that the model refuses.
func whatToDo(why string) string {
	switch {
	case strings.HasPrefix(why, "does not fit"):
		return `"tidemark predict fit" with the same flags says what would fit`
	case strings.Contains(why, "the context of"):
		return "shorter prompts or answers, or a larger --max-model-len up to the model's own"
	default:
		return ""
	}
}

// point is what the flags say; what is not given is zero, except the lengths
// of a single prediction, which have defaults.
func (f *predictFlags) point() (p analysis.Point, err error) {
	for _, pair := range [][2]string{
		{"points", "parameters"}, {"parameters", "catalog-model"},
		{"concurrency", "request-rate"}, // a closed loop has clients, an open one has a rate
		{"static-batch", "concurrency"}, {"static-batch", "request-rate"},
		{"acceptance-rate", "acceptance-length"},
	} {
		if err := f.Exclusive(pair[0], pair[1]); err != nil {
			return p, err
		}
	}
	if f.load.AcceptanceRate != nil && f.drafts == 0 && f.points == "" {
		return p, hint.Misuse("predict: --acceptance-rate needs --num-speculative-tokens").Hint("how many tokens the engine guesses a step")
	}
	p.Deployment, p.Load = f.Said, f.load
	p.Drafts = float64(f.drafts)
	if f.staticBatch > 0 {
		p.Clients, p.IsStatic = f.staticBatch, true
	}
	for flag, tokens := range map[string]*float64{"input-tokens": &p.InputTokens, "output-tokens": &p.OutputTokens} {
		if f.points != "" && !f.IsGiven(flag) {
			*tokens = 0
		}
	}
	if err := p.CheckNames(); err != nil {
		return p, hint.Misuse("predict: %w", err)
	}
	return p, nil
}

// weightsAlone prints weights over peak bandwidth. It is often quoted as a prediction,
// and is only one of its terms.
func (f *predictFlags) weightsAlone(p analysis.Point) error {
	parameters, is := deployment.Parameters(f.parameters)
	if !is {
		return hint.Misuse("predict: --parameters %s: not a number of parameters", f.parameters).Hint("8B, 70e9, 1.5T")
	}
	if flag := f.Given("concurrency", "request-rate", "static-batch", "input-tokens", "output-tokens", "cached-tokens", "num-speculative-tokens", "acceptance-rate", "acceptance-length"); flag != "" {
		return hint.Misuse("predict: --%s is of a load, and --parameters is of weights alone", flag).Hint("leave it out, or name --gpu and --catalog-model instead of --parameters")
	}
	if p.GPU == "" && p.HBMBytesPerS == 0 {
		return hint.Misuse("predict: --parameters needs --hbm-bandwidth or --gpu")
	}
	return f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := analysis.WeightsOverPeak(ctx, w.DB(), p.Deployment, parameters)
		if err != nil {
			return err
		}
		if f.IsForPrograms() {
			return f.PrintTable(table)
		}
		row := kit.RowsOf(table)[0]
		f.Remark("Weights over peak bandwidth: %s GB over %s GB/s are %.2f ms a token, %.1f tokens/s of one stream.",
			kit.Gigabytes(row.Number("weight_bytes")), kit.Gigabytes(row.Number("hbm_bytes_per_s")), 1e3*row.Number("weights_over_peak_s"), row.Number("tokens_per_s"))
		f.Remark("That is one term and no prediction: KV cache, arithmetic, layers, links, host and the prompts of others are left out, " +
			"and no GPU reaches its peak. With --gpu and --catalog-model there is one.")
		return nil
	})
}

// argumentTable is one row for programs: what was asked, the prediction, and what it rests on.
func argumentTable(a analysis.Argument) analysis.Table {
	p, row := a.Point, kit.RowsOf(a.Bytes)[0]
	table := kit.TableOf(
		"gpu", "model", "tensor_parallel_size", "expert_parallel_size", "data_parallel_size",
		"quantization", "compute_dtype", "kv_cache_dtype", "engine", "engine_version", "max_num_seqs", "max_num_batched_tokens", "hbm_bytes_per_s",
		"concurrency", "request_rate", "input_tokens", "output_tokens", "cached_tokens", "num_speculative_tokens", "tokens_per_step")
	cells := []any{
		p.GPU, p.ModelName(), max(p.TensorParallelSize, 1), max(p.ExpertParallelSize, 1), max(p.DataParallelSize, 1),
		p.Quantization, row["compute_format"], p.KVCacheDtype, p.Engine, kit.OrNull(p.EngineVersion), p.MaxNumSeqs, p.MaxNumBatchedTokens, row["hbm_bytes_per_s"],
		kit.OrNull(p.Clients), kit.OrNull(p.RequestsPerS), p.InputTokens, p.OutputTokens, p.CachedTokens, p.Drafts, row["tokens_per_step"],
	}
	add := func(name string, value any) {
		table.Columns = append(table.Columns, name)
		cells = append(cells, value)
	}
	for i, value := range a.Cells(p) {
		if name := analysis.PredictionColumns()[i]; name != "why" {
			add(name, value)
		}
	}
	for _, name := range []string{"weights_over_peak_s", "most_running", "preemption_onset_requests"} {
		add(name, row[name])
	}
	add("gpu_kinship", row["gpu_kinship"])
	add("nearest_measured", a.Nearest.What)
	add("nearest_differs", a.Nearest.Differs)
	add("most_requests_per_s", a.MostPerS())
	assumed := []any{}
	if line := replicasLine(a); line != "" {
		assumed = append(assumed, line)
	}
	if odd := oddCompute(a); odd != "" {
		assumed = append(assumed, fmt.Sprintf("multiplied in %s: %s", row.Text("compute_format"), odd))
	}
	for _, constant := range kit.RowsOf(a.Constant) {
		assumed = append(assumed, fmt.Sprintf("%s = %s %s (%s: %s)", constantName(constant), tables.Plain(constant["value"]),
			constant.Text("unit"), constantScope(constant), constant.Text("source")))
	}
	add("assumptions", assumed)
	table.Rows = [][]any{cells}
	return table
}

// predict --points: a CSV of configurations in, the same rows with predictions out, in
// the same order. analysis reads the columns under the names that other tools use.
//
// The output is CSV unless a terminal or --json asks for something else, so that the
// command works as a filter in a pipe.

// predictPoints prints the table of configurations with the predictions added.
func (f *predictFlags) predictPoints(base analysis.Point) error {
	path := f.points
	points, err := readPoints(&f.Call, path)
	if err != nil {
		return err
	}
	if err := points.CheckColumns(base); err != nil {
		return fmt.Errorf("predict: %s: %w", path, err)
	}
	if path == "-" {
		path = "stdin"
	}
	return f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
		if err := w.ForMany(ctx); err != nil {
			return err
		}
		table, missed, err := analysis.PredictPoints(ctx, w.DB(), points, base)
		if err != nil {
			return fmt.Errorf("predict: %s: %w", path, err)
		}
		if err := printPoints(&f.Call, table, points); err != nil {
			return err
		}
		if len(points.Unused) > 0 {
			f.Tell("%s: copied, and not used: %s", path, strings.Join(points.Unused, ", "))
		}
		if len(missed.Renewed) > 0 {
			f.Tell("%s: computed again: %s", path, strings.Join(missed.Renewed, ", "))
		}
		if missed.FirstWhy != "" {
			f.Tell("%s: %d of %d rows have no prediction, the first in line %d: %s", path, missed.Rows-missed.Predicted, missed.Rows, missed.FirstWhyLine,
				strings.TrimPrefix(missed.FirstWhy, fmt.Sprintf("line %d: ", missed.FirstWhyLine)))
		}
		if len(missed.BelowFloor) > 0 {
			f.Tell("%s: %s: measured below the floor: error of the data (a wrong GPU, model, format or number of GPUs), left out of the errors",
				path, linesNamed(missed.BelowFloor))
		}
		f.Tell("%s: %s", path, missed)
		return nil
	})
}

// mostLines is how many lines a message lists.
const mostLines = 12

// linesNamed names lines of the file, so that an editor finds them.
func linesNamed(lines []int) string {
	if len(lines) == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	var named []string
	for _, line := range lines[:min(len(lines), mostLines)] {
		named = append(named, fmt.Sprint(line))
	}
	if more := len(lines) - mostLines; more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	last := len(named) - 1
	return "lines " + strings.Join(named[:last], ", ") + " and " + named[last]
}

// readPoints reads the file, or stdin for "-".
func readPoints(c *kit.Call, path string) (*analysis.Points, error) {
	from := io.NopCloser(c.App.Reader)
	if path != "-" {
		file, err := userfile.Open(path)
		if err != nil {
			return nil, hint.Errorf("%s: %w", c.Verb, err).Hint("--points names a CSV file with a first line of column names; - reads stdin")
		}
		from = file
	}
	defer from.Close()
	points, err := analysis.ReadPoints(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", c.Verb, path, err)
	}
	return points, nil
}

// printPoints gives a program a table of the file's kind: CSV unless it asked for JSON. A person gets what fits the terminal.
func printPoints(c *kit.Call, table analysis.Table, points *analysis.Points) error {
	switch {
	case c.IsForPrograms():
		return c.PrintTable(table)
	case !terminal.Is(c.App.Writer):
		return tables.WriteCSV(terminal.Product(c.App.Writer), table)
	}
	return tables.WriteText(c.App.Writer, pointsForPeople(table, points), terminal.Width(c.App.Writer))
}

// pointsForPeople are the lines of the file with the answer alone.
func pointsForPeople(table analysis.Table, points *analysis.Points) analysis.Table {
	people := kit.TableOf("line", "TPOT ms", "90 % band", "floor ms", "error", "remark")
	for i, row := range kit.RowsOf(table) {
		cells := []any{int64(points.Lines[i]), "-", "-", "-", "-", row.Text("why")}
		if tpot := row.Number("predicted_tpot_s"); kit.HasValue(tpot) {
			cells[1], cells[3] = milliseconds(tpot), milliseconds(row.Number("floor_tpot_s"))
			cells[2] = milliseconds(row.Number("low_s")) + " - " + milliseconds(row.Number("high_s"))
		}
		if missed := row.Number("error_ratio"); kit.HasValue(missed) {
			cells[4] = fmt.Sprintf("%+.1f %%", 100*missed)
			if row["is_below_floor"] == true {
				cells[5] = "measured below the floor: error of the data"
			}
		}
		people.Rows = append(people.Rows, cells)
	}
	return people
}
