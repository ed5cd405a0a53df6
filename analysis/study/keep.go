//go:build duckdb_arrow

package study

import (
	"context"
	"encoding/json"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/internal/maybe"
	"tidemark/internal/store/warehouse"
)

// ResultSchema is what Result.Schema says.
const ResultSchema = "tidemark.study-result/1"

// Result is a study as far as it came. Its JSON is what raw.studies keeps of it.
type Result struct {
	Schema     string       `json:"schema"`
	Name       string       `json:"name"`
	SHA256     string       `json:"sha256"`
	SLO        analysis.SLO `json:"slo"`
	Traffic    string       `json:"traffic"`
	TrafficSum string       `json:"traffic_sha256,omitempty"` // of its file or name, and of the part that is asked about; empty: of an earlier version
	At         float64      `json:"at_rate_per_s"`            // 0: no p99 are compared
	Band       float64      `json:"band_ratio"`               // how far a real server may be from the rehearsed; 0: nothing was rehearsed
	Headline   string       `json:"headline"`
	Verdicts   []Verdict    `json:"steps"`
	Rows       []Row        `json:"configurations"`
	FinishedAt string       `json:"finished_at"`
	Version    string       `json:"tidemark_version"`
}

// Keep puts the study into a warehouse, in place of an earlier one of that name. It belongs to the sources of its traffic and of its results, and
// goes with them.
func (r Result) Keep(ctx context.Context, w *warehouse.Warehouse, f File, now time.Time) error {
	r.FinishedAt = now.UTC().Format(time.RFC3339)
	document, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var patterns []string
	for _, s := range f.Steps {
		for _, c := range s.Configurations {
			patterns = append(patterns, c.Results...)
		}
	}
	return w.Write(ctx, func(tx *warehouse.Tx) error {
		return tx.Exec(ctx, `
insert or replace into raw.studies (study, source_ids, document)
select
    ?,
    coalesce(list(source_id), []),
    ?
from raw.sources
where name = ?
    or list_bool_or([name glob pattern for pattern in ?::varchar[]])`, r.Name, string(document), f.Traffic, patterns)
	})
}

// Table has a row for each configuration, as marts.configurations.
func (r Result) Table() (t analysis.Table) {
	t = answers.TableOf("study", "step", "configuration", "origin", "repeats", "rate_per_s", "rate_low_per_s", "rate_high_per_s", "rate_change_ratio", "rate_change_low_ratio", "rate_change_high_ratio", "is_difference_shown",
		"binding_objective", "users", "kv_tokens", "at_rate_per_s", "p99_ttft_s", "p99_ttft_change_ratio", "p99_tpot_s", "p99_tpot_change_ratio", "p99_itl_s", "p99_itl_change_ratio",
		"gpus", "rate_per_gpu_per_s", "linear_ratio", "usd_per_million_accepted", "token_per_joule", "unanswered_repeats")
	for _, row := range r.Rows {
		cells := []any{r.Name, row.Step, row.Name, row.Origin, int64(len(row.answered())), row.Rate, row.RateLow, row.RateHigh, row.Change, row.Least, row.Most, row.IsShown,
			row.Binding, row.Users, row.KVTokens, r.At, row.TTFT, row.TTFTChange, row.TPOT, row.TPOTChange, row.ITL, row.ITLChange,
			int64(row.GPUs), row.PerGPU, row.Linear, row.USD, row.PerJ, int64(len(row.Repeats) - len(row.answered()))}
		for i, cell := range cells {
			switch v := cell.(type) {
			case *float64:
				cells[i] = maybe.Cell(v)
			case *bool:
				cells[i] = maybe.Cell(v)
			}
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}
