package main

// The verb predict computes TPOT, TTFT and their limits for one configuration or for a
// table of them (--points). analysis.Argue and analysis.PredictPoints ask the bandwidth
// model in SQL; predictprint.go shows one prediction to people, predictpoints.go
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
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/hint"
	"tidemark/internal/tables"
	"tidemark/internal/warehouse"
)

func predictCommand() *cli.Command {
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
		Flags:  withTableFlags(append(deploymentFlags(), pointFlags()...)...),
		Action: runPredict,
	}
}

// pointFlags are the load and the speculation, next to deploymentFlags.
func pointFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "points", Usage: "CSV `FILE` of many configurations (-: stdin)"},
		&cli.Float64Flag{Name: "concurrency", Usage: "closed loop: so many `CLIENTS`, each sending again when served (default: 1)"},
		&cli.Float64Flag{Name: "request-rate", Usage: "open loop: `REQUESTS` a second"},
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
	if err := noArguments(c, "a file of points goes behind --points"); err != nil {
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
	if err := requireFlags(c, "gpu", "model"); err != nil {
		return err
	}
	if point.Clients == 0 && point.RequestsPerS == 0 {
		point.Clients = 1
	}
	if err := point.Load.Check(); err != nil {
		return hint.Misuse("predict: %w", err)
	}
	return calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		argument, err := analysis.Argue(ctx, w.DB(), point)
		if err != nil {
			return err
		}
		if argument.Why != "" {
			return exitError{exitNotMet, hint.Errorf("%s", "predict: "+argument.Why).Hint("%s", whatToDo(argument.Why))}
		}
		if isForPrograms(c) {
			return printTable(c, argumentTable(argument))
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
	if err := positiveFlags(c, "num-speculative-tokens"); err != nil {
		return p, err
	}
	for _, flag := range []string{"concurrency", "request-rate", "input-tokens", "output-tokens"} {
		if number := c.Float64(flag); c.IsSet(flag) && !(number > 0 && !math.IsInf(number, 0)) {
			return p, hint.Misuse("predict: --%s %v: more than 0 is needed", flag, number)
		}
	}
	for _, pair := range [][2]string{
		{"points", "parameters"}, {"parameters", "model"},
		{"concurrency", "request-rate"}, // a closed loop has clients, an open one has a rate
		{"acceptance-rate", "acceptance-length"},
	} {
		if err := exclusive(c, pair[0], pair[1]); err != nil {
			return p, err
		}
	}
	if c.IsSet("acceptance-rate") && !c.IsSet("num-speculative-tokens") && !c.IsSet("points") {
		return p, hint.Misuse("predict: --acceptance-rate needs --num-speculative-tokens").Hint("how many tokens the engine guesses a step")
	}
	if p.Deployment, err = givenDeployment(c); err != nil {
		return p, err
	}
	p.Load = analysis.Load{
		Clients: c.Float64("concurrency"), RequestsPerS: c.Float64("request-rate"),
		CachedTokens: c.Float64("cached-tokens"), Drafts: c.Float64("num-speculative-tokens"), TokensPerStep: c.Float64("acceptance-length"),
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
	return calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := analysis.WeightsOverPeak(ctx, w.DB(), p.Deployment, parameters)
		if err != nil {
			return err
		}
		if isForPrograms(c) {
			return printTable(c, table)
		}
		row := rowsOf(table)[0]
		remark(c, "Weights over peak bandwidth: %s GB over %s GB/s are %.2f ms a token, %.1f tokens/s of one stream.",
			gigabytes(row.number("weight_bytes")), gigabytes(row.number("hbm_bytes_per_s")), 1e3*row.number("weights_over_peak_s"), row.number("tokens_per_s"))
		remark(c, "That is one term and no prediction: KV cache, arithmetic, layers, links, host and the prompts of others are left out, "+
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
	p, row := a.Point, rowsOf(a.Bytes)[0]
	table := tableOf(
		"gpu", "model", "tensor_parallel_size", "expert_parallel_size", "data_parallel_size",
		"quantization", "compute_dtype", "kv_cache_dtype", "engine", "engine_version", "max_num_seqs", "max_num_batched_tokens", "hbm_bytes_per_s",
		"concurrency", "request_rate", "input_tokens", "output_tokens", "cached_tokens", "num_speculative_tokens", "tokens_per_step")
	cells := []any{
		p.GPU, p.ModelName(), max(p.TensorParallelSize, 1), max(p.ExpertParallelSize, 1), max(p.DataParallelSize, 1),
		p.Quantization, row["compute_format"], p.KVCacheDtype, p.Engine, orNull(p.EngineVersion), p.MaxNumSeqs, p.MaxNumBatchedTokens, row["hbm_bytes_per_s"],
		orNull(p.Clients), orNull(p.RequestsPerS), p.InputTokens, p.OutputTokens, p.CachedTokens, p.Drafts, row["tokens_per_step"],
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
	add("most_requests_per_s", row.number("most_requests_per_s")*replicas(a))
	assumed := []any{}
	if line := replicasLine(a); line != "" {
		assumed = append(assumed, line)
	}
	if odd := oddCompute(a); odd != "" {
		assumed = append(assumed, fmt.Sprintf("multiplied in %s: %s", row.text("compute_format"), odd))
	}
	for _, constant := range rowsOf(a.Constant) {
		assumed = append(assumed, fmt.Sprintf("%s = %s %s (%s: %s)", constantName(constant), tables.Plain(constant["value"]),
			constant.text("unit"), constantScope(constant), constant.text("source")))
	}
	add("assumptions", assumed)
	table.Rows = [][]any{cells}
	return table
}
