package week

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark/analysis/week/service"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/wildcard"
)

// part is a source of the service's traffic, with what was chosen of it.
type part struct {
	id          int64
	name        string
	format      string
	sha256      string
	rows        int64
	zone        string // what was assumed of its time zone
	traffic     service.Traffic
	isRates     bool      // it has rates and histograms in place of single requests
	first, last time.Time // its first and last row; of rates, the last instant of its last window
	quiet       []span    // silences that are longer than its rhythm allows; gaps of rates
	marks       *marks    // of what was collected, whose file grows; nil: the file is as it was
}

// span is from an instant to another one, which is not in it.
type span struct{ from, until time.Time }

func (s span) holds(from, until time.Time) bool { return !from.Before(s.from) && !until.After(s.until) }

func (s span) touches(from, until time.Time) bool { return from.Before(s.until) && until.After(s.from) }

// reaches says that the part is about some of the week: it may have rows of it, or the file says that it covers some of it.
func (p part) reaches(week service.Week) bool {
	if p.traffic.Covers == service.BySpan && (span{p.traffic.From, p.traffic.Until}).touches(week.Start(), week.End()) {
		return true
	}
	return p.first.Before(week.End()) && !p.last.Before(week.Start())
}

func (p part) overlaps(other part) bool {
	return !p.first.After(other.last) && !other.first.After(p.last)
}

// covered is the stretch of time that the part is about, as far as it is known without looking for silences.
func (p part) covered(zone *time.Location) span {
	switch p.traffic.Covers {
	case service.BySpan:
		return span{p.traffic.From, p.traffic.Until}
	case service.ByDay:
		return span{midnight(p.first.In(zone), 0), midnight(p.last.In(zone), 1)}
	}
	if p.isRates { // an hour counts when at least half of it is covered
		return span{hourOf(p.first.Add(fewestCovered-1), zone), hourOf(p.last.Add(1+fewestCovered), zone)}
	}
	return span{hourOf(p.first, zone), hourOf(p.last, zone).Add(time.Hour)}
}

// hourOf is the start of an instant's hour by the clock of a zone, which need not differ from UTC by whole hours.
func hourOf(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	shift := time.Duration(offset) * time.Second % time.Hour
	return at.Add(shift).Truncate(time.Hour).Add(-shift)
}

func midnight(at time.Time, days int) time.Time {
	return service.FirstInstant(at.Year(), at.Month(), at.Day()+days, at.Location())
}

// covers says that the part covers an hour, which ends early at the end of some weeks. It has a row in it if has says so; of rates, has says that windows cover half of it.
func (p part) covers(from, until time.Time, has bool, zone *time.Location) bool {
	if has {
		return true
	}
	if !p.covered(zone).holds(from, until) {
		return false
	}
	if p.isRates {
		return p.traffic.Covers != service.ByRows && !slices.ContainsFunc(p.quiet, func(s span) bool { return s.touches(from, until) })
	}
	if p.traffic.Covers != service.ByRows {
		return true
	}
	return !slices.ContainsFunc(p.quiet, func(s span) bool { return s.holds(from, until) })
}

// parts finds the sources that the service file names, in the order of the file and then of their names. A source that two entries name is
// taken by the first of them, unless they choose different models or classes.
func parts(ctx context.Context, db warehouse.Querier, f service.File) (all []part, err error) {
	known, err := knownTraffic(ctx, db)
	if err != nil {
		return nil, err
	}
	for _, traffic := range f.Traffic {
		var found []int64
		for _, p := range known {
			if !wildcard.Match(traffic.Source, p.name) {
				continue
			}
			found = append(found, p.id)
			p.traffic = traffic
			isTaken := slices.ContainsFunc(all, func(o part) bool {
				return o.id == p.id && o.traffic.Model == traffic.Model && o.traffic.Class == traffic.Class
			})
			if !isTaken {
				all = append(all, p)
			}
		}
		if len(found) == 0 {
			return nil, unknownTraffic(f, traffic, known)
		}
		if err := checkChoice(ctx, db, f, traffic, found); err != nil {
			return nil, err
		}
	}
	for i := range all {
		if all[i].first.IsZero() {
			return nil, hint.Misuse("service file %s: line %d: traffic: source %s: its times are relative, so that nobody knows in which week they lie",
				f.Path, all[i].traffic.Line, all[i].name).
				Hint(`a service needs traces with dates: ingest it with a format that has them, or leave it out of "traffic"`)
		}
		if err := all[i].checkSpan(f); err != nil {
			return nil, err
		}
		if err := all[i].findSilences(ctx, db); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// checkSpan refuses a stated span in which the source has no row: its zeros would stand for traffic that came at another time.
func (p part) checkSpan(f service.File) error {
	if p.traffic.Covers != service.BySpan || (span{p.traffic.From, p.traffic.Until}).touches(p.first, p.last.Add(1)) {
		return nil
	}
	const minutes = "2006-01-02 15:04"
	return hint.Misuse("service file %s: line %d: traffic: covers: source %s has its rows from %s to %s, and none in the span", f.Path, p.traffic.Line, p.name,
		p.first.In(f.Zone).Format(minutes), p.last.In(f.Zone).Format(minutes)).Hint("state the span that the source is about: days are of the service's zone")
}

// checkChoice refuses an entry of the file whose model or class none of its requests has: it would be no traffic, and nobody would see why.
func checkChoice(ctx context.Context, db warehouse.Querier, f service.File, traffic service.Traffic, ids []int64) error {
	model, join := "''", ""
	switch {
	case traffic.Model != "":
		model, join = "coalesce(model, '')", "left join raw.arrival_details as details on details.source_id = arrivals.source_id and details.line = arrivals.line"
	case traffic.Class == "":
		return nil
	}
	// Windows of rates name a model or a class as their class.
	models, classes, isThere := map[string]bool{}, map[string]bool{}, false
	err := warehouse.Each(ctx, db, fmt.Sprintf(`select distinct %[2]s, coalesce(class, '')
from raw.arrivals
%[3]s
where list_contains(%[1]s, arrivals.source_id)
union all
select distinct coalesce(class, ''), coalesce(class, '')
from raw.rate_windows
where list_contains(%[1]s, source_id)`, list(ids), model, join), nil, func(scan func(...any) error) error {
		var model, class string
		if err := scan(&model, &class); err != nil {
			return err
		}
		isThere = isThere || (traffic.Model == "" || traffic.Model == model) && (traffic.Class == "" || traffic.Class == class)
		models[model], classes[class] = true, true
		return nil
	})
	if err != nil || isThere {
		return err
	}
	var wanted, there []string
	for _, filter := range []struct {
		one, many, wanted string
		names             map[string]bool
	}{{"model", "models", traffic.Model, models}, {"class", "classes", traffic.Class, classes}} {
		if filter.wanted != "" {
			wanted = append(wanted, fmt.Sprintf("%s %q", filter.one, filter.wanted))
			there = append(there, thereAre(filter.one, filter.many, slices.Sorted(maps.Keys(filter.names))))
		}
	}
	return hint.Misuse("service file %s: line %d: traffic: no request of %q has the %s", f.Path, traffic.Line, traffic.Source, strings.Join(wanted, " and the ")).
		Hint("%s", strings.Join(there, "; "))
}

// thereAre names the models or classes that requests have. The empty name is of those without one.
func thereAre(one, many string, names []string) string {
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	const most = 12
	switch {
	case len(names) == 0:
		return "its requests have no " + one
	case len(names) > most:
		return fmt.Sprintf("the %s are %s and %d more", many, strings.Join(names[:most], ", "), len(names)-most)
	}
	return fmt.Sprintf("the %s are %s", many, strings.Join(names, ", "))
}

func unknownTraffic(f service.File, traffic service.Traffic, known []part) error {
	var names []string
	for _, p := range known {
		names = append(names, p.name)
	}
	return hint.Misuse("service file %s: line %d: traffic: no source is named %q", f.Path, traffic.Line, traffic.Source).
		Hint("%s", hint.Known("traffic source", names, traffic.Source))
}

// knownTraffic are all sources that can be traffic: traces, and histograms with rates.
func knownTraffic(ctx context.Context, db warehouse.Querier) (all []part, err error) {
	err = warehouse.Each(ctx, db, `with reaches as (
	select source_id, min(arrival_ns) as first_ns, max(arrival_ns) as last_ns, false as is_rates
	from raw.arrivals
	group by source_id
	union all
	select source_id, (min(window_from_s) * 1e9)::bigint, (max(window_until_s) * 1e9)::bigint, true
	from raw.rate_windows
	group by source_id
)

select sources.source_id, source_name, format, sha256, rows_kept, coalesce(zone_assumption, ''), reaches.is_rates,
	sources.origin_at + to_microseconds(first_ns // 1000), sources.origin_at + to_microseconds(last_ns // 1000)
from staging.sources
inner join reaches on reaches.source_id = sources.source_id
order by source_name, sources.source_id`, nil, func(scan func(...any) error) error {
		var p part
		var first, last sql.NullTime
		if err := scan(&p.id, &p.name, &p.format, &p.sha256, &p.rows, &p.zone, &p.isRates, &first, &last); err != nil {
			return err
		}
		p.first, p.last = first.Time, last.Time
		if p.isRates && last.Valid {
			p.last = p.last.Add(-1) // the end of a window is not in it
		}
		all = append(all, p)
		return nil
	})
	return all, err
}

// findSilences fills the silences that are longer than the source's rhythm allows and long enough to hold an hour.
func (p *part) findSilences(ctx context.Context, db warehouse.Querier) error {
	if p.isRates {
		return p.findGaps(ctx, db)
	}
	if p.traffic.Covers != service.ByRows || p.last.Sub(p.first) < time.Hour {
		return nil
	}
	return warehouse.Each(ctx, db, longSilences, []any{p.id}, func(scan func(...any) error) error {
		var from, until float64
		if err := scan(&from, &until); err != nil {
			return err
		}
		at := func(s float64) time.Time { return p.first.Add(time.Duration(s * 1e9)) }
		p.quiet = append(p.quiet, span{at(from), at(until)})
		return nil
	})
}

// longSilences are those of marts.silences that last an hour. Each has a whole stretch of half an hour by the clock without a request in it, so
// that the requests need not be sorted: a year of them takes a second in place of a minute.
const longSilences = `with stretches as (
	select min(arrival_ns) as first_ns, max(arrival_ns) as last_ns, count(*) as requests
	from raw.arrivals
	where source_id = ?
	group by arrival_ns // 1_800_000_000_000
),

shape as (
	select min(first_ns) as begin_ns, sum(requests) - 1 as gaps, (max(last_ns) - min(first_ns)) / 1e9 / (sum(requests) - 1) as mean_gap_s
	from stretches
),

quiet as (
	select lag(last_ns) over (order by first_ns) as from_ns, first_ns as until_ns
	from stretches
)

select (from_ns - begin_ns) / 1e9, (until_ns - begin_ns) / 1e9
from quiet
cross join shape
where gaps >= 10 and until_ns - from_ns >= 3_600_000_000_000 and (until_ns - from_ns) / 1e9 >= 5e0 * ln(gaps) * mean_gap_s
order by from_ns`

// coveredUntil is the end of the last hour that a part covers.
func coveredUntil(parts []part, zone *time.Location) (until time.Time) {
	for _, p := range parts {
		if end := p.covered(zone).until; end.After(until) {
			until = end
		}
	}
	return until
}

// lastWhole is the last week that the parts cover to its end.
func lastWhole(parts []part, zone *time.Location) service.Week {
	until := coveredUntil(parts, zone)
	week := service.WeekOf(until.Add(-time.Nanosecond).In(zone))
	if week.End().After(until) {
		week = week.Add(-1)
	}
	return week
}

// inWords says from when to when the parts have data, for an error.
func inWords(parts []part, zone *time.Location) string {
	var all []string
	for _, p := range parts {
		all = append(all, fmt.Sprintf("%s from %s to %s", p.name, show.Instant(p.first.In(zone)), show.Instant(p.last.In(zone))))
	}
	const most = 5
	if len(all) > most {
		all = append(all[:most], fmt.Sprintf("and %d more", len(all)-most))
	}
	return strings.Join(all, "; ")
}
