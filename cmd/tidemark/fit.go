package main

// The verb fit answers whether a model fits on a GPU and how many requests it holds
// next to its weights. analysis.Fit asks the macro of the bandwidth model, which is
// also what predict and the simulator use, so that the three cannot disagree.
//
// Exit codes: 0 it fits; 1 it does not, and the hint names the nearest change that
// would; 2 for misuse. The table is printed in both cases, before the error.
//
// Units: people read GB (10^9) and GiB (2^30) next to each other, because data
// sheets use the first and nvidia-smi and vLLM's log the second.

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

func fitCommand() *cli.Command {
	return &cli.Command{
		Name:  "fit",
		Usage: "does a model fit, and how many requests fit with it",
		Description: `The KV cache gets the memory that the engine may use, less the weights and
the engine's own buffers. Figures from the engine's log are better than
those of the catalogue: --weights, --kv-tokens. Exits 1 where no request
fits.

Example:
  tidemark fit --gpu H200 --model llama-3.1-70b --quantization fp8 --tokens 6000`,
		Flags: withTableFlags(append(deploymentFlags(),
			&cli.Int64Flag{Name: "tokens", Usage: "of a request, prompt and answer: `TOKENS`", Value: 2048},
			&cli.Int64Flag{Name: "output-tokens", Usage: "of these, the answer's: `TOKENS`"},
			&cli.Int64Flag{Name: "shared-prefix-tokens", Usage: "of these, the same in all requests: `TOKENS`"},
			&cli.StringFlag{Name: "memory", Usage: "of one GPU as nvidia-smi says it: `143771MiB` (default: the catalogue's)"},
			&cli.StringFlag{Name: "weights", Usage: "on one GPU as the log says it: `67.7GiB` (default: from the model)"},
			&cli.StringFlag{Name: "other-memory", Usage: "kept for activations, graphs, NCCL: `5.5GiB` (default: 3.9GiB)"},
			&cli.Int64Flag{Name: "kv-tokens", Usage: "as the log says it: \"GPU KV cache size: `TOKENS` tokens\""},
		)...),
		Action: runFit,
	}
}

// runFit prints the sum in any case. Where the model does not fit, the error comes after
// the table and names the nearest change that would help.
func runFit(c *cli.Context) error {
	if err := noArguments(c, "name GPU and model by --gpu and --model"); err != nil {
		return err
	}
	if err := requireFlags(c, "gpu", "model"); err != nil {
		return err
	}
	d, _, err := deploymentOf(c)
	if err != nil {
		return err
	}
	memory, err := memoryOf(c)
	if err != nil {
		return err
	}
	return calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := analysis.Fit(ctx, w.DB(), d, memory)
		if err != nil {
			return err
		}
		row := rowsOf(table)[0]
		isFitting := row.text("verdict") == "fits"
		if isForPrograms(c) {
			err = printTable(c, table)
		} else {
			err = printFit(c, row)
		}
		if err != nil || isFitting {
			return err
		}
		return doesNotFit(ctx, c, w, d, memory, row)
	})
}

// memoryOf reads what the user knows better than the catalogue, from nvidia-smi and from
// the engine's log. Unset fields stay nil and come from the catalogue.
func memoryOf(c *cli.Context) (m analysis.Memory, err error) {
	if err := positiveFlags(c, "tokens", "kv-tokens"); err != nil {
		return m, err
	}
	m = analysis.Memory{Tokens: c.Int64("tokens"), OutputTokens: c.Int64("output-tokens"), SharedTokens: c.Int64("shared-prefix-tokens")}
	if c.IsSet("kv-tokens") {
		m.KVTokens = new(float64(c.Int64("kv-tokens")))
	}
	for flag, into := range map[string]**float64{"memory": &m.MemoryBytes, "weights": &m.WeightBytes, "other-memory": &m.OtherBytes} {
		if *into, err = bytesOf(c, flag); err != nil {
			return m, err
		}
	}
	return m, nil
}

// printFit is the sum for people, and what it means.
func printFit(c *cli.Context, row rowOf) error {
	fmt.Fprintf(c.App.Writer, "%s in %s on %s x %s, KV cache in %s: %s\n\n", row.text("model"), row.text("weight_format"),
		row.text("tensor_parallel_size"), row.text("gpu"), row.text("kv_format"), row.text("verdict"))
	table := tableOf("on each GPU", "     GB", "    GiB", "that is")
	for _, part := range []struct{ name, column, what string }{
		{"memory", "memory_bytes", "what the driver reports"},
		{"the engine's", "engine_bytes", show.Figures(row.number("memory_utilization")) + " of it"},
		{"- weights", "weight_bytes", "in " + row.text("weight_format")},
		{"- other", "other_bytes", otherText(row)},
		{"= KV cache", "kv_room_bytes", whole(row.number("kv_tokens")) + " tokens of " + whole(row.number("kv_token_bytes")) + " bytes"},
	} {
		bytes := row.number(part.column)
		table.Rows = append(table.Rows, []any{part.name, fmt.Sprintf("%7.1f", bytes/1e9), fmt.Sprintf("%7.1f", bytes/(1<<30)), part.what})
	}
	if err := printTable(c, table); err != nil {
		return err
	}
	fmt.Fprintln(c.App.Writer)
	for _, sentence := range fitSentences(row) {
		remark(c, "%s", sentence)
	}
	return nil
}

// otherText gives the range of what engines were seen to need besides the weights.
func otherText(row rowOf) string {
	if row.number("high_kv_tokens") > 0 {
		return fmt.Sprintf("activations, CUDA graphs, NCCL: 3.5 to 5.5 GiB, which leaves %s to %s tokens",
			whole(row.number("low_kv_tokens")), whole(row.number("high_kv_tokens")))
	}
	return "activations, CUDA graphs, NCCL"
}

// fitSentences say what the numbers mean: how many requests, from where on they preempt
// each other, and which limit comes first.
func fitSentences(row rowOf) []string {
	var said []string
	tokens := whole(row.number("request_tokens"))
	switch row.text("verdict") {
	case "does not fit":
		return append(said, fmt.Sprintf("%s does not fit: its weights and the engine's buffers take %s GB of a GPU, %s GB more than the engine may use.",
			row.text("model"), gigabytes(row.number("weight_bytes")+row.number("other_bytes")), gigabytes(-row.number("kv_room_bytes"))))
	case "no room for one request":
		return append(said, fmt.Sprintf("The weights fit, and then no request of %s tokens: it takes %s GB.", tokens, gigabytes(row.number("request_bytes"))))
	}
	said = append(said, fmt.Sprintf("%s requests of %s tokens at once.", tenths(row.number("requests")), tokens))
	if shared := row.number("shared_prefix_tokens"); shared > 0 {
		said = append(said, fmt.Sprintf("With %s of these tokens in common and held once, %s.", whole(shared), tenths(row.number("requests_with_shared_prefix"))))
	}
	onset := row.number("preemption_onset_requests")
	text := fmt.Sprintf("More than %s running until their last token preempt each other", whole(onset))
	if steady := math.Floor(row.number("steady_requests")); steady > onset {
		text += fmt.Sprintf("; a steady mix, answers half done on the mean, holds %s", whole(steady))
	}
	said = append(said, text+".")
	if limit := row.number("max_num_seqs"); row.text("limited_by") == "max_num_seqs" {
		said = append(said, fmt.Sprintf("max_num_seqs of %s comes first: the cache is never full.", whole(limit)))
	}
	if longest := row.number("longest_request_tokens"); longest < row.number("max_context_tokens") {
		said = append(said, fmt.Sprintf("Alone, a request may have %s tokens: with a larger --max-model-len vLLM refuses to start.", whole(longest)))
	}
	if heads, gpus := row.number("kv_heads"), row.number("tensor_parallel_size"); heads == 0 && gpus > 1 {
		said = append(said, "The latent cache is the same on each GPU: more of them hold no more requests of it than the weights leave room for.")
	} else if heads > 0 && gpus > heads {
		said = append(said, fmt.Sprintf("%s GPUs share %s KV heads: each head is held %s times.", whole(gpus), whole(heads), show.Figures(gpus/heads)))
	}
	return append(said, widened(row)...)
}

// widened says of a format that the GPU does not multiply that it is unpacked to 16 bits.
func widened(row rowOf) []string {
	format := row.text("weight_format")
	if row.text("compute_format") != "bf16" || format == "bf16" {
		return nil
	}
	kind := "W4A16"
	if strings.HasPrefix(format, "fp8") {
		kind = "W8A16"
	}
	return []string{fmt.Sprintf("%s streams %s and multiplies in BF16 (%s): fewer bytes, no faster arithmetic.", row.text("gpu"), format, kind)}
}

// doesNotFit says what would, each by one change.
func doesNotFit(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, d deployment.Deployment, m analysis.Memory, row rowOf) error {
	options, err := analysis.FitOptions(ctx, w.DB(), d, m)
	if err != nil {
		return err
	}
	todo := "no single change of the number of GPUs, the format or the GPU helps"
	if len(options.Rows) > 0 {
		best := rowsOf(options)[0]
		todo = fmt.Sprintf("%s x %s in %s would do", best.text("tensor_parallel_size"), best.text("gpu"), best.text("weight_format"))
	}
	if !isForPrograms(c) && len(options.Rows) > 0 {
		if err := printOptions(c, options); err != nil {
			return err
		}
	}
	return exitError{exitNotMet, hint.Errorf("fit: %s in %s on %s x %s: %s",
		row.text("model"), row.text("weight_format"), row.text("tensor_parallel_size"), row.text("gpu"), row.text("verdict")).Hint("%s", todo)}
}

// printOptions lists deployments that differ in one thing and fit.
func printOptions(c *cli.Context, options analysis.Table) error {
	fmt.Fprintf(c.App.Writer, "\nWhat would, by one change:\n\n")
	table := tableOf("change", "GPUs", "weights", "GB each", "KV tokens", "requests")
	for _, row := range rowsOf(options) {
		table.Rows = append(table.Rows, []any{
			row["change"], row.text("tensor_parallel_size") + " x " + row.text("gpu"), row["weight_format"],
			gigabytes(row.number("weight_bytes")), whole(row.number("kv_tokens")), tenths(row.number("requests")),
		})
	}
	return printTable(c, table)
}
