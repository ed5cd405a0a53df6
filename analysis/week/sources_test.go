package week

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/analysis/week/service"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Hours of Kolkata begin at half past by UTC: its last hour of the week is covered to the week's end, whenever in it the last request came.
func TestHoursOfAPartAreThoseOfTheZone(t *testing.T) {
	kolkata := must.Get(time.LoadLocation("Asia/Kolkata"))(t)
	for _, minute := range []int{1, 29, 31, 59} {
		monday := time.Date(2026, time.October, 26, 0, 0, 0, 0, kolkata)
		p := part{first: monday.Add(5 * time.Minute).UTC(), last: time.Date(2026, time.November, 1, 23, minute, 0, 0, kolkata).UTC(), traffic: service.Traffic{Covers: service.ByRows}}
		covered := p.covered(kolkata)
		if !covered.from.Equal(monday) || !covered.until.Equal(monday.AddDate(0, 0, 7)) {
			t.Errorf("last row at 23:%02d: covers %s to %s", minute, covered.from.In(kolkata), covered.until.In(kolkata))
		}
		if week := lastWhole([]part{p}, kolkata); week.String() != "2026-W44" {
			t.Errorf("last row at 23:%02d: the last whole week is %s", minute, week)
		}
	}
}

// The silences that a report asks for are those of the mart that last an hour, whichever half hours they lie in.
func TestLongSilencesAreThoseOfTheMart(t *testing.T) {
	w := warehousetest.Open(t, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at)
select n, 'trace' || n, 'arrivals', 'plain', 'p', 'trace' || n, 1, 1, 1, 0, timestamptz '2026-11-16 00:00:00+00', true, 1, now()
from range(1, 41) as numbers (n);
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens)
select n, i + 1, (3600 * n + 60 * i + sum(case when hash(n, i) % 20 = 0 then hash(n, i, 1) % 12_000 else 0 end) over (partition by n order by i))::bigint * 1_000_000_000, 9, 9
from range(1, 41) as numbers (n), range(n * 5) as rows (i)`)
	silences := func(query string, arg any) (all []string) {
		rows := must.Get(w.DB().Query(query, arg))(t)
		defer rows.Close()
		for rows.Next() {
			var from, until float64
			must.Do(t, rows.Scan(&from, &until))
			all = append(all, fmt.Sprintf("%.6f-%.6f", from, until))
		}
		return all
	}
	found := 0
	for n := 1; n <= 40; n++ {
		got := silences(longSilences, n)
		want := silences("select from_s, until_s from marts.silences where source_name = ? and until_s - from_s >= 3600 order by from_s", fmt.Sprint("trace", n))
		if !slices.Equal(got, want) {
			t.Errorf("trace %d: %v, want %v", n, got, want)
		}
		found += len(got)
	}
	if found < 20 {
		t.Errorf("%d silences are too few to tell", found)
	}
}

// Requests of a class are compared over the hours that both weeks cover, and those that the table does not name as one row.
func TestGrowthOfClassesIsOverCommonHours(t *testing.T) {
	side := func(missing int, chat, rare int64) weekOf {
		w := weekOf{}
		for i := range 3 {
			w.hours = append(w.hours, Hour{Start: time.Unix(int64(3600*i), 0), HourOfDay: i, IsMissing: i == missing})
			w.demand.Hours = append(w.demand.Hours, demandHour{Place: i, Classes: map[string]int64{"chat": chat, "rare": rare, "rarer": rare}})
		}
		return w
	}
	classes := []Class{{Name: "chat"}}
	for len(classes) < mostClasses {
		classes = append(classes, Class{Name: string(rune('a' + len(classes)))})
	}
	classes = append(classes, Class{Name: restClasses})
	compareClasses(classes, side(1, 30, 3), side(2, 20, 4))
	if got := classes[0].Growth; got == nil || *got != 0.5 {
		t.Errorf("chat grew by %v, want 0.5", got)
	}
	if got := classes[mostClasses].Growth; got == nil || *got != -0.25 {
		t.Errorf("the others grew by %v, want -0.25", got)
	}
	if got := classes[1].Growth; got != nil {
		t.Errorf("a class without requests grew by %v", *got)
	}
}
