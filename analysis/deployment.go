package analysis

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/internal/hint"
)

// Deployment is a model in a format on some GPUs under an engine: what a run was
// measured on, or what is asked about. Its JSON is the environment in run.json.
type Deployment struct {
	GPU                 string `json:"gpu"`                    // a name or alias in macros.gpus()
	Model               string `json:"catalog_model"`          // a name or alias in macros.models(), the path of a config.json, or what ReadModelConfig made of one
	TensorParallelSize  int    `json:"tensor_parallel_size"`   // GPUs that share the model
	WeightFormat        string `json:"quantization"`           // in seeds.formats; empty: the model's own
	KVFormat            string `json:"kv_cache_dtype"`         // in seeds.formats; empty: bf16
	Engine              string `json:"engine"`                 // empty: vllm
	EngineVersion       string `json:"engine_version"`         // empty: not known
	MaxNumSeqs          int    `json:"max_num_seqs"`           // 0: the engine's default
	MaxNumBatchedTokens int    `json:"max_num_batched_tokens"` // 0: the engine's default

	ExpertParallelSize   int     `json:"expert_parallel_size,omitempty"`   // GPUs that share out whole experts; 0: each expert is cut
	DataParallelSize     int     `json:"data_parallel_size,omitempty"`     // replicas of all but the experts; 0: one
	ComputeFormat        string  `json:"compute_dtype,omitempty"`          // what multiplies the weights: bf16, fp8, fp4; empty: the format's own
	GPUMemoryUtilization float64 `json:"gpu_memory_utilization,omitempty"` // share of memory that the engine takes; 0: its default
	HBMBytesPerS         float64 `json:"hbm_bytes_per_s,omitempty"`        // peak of one GPU; 0: the catalogue's
	MaxModelLen          int     `json:"max_model_len,omitempty"`          // longest request that the engine takes; 0: the model's context
}

// args are the arguments of macros.deployment; what is not said is null.
func (d Deployment) args() []any {
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	number := func(n int) any {
		if n == 0 {
			return nil
		}
		return n
	}
	return []any{
		d.GPU, d.Model, number(d.TensorParallelSize), text(d.WeightFormat), text(d.KVFormat),
		text(d.Engine), text(d.EngineVersion), number(d.MaxNumSeqs), number(d.MaxNumBatchedTokens),
	}
}

// fromDeployment is the macro's row as d, cast so that a null argument has a type.
const fromDeployment = `
from macros.deployment(
    ?::varchar, ?::varchar, ?::bigint, ?::varchar, ?::varchar, ?::varchar, ?::varchar, ?::bigint, ?::bigint
) as d`

// Resolve checks a deployment against the catalogue and gives it with its names and
// with the defaults filled in. An unknown GPU, model or format is an error that names
// the known ones; a model that is a path is read.
func (d Deployment) Resolve(ctx context.Context, db *sql.DB) (Deployment, error) {
	if err := d.check(); err != nil {
		return Deployment{}, hint.Misuse("deployment: %w", err)
	}
	model, err := readModel(ctx, db, d.Model)
	if err != nil {
		return Deployment{}, err
	}
	d.Model = model
	resolved := d
	var heads int
	err = db.QueryRowContext(ctx, `
select
    d.gpu,
    d.model,
    d.tensor_parallel_size,
    d.weight_format,
    d.kv_format,
    d.engine,
    d.max_num_seqs,
    d.max_num_batched_tokens,
    d.query_heads::bigint`+fromDeployment, d.args()...).Scan(
		&resolved.GPU, &resolved.Model, &resolved.TensorParallelSize, &resolved.WeightFormat, &resolved.KVFormat,
		&resolved.Engine, &resolved.MaxNumSeqs, &resolved.MaxNumBatchedTokens, &heads,
	)
	if errors.Is(err, sql.ErrNoRows) {
		return Deployment{}, d.mistake(ctx, db)
	}
	if err != nil {
		return Deployment{}, fmt.Errorf("deployment: %w", err)
	}
	if heads%resolved.TensorParallelSize != 0 {
		return Deployment{}, hint.Misuse("deployment: %d attention heads of %s cannot be shared by %d GPUs", heads, d.ModelName(), resolved.TensorParallelSize).
			Hint("take a number of GPUs that divides the heads, as vLLM does")
	}
	if strings.HasPrefix(d.Model, "{") {
		resolved.Model = d.Model // the name of a model by its config alone would not be found again
	}
	return resolved, nil
}

// check says which of its numbers cannot be.
func (d Deployment) check() error {
	for _, n := range []struct {
		name  string
		value int
	}{
		{"tensor parallel size", d.TensorParallelSize}, {"expert parallel size", d.ExpertParallelSize}, {"data parallel size", d.DataParallelSize},
		{"max_num_seqs", d.MaxNumSeqs}, {"max_num_batched_tokens", d.MaxNumBatchedTokens}, {"max_model_len", d.MaxModelLen},
	} {
		if n.value < 0 {
			return fmt.Errorf("%s: %d, at least 1 is needed", n.name, n.value)
		}
	}
	switch {
	case !(d.GPUMemoryUtilization >= 0 && d.GPUMemoryUtilization <= 1):
		return fmt.Errorf("gpu_memory_utilization: %v is not above 0 and at most 1", d.GPUMemoryUtilization)
	case !(d.HBMBytesPerS >= 0) || math.IsInf(d.HBMBytesPerS, 0):
		return fmt.Errorf("HBM bandwidth: %v is no number above 0", d.HBMBytesPerS)
	case !slices.Contains([]string{"", "bf16", "fp8", "fp4"}, d.ComputeFormat):
		return fmt.Errorf("compute format: %q is not bf16, fp8 or fp4", d.ComputeFormat)
	}
	return nil
}

// ModelName is what the model is called, which may be given as a text.
func (d Deployment) ModelName() string {
	var text struct {
		Model string `json:"model"`
	}
	if strings.HasPrefix(d.Model, "{") && json.Unmarshal([]byte(d.Model), &text) == nil {
		return text.Model
	}
	return d.Model
}

// Validate says whether the bandwidth model knows the deployment.
func (d Deployment) Validate(ctx context.Context, db *sql.DB) error {
	_, err := d.Resolve(ctx, db)
	return err
}

// mistake finds which of its names is not in the catalogue.
func (d Deployment) mistake(ctx context.Context, db *sql.DB) error {
	named := []struct{ thing, name, query, known, otherwise string }{
		{"GPU", d.GPU, "select count(*) from macros.gpus() where macros.is_named(gpu, aliases, ?)",
			"select gpu from macros.gpus()", `add one with "tidemark ingest gpus.csv"`},
		{"model", d.Model, "select count(*) from macros.models_named(?)",
			"select model from macros.models()", "or give the path of its config.json"},
		{"weight format", d.WeightFormat, "select count(*) from seeds.formats where macros.is_named(format, aliases, ?)",
			"select format from seeds.formats", ""},
		{"KV cache format", d.KVFormat, "select count(*) from seeds.formats where kv_bytes is not null and macros.is_named(format, aliases, ?)",
			"select format from seeds.formats where kv_bytes is not null", ""},
	}
	for i, n := range named {
		if optional := i >= 2; optional && (n.name == "" || n.name == "auto") {
			continue
		}
		var found int
		if err := db.QueryRowContext(ctx, n.query, n.name).Scan(&found); err != nil {
			return fmt.Errorf("deployment: %w", err)
		}
		if found == 0 {
			return unknown(ctx, db, n.thing, n.name, n.known, n.otherwise)
		}
	}
	return hint.Misuse("format %s quantizes experts alone, and %s has none", d.WeightFormat, d.ModelName()).
		Hint("leave the format out to take the model's own")
}
