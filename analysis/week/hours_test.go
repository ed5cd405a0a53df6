package week

import (
	"strings"
	"testing"

	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// halfHour is a request a minute for a week on Lord Howe Island, whose clock goes back by half an hour on Sunday 2026-04-05: 168.5 hours. The last
// half hour has a request every six seconds more.
const halfHour = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'log', 'arrivals', 'jsonl', 'l', 'l', 1, 1, 1, 0, timestamptz '2026-03-30 00:00:00+11', true, 4, now());
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens)
select 1, i, 60_000_000_000 * i, 100, 10 from range(10110) as minutes (i)
union all
select 1, 20000 + i, 1_000_000_000 * (168 * 3600 + 6 * i), 100, 10 from range(300) as requests (i);
`

// The last half hour has 30 + 300 requests in 1,800 s, 55 in each of its six bins of five minutes, and half a replica-hour. One replica of
// $2 an hour costs $337 a week.
func TestAWeekThatEndsWithHalfAnHour(t *testing.T) {
	w := warehousetest.Open(t, halfHour)
	f := aService(t, "time_zone: Australia/Lord_Howe\ntraffic: [log]\nprice: {usd_per_gpu_hour: 2}")
	var told []string
	r, _, err := Make(t.Context(), w.DB(), f, Options{Told: func(doing string) { told = append(told, doing) }})
	must.Do(t, err)
	if all := strings.Join(told, "; "); !strings.Contains(all, "adding up week 2026-W14; rehearsing what each hour needs") { // six minutes passed without a word
		t.Errorf("told %s", all)
	}
	if r.Week != "2026-W14" || len(r.Hours) != 169 || r.Sums.MissingHours != 0 || r.Sums.Requests != 10410 {
		t.Fatalf("week %s of %d hours, %d missing, %d requests", r.Week, len(r.Hours), r.Sums.MissingHours, r.Sums.Requests)
	}
	last := r.Hours[168]
	if last.Local != "2026-04-05 23:30+10:30" || *last.Requests != 330 {
		t.Errorf("the last hour begins at %s and has %d requests", last.Local, *last.Requests)
	}
	exactly(t, "rate", last.RatePerS, 330.0/1800)
	exactly(t, "busiest five minutes", last.PeakRatePerS, 55.0/300)
	exactly(t, "burstiness", last.BurstRatio, 0)
	exactly(t, "cost of the last hour", last.CostUSD, 1)
	exactly(t, "paid", &r.Sums.GPUHoursPaid, 168.5)
	exactly(t, "paid in covered hours", &r.Sums.GPUHoursCovered, 168.5)
	exactly(t, "cost", r.Sums.CostUSD, 337)
	for _, way := range r.Scaling {
		if way.Name == ScaledAsPaid || strings.HasPrefix(way.Name, scaledAheadName) {
			exactly(t, way.Name, &way.GPUHours, 168.5)
		}
	}
	exactly(t, "today's cost among the alternatives", r.Alternatives[0].USDPerWeek, 337)
	wantNotes(t, r, "A clock was set by a part of an hour in this week: its last hour, from 23:30 on, is 30 minutes long, and is counted and paid as that.")
}

// A stated span reaches beyond the rows: the weeks before and after them are of the service too, and their hours have no requests.
func TestASpanWithoutRowsIsZero(t *testing.T) {
	w := warehousetest.Open(t, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'log', 'arrivals', 'jsonl', 'l', 'l', 1, 1, 1, 0, timestamptz '2026-11-11 10:00:00+00', true, 4, now());
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens) select 1, i, 60_000_000_000 * i, 100, 10 from range(120) as minutes (i);
`)
	f := aService(t, "time_zone: UTC\ntraffic: [{source: log, covers: 2026-11-05/2026-11-24}]\nprice: {usd_per_gpu_hour: 2}")
	for _, c := range []struct {
		asked, week       string
		missing, requests int
	}{
		{"", "2026-W47", 0, 0}, // the last whole week of the span
		{"2026-W45", "2026-W45", 72, 0},
	} {
		r, _ := needed(t, w, f, c.asked)
		if r.Week != c.week || r.Sums.MissingHours != c.missing || int(r.Sums.Requests) != c.requests || len(r.Sources) != 1 {
			t.Errorf("week %q: got %s with %d hours missing and %d requests of %d sources, want %+v", c.asked, r.Week, r.Sums.MissingHours, r.Sums.Requests, len(r.Sources), c)
		}
		if len(r.Before) > 0 && r.Before[0].Week != "2026-W45" {
			t.Errorf("week %s: the first before is %s", r.Week, r.Before[0].Week)
		}
	}
	if _, _, err := Make(t.Context(), w.DB(), f, Options{Week: "2026-W49"}); err == nil || !strings.Contains(err.Error(), "no data of week 2026-W49") {
		t.Errorf("after the span: %v", err)
	}
}

// A page of 168 missing hours came of a week that only a few minutes of counts reach into: no hour of it is covered.
func TestAWeekWithoutACoveredHourIsNoPage(t *testing.T) {
	w := warehousetest.Open(t, `
insert into raw.sources (source_id, name, collection, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'rates', 'rates', 'lengths', 'lengths', 'p', 'a', 1, 1, 1, 0, timestamptz '2026-11-11 10:00:00+00', true, 4, now());
insert into raw.rate_windows (source_id, window_from_s, window_until_s, requests) values (1, 0, 300, 20), (1, 300, 600, 20);
insert into raw.length_cells (source_id, input_above, input_up_to, output_above, output_up_to, requests) values (1, 0, 100, 0, 10, 1);
`)
	f := aService(t, "time_zone: UTC\ntraffic: [rates]")
	_, _, err := Make(t.Context(), w.DB(), f, Options{Week: "2026-W46"})
	if err == nil || !strings.Contains(err.Error(), "has no covered hour in week 2026-W46, 2026-11-09 to 2026-11-15") || !strings.Contains(hint.Of(err), "rates from 2026-11-11 10:00 +00:00 to 2026-11-11 10:09 +00:00") || hint.IsMisuse(err) {
		t.Errorf("got %v (%s)", err, hint.Of(err))
	}
}
