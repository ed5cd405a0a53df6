package model

// The verb "predict kv" says what a context costs in KV cache, for a model of the catalogue or by
// the plain formula
//
//	2 * layers * KV heads * head size * bytes of an element   per token
//
// analysis.KVCosts knows grouped queries, latent caches (MLA), sliding windows and
// linear layers; the formula knows none of them. With --catalog-model and --heads both
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
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

type kvFlags struct {
	kit.Call
	kit.Deployment
	tokens                 cli.Int64Slice
	heads, layers, headDim int
}

func KVCommand() *cli.Command {
	f := &kvFlags{}
	return &cli.Command{
		Name:    "predict kv",
		Aliases: []string{"kv"},
		Usage:   "what a context costs in KV cache",
		Description: `Keys and values of every token stay in memory and are read again at each
step: 2 * layers * KV heads * head size * bytes of an element, a token.
Models with grouped queries have fewer KV heads than heads, a latent cache
(MLA) has one vector, a sliding window drops old tokens. With --gpu, the
time that reading takes in each step.

Example:
  tidemark predict kv --catalog-model llama-3.1-70b --tokens 2048
  tidemark predict kv --layers 80 --heads 64 --head-dim 128 --tokens 2048`,
		Flags: f.TableFlags(append(f.Deployment.Flags(),
			&cli.Int64SliceFlag{Name: "tokens", Usage: "a context of `TOKENS`; may be given again", Value: cli.NewInt64Slice(2048), Destination: &f.tokens},
			&cli.IntFlag{Name: "heads", Usage: "use the plain formula with `N` KV heads, not the model's", Destination: &f.heads, Action: kit.AtLeastOne[int]("heads")},
			&cli.IntFlag{Name: "layers", Usage: "of a model without --catalog-model: `N` layers", Destination: &f.layers, Action: kit.AtLeastOne[int]("layers")},
			&cli.IntFlag{Name: "head-dim", Usage: "of a model without --catalog-model: `N` numbers a head", Destination: &f.headDim, Action: kit.AtLeastOne[int]("head-dim")},
		)...),
		Action: f.Do(f.run),
	}
}

// run decides between a model of the catalogue and the plain formula. The formula needs
// all three of --layers, --heads and --head-dim.
func (f *kvFlags) run() error {
	if err := f.NoArguments("name the model by --catalog-model"); err != nil {
		return err
	}
	isPlain := f.layers > 0 || f.headDim > 0
	flag := f.First("catalog_model")
	switch {
	case isPlain && flag != "":
		return hint.Misuse("predict kv: --%s wants --catalog-model", flag)
	case isPlain && f.Said.CatalogModel != "":
		return hint.Misuse("predict kv: --layers and --head-dim are of a model without --catalog-model")
	case isPlain && !(f.layers > 0 && f.headDim > 0 && f.heads > 0):
		return hint.Misuse("predict kv: --layers, --heads and --head-dim go together").Hint("or name a model of the catalogue by --catalog-model")
	case f.heads > 0 && f.Said.KVCacheDtype != "":
		return hint.Misuse("predict kv: --heads is the plain formula, in 16 bits; leave --kv-cache-dtype out")
	case !isPlain:
		if err := f.Require("catalog-model"); err != nil {
			return err
		}
	}
	return f.Calculator(func(ctx context.Context, w *warehouse.Warehouse) error {
		if isPlain {
			return f.plain(ctx, w, analysis.ModelShape{Layers: f.layers, KVHeads: f.heads, HeadDim: f.headDim})
		}
		return f.ofModel(ctx, w)
	})
}

// ofModel prints the model's costs and, with --heads, those of the formula below them.
func (f *kvFlags) ofModel(ctx context.Context, w *warehouse.Warehouse) error {
	model := f.Said.CatalogModel
	table, err := analysis.KVCosts(ctx, w.DB(), f.Said, f.tokens.Value())
	if err != nil {
		return err
	}
	shape, err := analysis.ShapeOf(ctx, w.DB(), model)
	if err != nil {
		return err
	}
	if f.heads > 0 {
		formula, err := analysis.KVByFormula(ctx, w.DB(), fmt.Sprintf("%s with %d KV heads", shape.Model, f.heads), shape, f.heads, f.tokens.Value())
		if err != nil {
			return err
		}
		table.Rows = append(table.Rows, formula.Rows...)
	}
	if err := f.print(table); err != nil {
		return err
	}
	f.Gap()
	f.Remark("%s", shapeText(shape))
	if lacks, err := analysis.LacksKVHeads(ctx, w.DB(), model); err != nil {
		return err
	} else if lacks {
		f.Tell("kv: warning: no num_key_value_heads in %s: its %d attention heads are used", model, shape.QueryHeads)
	}
	if f.heads > 0 {
		f.remarkHeads(table, shape)
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
		text += fmt.Sprintf("; they keep every token and read the best %s, which %d indexers choose", show.Count(float64(s.WindowTokens.Int64)), s.IndexLayers)
	} else if s.WindowedLayers > 0 {
		text += fmt.Sprintf("; %d of them keep %s tokens", s.WindowedLayers, show.Count(float64(s.WindowTokens.Int64)))
	}
	if s.LinearLayers > 0 {
		text += fmt.Sprintf("; %d more keep a state of %s GB a sequence, however long", s.LinearLayers, kit.Gigabytes(s.StateBytes))
	}
	if s.MaxContextTokens.Valid {
		text += fmt.Sprintf("; contexts of %s tokens at most", show.Count(float64(s.MaxContextTokens.Int64)))
	}
	return text + "."
}

// publishedKV is what a widely read post on the first hundred users gives for 64 heads and 2,048 tokens of a 70B model; its
// own formula says twice that.
const publishedKV = 2.7e9

// remarkHeads writes the formula out with its numbers, and recognises a published sum that
// left out the factor 2 for keys and values.
func (f *kvFlags) remarkHeads(table analysis.Table, shape analysis.ModelShape) {
	for _, row := range kit.RowsOf(table) {
		if row.Text("model") == shape.Model {
			continue
		}
		bytes := row.Number("request_bytes")
		text := fmt.Sprintf("With %d KV heads %s tokens are 2 * %s * %d layers * %d heads * %d * 2 bytes = %s GB.", f.heads,
			show.Count(row.Number("tokens")), show.Count(row.Number("tokens")), shape.Layers, f.heads, shape.HeadDim, kit.Gigabytes(bytes))
		if bytes/2 > 0.98*publishedKV && bytes/2 < 1.02*publishedKV {
			text += fmt.Sprintf(" It differs from the %s GB that are published for this sum: those leave out one factor of 2, keys and values.", kit.Gigabytes(publishedKV))
		}
		if f.heads != shape.KVHeads {
			text += fmt.Sprintf(" The model has %d: it keeps %s of that.", shape.KVHeads, shareText(shape.HeadsRatio(f.heads)))
		}
		f.Remark("%s", text)
	}
}

// shareText writes 0.125 as 1/8, as people speak of grouped heads.
func shareText(ratio float64) string {
	if inverse := 1 / ratio; inverse > 1 && inverse == float64(int(inverse)) {
		return fmt.Sprintf("1/%d", int(inverse))
	}
	return show.Figures(ratio) + " times"
}

func (f *kvFlags) plain(ctx context.Context, w *warehouse.Warehouse, shape analysis.ModelShape) error {
	table, err := analysis.KVByFormula(ctx, w.DB(), fmt.Sprintf("by formula with %d KV heads", f.heads), shape, f.heads, f.tokens.Value())
	if err != nil {
		return err
	}
	if err := f.print(table); err != nil {
		return err
	}
	f.Gap()
	f.remarkHeads(table, shape)
	return nil
}

// print prints bytes for programs, GB and GiB for people.
func (f *kvFlags) print(table analysis.Table) error {
	if f.IsForPrograms() {
		return f.PrintTable(table)
	}
	columns := []string{"model", "cache", "tokens", "bytes/token", "GB", "GiB"}
	isShared, isTimed := isSharedByGPUs(table), f.Said.GPU != ""
	if isShared {
		columns = append(columns, "GB/GPU")
	}
	if isTimed {
		columns = append(columns, "ms/step")
	}
	shown := kit.TableOf(columns...)
	for _, row := range kit.RowsOf(table) {
		cells := []any{
			row.Text("model"), row.Text("kv_format"), show.Count(row.Number("tokens")), show.Count(row.Number("token_bytes")),
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
	return f.PrintTable(shown)
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
