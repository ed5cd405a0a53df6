package hardware

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// ModelConfig reads a model by its config.json, as Hugging Face's checkpoints have
// one. Two files of its folder are read with it: hf_quant_config.json, which says
// how the weights are quantized, and model.safetensors.index.json, whose size of
// the weights must agree with the config. Only the keys that the bandwidth model
// reads are kept.
//
// The rules for configs are SQL macros (macros.checkpoint), which also serve models
// that are built in.
var ModelConfig = read.Format{
	Name: "model-config",
	Sees: func(h *read.Head) string {
		isModel := h.Has("model_type") || h.Has("architectures")
		return read.If(isModel && (h.Has("text_config") || h.Has("hidden_size") || h.Has("num_hidden_layers") || h.Has("n_layer") || h.Has("vocab_size")), "a model's config.json, with model_type and its sizes")
	},
	Read:  readModelConfig,
	Wants: "a JSON object with model_type, num_hidden_layers, hidden_size, ...",
	Kind:  "model",
}

// maxBesideBytes is the longest file next to a config that is read; the index of a
// large model has 10 MB.
const maxBesideBytes = 64 << 20

// readModelConfig asks the warehouse to check the config. Without a transaction
// (fuzzing) only its JSON is checked.
func readModelConfig(d *read.Document, out *read.Rows) error {
	config, err := d.Whole()
	if err != nil {
		return err
	}
	if !json.Valid(config) {
		return hint.Errorf("not JSON from here on, or cut").Hint("check where it came from")
	}
	if out.Sink == nil {
		return nil
	}
	var quantization any
	if beside := d.Beside("hf_quant_config.json", maxBesideBytes); json.Valid(beside) {
		quantization = string(beside)
		out.Note("hf_quant_config.json next to it says how the weights are quantized")
	}
	var row modelConfigRow
	var problems, format string
	var gigabytes float64
	err = out.Sink.QueryRow(out.Context, `
select
    checkpoint.config,
    array_to_string(checkpoint.problems, '; '),
    coalesce(macros.model_text(name, checkpoint.config), ''),
    coalesce(macros.model_config(checkpoint.config).native_format, ''),
    coalesce(checkpoint.bytes / 1e9, 0)
from (select ?::varchar as name, macros.checkpoint(?::varchar, ?::varchar, ?::double) as checkpoint)`,
		modelNameOf(d), string(config), quantization, weightBytes(d)).Scan(&row.Config, &problems, &row.Spec, &format, &gigabytes)
	if err != nil {
		return err
	}
	if problems != "" {
		return hint.Errorf("%s", problems).Hint("a config.json of Hugging Face's has these keys")
	}
	row.Model = modelNameOf(d)
	out.Note("the model is called %s: %.3g GB of weights in %s", row.Model, gigabytes, format)
	return out.Add(row)
}

// modelNameOf is what a config's model is called: its folder, if the file has the
// usual name. In the cache of the hub that is
// models--publisher--name/snapshots/<commit>.
func modelNameOf(d *read.Document) string {
	path := d.Path
	if absolute, err := filepath.Abs(path); err == nil && path != "-" {
		path = absolute
	}
	name := strings.TrimSuffix(filepath.Base(path), ".json")
	if name != "config" {
		return strings.TrimPrefix(name, "-")
	}
	folder := filepath.Dir(path)
	if above := filepath.Dir(folder); filepath.Base(above) == "snapshots" {
		folder = filepath.Dir(above)
	}
	return strings.ReplaceAll(strings.TrimPrefix(filepath.Base(folder), "models--"), "--", "/")
}

// weightBytes is the size of the weights by the index next to the config; nil where
// there is none.
func weightBytes(d *read.Document) any {
	var index struct {
		Metadata struct {
			TotalSize *float64 `json:"total_size"`
		} `json:"metadata"`
	}
	if json.Unmarshal(d.Beside("model.safetensors.index.json", maxBesideBytes), &index) != nil || index.Metadata.TotalSize == nil {
		return nil
	}
	return *index.Metadata.TotalSize
}
