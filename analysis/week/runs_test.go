package week

import (
	"slices"
	"testing"

	"tidemark/analysis/week/service"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Plans of the traffic around the Sunday of the clock change (around), whose traces begin at 22:00 UTC on Saturday. The week ends on Sunday at
// 23:00 UTC, 25 hours later: 90,000 s.
//
//	within    ten minutes of a, from its begin
//	last      30 s of late that end when the week does; sent twice as fast, so that it lasts 15 s
//	after     30 s of late that start when the week is over
//	whole     all of a, without a stretch
//	other     of a trace that is not the service's
const replays = `
insert into raw.runs (run_id, source_id, document)
select run_id, 100 + row_number() over (), json_object('plan', json_object('source_sha256', sha256, 'duration_s', duration_s, 'scaling', json_object('from_s', from_s, 'speed', speed)))
from (values ('within', 'a', 600, 0, 1), ('last', 'late', 15, 89_970, 2), ('after', 'late', 30, 90_000, 1), ('whole', 'a', 36_000, null, null), ('other', 'quiet', 30, 0, 1))
	as plans (run_id, sha256, duration_s, from_s, speed)
`

func TestReplaysOfAWeekAreThoseOfItsTraffic(t *testing.T) {
	conn := must.Get(warehousetest.Open(t, around, replays).DB().Conn(t.Context()))(t)
	defer conn.Close()
	f := read(t, "[a, late]")
	m := &maker{ctx: t.Context(), conn: conn, file: f}
	m.parts = must.Get(parts(t.Context(), conn, f))(t)
	for _, c := range []struct {
		week string
		want []string
	}{
		{"2026-W43", []string{"last", "whole", "within"}},
		{"2026-W44", []string{"after", "last"}}, // a request at the end of a stretch is of the week that begins there
		{"2026-W42", nil},
	} {
		week := must.Get(service.ParseWeek(c.week, f.Zone))(t)
		got, err := m.sentOf(week)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("week %s: got %v, want %v: %v", c.week, got, c.want, err)
		}
	}
}
