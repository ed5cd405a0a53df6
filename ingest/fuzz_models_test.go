//go:build duckdb_arrow

package ingest

import (
	"testing"

	"tidemark/ingest/read"
)

func init() { reasons = append(reasons, read.NotALink, read.NotPositive, read.NotInBaseUnits) }

func FuzzModelConfig(f *testing.F) {
	f.Add([]byte(`{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1}`))
	f.Add([]byte(`{"architectures": ["X"], "text_config": {"hidden_size": "64"}, "vocab_size": `))
	fuzzReader(f, "model-config")
}

func FuzzGPUs(f *testing.F) {
	f.Add([]byte("gpu,memory_bytes,hbm_bytes_per_s,bf16_flop_per_s,link\nA,80e9,3e12,1e15,nvlink\nB,80,-1,NaN,x\n"))
	fuzzReader(f, "gpus")
}

func FuzzPrices(f *testing.F) {
	f.Add([]byte("gpu,usd_per_gpu_hour,label\nA,2,ours\n,0,\"\n"))
	fuzzReader(f, "prices")
}
