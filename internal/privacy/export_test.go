//go:build duckdb_arrow

package privacy

import (
	"fmt"
	"slices"
	"testing"

	"tidemark/internal/proof/must"
)

// An export can be taken in again, as the trace that it is: also one whose prompts
// end behind their last whole block.
func TestExportCanBeTakenInAgain(t *testing.T) {
	w := openFile(t, emptyFile(t))
	must.Get(w.DB().Exec(`
		insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, reader_version, ingested_at, block_tokens)
		values (1, 'trace', 'arrivals', 'agentic', 'p', 's', 1, 200, 200, 0, false, 1, now(), 64);
		insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, session_id, turn, class, blocks)
		select 1, n, n * 1500000001, 64 * 3 + n % 64, 20 + n, 'session ' || n // 2, n % 2, 'main', [n // 2, 1000 + n, 2000 + n]
		from range(200) as r(n);
		insert into raw.arrival_details (source_id, line, think_s, parent_session_id, parent_turn, model, is_failed)
		select 1, n, 2.5, case when n % 10 = 0 then 'session ' || (n // 2 + 1) end, case when n % 10 = 0 then 1 end, 'a-customer-model', false
		from range(200) as r(n)`))(t)
	o := optionsOf(1)
	o.UserCap = 0.05
	_, path := exported(t, w, "out.jsonl.zst", o)
	take(t, w, path, "again")
	again := must.Get(read(t.Context(), w, "again"))(t)
	written := rowsOf(t, path)
	if len(again.Rows) != 200 || len(written.Rows) != 200 {
		t.Fatalf("%d rows written, %d taken in; want 200", len(written.Rows), len(again.Rows))
	}
	for i, row := range again.Rows {
		wrote := written.Rows[i]
		got := fmt.Sprint(row.At, row.Input, row.Output, again.Sessions[row.Session], row.Turn, again.Sessions[row.Parent], row.ParentTurn, again.Classes[row.Class], row.ThinkS, row.Failed)
		want := fmt.Sprint(wrote.At, wrote.Input, wrote.Output, written.Sessions[wrote.Session], wrote.Turn, written.Sessions[wrote.Parent], wrote.ParentTurn, written.Classes[wrote.Class], wrote.ThinkS, wrote.Failed)
		if got != want || !slices.Equal(row.Blocks, wrote.Blocks) {
			t.Fatalf("row %d: taken in as %s, written as %s", i, got, want)
		}
	}
	if verdicts, _, err := CheckSource(t.Context(), w, "again", Terms{K: 10, UserCap: 0.05}); err != nil || !Passed(verdicts) {
		t.Errorf("the source that was taken in: %+v, %v", verdicts, err)
	}
}
