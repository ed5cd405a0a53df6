package week

import (
	"context"
	"fmt"
	"time"

	"tidemark/analysis/week/service"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// What tidemark collect wrote: the demand of a service that names no traffic, and a source of the page for every other.

// formatCollected is the format of what collect wrote.
const formatCollected = "prometheus-collected"

// role of the part on the page.
func (p part) role() string {
	if p.format == formatCollected {
		return "metrics"
	}
	return "traffic"
}

// metricsParts are the parts of a service whose demand its servers counted.
func (m *maker) metricsParts() (all []part, err error) {
	ids, err := m.metricsIDs()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		p := part{id: id, isRates: true, traffic: service.Traffic{Covers: service.ByRows}}
		if err := m.conn.QueryRowContext(m.ctx, `select source_name, format, sha256, rows_kept, coalesce(zone_assumption, ''),
	origin_at + to_microseconds(first_ns // 1000), origin_at + to_microseconds(last_ns // 1000)
from staging.sources
cross join (select min(at_ns) as first_ns, max(at_ns) as last_ns from raw.metrics where source_id = ?)
where source_id = ?`, id, id).Scan(&p.name, &p.format, &p.sha256, &p.rows, &p.zone, &p.first, &p.last); err != nil {
			return nil, err
		}
		p.last = p.last.Add(-1) // the last look ends a window
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, hint.Errorf("service %s: nothing is known of its demand: the warehouse has no metrics of it, and its file names no traffic", m.file.Service).
			Hint("tidemark collect --service %s", escape.Shell(m.file.Path))
	}
	return all, nil
}

// marks tell the rows of a source by the hour, and its names, so that a file that grows makes those weeks be added up again that it grew in. An hour is
// counted from 1970.
type marks struct {
	names   string
	ofHours map[int64]string
}

func (m *maker) marksOf(id int64) (all *marks, err error) {
	all = &marks{}
	if err := m.conn.QueryRowContext(m.ctx, "select coalesce(string_agg(distinct name, ' ' order by name), '') from raw.metrics where source_id = ?", id).Scan(&all.names); err != nil {
		return nil, err
	}
	all.ofHours, err = warehouse.Pairs[int64, string](m.ctx, m.conn, `with seen as (
	select epoch_ns(sources.origin_at) + metrics.at_ns as at_ns, metrics.name, metrics.labels, metrics.value
	from raw.metrics
	inner join raw.sources on sources.source_id = metrics.source_id
	where metrics.source_id = ?
)

select at_ns // 3_600_000_000_000 as hour, concat(count(*), ' ', sum(hash(at_ns, name, labels, value)))
from seen
group by hour`, id)
	return all, err
}

// of names the rows that the demand of a week rests on: macros.growth_of looks back a day and ahead an hour.
func (m *marks) of(week service.Week) string {
	text := m.names
	for at := week.Start().Add(-24*time.Hour).Unix() / 3600; at <= week.End().Add(time.Hour).Unix()/3600; at++ {
		text += "\n" + m.ofHours[at]
	}
	return text
}

// describeMetrics lists what was collected, where the demand is of other sources.
func (m *maker) describeMetrics() error {
	if len(m.file.Traffic) == 0 {
		return nil
	}
	ids, err := m.metricsIDs()
	if err != nil || len(ids) == 0 {
		return err
	}
	parts, err := m.metricsParts()
	week := m.weeks[len(m.weeks)-1].week
	for _, p := range parts {
		if p.reaches(week) {
			m.report.Sources = append(m.report.Sources, p.source())
		}
	}
	return err
}

// source is the part as the page lists it.
func (p part) source() Source {
	first, last := p.first.UTC(), p.last.UTC().Round(time.Microsecond)
	s := Source{Name: p.name, Role: p.role(), Format: p.format, SHA256: p.sha256, Rows: p.rows, From: &first, Until: &last, Covers: p.traffic.Covers, Class: p.traffic.Class, Model: p.traffic.Model, Note: p.zone}
	if p.traffic.Covers == service.BySpan {
		s.Covers = p.traffic.From.Format(time.RFC3339) + "/" + p.traffic.Until.Format(time.RFC3339)
	}
	return s
}

// findGaps fills the gaps of rates whose coverage the service file says: an hour that a gap touches is not empty.
func (p *part) findGaps(ctx context.Context, db warehouse.Querier) error {
	if p.traffic.Covers == service.ByRows {
		return nil
	}
	start := p.first.Truncate(time.Hour)
	return warehouse.Each(ctx, db, fmt.Sprintf("select distinct bin from macros.counted_between([%d]::bigint[], '%s'::timestamptz, '%s'::timestamptz) where is_gap order by bin",
		p.id, start.UTC().Format(time.RFC3339), p.last.Add(time.Hour).UTC().Format(time.RFC3339)), nil, func(scan func(...any) error) error {
		var bin int64
		if err := scan(&bin); err != nil {
			return err
		}
		from := start.Add(time.Duration(bin) * binS * time.Second)
		p.quiet = append(p.quiet, span{from, from.Add(binS * time.Second)})
		return nil
	})
}
