package week

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/analysis/week/service"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Four traces around the Sunday on which the clocks of Berlin go back, and one without dates.
//
//	a        a request a minute from Saturday 22:00 UTC, which is Sunday 00:00 in Berlin, to Sunday 08:00 UTC; nothing between 03:00 and 06:00 UTC; 100 tokens in, 10 out;
//	         120 more at 01:00:00 UTC plus k seconds, k from 0 to 119; one failed request at 06:00:30; one without an answer at 06:01:30
//	copied   the rows of a from 07:00 UTC on, and its own at 08:10
//	quiet    one request on Sunday at 10:30 UTC
//	late     one request on Monday at 00:30 UTC, of class x, and one of class y
const around = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, reader_version, ingested_at)
select id, name, 'arrivals', 'plain', name, name, 10, 1, 1, 0, timestamptz '2026-10-24 22:00:00+00', name <> 'relative', 'datetime', case when name = 'quiet' then 'no zone given, read as UTC' end, 1, now()
from (values (1, 'a'), (2, 'copied'), (3, 'quiet'), (4, 'late'), (5, 'relative')) as sources (id, name);
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens, class)
select 1, minute, minute * 60_000_000_000, 100, 10, null from range(0, 601) as minutes (minute) where minute <= 300 or minute >= 480
union all
select 1, 1000 + second, 10_800_000_000_000 + second * 1_000_000_000 + 1, 300, 30, null from range(120) as seconds (second)
union all
select 1, 2000, 28_830_000_000_000, 9000, 0, null
union all
select 1, 2001, 28_890_000_000_000, 9000, 0, null
union all
select 2, minute, minute * 60_000_000_000, 100, 10, null from range(540, 601) as minutes (minute)
union all
select 2, 3000, 36_600_000_000_000, 100, 10, null
union all
select 3, 1, 45_000_000_000_000, 100, 10, null
union all
select 4, 1, 95_400_000_000_000, 100, 10, 'x'
union all
select 4, 2, 95_400_000_000_001, 100, 10, 'y'
union all
select 5, 1, 0, 100, 10, null;
insert into raw.arrival_details (source_id, line, is_failed) values (1, 2000, true);
`

// read makes a service file with that traffic in Berlin.
func read(t *testing.T, traffic string) service.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.yaml")
	text := fmt.Sprintf("service: s\ntime_zone: Europe/Berlin\ntraffic: %s\ndeployment: {gpu: toy, model: toy}\nreplicas: 1\nslo: slo.yaml\n", traffic)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	f := must.Get(service.Read(path))(t)
	return f
}

// sunday is the last 25 hours of the week of the clock change, in words: requests, or "missing", or "0".
func sunday(hours []Hour) string {
	var all []string
	for _, h := range hours[len(hours)-25:] {
		word := "missing"
		if !h.IsMissing {
			word = fmt.Sprint(*h.Requests)
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

func TestTheDemandOfADayWithTwentyFiveHours(t *testing.T) {
	db := warehousetest.Open(t, around).DB()
	ctx := context.Background()
	conn := must.Get(db.Conn(ctx))(t)
	defer conn.Close()
	zeros := strings.TrimSuffix(strings.Repeat("0 ", 14), " ")
	for _, c := range []struct{ name, traffic, sunday, week string }{
		// The silence is longer than the rhythm of a minute allows, so the two whole hours in it are missing.
		{"rows", "[a]", "60 60 60 180 60 1 missing missing 62 60 1" + strings.Repeat(" missing", 14), ""},
		{"whole days", "[{source: a, covers: day}]", "60 60 60 180 60 1 0 0 62 60 1 " + zeros, "2026-W43"},
		{"stated", "[{source: a, covers: 2026-10-25/2026-10-26}]", "60 60 60 180 60 1 0 0 62 60 1 " + zeros, "2026-W43"},
		{"copies", "[a, copied]", "60 60 60 180 60 1 missing missing 62 60 2" + strings.Repeat(" missing", 14), ""},
		{"twice in the file", "[a, 'a*']", "60 60 60 180 60 1 missing missing 62 60 1" + strings.Repeat(" missing", 14), ""},
		{"another beside it", "[a, quiet]", "60 60 60 180 60 1 missing missing 62 60 1 missing 1" + strings.Repeat(" missing", 12), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := read(t, c.traffic)
			parts := must.Get(parts(ctx, conn, f))(t)
			week := must.Get(service.ParseWeek("2026-W43", f.Zone))(t)
			d := must.Get(addUp(ctx, conn, week, parts))(t)
			hours := hoursOf(f, week, d, parts)
			if got := sunday(hours); got != c.sunday {
				t.Errorf("Sunday is\n%s, want\n%s", got, c.sunday)
			}
			if sums := added(week, hours); sums.Hours != 169 {
				t.Errorf("%d hours", sums.Hours)
			}
			if c.week != "" && lastWhole(parts, f.Zone).String() != c.week {
				t.Errorf("the last whole week is %s, want %s", lastWhole(parts, f.Zone), c.week)
			}
		})
	}
}

func TestTrafficThatCannotBe(t *testing.T) {
	db := warehousetest.Open(t, around).DB()
	for _, c := range []struct {
		traffic, want, hint string
		isMisuse            bool
	}{
		{"[qiuet]", `line 3: traffic: no source is named "qiuet"`, "quiet", true},
		{"['b-*']", `no source is named "b-*"`, "a, copied, late", true},
		{"[relative]", "line 3: traffic: source relative: its times are relative", "dates", true},
		{"[a, {source: 'l*', class: z}]", `line 3: traffic: no request of "l*" has the class "z"`, "the classes are x, y", true},
		{"[{source: 'l*', class: x, model: m}]", `line 3: traffic: no request of "l*" has the model "m" and the class "x"`, "its requests have no model; the classes are x, y", true},
		{"['[']", `no source is named "["`, "", true},
	} {
		_, err := parts(context.Background(), db, read(t, c.traffic))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.hint) || hint.IsMisuse(err) != c.isMisuse {
			t.Errorf("%s: got %v (%s), want %q", c.traffic, err, hint.Of(err), c.want)
		}
	}
	m := &maker{ctx: context.Background(), file: read(t, "[a]"), report: &Report{}}
	conn := must.Get(db.Conn(m.ctx))(t)
	defer conn.Close()
	m.conn = conn
	must.Do(t, m.readParts())
	for asked, want := range map[string]string{"2026-W50": "has no data of week 2026-W50, 2026-12-07 to 2026-12-13", "": "", "W43": `"W43" is no week`} {
		err := m.chooseWeek(asked)
		if (err == nil) != (want == "") && asked != "" || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("week %q: got %v, want %q", asked, err, want)
		}
	}
}

// addUp adds up a week of some parts.
func addUp(ctx context.Context, conn *sql.Conn, week service.Week, parts []part) (demand, error) {
	a, err := newAdder(ctx, conn, week, parts)
	if err != nil {
		return demand{}, err
	}
	return a.addUp(ctx)
}
