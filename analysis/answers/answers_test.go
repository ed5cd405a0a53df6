//go:build duckdb_arrow

package answers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/analysis/answers"
	"tidemark/internal/store/warehouse/warehousetest"
)

var (
	open      = warehousetest.Open
	wantError = warehousetest.WantError
)

func TestSchema(t *testing.T) {
	w := open(t)
	ctx := context.Background()
	all, err := answers.Schema(ctx, w.DB(), "")
	if err != nil || len(all.Rows) < 40 || all.Rows[0][0] != "marts.arrival_gaps" {
		t.Errorf("Schema: got %d rows, the first %v, %v", len(all.Rows), all.Rows[0], err)
	}
	columns, err := answers.Schema(ctx, w.DB(), "marts.tpot_gap")
	if err != nil || columns.Rows[0][0] != "run_id" || columns.Rows[0][2] != "the replay" || !strings.HasPrefix(columns.Comment, "One row per successful request") {
		t.Errorf("Schema(marts.tpot_gap): got %v, %v", columns, err)
	}
	_, err = answers.Schema(ctx, w.DB(), "marts.tpot")
	wantError(t, err, `no relation named "marts.tpot"`, "did you mean marts.tpot_gap")
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
		_, err := answers.Schema(ctx, w.DB(), c.name)
		wantError(t, err, c.name, c.meant)
	}
	table, err := answers.Schema(ctx, w.DB(), "money")
	if err != nil || len(table.Rows) < 4 || !slices.ContainsFunc(table.Rows, func(row []any) bool { return row[0] == "marts.goodput" }) || table.Rows[0][2] != "money" {
		t.Errorf("Schema(money): got %v, %v", table.Rows, err)
	}
}

func TestQueryReducesTypes(t *testing.T) {
	w := open(t)
	table, err := answers.Query(context.Background(), w.DB(), `
select null, true, 1::tinyint, 2::hugeint, 3.5::decimal(4, 1), 'x', [1, null], {'a': 1::utinyint}, map {'k': 2::integer}, 18446744073709551615::ubigint, '\x01'::blob`)
	if err != nil {
		t.Fatal(err)
	}
	want := "[<nil> true 1 2 3.5 x [1 <nil>] map[a:1] map[k:2] 18446744073709551615 01]"
	if got := fmt.Sprint(table.Rows[0]); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
