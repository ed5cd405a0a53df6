//go:build duckdb_arrow

package study

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/metric"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/wildcard"
	"tidemark/replay"
)

// Imported are the repeats of a configuration in results of other tools: at each rate or concurrency the first measurement is of the first
// repeat. The SLO is judged anew, on the single requests where a file has them, else on what it prints; the verdict of a tool counts for nothing.
func Imported(ctx context.Context, db *sql.DB, c Configuration, slo analysis.SLO, at, usdPerHour float64) ([]Measure, error) {
	for _, o := range slo.Objectives {
		switch {
		case strings.HasSuffix(o.Metric, "_from_due"):
			return nil, hint.Misuse("study: %s: %s: results of other tools do not say when a request was due", c.Name, o).Hint("judge them by %s, which is from sent", strings.TrimSuffix(o.Metric, "_from_due"))
		case o.Class != "":
			return nil, hint.Misuse("study: %s: %s: requests of other tools have no class", c.Name, o).Hint("leave the class out")
		}
	}
	sources, err := sourcesOf(ctx, db, c)
	if err != nil {
		return nil, err
	}
	points, err := pointsOf(ctx, db, sources, c.Points)
	if err != nil {
		return nil, err
	}
	if err := checkTrials(ctx, db, c, points, slo); err != nil {
		return nil, err
	}
	repeats := map[int][]Level{}
	seen := map[[2]float64]int{}
	for _, p := range points {
		figures, err := figuresOf(ctx, db, p)
		if err != nil {
			return nil, err
		}
		asked, isOpen := [2]float64{p.RatePerS, p.streams}, p.RatePerS > 0
		if perS := figures["requests_per_s"]; p.RatePerS == 0 && perS != nil { // a closed loop: the rate that came of it, which a repeat does not hit again
			p.RatePerS, asked[0] = *perS, 0
		}
		if asked == [2]float64{} && p.tool != optuna { // neither a rate nor a concurrency was asked for; a trial of the same settings is a repeat
			asked[0] = p.RatePerS
		}
		if !(p.RatePerS > 0) {
			continue
		}
		p.TTFT, p.TPOT, p.ITL = figures[metric.TTFT+" p99"], figures[metric.TPOT+" p99"], figures[metric.ITL+" p99"]
		if joules := figures["joule_per_output_token"]; joules != nil && *joules > 0 {
			p.PerJ = new(1 / *joules)
		}
		p.judge(slo, figures)
		if isOpen && p.failed != nil { // the rate of a closed loop is of what was answered
			p.OutputTokens *= 1 - *p.failed
		}
		repeats[seen[asked]] = append(repeats[seen[asked]], p.Level)
		seen[asked]++
	}
	var all []Measure
	for n := range len(repeats) {
		all = append(all, OfLevels(repeats[n], slo, at, usdPerHour, "imported"))
	}
	if len(points) == 0 {
		return nil, hint.Misuse("study: line %d: %s: no measurement of %s has these points", c.line, c.Name, strings.Join(c.Results, ", ")).
			Hint("their settings: tidemark sql \"select label, settings from staging.points\"")
	}
	if len(all) == 0 && points[0].tool == optuna { // others of its study have one
		return []Measure{{Origin: "imported", Why: "its rate is blank or no number"}}, nil
	}
	if len(all) == 0 {
		return nil, hint.Misuse("study: %s: no measurement of %s has a rate", c.Name, strings.Join(c.Results, ", ")).Hint("see them: tidemark sql \"from marts.points\"")
	}
	return all, nil
}

const optuna = "optuna" // a tool, in staging.points

// checkTrials refuses an Optuna study in which no trial has a name that says its rate, or one that says what an objective bounds. A trial
// whose value of it is blank is not refused: it is known to meet nothing.
func checkTrials(ctx context.Context, db *sql.DB, c Configuration, points []point, slo analysis.SLO) error {
	if len(points) == 0 || points[0].tool != optuna {
		return nil
	}
	says, err := warehouse.Values[string](ctx, db, `
select distinct case when quantity = 'requests_per_s' then quantity else regexp_replace(quantity, '_s$', '') || ' ' || statistic end
from staging.figures
where quantity is not null
    and source_id in (select source_id from staging.points where source_name = ?)`, points[0].source)
	if err != nil {
		return err
	}
	missing := ""
	if !slices.Contains(says, "requests_per_s") {
		missing = "a rate of requests"
	}
	for _, o := range slo.Objectives {
		if name := fmt.Sprintf("%s p%g", o.Metric, o.Percentile); o.Metric != metric.FailureRatio && !slices.Contains(says, name) {
			missing = cmp.Or(missing, o.String())
		}
	}
	if missing == "" {
		return nil
	}
	return hint.Misuse("study: %s: no objective and no user attribute of the trials in %s says by its name that it is %s", c.Name, points[0].source, missing).
		Hint("names such as request_throughput and p99_ttft_ms, or ingest with --column request_throughput=values_0; the trials' own front: tidemark sql \"from marts.trials\"")
}

// point is one measurement of another tool.
type point struct {
	Level
	source   string
	place    int
	tool     string
	settings map[string]any
	streams  float64  // at once, of a closed loop; 0: not said, or an open loop
	failed   *float64 // share of requests; nil: the file does not say
}

// pointsOf are the measurements of sources that have these settings, in their order. A file of a search has all its candidates.
func pointsOf(ctx context.Context, db *sql.DB, sources []string, of map[string]any) (points []point, err error) {
	err = warehouse.Each(ctx, db, `
select
    source_name,
    point,
    coalesce(case when load = 'open' then request_rate_per_s end, 0),
    coalesce(case when load = 'closed' then max_concurrency end, 0),
    coalesce(total_output_tokens / nullif(completed, 0), output_tokens_asked, 0),
    tool,
    failed / nullif(requests, 0), -- what was cut at the end did not fail
    json_merge_patch(json_object('label', label), settings)::varchar
from staging.points
where list_contains($1::varchar[], source_name)
    and (tool <> 'optuna' or (settings ->> '$.state') = 'COMPLETE')
order by
    list_position($1::varchar[], source_name),
    point`, []any{sources}, func(scan func(...any) error) error {
		p, text := point{Level: Level{Observed: map[string]float64{}, Outcome: analysis.Met}}, ""
		err := scan(&p.source, &p.place, &p.RatePerS, &p.streams, &p.OutputTokens, &p.tool, &p.failed, &text)
		if err := cmp.Or(err, json.Unmarshal([]byte(text), &p.settings)); err != nil {
			return err
		}
		for name, want := range of {
			if !isSame(p.settings[name], want) {
				return nil
			}
		}
		points = append(points, p)
		return nil
	})
	return points, err
}

// isSame compares two settings, numbers as numbers.
func isSame(a, b any) bool {
	x, y := fmt.Sprint(a), fmt.Sprint(b)
	m, err := strconv.ParseFloat(x, 64)
	n, alsoErr := strconv.ParseFloat(y, 64)
	return x == y || err == nil && alsoErr == nil && m == n
}

// judge compares what was observed with the bounds. What a file does not say is undecided.
func (p *point) judge(slo analysis.SLO, figures map[string]*float64) {
	for i, o := range slo.Objectives {
		observed := p.failed
		if o.Metric != metric.FailureRatio {
			observed = figures[fmt.Sprintf("%s p%g", o.Metric, o.Percentile)]
		}
		switch {
		case observed == nil || math.IsNaN(*observed):
			if p.Outcome == analysis.Met {
				p.Outcome = analysis.Undecided
			}
			continue
		case *observed > o.AtMost:
			p.Outcome = analysis.NotMet
		}
		p.Observed[slo.Searched()[i].String()] = *observed / max(o.AtMost, 1e-9)
	}
	isAsked := slices.ContainsFunc(slo.Objectives, func(o analysis.Objective) bool { return o.Metric == metric.FailureRatio })
	if p.failed != nil && *p.failed > replay.MostFailed && !isAsked { // their latencies are of the others alone
		p.Outcome = analysis.NotMet
		p.Observed[metric.FailureRatio] = *p.failed / replay.MostFailed
	}
}

// sourcesOf are the results that patterns name, each once, in the order of the patterns.
func sourcesOf(ctx context.Context, db *sql.DB, c Configuration) (chosen []string, err error) {
	known, err := warehouse.Values[string](ctx, db, "select distinct source_name from staging.points order by source_name")
	if err != nil {
		return nil, err
	}
	for _, pattern := range c.Results {
		before := len(chosen)
		for _, name := range known {
			if wildcard.Match(pattern, name) && !slices.Contains(chosen, name) {
				chosen = append(chosen, name)
			}
		}
		if len(chosen) == before {
			return nil, hint.Misuse("study: line %d: %s: no result named %q in the warehouse", c.line, c.Name, pattern).Hint("%s", hint.Known("result", known, pattern))
		}
	}
	return chosen, nil
}

// figuresOf are latencies of one measurement by metric and percentile, such as "tpot p99", seconds: by our definition where the tool has it.
func figuresOf(ctx context.Context, db *sql.DB, p point) (map[string]*float64, error) {
	return warehouse.Pairs[string, *float64](ctx, db, `
with requests as (
    select
        result_requests.ttft_s,
        result_requests.tpot_s,
        result_requests.e2e_s,
        result_requests.gaps_us
    from staging.result_requests
    inner join staging.points
        on points.source_id = result_requests.source_id
        and points.point = result_requests.point
    where points.source_name = $1
        and points.point = $2
        and not result_requests.is_warm_up
),

samples as (
    from requests select 'ttft' as metric, ttft_s as value_s
    union all from requests select 'tpot', tpot_s
    union all from requests select 'e2e', e2e_s
    union all from requests select 'itl', unnest(gaps_us) / 1e6
),

spread as (
    select
        metric,
        count(value_s) as samples,
        unnest(quantile_cont(value_s, [0.5, 0.9, 0.95, 0.99])) as value_s,
        unnest([50, 90, 95, 99]) as percentile
    from samples
    group by metric
),

computed as (
    select
        metric,
        'p' || percentile as statistic,
        value_s as value
    from spread
    where samples * (100 - percentile) >= 100
),

printed as (
    select
        regexp_replace(figures.quantity, '^(ttft|tpot|e2e|itl)_s$', '\1') as metric,
        figures.statistic,
        arg_max(figures.value, figures.definition_id in ('sent_to_first_token', 'after_first_token', 'chunk_gaps', 'sent_to_last_token', 'succeeded_over_run')) as value
    from staging.figures
    inner join staging.points
        on points.source_id = figures.source_id
        and points.point = figures.point
    where points.source_name = $1
        and points.point = $2
        and figures.quantity in ('ttft_s', 'tpot_s', 'e2e_s', 'itl_s', 'requests_per_s', 'joule_per_output_token')
        and (figures.quantity <> 'requests_per_s' or figures.statistic in ('value', 'mean')) -- of a distribution over time also quantiles and a count
        and isfinite(figures.value)
    group by
        figures.quantity,
        figures.statistic
)

select
    case
        when printed.metric in ('requests_per_s', 'joule_per_output_token') then printed.metric
        else coalesce(computed.metric, printed.metric) || ' ' || coalesce(computed.statistic, printed.statistic)
    end,
    coalesce(computed.value, printed.value)
from computed
full join printed
    on printed.metric = computed.metric
    and printed.statistic = computed.statistic`, p.source, p.place)
}
