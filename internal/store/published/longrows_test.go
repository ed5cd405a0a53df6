//go:build duckdb_arrow

package published_test

import (
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/store/published"
	"tidemark/internal/store/warehouse/warehousetest"
)

// agents is a trace of 12,000 requests with up to 400 block ids each, 38 MB of them; the first rows, which tell how long rows are,
// have as many as is said.
func agents(first string) []string {
	return []string{
		strings.Replace(strings.Split(aTrace, "insert into raw.arrivals")[0], "1, 1, 0,", "12000, 12000, 0,", 1),
		`insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, blocks)
		select 1000, k + 1, k * 1000000, 204800, 10, [hash(k * 400 + i) for i in range(case when k < 2000 then ` + first + ` else 400 end)]
		from range(12000) as rows (k)`,
	}
}

// Rows with many block ids are written in groups of 8,192, as the first rows tell; and all are written where memory is too little.
func TestRowsOfAgentsAreWrittenInSmallGroups(t *testing.T) {
	for what, c := range map[string]struct {
		first string
		bytes int
		want  string
	}{
		"long from the start":          {"400", published.PartBytes(), "12000 true"},
		"long later":                   {"0", published.PartBytes(), "12000 false"},
		"long later, in little memory": {"0", 20 << 20, "12000 false"},
	} {
		path := warehousetest.File(t)
		folder := published.Folder(path, "")
		published.SetPartBytes(t, c.bytes)
		change(t, path, folder, agents(c.first)...)
		parts := filepath.Join(folder, "lake", "staging.arrivals", "source=1000", "*.parquet")
		if got := answer(t, path, "select sum(rows) || ' ' || (max(rows) <= 8192) from (select row_group_id, any_value(row_group_num_rows) as rows from parquet_metadata('%s') group by row_group_id)", parts); got != c.want {
			t.Errorf("%s: rows in all, and whether groups are small, are %s, want %s", what, got, c.want)
		}
		same := answer(t, path, "select (select bit_xor(hash(seq, blocks)) from (select seq, blocks from '%s')) = (select bit_xor(hash(seq, blocks)) from (select seq, blocks from staging.arrivals))", parts)
		if same != "true" {
			t.Errorf("%s: %s", what, same)
		}
	}
}
