package week

import (
	"strings"
	"testing"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// An hour of 2,000 requests on the Mondays of W45, W46, W52 and W53, prompts of 200 to 1,800 tokens and answers of 50 to 350; in W53 prompts are longer by half.
const mondays = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, reader_version, ingested_at)
values (1, 'a', 'arrivals', 'plain', 'a', 'a', 10, 1, 1, 0, timestamptz '2026-11-02 00:00:00+00', true, 'datetime', 1, now());
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens)
select 1, 10_000 * week + i, ((week::bigint * 7 * 24 + 9) * 3_600_000 + 1_800 * i + hash(week, i, 'gap') % 1_700)::bigint * 1_000_000,
    (200 + hash(week, i, 'input') % 1_600)::bigint * case when week = 8 then 3 else 2 end // 2, 50 + hash(week, i, 'output') % 300
from (values (0), (1), (7), (8)) as weeks (week), range(2_000) as requests (i);
`

// The first page rehearses its own week, and a page five weeks after the last one still rehearses that, though it adds up only four weeks of its own accord.
func TestASecondWeekOfTheSameTraffic(t *testing.T) {
	w := warehousetest.Open(t, mondays)
	f := aService(t, "time_zone: UTC\ntraffic: [a]")
	for _, one := range []struct {
		week, anchor string
	}{{"2026-W45", "2026-W45"}, {"2026-W46", "2026-W45"}, {"2026-W52", "2026-W45"}, {"2026-W53", "2026-W53"}} {
		r, kept := needed(t, w, f, one.week)
		must.Do(t, Keep(t.Context(), w, f, r, kept))
		said := strings.Contains(r.Basis.Sentence, "rehearsed with the requests of 2026-W45")
		if r.Basis.AnchorWeek != one.anchor || said != (one.anchor != one.week) {
			t.Errorf("%s: rehearsed as %s: %s", one.week, r.Basis.AnchorWeek, r.Basis.Sentence)
		}
	}
}
