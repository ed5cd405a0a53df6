package week

import (
	"database/sql"
	"fmt"
	"testing"

	"tidemark/analysis/week/service"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Source 1 has a request every six seconds or so of Monday's first hour, of lengths that differ. Sources 2 and up are made of it.
const originals = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at)
select id, 's' || id, 'arrivals', 'jsonl', 'p', 's' || id, 1, 1, 1, 0, timestamptz '2026-11-16 00:00:00+00', true, 4, now() from range(1, 16) as ids (id);
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens)
select 1, i, 6_000_000_000 * i + hash(i)::hugeint % 5_000_000_000, 1 + hash(i, 1)::hugeint % 500, 1 + hash(i, 2)::hugeint % 50 from range(600) as requests (i);
create temp table copied as select line, arrival_ns, input_tokens, output_tokens from raw.arrivals;
`

// insertCopy inserts into a source what a query makes of the originals.
func insertCopy(id int, instant, lengths, where string) string {
	return fmt.Sprintf("insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens) select %d, line, %s, %s from copied where %s;", id, instant, lengths, where)
}

// demandOf adds up a week of sources.
func demandOf(t *testing.T, conn *sql.Conn, traffic, name string) demand {
	t.Helper()
	f := aService(t, "time_zone: UTC\ntraffic: "+traffic)
	all := must.Get(parts(t.Context(), conn, f))(t)
	week := must.Get(service.ParseWeek(name, f.Zone))(t)
	d := must.Get(addUp(t.Context(), conn, week, all))(t)
	return d
}

func TestCopiesByAnotherClock(t *testing.T) {
	const same, own = "input_tokens, output_tokens", "1 + hash(line, 3)::hugeint % 500, 1 + hash(line, 4)::hugeint % 50"
	cases := []struct {
		name, instant, lengths, where string
		rows                          int64
		note                          string
	}{
		{"30 s ahead", "arrival_ns + 30_000_000_000", same, "true", 600, "600 requests of s2 are in s1 as well, by a clock that is 30.0 s ahead; they are counted once, at the times of s1."},
		{"whole seconds", "arrival_ns // 1_000_000_000 * 1_000_000_000", same, "true", 600, "600 requests of s3 are in s1 as well, at instants that differ by less than a second; they are counted once, at the times of s1."},
		{"whole seconds, two minutes behind, every second one", "greatest(arrival_ns - 118_500_000_000, 0) // 1_000_000_000 * 1_000_000_000", same, "line % 2 = 0 and line >= 20", 290,
			"290 requests of s4 are in s1 as well, by a clock that is 119 s behind; they are counted once, at the times of s1."},
		{"one in a hundred is another", "arrival_ns + 30_000_000_000", "input_tokens + case when line % 120 = 7 then 1000 else 0 end, output_tokens", "true", 595, "595 requests of s5 are in s1 as well, by a clock that is 30.0 s ahead; they are counted once, at the times of s1."},
		{"two in a hundred are others", "arrival_ns + 30_000_000_000", "input_tokens + case when line % 50 = 7 then 1000 else 0 end, output_tokens", "true", 0, ""},
		{"other requests at the same times", "arrival_ns + 300_000_000", own, "true", 0, ""},
		{"three minutes ahead", "arrival_ns + 180_000_000_000", same, "true", 0, ""},
		{"a clock that drifts by a minute", "arrival_ns + line * 100_000_000", same, "true", 0, ""},
		{"fewer than two hundred", "arrival_ns + 30_000_000_000", same, "line < 190", 0, ""},
		{"the same but exact", "arrival_ns", same, "line < 190", 190, "190 requests of s11 are in s1 as well; they are counted once."},
	}
	sql := originals
	for i, c := range cases {
		sql += insertCopy(i+2, c.instant, c.lengths, c.where)
	}
	conn := conn(t, warehousetest.Open(t, sql))
	for i, c := range cases {
		name := fmt.Sprintf("s%d", i+2)
		t.Run(c.name, func(t *testing.T) {
			d := demandOf(t, conn, "[s1, "+name+"]", "2026-W47")
			var got int64
			note := ""
			if len(d.Copies) == 1 {
				got, note = d.Copies[0].Rows, d.Copies[0].note(name, "s1")
			}
			if got != c.rows || note != c.note {
				t.Errorf("got %d rows, %q\nwant %d, %q", got, note, c.rows, c.note)
			}
		})
	}
}

// Source 14 is source 1 in the hour around midnight of Sunday, and 15 is its copy 30 s ahead: five of its rows lie in the next week by its clock alone.
func TestCopiesAcrossTheEndOfAWeek(t *testing.T) {
	conn := conn(t, warehousetest.Open(t, originals, insertCopy(14, "arrival_ns - 1_800_000_000_000", "input_tokens, output_tokens", "true"),
		insertCopy(15, "arrival_ns - 1_770_000_000_000", "input_tokens, output_tokens", "true")))
	for week, want := range map[string]int64{"2026-W46": 300, "2026-W47": 300} {
		requests := int64(0)
		for _, h := range demandOf(t, conn, "[s14, s15]", week).Hours {
			requests += h.Requests
		}
		if requests != want {
			t.Errorf("week %s has %d requests, want %d", week, requests, want)
		}
	}
}
