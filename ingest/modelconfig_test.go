//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/proof/must"
)

// fixtures/models/README.md has the sum.
func TestCheckpointFolder(t *testing.T) {
	w := open(t)
	results := must.Get(ingest.Load(t.Context(), w, []string{"../fixtures/models/toy-moe"}, ingest.Options{}))(t)
	var notes []string
	for _, result := range results {
		notes = append(notes, result.Notes...)
	}
	must.Say(t, strings.Join(notes, "\n"), "the model is called toy-moe: 0.000151 GB of weights in fp8")
	// 24,576 + 98,304 + 1,024 + 12,800; active are a quarter of the experts and one head: 24,576 + 24,576 + 1,024 + 6,400.
	answers(t, w, `
select model, aliases, native_format, native_kv_format, macros.total_params(models), macros.active_params(models), plain_parts::varchar, max_context_tokens
from macros.models_named('TOY-MOE') as models`, "toy-moe config fp8 fp8 136704.0 56576.0 [head, router] 4096")
	answers(t, w, "select position('auto_map' in config) + position('rms_norm' in config) from raw.model_configs", "0")
	answers(t, w, "select kind, rows_kept from staging.sources", "model 1")
}

func TestModelsThatAreRefused(t *testing.T) {
	w := open(t)
	for _, c := range []struct{ why, content, want string }{
		{"a key that is missing", `{"model_type": "llama", "hidden_size": 8, "vocab_size": 9}`, "no num_hidden_layers (n_layer, n_layers, num_layers)"},
		{"an unknown architecture", `{"model_type": "retnet", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 9}`,
			`model_type "retnet" is an architecture that is not known`},
		{"half a file", `{"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1`, "not JSON"},
	} {
		t.Run(c.why, func(t *testing.T) {
			refused(t, w, write(t, "config.json", []byte(c.content)), ingest.Options{}, c.want)
		})
	}
	folder := t.TempDir()
	for _, name := range []string{"config.json", "model.safetensors.index.json"} {
		content, err := os.ReadFile(filepath.Join("../fixtures/models/toy-moe", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o600)
		}
		must.Do(t, err)
	}
	// Without ModelOpt's file it would be in 16 bits: 2 * 136,704 bytes.
	refused(t, w, filepath.Join(folder, "config.json"), ingest.Options{}, "would weigh 0.0002734 GB by the config, and model.safetensors.index.json says 0.000151 GB")
}

func TestGPUsAndPrices(t *testing.T) {
	w := open(t)
	for _, name := range []string{"gpus.csv", "prices.csv"} {
		if result := load(t, w, filepath.Join("../fixtures/models", name), ingest.Options{}); result.RowsKept != 2 || result.RowsRejected != 0 {
			t.Errorf("%s: got %+v", name, result)
		}
	}
	answers(t, w, `
select gpus.gpu, hbm_bytes_per_s / 1e12, link, gpus.source, usd_per_gpu_hour, label
from macros.gpus() as gpus
inner join macros.prices() as prices on prices.gpu = gpus.gpu and prices.place = 1
where prices.is_users
order by gpus.gpu`, "H100 3.0 nvlink gpus 2.1 our contract|Z-1 1.5 pcie gpus 0.5 ")
	answers(t, w, "select d.gpu from macros.deployment({'gpu': 'zed', 'catalog_model': 'qwen3-8b'}) as d", "Z-1")
}

func TestGPUsThatAreNone(t *testing.T) {
	w := open(t)
	const header = "gpu,memory_bytes,hbm_bytes_per_s,bf16_flop_per_s,fp8_flop_per_s,link\n"
	for _, c := range []struct{ why, content, want string }{
		{"memory in GB", header + "A,80,3e12,1e15,,nvlink\n", "memory_bytes: too small to be in bytes"},
		{"no bandwidth", header + "A,80e9,,1e15,,nvlink\n", "hbm_bytes_per_s: missing"},
		{"a rate that is no number", header + "A,80e9,3e12,NaN,,nvlink\n", "bf16_flop_per_s: not a number"},
		{"a negative rate", header + "A,80e9,3e12,1e15,-1,nvlink\n", "fp8_flop_per_s: zero or negative"},
		{"a link that is neither", header + "A,80e9,3e12,1e15,,ethernet\n", "link: neither nvlink nor pcie"},
		{"a GPU without a name", header + ",80e9,3e12,1e15,,pcie\n", "gpu: missing"},
		{"a price of nothing", "gpu,usd_per_gpu_hour\nH100,0\n", "usd_per_gpu_hour: zero or negative"},
	} {
		t.Run(c.why, func(t *testing.T) {
			refused(t, w, write(t, "file.csv", []byte(c.content)), ingest.Options{}, c.want)
		})
	}
}
