//go:build duckdb_arrow

package analysis_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
)

// toyConfig has 78,336 parameters: attention 16,384, MLP 49,152, two heads of 6,400.
const toyConfig = `{"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 256, "vocab_size": 100, "max_position_embeddings": 512}`

// checkpoint writes files into a folder called toy and gives its path.
func checkpoint(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "toy")
	must.Do(t, os.Mkdir(folder, 0o700))
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return folder
}

func TestReadModelConfig(t *testing.T) {
	w := open(t)
	index := func(size string) string { return `{"metadata": {"total_size": ` + size + `}, "weight_map": {}}` }
	for _, test := range []struct {
		why, text, hint string
		files           map[string]string
	}{
		{why: "a config alone", files: map[string]string{"config.json": toyConfig}},
		{why: "weights that weigh what they must", files: map[string]string{"config.json": toyConfig, "model.safetensors.index.json": index("156700")}},
		{why: "weights that do not", text: "its weights would weigh 0.0001567 GB by the config, and model.safetensors.index.json says 0.0002 GB",
			files: map[string]string{"config.json": toyConfig, "model.safetensors.index.json": index("200000")}},
		{why: "ModelOpt's own file makes them FP8: 65,536 + 25,600 bytes",
			files: map[string]string{"config.json": toyConfig, "model.safetensors.index.json": index("91136"),
				"hf_quant_config.json": `{"quantization": {"quant_algo": "FP8"}}`}},
		{why: "a key that is missing", text: "no hidden_size (n_embd, n_embed, d_model)", hint: "config.json",
			files: map[string]string{"config.json": strings.Replace(toyConfig, "hidden_size", "width", 1)}},
		{why: "an architecture that nobody knows", text: `model_type "retnet" is an architecture that is not known`, hint: "architectures.sql",
			files: map[string]string{"config.json": strings.Replace(toyConfig, "llama", "retnet", 1)}},
		{why: "more KV heads than heads", text: "num_key_value_heads (num_kv_heads, n_head_kv) is 8, more than num_attention_heads (n_head, n_heads), 4", hint: "config.json",
			files: map[string]string{"config.json": strings.Replace(toyConfig, `"intermediate_size"`, `"num_key_value_heads": 8, "intermediate_size"`, 1)}},
		{why: "Gemma 3 as it is published, without heads or vocabulary: 33,562,624 + 884,736 bytes",
			files: map[string]string{"config.json": `{"model_type": "gemma3", "text_config": {"num_hidden_layers": 1, "hidden_size": 64, "intermediate_size": 256}}`,
				"model.safetensors.index.json": index("34447360")}},
		{why: "text that is no JSON", text: "config.json: not a JSON object", files: map[string]string{"config.json": "[1]"}},
		{why: "a folder without one", text: "there is no such file", hint: "catalogue", files: map[string]string{"other.json": "{}"}},
	} {
		t.Run(test.why, func(t *testing.T) {
			folder := checkpoint(t, test.files)
			text, err := analysis.ReadModelConfig(t.Context(), w.DB(), folder)
			if test.text != "" {
				must.Fail(t, err, test.text, test.hint)
				return
			}
			if err != nil || !strings.HasPrefix(text, `{"model":"toy"`) {
				t.Errorf("ReadModelConfig: got %q, %v", text, err)
			}
		})
	}
}

// A model by its path is as good as one by its name, and what a run keeps of it can be resolved again.
func TestResolveModelByPath(t *testing.T) {
	w := open(t)
	path := filepath.Join(checkpoint(t, map[string]string{"config.json": toyConfig}), "config.json")
	first, err := analysis.Resolve(t.Context(), w.DB(), deployment.Deployment{GPU: "H100", CatalogModel: path})
	if err != nil || first.ModelName() != "toy" || !strings.HasPrefix(first.CatalogModel, "{") {
		t.Fatalf("Resolve: got %+v, %v", first, err)
	}
	second, err := analysis.Resolve(t.Context(), w.DB(), first)
	if err != nil || second != first {
		t.Errorf("Resolve again: got %+v, %v, want %+v", second, err, first)
	}
	shape, err := analysis.ShapeOf(t.Context(), w.DB(), path)
	if err != nil || shape.Model != "toy" || shape.MaxContextTokens.Int64 != 512 {
		t.Errorf("ShapeOf: got %+v, %v", shape, err)
	}
	_, err = analysis.Resolve(t.Context(), w.DB(), deployment.Deployment{GPU: "H100", CatalogModel: path, TensorParallelSize: 8})
	must.Fail(t, err,
		"4 attention heads of toy cannot be shared by 8 GPUs", "divides")
}
