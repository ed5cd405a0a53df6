//go:build duckdb_arrow

package answers_test

import (
	"context"
	"strings"
	"testing"

	"tidemark/analysis/answers"
)

// TPOT is there in two definitions, TTFT in one.
func TestMixedDefinitions(t *testing.T) {
	w := open(t, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'nvidia-a', 'results', 'x', 'p', 'a', 1, 1, 1, 0, null, false, 4, now()), (2, 'nvidia-b', 'results', 'x', 'p', 'b', 1, 1, 1, 0, null, false, 4, now());
insert into raw.points by name (select 1 as source_id, 0 as point, 'vllm-bench-serve' as tool union all select 2, 0, 'aiperf' union all select 3, 0, 'sglang-bench');
insert into raw.figures values
    (1, 0, 'tpot', 'mean', 'ms', 20), (1, 0, 'ttft', 'mean', 'ms', 20), (2, 0, 'inter_token_latency', 'mean', 'ms', 20),
    (2, 0, 'time_to_first_token', 'mean', 'ms', 20), (3, 0, 'tpot', 'mean', 'ms', 20)`)
	cases := []struct {
		why, query string
		warns      bool
	}{
		{"everything", "from marts.figures", true},
		{"a quantity of two", "select avg(value) from marts.figures where quantity = 'tpot_s'", true},
		{"in other letters", `select avg(value) from Staging."FIGURES" where quantity = 'tpot_s'`, true},
		{"a quantity of one", "select avg(value) from marts.figures where quantity = 'ttft_s'", false},
		{"tools of one definition", "from marts.figures where tool in ('vllm-bench-serve', 'sglang-bench') and quantity = 'tpot_s'", false},
		{"tools of two", "from marts.figures where tool in ('vllm-bench-serve', 'aiperf') and quantity = 'tpot_s'", true},
		{"a source of one", "from marts.figures where source_name like 'nvidia-A%'", false},
		{"sources of two", "from marts.figures where source_name in ('nvidia-a', 'nvidia-b')", true},
		{"all but a source", "from marts.figures where source_name not in ('nvidia-a')", true},
		{"by definition", "select definition_id, avg(value) from marts.figures group by all", false},
		{"a definition in a comment is none", "from marts.figures -- definition_id", true},
		{"something else", "from marts.sources", false},
		{"what its columns are", "describe marts.figures", false},
		{"a count of rows", "select count(*) from marts.figures", false},
		{"a count and a mean", "select count(*), avg(value) from marts.figures", true},
		{"figures in a text alone", "select 'from marts.figures' as said from marts.sources", false},
		{"worked out again", "select avg(recomputed_value) from marts.recomputed_figures", true},
		{"by one definition", "select avg(value) from marts.figures where definition_id = 'after_first_token'", false},
		{"a definition that tells nothing apart", "select avg(value) from marts.figures where definition_id is not null or true", true},
		{"grouped", "select avg(value) from marts.figures group by quantity, figures.definition_id order by 1", false},
		{"a view whose name begins alike", "from marts.figures_of_mine", false},
	}
	for _, c := range cases {
		got, err := answers.MixedDefinitions(context.Background(), w.DB(), c.query)
		if err != nil || (got != "") != c.warns {
			t.Errorf("%s: %s: got %q, %v", c.why, c.query, got, err)
		}
		if c.warns && (!strings.Contains(got, "tpot_s (after_first_token, after_first_token_client_count)") || strings.Contains(got, "ttft_s")) {
			t.Errorf("%s: got %q", c.why, got)
		}
	}
}

// Requests of two tools are timed in two ways; those of one tool are not.
func TestMixedRequests(t *testing.T) {
	w := open(t, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'a', 'results', 'x', 'p', 'a', 1, 1, 1, 0, null, false, 4, now()),
    (2, 'b', 'results', 'x', 'p', 'b', 1, 1, 1, 0, null, false, 4, now());
insert into raw.points by name (select 1 as source_id, 0 as point, 'vllm-bench-serve' as tool union all select 2, 0, 'guidellm');
insert into raw.result_requests by name (select 1 as source_id, 0 as point, 0 as seq, 0.1 as ttft_s union all select 2, 0, 0, 0.2)`)
	for query, warns := range map[string]bool{
		"select avg(ttft_s) from staging.result_requests":                     true,
		"select avg(ttft_s) from staging.result_requests where source_id = 1": false,
		"select count(*) from staging.result_requests":                        false,
	} {
		got, err := answers.MixedDefinitions(context.Background(), w.DB(), query)
		if err != nil || (got != "") != warns || warns && !strings.Contains(got, "guidellm, vllm-bench-serve") {
			t.Errorf("%s: got %q, %v", query, got, err)
		}
	}
}
