//go:build duckdb_arrow

package study

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"tidemark/analysis"
	"tidemark/internal/store/warehouse"
)

// OfExperiment are the repeats of an experiment over request rates, as its runs are in the warehouse.
func OfExperiment(ctx context.Context, db *sql.DB, seriesID string, slo analysis.SLO, at, usdPerHour float64) ([]Measure, error) {
	over, err := observedOf(ctx, db, seriesID, slo)
	if err != nil {
		return nil, err
	}
	repeats, origin := map[int][]Level{}, ""
	err = warehouse.Each(ctx, db, `
select
    runs.run_id,
    runs.series_repeat,
    try_cast(runs.value as double) as rate_per_s,
    coalesce(verdicts.outcome, ''),
    runs.origin,
    coalesce((select avg(received_tokens) from staging.requests where requests.run_id = runs.run_id and is_success), 0),
    max(quantiles.value_s) filter (where metric = 'ttft_s'),
    max(quantiles.value_s) filter (where metric = 'tpot_s'),
    max(quantiles.value_s) filter (where metric = 'itl_s'),
    any_value(energy.token_per_joule)
from staging.runs
left join marts.verdicts on verdicts.run_id = runs.run_id
left join marts.latency_quantiles as quantiles
    on quantiles.run_id = runs.run_id
    and quantiles.quantile = 0.99
left join marts.energy on energy.run_id = runs.run_id
where runs.series_id = ?
    and rate_per_s > 0
group by all
order by
    runs.series_repeat,
    rate_per_s`, []any{seriesID}, func(scan func(...any) error) error {
		var run string
		var repeat int
		var l Level
		err := scan(&run, &repeat, &l.RatePerS, &l.Outcome, &origin, &l.OutputTokens, &l.TTFT, &l.TPOT, &l.ITL, &l.PerJ)
		l.Observed = over[run]
		repeats[repeat] = append(repeats[repeat], l)
		return err
	})
	var all []Measure
	for _, n := range slices.Sorted(maps.Keys(repeats)) {
		all = append(all, OfLevels(repeats[n], slo, at, usdPerHour, origin))
	}
	return all, err
}

// PerJouleOf is output tokens per joule of a search, in its run at the largest rate within the SLO, up to the one that was found; nil: nobody
// measured the power of that run, or it was too short.
func PerJouleOf(ctx context.Context, db *sql.DB, searchID string, ratePerS float64) (perJoule *float64, err error) {
	err = warehouse.Each(ctx, db, `
select energy.token_per_joule
from marts.capacity_runs
left join marts.energy on energy.run_id = capacity_runs.run_id
where capacity_runs.search_id = $1
    and capacity_runs.is_valid
    and capacity_runs.verdict = 'within'
    and capacity_runs.rate_per_s <= $2
order by
    capacity_runs.rate_per_s desc,
    capacity_runs.number desc
limit 1`, []any{searchID, ratePerS}, func(scan func(...any) error) error { return scan(&perJoule) })
	return perJoule, err
}

// observedOf is what each run of an experiment was observed over its bounds, by objective.
func observedOf(ctx context.Context, db *sql.DB, seriesID string, slo analysis.SLO) (map[string]map[string]float64, error) {
	over, objectives := map[string]map[string]float64{}, slo.Searched()
	err := warehouse.Each(ctx, db, `
select
    slo.run_id,
    slo.objective,
    slo.observed / slo.at_most
from marts.slo
inner join staging.runs on runs.run_id = slo.run_id
where runs.series_id = ?
    and slo.observed is not null
    and slo.at_most > 0
    and slo.objective <= ?`, []any{seriesID, len(objectives)}, func(scan func(...any) error) error {
		var run string
		var place int
		var ratio float64
		err := scan(&run, &place, &ratio)
		if over[run] == nil {
			over[run] = map[string]float64{}
		}
		if err == nil {
			over[run][objectives[place-1].String()] = ratio
		}
		return err
	})
	return over, err
}
