package week

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"tidemark/analysis/week/service"
	"tidemark/internal/store/warehouse"
)

// fillRuns lists the replays of the week: runs on the service's model and GPU that began in it, or that sent traffic of it whenever that was,
// oldest first. Those of a search for capacity are no replays of it. A run that is not valid is listed with the reason. The lengths that each run sent are compared with those of the week.
func (m *maker) fillRuns() error {
	w := m.weeks[len(m.weeks)-1]
	d := m.report.Deployment
	sent, err := m.sentOf(w.week)
	if err != nil {
		return err
	}
	err = warehouse.Each(m.ctx, m.conn, `with judged as (
	select run_id, outcome = 'met' as is_met
	from marts.verdicts
	where slo_name is not null and outcome <> 'invalid'
),

checked as (
	select run_id, count(*) as checks, coalesce(list(subject order by seq) filter (where outcome = 'breaks'), []) as broken
	from marts.certificate
	group by run_id
)

select runs.run_id, coalesce(runs.source_name, ''), runs.origin, runs.p99_ttft_s, runs.p99_tpot_s, runs.slowdown_ratio, runs.is_valid,
	coalesce(runs.invalid_reason, ''), judged.is_met, coalesce(checked.checks, 0), coalesce(checked.broken, [])
from marts.runs as runs
left join judged on judged.run_id = runs.run_id
left join checked on checked.run_id = runs.run_id
where (runs.started_at >= ? and runs.started_at < ? or list_contains(string_split(?, chr(10)), runs.run_id)) and runs.gpu = ? and runs.catalog_model = ?
	and runs.run_id not in (select run_id from marts.capacity_runs where run_id is not null)
order by runs.started_at, runs.run_id`, []any{w.week.Start().UTC(), w.week.End().UTC(), strings.Join(sent, "\n"), d.GPU, d.Model}, func(scan func(...any) error) error {
		var r Run
		var met sql.NullBool
		var broken []any
		if err := scan(&r.ID, &r.Traffic, &r.Origin, &r.P99TTFT, &r.P99TPOT, &r.Ratio, &r.IsValid, &r.Why, &met, &r.Checks, &broken); err != nil {
			return err
		}
		if met.Valid {
			r.Met = &met.Bool
		}
		for _, subject := range broken {
			r.Broken = append(r.Broken, fmt.Sprint(subject))
		}
		m.report.Runs = append(m.report.Runs, r)
		return nil
	})
	if err != nil {
		return err
	}
	return m.compareSlices(w.demand)
}

// sentOf are the runs whose plan is a stretch of the service's traffic that reaches into a week: a replay on Monday of last week's busiest
// minutes is one. A plan's duration is as it was played.
func (m *maker) sentOf(week service.Week) (ids []string, err error) {
	var sources []int64
	for _, p := range m.parts {
		sources = append(sources, p.id)
	}
	return warehouse.Values[string](m.ctx, m.conn, `with plans as (
	select
		run_id,
		sources.origin_at + to_microseconds((coalesce((document ->> '$.plan.scaling.from_s')::double, 0) * 1e6)::bigint) as from_at,
		coalesce((document ->> '$.plan.duration_s')::double, 0) * coalesce((document ->> '$.plan.scaling.speed')::double, 1) as length_s
	from raw.runs
	inner join raw.sources on sources.sha256 = (document ->> '$.plan.source_sha256')
	where list_contains(`+list(sources)+`, sources.source_id) and sources.is_dated
)

select run_id from plans where from_at < ? and from_at + to_microseconds((length_s * 1e6)::bigint) >= ? order by run_id`, week.End().UTC(), week.Start().UTC())
}

// compareSlices says how far the lengths of each valid run are from those of the week.
func (m *maker) compareSlices(week demand) error {
	for _, run := range m.report.Runs {
		if !run.IsValid {
			continue
		}
		var sent [2]lengths
		for i, column := range []string{"input_tokens", "output_tokens"} {
			var scale string
			err := m.conn.QueryRowContext(m.ctx, `with lengths as (select `+column+` as tokens from staging.requests where run_id = ? and not is_warm_up)
select to_json(scale)::varchar
from macros.length_scale('lengths') as scale`, run.ID).Scan(&scale)
			if err == nil {
				err = json.Unmarshal([]byte(scale), &sent[i])
			}
			if err != nil {
				return err
			}
		}
		for i, whole := range []lengths{week.Input, week.Output} {
			if d := distance(fmt.Sprintf("%s of %s", [2]string{"input_tokens", "output_tokens"}[i], run.ID), sent[i], whole); d != nil {
				m.report.Shape.Slice = append(m.report.Shape.Slice, *d)
			}
		}
	}
	return nil
}
