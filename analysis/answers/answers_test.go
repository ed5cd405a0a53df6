//go:build duckdb_arrow

package answers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/analysis/answers"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

var open = warehousetest.Open

func TestSchema(t *testing.T) {
	w := open(t)
	ctx := context.Background()
	all, err := answers.Schema(ctx, w.DB(), "")
	if err != nil || len(all.Rows) < 40 || all.Rows[0][0] != "marts.answers" {
		t.Errorf("Schema: got %d rows, the first %v, %v", len(all.Rows), all.Rows[0], err)
	}
	columns, err := answers.Schema(ctx, w.DB(), "marts.tpot_gap")
	if err != nil || columns.Rows[0][0] != "run_id" || columns.Rows[0][2] != "the replay" || !strings.HasPrefix(columns.Comment, "One row per successful request") {
		t.Errorf("Schema(marts.tpot_gap): got %v, %v", columns, err)
	}
	must.Refuse(answers.Schema(ctx, w.DB(), "marts.tpot"))(t, `no relation named "marts.tpot"`, "did you mean marts.tpot_gap")
	must.Refuse(answers.Schema(ctx, w.DB(), "marts.nosuch"))(t, `named "marts.nosuch"`, `"tidemark schema" lists them`)                           // was the first three of marts
	must.Refuse(answers.Schema(ctx, w.DB(), "preemption"))(t, `no relation, macro or group named "preemption"`, "columns with that word: marts.") // was "did you mean prediction?"
	if i := all.Place("columns"); !strings.Contains(fmt.Sprint(all.Rows[0][i]), ", ") {                                                           // schema --csv had no columns
		t.Errorf("the columns of %v are %v", all.Rows[0][0], all.Rows[0][i])
	}
	prediction, err := answers.Schema(ctx, w.DB(), "macros.prediction") // its columns ran together
	said := fmt.Sprint(prediction.Rows)
	for _, want := range []string{"[comment A prediction: times per token with their terms, which add up to predicted_tpot_s.] [column batch: requests that decode at once, of one replica]",
		"[column low_s, high_s: its 90 % band, from the floor on]", "[column itl_p99_s: 99th percentile of the gaps between tokens, of a speculating engine between steps: with the largest chunk"} {
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("Schema(macros.prediction): %q is not in %s, %v", want, said, err)
		}
	}
	// Listed, and then "no relation named".
	macro, err := answers.Schema(ctx, w.DB(), "macros.floor_s")
	if err != nil || fmt.Sprint(macro.Rows[:3]) != "[[parameter d] [parameter context] [parameter windowed]]" ||
		macro.Rows[3][0] != "comment" || macro.Rows[4][0] != "example" || !strings.Contains(fmt.Sprint(macro.Rows[5][1]), "hbm_bytes_per_s") {
		t.Errorf("Schema(macros.floor_s): got %v, %v", macro.Rows, err)
	}
}

// A newcomer types what he remembers of a name.
func TestSchemaFindsWhatIsMeant(t *testing.T) {
	w := open(t)
	ctx := context.Background()
	for _, c := range []struct{ name, want string }{
		{"tpot_gap", "marts.tpot_gap"},
		{"floor_s", "macros.floor_s"},
		{"arrival_hours", "marts.arrival_hours"},
	} {
		table, err := answers.Schema(ctx, w.DB(), c.name)
		if err != nil || table.Name != c.want {
			t.Errorf("Schema(%s): got %s, %v, want %s", c.name, table.Name, err, c.want)
		}
	}
	for _, c := range []struct{ name, meant string }{
		{"marts.tpot_gapp", "marts.tpot_gap"},
		{"tpot_gapp", "tpot_gap"},
		{"marts.server_samples", "staging.server_samples"},
		{"macros.floor", "macros.floor_s"},
		{"sources", "marts.sources"},
	} {
		must.Refuse(answers.Schema(ctx, w.DB(), c.name))(t, c.name, c.meant)
	}
	table, err := answers.Schema(ctx, w.DB(), "money")
	if err != nil || len(table.Rows) < 4 || !slices.ContainsFunc(table.Rows, func(row []any) bool { return row[0] == "marts.goodput" }) || table.Rows[0][2] != "money" {
		t.Errorf("Schema(money): got %v, %v", table.Rows, err)
	}
}

func TestQueryReducesTypes(t *testing.T) {
	w := open(t)
	table := must.Get(answers.Ask(context.Background(), w.DB(), `
select null, true, 1::tinyint, 2::hugeint, 3.5::decimal(4, 1), 'x', [1, null], {'a': 1::utinyint}, map {'k': 2::integer}, 18446744073709551615::ubigint, '\x01'::blob`))(t)
	want := "[<nil> true 1 2 3.5 x [1 <nil>] map[a:1] map[k:2] 18446744073709551615 01]"
	if got := fmt.Sprint(table.Rows[0]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A plan of results that were just taken in was answered "there is no source yet".
func TestANameOfSomethingElseSaysWhatItIs(t *testing.T) {
	w := open(t, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, reader_version, ingested_at) values
    (1, 'observed', 'results', 'vllm-bench-serve', 'p', 'a', 1, 1, 1, 0, false, 4, now()), (2, 'log', 'arrivals', 'azure', 'q', 'b', 1, 1, 1, 0, false, 4, now());`)
	traces := "select source_name from staging.sources where kind = 'arrivals'"
	for _, c := range []struct{ thing, name, names, text, todo string }{
		{"source", "observed", traces, "observed is no source: it is figures of another tool (vllm-bench-serve)", "known sources are log"},
		{"run", "observed", traces + " and false", "observed is no run: it is figures of another tool (vllm-bench-serve)", "tidemark sources observed"},
		{"run", "log", traces + " and false", "log is no run: it is a trace (azure)", "tidemark sources log"},
		{"run", "nobody", traces + " and false", `no run named "nobody"`, "there is no run yet"},
		{"model", "log", traces, `no model named "log"`, "log"},
	} {
		must.Fail(t, answers.Unknown(t.Context(), w.DB(), c.thing, c.name, c.names, ""), c.text, c.todo)
	}
}
