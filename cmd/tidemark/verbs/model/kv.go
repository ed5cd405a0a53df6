package model

// The verb kv says what a context costs in KV cache, for a model of the catalogue or by
// the plain formula
//
//	2 * layers * KV heads * head size * bytes of an element   per token
//
// analysis.KVCosts knows grouped queries, latent caches (MLA), sliding windows and
// linear layers; the formula knows none of them. With --model and --heads both
// appear, so that a published sum can be checked against the model.
//
// Exit codes: 0; 2 for flags that contradict each other or an unknown model.

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

func KVCommand() *cli.Command {
	return &cli.Command{
		Name:  "kv",
		Usage: "what a context costs in KV cache",
		Description: `Keys and values of every token stay in memory and are read again at each
step: 2 * layers * KV heads * head size * bytes of an element, a token.
Models with grouped queries have fewer KV heads than heads, a latent cache
(MLA) has one vector, a sliding window drops old tokens. With --gpu, the
time that reading takes in each step.

Example:
  tidemark kv --model llama-3.1-70b --tokens 2048
  tidemark kv --layers 80 --heads 64 --head-dim 128 --tokens 2048`,
		Flags: kit.WithTableFlags(append(kit.DeploymentFlags(),
			&cli.Int64SliceFlag{Name: "tokens", Usage: "a context of `TOKENS`; may be given again", Value: cli.NewInt64Slice(2048)},
			&cli.IntFlag{Name: "heads", Usage: "use the plain formula with `N` KV heads, not the model's"},
			&cli.IntFlag{Name: "layers", Usage: "of a model without --model: `N` layers"},
			&cli.IntFlag{Name: "head-dim", Usage: "of a model without --model: `N` numbers a head"},
		)...),
		Action: runKV,
	}
}

// runKV decides between a model of the catalogue and the plain formula. The formula needs
// all three of --layers, --heads and --head-dim.
func runKV(c *cli.Context) error {
	if err := kit.NoArguments(c, "name the model by --model"); err != nil {
		return err
	}
	if err := kit.PositiveFlags(c, "heads", "layers", "head-dim"); err != nil {
		return err
	}
	isPlain := c.IsSet("layers") || c.IsSet("head-dim")
	for _, f := range deployment.Fields {
		if isPlain && f.Flag != "catalog-model" && c.IsSet(f.Flag) {
			return hint.Misuse("kv: --%s wants --model", f.Flag)
		}
	}
	switch {
	case isPlain && c.IsSet("model"):
		return hint.Misuse("kv: --layers and --head-dim are of a model without --model")
	case isPlain && !(c.IsSet("layers") && c.IsSet("head-dim") && c.IsSet("heads")):
		return hint.Misuse("kv: --layers, --heads and --head-dim go together").Hint("or name a model of the catalogue by --model")
	case c.IsSet("heads") && c.IsSet("kv-cache-dtype"):
		return hint.Misuse("kv: --heads is the plain formula, in 16 bits; leave --kv-cache-dtype out")
	case !isPlain:
		if err := kit.RequireFlags(c, "model"); err != nil {
			return err
		}
	}
	return kit.Calculator(c, func(ctx context.Context, w *warehouse.Warehouse) error {
		if isPlain {
			return plainKV(ctx, c, w, analysis.ModelShape{
				Model: "by formula", Layers: c.Int("layers"), KVHeads: c.Int("heads"), HeadDim: c.Int("head-dim"),
			})
		}
		return modelKV(ctx, c, w)
	})
}

// modelKV prints the model's costs and, with --heads, those of the formula below them.
func modelKV(ctx context.Context, c *cli.Context, w *warehouse.Warehouse) error {
	d, err := kit.GivenDeployment(c)
	if err != nil {
		return err
	}
	table, err := analysis.KVCosts(ctx, w.DB(), d, c.Int64Slice("tokens"))
	if err != nil {
		return err
	}
	shape, err := analysis.ShapeOf(ctx, w.DB(), d.CatalogModel)
	if err != nil {
		return err
	}
	if c.IsSet("heads") {
		if err := addFormula(ctx, w, &table, shape, c.Int("heads"), c.Int64Slice("tokens")); err != nil {
			return err
		}
	}
	if err := printKV(c, table); err != nil {
		return err
	}
	kit.Gap(c)
	kit.Remark(c, "%s", shapeText(shape))
	if lacks, err := analysis.LacksKVHeads(ctx, w.DB(), d.CatalogModel); err != nil {
		return err
	} else if lacks {
		kit.Tell(c, "kv: warning: no num_key_value_heads in %s: its %d attention heads are used", d.CatalogModel, shape.QueryHeads)
	}
	if c.IsSet("heads") {
		remarkHeads(c, table, shape, c.Int("heads"))
	}
	return nil
}

// shapeText says where the bytes of a token come from.
func shapeText(s analysis.ModelShape) string {
	text := fmt.Sprintf("%s: %d layers, %d KV heads of %d for %d query heads", s.Model, s.Layers, s.KVHeads, s.HeadDim, s.QueryHeads)
	if s.LatentDim > 0 {
		text = fmt.Sprintf("%s: %d layers, one latent vector of %d for %d heads, the same on each GPU", s.Model, s.Layers, s.LatentDim, s.QueryHeads)
	}
	if s.IndexLayers > 0 {
		text += fmt.Sprintf("; they keep every token and read the best %s, which %d indexers choose", kit.Whole(float64(s.WindowTokens.Int64)), s.IndexLayers)
	} else if s.WindowedLayers > 0 {
		text += fmt.Sprintf("; %d of them keep %s tokens", s.WindowedLayers, kit.Whole(float64(s.WindowTokens.Int64)))
	}
	if s.LinearLayers > 0 {
		text += fmt.Sprintf("; %d more keep a state of %s GB a sequence, however long", s.LinearLayers, kit.Gigabytes(s.StateBytes))
	}
	if s.MaxContextTokens.Valid {
		text += fmt.Sprintf("; contexts of %s tokens at most", kit.Whole(float64(s.MaxContextTokens.Int64)))
	}
	return text + "."
}

// addFormula adds what the plain formula gives with other heads than the model's: how often a published sum was made.
func addFormula(ctx context.Context, w *warehouse.Warehouse, table *analysis.Table, shape analysis.ModelShape, heads int, tokens []int64) error {
	name := fmt.Sprintf("%s with %d KV heads", shape.Model, heads)
	for _, n := range tokens {
		token, err := analysis.HeadKV(ctx, w.DB(), shape.Layers, heads, shape.HeadDim, 2, 1)
		if err != nil {
			return err
		}
		bytes := token * float64(n)
		table.Rows = append(table.Rows, []any{name, "bf16", float64(n), token, bytes, int64(1), bytes, nil})
	}
	return nil
}

// publishedKV is what a widely read post on the first hundred users gives for 64 heads and 2,048 tokens of a 70B model; its
// own formula says twice that.
const publishedKV = 2.7e9

// remarkHeads writes the formula out with its numbers, and recognises a published sum that
// left out the factor 2 for keys and values.
func remarkHeads(c *cli.Context, table analysis.Table, shape analysis.ModelShape, heads int) {
	for _, row := range kit.RowsOf(table) {
		if row.Text("model") == shape.Model {
			continue
		}
		bytes := row.Number("request_bytes")
		text := fmt.Sprintf("With %d KV heads %s tokens are 2 * %s * %d layers * %d heads * %d * 2 bytes = %s GB.", heads,
			kit.Whole(row.Number("tokens")), kit.Whole(row.Number("tokens")), shape.Layers, heads, shape.HeadDim, kit.Gigabytes(bytes))
		if bytes/2 > 0.98*publishedKV && bytes/2 < 1.02*publishedKV {
			text += fmt.Sprintf(" It differs from the %s GB that are published for this sum: those leave out one factor of 2, keys and values.", kit.Gigabytes(publishedKV))
		}
		if heads != shape.KVHeads {
			text += fmt.Sprintf(" The model has %d: it keeps %s of that.", shape.KVHeads, shareText(float64(shape.KVHeads)/float64(heads)))
		}
		kit.Remark(c, "%s", text)
	}
}

// shareText writes 0.125 as 1/8, as people speak of grouped heads.
func shareText(ratio float64) string {
	if inverse := 1 / ratio; inverse > 1 && inverse == float64(int(inverse)) {
		return fmt.Sprintf("1/%d", int(inverse))
	}
	return show.Figures(ratio) + " times"
}

func plainKV(ctx context.Context, c *cli.Context, w *warehouse.Warehouse, shape analysis.ModelShape) error {
	table := kit.TableOf("model", "kv_format", "tokens", "token_bytes", "request_bytes", "tensor_parallel_size", "gpu_request_bytes", "read_s")
	if err := addFormula(ctx, w, &table, shape, shape.KVHeads, c.Int64Slice("tokens")); err != nil {
		return err
	}
	if err := printKV(c, table); err != nil {
		return err
	}
	kit.Gap(c)
	shape.Model = ""
	remarkHeads(c, table, shape, shape.KVHeads)
	return nil
}

// printKV prints bytes for programs, GB and GiB for people.
func printKV(c *cli.Context, table analysis.Table) error {
	if kit.IsForPrograms(c) {
		return kit.PrintTable(c, table)
	}
	columns := []string{"model", "cache", "tokens", "bytes/token", "GB", "GiB"}
	isShared, isTimed := isSharedByGPUs(table), c.IsSet("gpu")
	if isShared {
		columns = append(columns, "GB/GPU")
	}
	if isTimed {
		columns = append(columns, "ms/step")
	}
	shown := kit.TableOf(columns...)
	for _, row := range kit.RowsOf(table) {
		cells := []any{
			row.Text("model"), row.Text("kv_format"), kit.Whole(row.Number("tokens")), kit.Whole(row.Number("token_bytes")),
			kit.Gigabytes(row.Number("request_bytes")), kit.Gibibytes(row.Number("request_bytes")),
		}
		if isShared {
			cells = append(cells, kit.Gigabytes(row.Number("gpu_request_bytes")))
		}
		if isTimed {
			cells = append(cells, orDash(row.Number("read_s")*1e3))
		}
		shown.Rows = append(shown.Rows, cells)
	}
	return kit.PrintTable(c, shown)
}

// isSharedByGPUs: only then does a column per GPU say anything new.
func isSharedByGPUs(table analysis.Table) bool {
	return slices.ContainsFunc(kit.RowsOf(table), func(row kit.RowOf) bool { return row.Number("tensor_parallel_size") > 1 })
}

func orDash(number float64) string {
	if !kit.HasValue(number) {
		return "-"
	}
	return show.Figures(number)
}
