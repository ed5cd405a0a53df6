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
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
)

func PredictCommand() *cli.Command {
	return &cli.Command{
		Name:  "predict",
		Usage: "TPOT of a configuration, term by term, and its floor",
		Description: `One configuration by flags: the answer, its terms, TTFT, the limits, and all
that was assumed, with sources. Many by --points: a CSV whose columns are
named like the flags (tp, input_len, concurrency, ...); one row in is one
row out, in order, with the prediction behind it, or why there is none. A
measured tpot_ms or tpot_s is compared. Flags say what the file does not.
Exits 1 where the model does not fit.

Examples:
  tidemark predict --gpu H200 --model llama-3.1-70b --quantization fp8 --concurrency 64
  tidemark predict --points points.csv --csv > predicted.csv`,
		Flags:  kit.WithTableFlags(append(kit.DeploymentFlags(), pointFlags()...)...),
		Action: runPredict,
	}
}

// pointFlags are the load and the speculation, next to kit.DeploymentFlags.
func pointFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "points", Usage: "CSV `FILE` of many configurations (-: stdin)"},
		&cli.Float64Flag{Name: "concurrency", Usage: "closed loop: so many `CLIENTS`, each sending again when served (default: 1)"},
		&cli.Float64Flag{Name: "request-rate", Usage: "open loop: `REQUESTS` a second"},
		&cli.Float64Flag{Name: "static-batch", Usage: "offline: so many `REQUESTS` sent at once, and no more"},
		&cli.Float64Flag{Name: "input-tokens", Usage: "mean `TOKENS` of a prompt", Value: 1000},
		&cli.Float64Flag{Name: "output-tokens", Usage: "mean `TOKENS` of an answer", Value: 500},
		&cli.Float64Flag{Name: "cached-tokens", Usage: "mean `TOKENS` of a prompt that a cache has"},
		&cli.IntFlag{Name: "num-speculative-tokens", Usage: "`DRAFTS` a step"},
		&cli.Float64Flag{Name: "acceptance-rate", Usage: "`CHANCE` of a draft to be kept"},
		&cli.Float64Flag{Name: "acceptance-length", Usage: "measured `TOKENS` a step: 1 + accepted / drafts"},
		&cli.StringFlag{Name: "parameters", Usage: "`8B`: no model, weights over bandwidth alone"},
	}
}

// runPredict handles three questions: many points, weights alone, one configuration.
func runPredict(c *cli.Context) error {
	if err := kit.NoArguments(c, "a file of points goes behind --points"); err != nil {
		return err
	}
	point, err := pointOf(c)
	if err != nil {
		return err
	}
	switch {
	case c.IsSet("points"):
		return predictPoints(c, point)
	case c.IsSet("parameters"):
		return weightsAlone(c, point)
	}
	if err := kit.RequireFlags(c, "gpu", "model"); err != nil {
		return err
	}
	if point.Clients == 0 && point.RequestsPerS == 0 {
		point.Clients = 1
	}
	if err := point.Load.Check(); err != nil {
		return hint.Misuse("predict: %w", err)
	}
	return kit.Calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		argument, err := analysis.Argue(ctx, w.DB(), point)
		if err != nil {
			return err
		}
		if argument.Why != "" {
			return kit.ExitError{Code: kit.ExitNotMet, Err: hint.Errorf("%s", "predict: "+argument.Why).Hint("%s", whatToDo(argument.Why))}
		}
		if kit.IsForPrograms(c) {
			return kit.PrintTable(c, argumentTable(argument))
		}
		return printArgument(c, argument)
	})
}

// whatToDo is the hint for a configuration that the model refuses.
func whatToDo(why string) string {
	switch {
	case strings.HasPrefix(why, "does not fit"):
		return `"tidemark fit" with the same flags says what would fit`
	case strings.Contains(why, "the context of"):
		return "shorter prompts or answers, or a larger --max-model-len up to the model's own"
	default:
		return ""
	}
}

// pointOf reads all flags of a prediction; what is not given is zero, except the lengths
// of a single prediction, which have defaults.
func pointOf(c *cli.Context) (p analysis.Point, err error) {
	if err := kit.PositiveFlags(c, "num-speculative-tokens"); err != nil {
		return p, err
	}
	for _, flag := range []string{"concurrency", "request-rate", "static-batch", "input-tokens", "output-tokens"} {
		if number := c.Float64(flag); c.IsSet(flag) && !(number > 0 && !math.IsInf(number, 0)) {
			return p, hint.Misuse("predict: --%s %v: more than 0 is needed", flag, number)
		}
	}
	for _, pair := range [][2]string{
		{"points", "parameters"}, {"parameters", "model"},
		{"concurrency", "request-rate"}, // a closed loop has clients, an open one has a rate
		{"static-batch", "concurrency"}, {"static-batch", "request-rate"},
		{"acceptance-rate", "acceptance-length"},
	} {
		if err := kit.Exclusive(c, pair[0], pair[1]); err != nil {
			return p, err
		}
	}
	if c.IsSet("acceptance-rate") && !c.IsSet("num-speculative-tokens") && !c.IsSet("points") {
		return p, hint.Misuse("predict: --acceptance-rate needs --num-speculative-tokens").Hint("how many tokens the engine guesses a step")
	}
	if p.Deployment, err = kit.GivenDeployment(c); err != nil {
		return p, err
	}
	p.Load = analysis.Load{
		Clients: c.Float64("concurrency"), RequestsPerS: c.Float64("request-rate"),
		CachedTokens: c.Float64("cached-tokens"), Drafts: c.Float64("num-speculative-tokens"), TokensPerStep: c.Float64("acceptance-length"),
	}
	if c.IsSet("static-batch") {
		p.Clients, p.IsStatic = c.Float64("static-batch"), true
	}
	if err := p.CheckNames(); err != nil {
		return p, hint.Misuse("predict: %w", err)
	}
	if c.IsSet("acceptance-rate") {
		p.AcceptanceRate = new(c.Float64("acceptance-rate"))
	}
	for flag, into := range map[string]*float64{"input-tokens": &p.InputTokens, "output-tokens": &p.OutputTokens} {
		if isSingle := !c.IsSet("points"); isSingle || c.IsSet(flag) {
			*into = c.Float64(flag)
		}
	}
	return p, nil
}

// weightsAlone prints weights over peak bandwidth. It is often quoted as a prediction,
// and is only one of its terms.
func weightsAlone(c *cli.Context, p analysis.Point) error {
	parameters, err := parametersOf(c.String("parameters"))
	if err != nil {
		return err
	}
	if p.GPU == "" && p.HBMBytesPerS == 0 {
		return hint.Misuse("predict: --parameters needs --hbm-bandwidth or --gpu")
	}
	return kit.Calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := analysis.WeightsOverPeak(ctx, w.DB(), p.Deployment, parameters)
		if err != nil {
			return err
		}
		if kit.IsForPrograms(c) {
			return kit.PrintTable(c, table)
		}
		row := kit.RowsOf(table)[0]
		kit.Remark(c, "Weights over peak bandwidth: %s GB over %s GB/s are %.2f ms a token, %.1f tokens/s of one stream.",
			kit.Gigabytes(row.Number("weight_bytes")), kit.Gigabytes(row.Number("hbm_bytes_per_s")), 1e3*row.Number("weights_over_peak_s"), row.Number("tokens_per_s"))
		kit.Remark(c, "That is one term and no prediction: KV cache, arithmetic, layers, links, host and the prompts of others are left out, "+
			"and no GPU reaches its peak. With --gpu and --model there is one.")
		return nil
	})
}

// parameterUnits are counts, not bytes: 8B is 8e9 parameters.
var parameterUnits = map[string]float64{"": 1, "M": 1e6, "B": 1e9, "T": 1e12}

// parametersOf reads a number of parameters as model names give it.
func parametersOf(text string) (float64, error) {
	unit := strings.TrimLeft(text, "0123456789.+-e")
	number, err := strconv.ParseFloat(strings.TrimSuffix(text, unit), 64)
	size, isUnit := parameterUnits[strings.ToUpper(unit)]
	if err != nil || !isUnit || !(number > 0) || math.IsInf(number*size, 0) {
		return 0, hint.Misuse("predict: --parameters %s: not a number of parameters", text).Hint("8B, 70e9, 1.5T")
	}
	return number * size, nil
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
		table.Columns = append(table.Columns, analysis.Column{Name: name})
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
	add("most_requests_per_s", row.Number("most_requests_per_s")*replicas(a))
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
func predictPoints(c *cli.Context, base analysis.Point) error {
	path := c.String("points")
	points, err := readPoints(c, path)
	if err != nil {
		return err
	}
	if err := points.CheckColumns(base); err != nil {
		return fmt.Errorf("predict: %s: %w", path, err)
	}
	if path == "-" {
		path = "stdin"
	}
	return kit.Calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, missed, err := analysis.PredictPoints(ctx, w.DB(), points, base)
		if err != nil {
			return fmt.Errorf("predict: %s: %w", path, err)
		}
		if err := printPoints(c, table, points); err != nil {
			return err
		}
		if len(points.Unused) > 0 {
			kit.Tell(c, "%s: copied, and not used: %s", path, strings.Join(points.Unused, ", "))
		}
		if len(missed.Renewed) > 0 {
			kit.Tell(c, "%s: computed again: %s", path, strings.Join(missed.Renewed, ", "))
		}
		if missed.FirstWhy != "" {
			kit.Tell(c, "%s: %d of %d rows have no prediction, the first in line %d: %s", path, missed.Rows-missed.Predicted, missed.Rows, missed.FirstWhyLine,
				strings.TrimPrefix(missed.FirstWhy, fmt.Sprintf("line %d: ", missed.FirstWhyLine)))
		}
		if len(missed.BelowFloor) > 0 {
			kit.Tell(c, "%s: %s: measured below the floor: error of the data (a wrong GPU, model, format or number of GPUs), left out of the errors",
				path, linesNamed(missed.BelowFloor))
		}
		kit.Tell(c, "%s: %s", path, missed)
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
func readPoints(c *cli.Context, path string) (*analysis.Points, error) {
	from := io.NopCloser(c.App.Reader)
	if path != "-" {
		file, err := userfile.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Command.Name, err)
		}
		from = file
	}
	defer from.Close()
	points, err := analysis.ReadPoints(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", c.Command.Name, path, err)
	}
	return points, nil
}

// printPoints gives a program a table of the file's kind: CSV unless it asked for JSON. A person gets what fits the terminal.
func printPoints(c *cli.Context, table analysis.Table, points *analysis.Points) error {
	switch {
	case kit.IsForPrograms(c):
		return kit.PrintTable(c, table)
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
