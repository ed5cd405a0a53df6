//go:build duckdb_arrow

package published_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/store/published"
	"tidemark/internal/store/warehouse/warehousetest"
)

// agents is a trace of 12,000 requests with as many block ids each as is said; a hundred times as many in the last rows.
func agents(ids string) []string {
	return []string{
		strings.Replace(strings.Split(aTrace, "insert into raw.arrivals")[0], "1, 1, 0,", "12000, 12000, 0,", 1),
		`insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, blocks)
		select 1000, k + 1, k * 1000000, 204800, 10, [hash(k * 400 + i) for i in range(case when k < 11000 then 1 else 100 end * ` + ids + `)]
		from range(12000) as rows (k)`,
	}
}

// Rows with many block ids are written in groups of 8,192, wherever in the file they stand; and all are written where memory is too little.
func TestRowsOfAgentsAreWrittenInSmallGroups(t *testing.T) {
	for what, c := range map[string]struct {
		ids   string
		bytes int
		want  string
	}{
		"long":                          {"20", published.PartBytes(), "12000 true"},
		"short":                         {"3", published.PartBytes(), "12000 false"},
		"not so long, in little memory": {"3", 20 << 20, "12000 false"},
	} {
		path := warehousetest.File(t)
		folder := published.Folder(path, "")
		published.SetPartBytes(t, c.bytes)
		change(t, path, folder, agents(c.ids)...)
		parts := filepath.Join(folder, "lake", "staging.arrivals", "source=1000", "*.parquet")
		if got := answer(t, path, "select sum(rows) || ' ' || (max(rows) <= 8192) from (select row_group_id, any_value(row_group_num_rows) as rows from parquet_metadata('%s') group by row_group_id)", parts); got != c.want {
			t.Errorf("%s: rows in all, and whether groups are small, are %s, want %s", what, got, c.want)
		}
		same := answer(t, path, "select (select bit_xor(hash(seq, blocks)) from (select seq, blocks from '%s')) = (select bit_xor(hash(seq, blocks)) from (select seq, blocks from staging.arrivals))", parts)
		if same != "true" {
			t.Errorf("%s: %s", what, same)
		}
		if late := answer(t, path, "select count(*) from (select seq, file_row_number from read_parquet('%s', file_row_number = true)) where seq <> file_row_number", parts); late != "0" && what == "long" {
			t.Errorf("%s: %s rows do not lie in order of time", what, late)
		}
	}
}
