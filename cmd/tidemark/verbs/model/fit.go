package model

// The verb "predict fit" answers whether a model fits on a GPU and how many requests it holds
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
	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

type fitFlags struct {
	kit.Call
	kit.Deployment
	analysis.Memory // what the user knows better than the catalogue, from nvidia-smi and from the engine's log
	kvTokens        int64
}

func FitCommand() *cli.Command {
	f := &fitFlags{}
	return &cli.Command{
		Name:    "predict fit",
		Aliases: []string{"fit"},
		Usage:   "does a model fit, and how many requests fit with it",
		Description: `The KV cache gets the memory that the engine may use, less the weights and
the engine's own buffers. Figures from the engine's log are better than
those of the catalogue: --weights, --kv-tokens. Exits 1 where no request
fits.

Example:
  tidemark predict fit --gpu H200 --catalog-model llama-3.1-70b --quantization fp8 --tokens 6000`,
		Flags: f.TableFlags(append(f.Deployment.Flags(),
			&cli.Int64Flag{Name: "tokens", Usage: "of a request, prompt and answer: `TOKENS`", Value: 2048, Destination: &f.Tokens, Action: kit.AtLeastOne[int64]("tokens")},
			&cli.Int64Flag{Name: "output-tokens", Usage: "of these, the answer's: `TOKENS`", Destination: &f.OutputTokens},
			&cli.Int64Flag{Name: "shared-prefix-tokens", Usage: "of these, the same in all requests: `TOKENS`", Destination: &f.SharedTokens},
			&cli.StringFlag{Name: "memory", Usage: "of one GPU as nvidia-smi says it: `143771MiB` (default: the catalogue's)", Action: kit.Size("memory", &f.MemoryBytes)},
			&cli.StringFlag{Name: "weights", Usage: "on one GPU as the log says it: `67.7GiB` (default: from the model)", Action: kit.Size("weights", &f.WeightBytes)},
			&cli.StringFlag{Name: "other-memory", Usage: "kept for activations, graphs, NCCL: `5.5GiB` (default: 3.9GiB)", Action: kit.Size("other-memory", &f.OtherBytes)},
			&cli.Int64Flag{Name: "kv-tokens", Usage: "as the log says it: \"GPU KV cache size: `TOKENS` tokens\"", Destination: &f.kvTokens, Action: kit.AtLeastOne[int64]("kv-tokens")},
		)...),
		Action: f.Do(f.run),
	}
}

// run prints the sum in any case. Where the model does not fit, the error comes after
// the table and names the nearest change that would help.
func (f *fitFlags) run() error {
	if err := f.NoArguments("name GPU and model by --gpu and --catalog-model"); err != nil {
		return err
	}
	if err := f.Require("gpu", "catalog-model"); err != nil {
		return err
	}
	if f.kvTokens > 0 {
		f.KVTokens = new(float64(f.kvTokens))
	}
	return f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
		table, err := analysis.Fit(ctx, w.DB(), f.Said, f.Memory)
		if err != nil {
			return err
		}
		row := kit.RowsOf(table)[0]
		isFitting := row.Text("verdict") == "fits"
		if f.IsForPrograms() {
			err = f.PrintTable(table)
		} else {
			err = printFit(&f.Call, row)
		}
		if err != nil || isFitting {
			return err
		}
		return f.doesNotFit(ctx, w, row)
	})
}

// printFit is the sum for people, and what it means.
func printFit(c *kit.Call, row kit.RowOf) error {
	fmt.Fprintf(c.App.Writer, "%s in %s on %s x %s, KV cache in %s: %s\n\n", row.Text("model"), row.Text("weight_format"),
		row.Text("tensor_parallel_size"), row.Text("gpu"), row.Text("kv_format"), row.Text("verdict"))
	table := kit.TableOf("on each GPU", "     GB", "    GiB", "that is")
	for _, part := range []struct{ name, column, what string }{
		{"memory", "memory_bytes", "what the driver reports"},
		{"the engine's", "engine_bytes", show.Figures(row.Number("memory_utilization")) + " of it"},
		{"- weights", "weight_bytes", "in " + row.Text("weight_format")},
		{"- other", "other_bytes", otherText(row)},
		{"= KV cache", "kv_room_bytes", show.Count(row.Number("kv_tokens")) + " tokens of " + show.Count(row.Number("kv_token_bytes")) + " bytes"},
	} {
		bytes := row.Number(part.column)
		table.Rows = append(table.Rows, []any{part.name, fmt.Sprintf("%7.1f", bytes/1e9), fmt.Sprintf("%7.1f", bytes/(1<<30)), part.what})
	}
	if err := c.PrintTable(table); err != nil {
		return err
	}
	fmt.Fprintln(c.App.Writer)
	for _, sentence := range fitSentences(row) {
		c.Remark("%s", sentence)
	}
	return nil
}

// otherText gives the range of what engines were seen to need besides the weights.
func otherText(row kit.RowOf) string {
	if row.Number("high_kv_tokens") > 0 {
		return fmt.Sprintf("activations, CUDA graphs, NCCL: 3.5 to 5.5 GiB, which leaves %s to %s tokens",
			show.Count(row.Number("low_kv_tokens")), show.Count(row.Number("high_kv_tokens")))
	}
	return "activations, CUDA graphs, NCCL"
}

// fitSentences say what the numbers mean: how many requests, from where on they preempt
// each other, and which limit comes first.
func fitSentences(row kit.RowOf) []string {
	var said []string
	tokens := show.Count(row.Number("request_tokens"))
	switch row.Text("verdict") {
	case "does not fit":
		return append(said, fmt.Sprintf("%s does not fit: its weights and the engine's buffers take %s GB of a GPU, %s GB more than the engine may use.",
			row.Text("model"), kit.Gigabytes(row.Number("weight_bytes")+row.Number("other_bytes")), kit.Gigabytes(-row.Number("kv_room_bytes"))))
	case "no room for one request":
		return append(said, fmt.Sprintf("The weights fit, and then no request of %s tokens: it takes %s GB.", tokens, kit.Gigabytes(row.Number("request_bytes"))))
	}
	said = append(said, fmt.Sprintf("%s requests of %s tokens at once.", kit.Tenths(row.Number("requests")), tokens))
	if shared := row.Number("shared_prefix_tokens"); shared > 0 {
		said = append(said, fmt.Sprintf("With %s of these tokens in common and held once, %s.", show.Count(shared), kit.Tenths(row.Number("requests_with_shared_prefix"))))
	}
	onset := row.Number("preemption_onset_requests")
	text := fmt.Sprintf("More than %s running until their last token preempt each other", show.Count(onset))
	if steady := math.Floor(row.Number("steady_requests")); steady > onset {
		text += fmt.Sprintf("; a steady mix, answers half done on the mean, holds %s", show.Count(steady))
	}
	said = append(said, text+".")
	if limit := row.Number("max_num_seqs"); row.Text("limited_by") == "max_num_seqs" {
		said = append(said, fmt.Sprintf("max_num_seqs of %s comes first: the cache is never full.", show.Count(limit)))
	}
	if longest := row.Number("longest_request_tokens"); longest < row.Number("max_context_tokens") {
		said = append(said, fmt.Sprintf("Alone, a request may have %s tokens: with a larger --max-model-len vLLM refuses to start.", show.Count(longest)))
	}
	if heads, gpus := row.Number("kv_heads"), row.Number("tensor_parallel_size"); heads == 0 && gpus > 1 {
		said = append(said, "The latent cache is the same on each GPU: more of them hold no more requests of it than the weights leave room for.")
	} else if heads > 0 && gpus > heads {
		said = append(said, fmt.Sprintf("%s GPUs share %s KV heads: each head is held %s times.", show.Count(gpus), show.Count(heads), show.Figures(analysis.HeadCopies(gpus, heads))))
	}
	return append(said, widened(row)...)
}

// widened says of a format that the GPU does not multiply that it is unpacked to 16 bits.
func widened(row kit.RowOf) []string {
	format := row.Text("weight_format")
	if row.Text("compute_format") != "bf16" || format == "bf16" {
		return nil
	}
	kind := "W4A16"
	if strings.HasPrefix(format, "fp8") {
		kind = "W8A16"
	}
	return []string{fmt.Sprintf("%s streams %s and multiplies in BF16 (%s): fewer bytes, no faster arithmetic.", row.Text("gpu"), format, kind)}
}

// doesNotFit says what would, each by one change.
func (f *fitFlags) doesNotFit(ctx context.Context, w *warehouse.Warehouse, row kit.RowOf) error {
	options, err := analysis.FitOptions(ctx, w.DB(), f.Said, f.Memory)
	if err != nil {
		return err
	}
	todo := "no single change of the number of GPUs, the format or the GPU helps"
	if len(options.Rows) > 0 {
		best := kit.RowsOf(options)[0]
		todo = fmt.Sprintf("%s x %s in %s would do", best.Text("tensor_parallel_size"), best.Text("gpu"), best.Text("weight_format"))
	}
	if !f.IsForPrograms() && len(options.Rows) > 0 {
		if err := printOptions(&f.Call, options); err != nil {
			return err
		}
	}
	return kit.ExitError{Code: kit.ExitNotMet, Err: hint.Errorf("predict fit: %s in %s on %s x %s: %s",
		row.Text("model"), row.Text("weight_format"), row.Text("tensor_parallel_size"), row.Text("gpu"), row.Text("verdict")).Hint("%s", todo)}
}

// printOptions lists deployments that differ in one thing and fit.
func printOptions(c *kit.Call, options analysis.Table) error {
	fmt.Fprintf(c.App.Writer, "\nWhat would, by one change:\n\n")
	table := kit.TableOf("change", "GPUs", "weights", "GB each", "KV tokens", "requests")
	for _, row := range kit.RowsOf(options) {
		table.Rows = append(table.Rows, []any{
			row["change"], row.Text("tensor_parallel_size") + " x " + row.Text("gpu"), row["weight_format"],
			kit.Gigabytes(row.Number("weight_bytes")), show.Count(row.Number("kv_tokens")), kit.Tenths(row.Number("requests")),
		})
	}
	return c.PrintTable(table)
}
