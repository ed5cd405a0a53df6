// Package deployment is what a model runs on: GPUs, formats, degrees of parallelism, the engine and its limits.
//
// There is one type, and its struct tags are the one list of fields. Command-line flags (cmd/tidemark), the environment
// file and the environment in run.json (replay), the columns of a table of points and the argument of macros.deployment
// (analysis) are all made from that list. To add a field, add one line to Deployment and one line to
// macros.deployment_fields in queries/macros/deployment.sql; a test compares the two.
//
// The package knows names, units and ranges. It does not know which GPUs, models and formats exist: the catalogue in
// the warehouse does, and analysis.Resolve asks it. It imports no DuckDB, so that the load engine can use it.
package deployment

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"tidemark/internal/hint"
)

// Deployment is a model in a format on some GPUs under an engine: what a run was measured on, or what is asked about.
// Zero and empty mean that nothing is said, and the default holds: the checkpoint's format, the engine's limits, one GPU.
//
// Tags: json is the field's name everywhere outside Go. flag is its flag's name where that is not the name with hyphens.
// value is what the flag's help shows for the value. also are other columns that say the same in tables of points.
// label is how a row of what-if names a value. unit and most, the largest possible value, are of numbers.
type Deployment struct {
	GPU                  string  `json:"gpu" value:"GPU" also:"gpu_name" usage:"as in seeds.gpus: H100, H200, ..."`
	CatalogModel         string  `json:"catalog_model" value:"MODEL" also:"model model_id" usage:"as in seeds.models (llama-3.1-8b, ...), or the path of its config.json"`
	TensorParallelSize   int     `json:"tensor_parallel_size" value:"GPUS" also:"tp tp_size" label:"tp %s" usage:"that share one replica (default: 1)"`
	ExpertParallelSize   int     `json:"expert_parallel_size,omitempty" value:"GPUS" also:"ep ep_size" label:"ep %s" usage:"that share out whole experts (default: each expert is cut)"`
	DataParallelSize     int     `json:"data_parallel_size,omitempty" value:"REPLICAS" also:"dp dp_size" label:"dp %s" usage:"of everything except the experts, behind one address (default: 1)"`
	Quantization         string  `json:"quantization" value:"FORMAT" also:"weight_precision weight_format precision" usage:"of the weights as in seeds.formats (default: the model's own)"`
	KVCacheDtype         string  `json:"kv_cache_dtype" value:"FORMAT" also:"kv_precision kv_format" label:"kv %s" usage:"of the KV cache (default: bf16)"`
	ComputeDtype         string  `json:"compute_dtype,omitempty" value:"FORMAT" also:"compute_precision compute_format" label:"computes in %s" usage:"that multiplies the weights: bf16, fp8, fp4 (default: the weights')"`
	Engine               string  `json:"engine" value:"NAME" also:"framework backend" usage:"of the engine: vllm, sglang, tensorrt-llm (default: vllm)"`
	EngineVersion        string  `json:"engine_version" value:"VERSION" also:"framework_version" usage:"of the engine, as 0.24.0"`
	MaxNumSeqs           int     `json:"max_num_seqs" value:"N" label:"seqs %s" usage:"sequences in a batch at most (default: the engine's)"`
	MaxNumBatchedTokens  int     `json:"max_num_batched_tokens" value:"TOKENS" also:"max_batched_tokens" label:"tokens %s" usage:"in a step at most (default: the engine's)"`
	MaxModelLen          int     `json:"max_model_len,omitempty" value:"TOKENS" label:"context %s" usage:"of prompt and answer at most (default: the model's context)"`
	GPUMemoryUtilization float64 `json:"gpu_memory_utilization,omitempty" value:"SHARE" label:"memory %s" most:"1" usage:"of the memory that the engine takes (default: vLLM's 0.9)"`
	APIServerCount       int     `json:"api_server_count,omitempty" value:"N" label:"%s API servers" usage:"API servers that share the requests of one address (default: one a replica)"`
	HBMBytesPerS         float64 `json:"hbm_bytes_per_s,omitempty" flag:"hbm-bandwidth" value:"RATE" label:"HBM %s" unit:"bytes/s" usage:"of one GPU's memory at its peak: 600GB/s (default: the catalogue's)"`
}

// Read reads an environment file: JSON with the names of the fields. An unknown name is an error, because a misspelt one
// would silently be the default.
func Read(from io.Reader) (d Deployment, err error) {
	decoder := json.NewDecoder(from)
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&d)
	var wrong *json.UnmarshalTypeError
	if err != nil {
		if _, name, isUnknown := strings.Cut(err.Error(), "unknown field "); isUnknown && hint.Unmodelled(strings.Trim(name, `"`)) != "" {
			return d, hint.Misuse("%s: %s is not modelled", name, hint.Unmodelled(strings.Trim(name, `"`))).Hint(hint.MeasureUnmodelled)
		}
	}
	if errors.As(err, &wrong) {
		err = fmt.Errorf("%s: a %s stands where a %s is needed", wrong.Field, wrong.Value, map[reflect.Kind]string{reflect.String: "text", reflect.Int: "whole number", reflect.Float64: "number", reflect.Struct: "list of fields in braces"}[wrong.Type.Kind()])
	} else if err == nil && decoder.More() {
		err = errors.New("something stands behind the closing brace")
	}
	var notJSON *json.SyntaxError
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.As(err, &notJSON) {
		return d, hint.Errorf("not whole JSON: %w", err).Hint(`write it again, such as {"gpu": "H100", "catalog_model": "llama-3.1-8b"}`)
	}
	if err != nil {
		return d, hint.Misuse("%w", err).
			Hint(`write JSON such as {"gpu": "H100", "catalog_model": "llama-3.1-8b", "tensor_parallel_size": 1}; the names are %s`, strings.Join(names(), ", "))
	}
	return d, nil
}

// SQL is the argument of macros.deployment: JSON with the fields that say something.
func (d Deployment) SQL() string {
	said := map[string]any{}
	for _, f := range Fields {
		if value := f.Get(d); value != nil {
			said[f.Name] = value
		}
	}
	text, err := json.Marshal(said)
	if err != nil {
		return "{}" // NaN and infinity alone cannot be written: Check refuses both
	}
	return string(text)
}

// ModelName is what the model is called; CatalogModel itself may be the text of a config.json.
func (d Deployment) ModelName() string {
	var config struct {
		Model string `json:"model"`
	}
	if strings.HasPrefix(d.CatalogModel, "{") && json.Unmarshal([]byte(d.CatalogModel), &config) == nil {
		return config.Model
	}
	return d.CatalogModel
}

// GPUs is how many GPUs one address stands for.
func (d Deployment) GPUs() int { return max(d.TensorParallelSize, 1) * max(d.DataParallelSize, 1) }

// GPUsOf is how many GPUs so many replicas have.
func (d Deployment) GPUsOf(replicas int) int { return d.GPUs() * replicas }

// Engines have constants of their own in the bandwidth model, or are near enough to one that has.
var Engines = []string{"vllm", "sglang", "tensorrt-llm"}

// Spellings of engines and compute formats that tables use; "auto" is the compute format that the weights bring along.
var (
	engineSpellings = map[string]string{"trtllm": "tensorrt-llm", "trt-llm": "tensorrt-llm", "tensorrt_llm": "tensorrt-llm", "tensorrtllm": "tensorrt-llm", "trt": "tensorrt-llm"}
	formatSpellings = map[string]string{"bfloat16": "bf16", "float16": "bf16", "fp16": "bf16", "half": "bf16", "nvfp4": "fp4", "auto": ""}
)

// Normal spells engine and compute format as the bandwidth model does.
func (d Deployment) Normal() Deployment {
	d.Engine = strings.TrimSpace(strings.TrimSuffix(strings.ToLower(d.Engine), "(nim)")) // NVIDIA's packaging says which engine it holds
	d.Engine, d.ComputeDtype = spelled(d.Engine, engineSpellings), spelled(d.ComputeDtype, formatSpellings)
	return d
}

func spelled(word string, as map[string]string) string {
	word = strings.ToLower(word)
	if name, known := as[word]; known {
		return name
	}
	return word
}

// Check says which field holds what no deployment can have. It does not know the catalogue.
func (d Deployment) Check() error {
	for _, f := range Fields {
		if err := f.check(d); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	switch d.Normal().ComputeDtype {
	case "", "bf16", "fp8", "fp4":
		return nil
	}
	return fmt.Errorf("compute_dtype: %q is not bf16, fp8 or fp4", d.ComputeDtype)
}
