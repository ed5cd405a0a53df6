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
	GPU                 string `json:"gpu"`                    // a name that macros.gpus_named knows
	Model               string `json:"catalog_model"`          // a name that macros.models_named knows, the path of a config.json, or what ReadModelConfig made of one
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

// Spelled is a deployment with the names that the catalogue has for what was pasted, and with the format that its model's name
// says. What is not known stays as it is, for Resolve to say so.
func (d Deployment) Spelled(ctx context.Context, db *sql.DB) (Deployment, error) {
	if strings.HasPrefix(d.Model, "{") || isModelPath(d.Model) {
		return d, nil
	}
	var gpu, model, format sql.NullString
	err := db.QueryRowContext(ctx, `
select
    (select gpu from macros.gpus_named($1::varchar)),
    (select model from macros.models_named($2::varchar)),
    (select named_format from macros.models_named($2::varchar))`, d.GPU, d.Model).Scan(&gpu, &model, &format)
	if err != nil {
		return d, fmt.Errorf("deployment: %w", err)
	}
	if gpu.Valid {
		d.GPU = gpu.String
	}
	isAsked := d.WeightFormat != "" && d.WeightFormat != "auto"
	if !model.Valid || format.Valid && isAsked { // both words for the format stay, to be compared
		return d, nil
	}
	d.Model = model.String
	if format.Valid {
		d.WeightFormat = format.String
	}
	return d, nil
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

// mistake finds which of its names is not in the catalogue, or which two contradict each other.
func (d Deployment) mistake(ctx context.Context, db *sql.DB) error {
	for _, n := range []struct {
		thing, name, query, known, otherwise string
		mayBeOwn                             bool // "" and "auto" are the model's own
	}{
		{"GPU", d.GPU, "select count(*) from macros.gpus_named(?)",
			"select gpu from macros.gpus() order by gpu", `add one with "tidemark ingest gpus.csv"`, false},
		{"model", d.Model, "select count(*) from macros.models_named(?)", "", "", false},
		{"weight format", d.WeightFormat, "select count(*) from seeds.formats where macros.is_named(format, aliases, ?)",
			"select format from seeds.formats", "", true},
		{"KV cache format", d.KVFormat, "select count(*) from seeds.formats where kv_bytes is not null and macros.is_named(format, aliases, ?)",
			"select format from seeds.formats where kv_bytes is not null", "", true},
	} {
		if n.mayBeOwn && (n.name == "" || n.name == "auto") {
			continue
		}
		var found int
		if err := db.QueryRowContext(ctx, n.query, n.name).Scan(&found); err != nil {
			return fmt.Errorf("deployment: %w", err)
		}
		if found == 0 && n.thing == "model" {
			return unknownModel(ctx, db, n.name)
		}
		if found == 0 {
			return unknown(ctx, db, n.thing, n.name, n.known, n.otherwise)
		}
	}
	return d.contradiction(ctx, db)
}

// unknownModel says of a known model in a format that is not known that the format is why.
func unknownModel(ctx context.Context, db *sql.DB, name string) error {
	var model sql.NullString
	err := db.QueryRowContext(ctx, `
select min(models.model)
from macros.models() as models
cross join (select macros.model_spelling(?::varchar) as spelling) as asked
where macros.format_words(asked.spelling) <> ''
    and list_contains(
        macros.model_spellings(models.model, models.aliases),
        left(asked.spelling, len(asked.spelling) - len(macros.format_words(asked.spelling)))
    )`,
		name).Scan(&model)
	if err != nil {
		return fmt.Errorf("deployment: %w", err)
	}
	if !model.Valid {
		return unknown(ctx, db, "model", name, "select model from macros.models()", "or give the path of its config.json")
	}
	return hint.Misuse("model %s: the bandwidth model does not know the format that the name ends in", name).
		Hint("name the model %s, and the nearest format by --quantization; seeds.formats has those that are known", model.String)
}

// contradiction is of names that are all known.
func (d Deployment) contradiction(ctx context.Context, db *sql.DB) error {
	var named sql.NullString
	err := db.QueryRowContext(ctx, "select named_format from macros.models_named(?)", d.Model).Scan(&named)
	if err != nil {
		return fmt.Errorf("deployment: %w", err)
	}
	format := d.WeightFormat
	if isAsked := format != "" && format != "auto"; isAsked && named.Valid && !strings.EqualFold(format, named.String) {
		return hint.Misuse("deployment: %s is in %s by its name, and %s was asked for", d.ModelName(), named.String, format).
			Hint("leave the weight format out, or name the model without its format")
	}
	if format == "" || format == "auto" {
		format = named.String
	}
	return hint.Misuse("format %s quantizes experts alone, and %s has none", format, d.ModelName()).
		Hint("leave the format out to take the model's own")
}
