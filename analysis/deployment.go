package analysis

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tidemark/internal/deployment"
	"tidemark/internal/hint"
)

// A deployment in the catalogue's words. Users name GPUs, models and formats as they paste them (from nvidia-smi, Hugging Face, a vLLM command
// line); macros.deployment finds what they mean. If it finds nothing, one query after another asks which of the names is unknown, or
// which two contradict each other, so that the error says what to change. Nothing is guessed from a part of a name.

// fromDeployment ends a query that needs a deployment: it makes the macro's row available as d. The query's first argument is
// deployment.Deployment.SQL.
const fromDeployment = `
from macros.deployment($1::json) as d`

// deploymentRow is a row of macros.deployment that has been computed. DuckDB plans that macro for longer than everything else that
// is asked of one deployment, so it is asked once and the row handed over.
type deploymentRow struct {
	row       string // JSON
	structure string // the row's type
}

// rowColumns selects a deploymentRow from macros.deployment(...) as d.
const rowColumns = "to_json(d)::varchar, typeof(d)"

// from ends a query in the place of fromDeployment. The query's first argument is the row: as varchar, because DuckDB plans a statement
// twice where the argument that comes has another type than the one that it was prepared for.
func (d deploymentRow) from() string {
	return "\nfrom (select $1::varchar::json::" + d.structure + " as d) as deployments"
}

// Resolve checks a deployment against the catalogue and returns it with the catalogue's names and with the defaults filled in. An unknown
// GPU, model or format is an error that names the known ones. A model that is a path is read.
func Resolve(ctx context.Context, db *sql.DB, d deployment.Deployment) (deployment.Deployment, error) {
	resolved, _, err := deploy(ctx, db, d)
	return resolved, err
}

// deploy is Resolve, with the row that macros.deployment has for it.
func deploy(ctx context.Context, db *sql.DB, d deployment.Deployment) (deployment.Deployment, deploymentRow, error) {
	return deployWith(ctx, db, d, nil)
}

// deployWith is deploy with constants that come before those of the warehouse, by "name format"; nil: none does.
func deployWith(ctx context.Context, db *sql.DB, d deployment.Deployment, constants map[string]float64) (deployment.Deployment, deploymentRow, error) {
	d, err := checked(ctx, db, d)
	if err != nil {
		return deployment.Deployment{}, deploymentRow{}, err
	}
	resolved, made := d, deploymentRow{}
	from, args := fromDeployment, []any{d.SQL()}
	if constants != nil {
		text, err := json.Marshal(constants)
		if err != nil {
			return deployment.Deployment{}, deploymentRow{}, fmt.Errorf("deployment: %w", err)
		}
		from, args = "\nfrom macros.deployment($1::json, of_constants := $2::json::map(varchar, double)) as d", append(args, string(text))
	}
	var problem sql.NullString
	err = askRow(ctx, db, `
select
    d.gpu,
    d.model,
    d.tensor_parallel_size,
    d.weight_format,
    d.kv_format,
    d.engine,
    d.max_num_seqs,
    d.max_num_batched_tokens,
    macros.sharing_problem(d),
    `+rowColumns+from, args...).Scan(
		&resolved.GPU, &resolved.CatalogModel, &resolved.TensorParallelSize, &resolved.Quantization, &resolved.KVCacheDtype,
		&resolved.Engine, &resolved.MaxNumSeqs, &resolved.MaxNumBatchedTokens, &problem, &made.row, &made.structure,
	)
	if errors.Is(err, sql.ErrNoRows) {
		return deployment.Deployment{}, deploymentRow{}, mistake(ctx, db, d)
	}
	if err != nil {
		return deployment.Deployment{}, deploymentRow{}, fmt.Errorf("deployment: %w", err)
	}
	if err := sharing(problem.String); err != nil {
		return deployment.Deployment{}, deploymentRow{}, err
	}
	if strings.HasPrefix(d.CatalogModel, "{") {
		resolved.CatalogModel = d.CatalogModel // a model that is given by its config has no name that could be found again
	}
	return resolved, made, nil
}

// checked is a deployment that does not contradict itself; a model that is a path has been read.
func checked(ctx context.Context, db *sql.DB, d deployment.Deployment) (deployment.Deployment, error) {
	d = d.Normal()
	if err := d.Check(); err != nil {
		return d, hint.Misuse("deployment: %w", err)
	}
	model, err := readModel(ctx, db, d.CatalogModel)
	d.CatalogModel = model
	return d, err
}

// sharing is the error for what macros.sharing_problem says; nil for null and for an empty text.
func sharing(problem any) error {
	if problem == nil || problem == "" {
		return nil
	}
	return hint.Misuse("deployment: %s", problem).
		Hint("tensor parallelism divides the attention heads; expert parallelism divides the experts and all GPUs, tensor times data parallel size")
}

// Spelled is a deployment with the catalogue's names for the pasted ones, and with the weight format that the model's name states. An
// unknown GPU or model is the user's mistake.
func Spelled(ctx context.Context, db *sql.DB, d deployment.Deployment) (deployment.Deployment, error) {
	if strings.HasPrefix(d.CatalogModel, "{") || isModelPath(d.CatalogModel) {
		return d, nil
	}
	var gpu, model, format sql.NullString
	err := askRow(ctx, db, `
select
    (select gpu from macros.gpus_named($1::varchar)),
    (select model from macros.models_named($2::varchar)),
    (select named_format from macros.models_named($2::varchar))`, d.GPU, d.CatalogModel).Scan(&gpu, &model, &format)
	if err != nil {
		return d, fmt.Errorf("deployment: %w", err)
	}
	if !gpu.Valid || !model.Valid {
		return d, mistake(ctx, db, d)
	}
	d.GPU = gpu.String
	isAsked := d.Quantization != "" && d.Quantization != "auto"
	if format.Valid && isAsked { // both words for the format stay, to be compared
		return d, nil
	}
	d.CatalogModel = model.String
	if format.Valid {
		d.Quantization = format.String
	}
	return d, nil
}

// CatalogName is the catalogue's name for a model that a server reports, to compare it with the one that was asked for. It is empty where
// the catalogue does not know one of them.
func CatalogName(ctx context.Context, db *sql.DB, served, asked string) (name string, err error) {
	err = db.QueryRowContext(ctx, `
select model
from macros.models_named(?)
where exists (from macros.models_named(?))`, served, asked).Scan(&name)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return name, err
}

// mistake is the error for a deployment that macros.deployment does not find: it looks for the name that the catalogue lacks, or for two
// names that contradict each other.
func mistake(ctx context.Context, db *sql.DB, d deployment.Deployment) error {
	if strings.EqualFold(d.GPU, "cpu") {
		return hint.Misuse("the law of predictions is of GPUs and does not hold on a CPU").
			Hint("leave --gpu out: a server on a CPU is replayed, searched and reported without a prediction")
	}
	for _, n := range []struct {
		thing, name, query, known, otherwise string
		mayBeOwn                             bool // "" and "auto" are the model's own
	}{
		{"GPU", d.GPU, "select count(*) from macros.gpus_named(?)",
			"select gpu from macros.gpus() order by gpu", `add one with "tidemark ingest gpus.csv"`, false},
		{"model", d.CatalogModel, "select count(*) from macros.models_named(?)", "", "", false},
		{"weight format", d.Quantization, "select count(*) from seeds.formats where macros.is_named(format, aliases, ?)",
			"select format from seeds.formats", "", true},
		{"KV cache format", d.KVCacheDtype, "select count(*) from seeds.formats where kv_bytes is not null and macros.is_named(format, aliases, ?)",
			"select format from seeds.formats where kv_bytes is not null", "", true},
	} {
		if n.mayBeOwn && (n.name == "" || n.name == "auto") {
			continue
		}
		var found int
		if err := db.QueryRowContext(ctx, n.query, n.name).Scan(&found); err != nil {
			return fmt.Errorf("deployment: %w", err)
		}
		if found == 0 && n.name == "" {
			return hint.Misuse("the deployment names no %s: %s is missing", n.thing, map[string]string{"GPU": "gpu", "model": "catalog_model"}[n.thing]).
				Hint(`as in {"gpu": "H100", "catalog_model": "llama-3.1-8b"}`)
		}
		if found == 0 && n.thing == "model" {
			return unknownModel(ctx, db, n.name)
		}
		if found == 0 {
			return unknown(ctx, db, n.thing, n.name, n.known, n.otherwise)
		}
	}
	return contradiction(ctx, db, d)
}

// unknownModel is the error for a model that is not in the catalogue. If the catalogue has the model without the format that the name ends in,
// it says that the format is unknown.
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

// contradiction is the error for names that are all known but do not go together: two formats for the weights, or a format that covers
// experts only (MXFP4 as gpt-oss has it) on a model without experts.
func contradiction(ctx context.Context, db *sql.DB, d deployment.Deployment) error {
	var named sql.NullString
	err := db.QueryRowContext(ctx, "select named_format from macros.models_named(?)", d.CatalogModel).Scan(&named)
	if err != nil {
		return fmt.Errorf("deployment: %w", err)
	}
	format := d.Quantization
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
