package week

import (
	"fmt"
	"strings"
)

// The queries under the charts. They read marts.service_hours and marts.service_weeks, whose columns have the names of the contract (week.Hour and
// week.Sums), what the report names (its search in the marts of capacities, its replays in marts.runs), and lists of the report as it is stored, whose
// fields have those names too: a week of the history, or of the forecast, has no report of its own to ask.

// quoted writes a text for SQL.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// ofHours asks for columns of this week's hours.
func (f *facts) ofHours(columns ...string) string {
	return fmt.Sprintf("select local_hour, %s\nfrom marts.service_hours\nwhere service = %s and week = %s\norder by hour_start", strings.Join(columns, ", "), quoted(f.Service), quoted(f.Week))
}

// ofWeek asks for columns of this week alone.
func (f *facts) ofWeek(columns ...string) string {
	return fmt.Sprintf("select %s\nfrom marts.service_weeks\nwhere service = %s and week = %s", strings.Join(columns, ", "), quoted(f.Service), quoted(f.Week))
}

// field is one of a list in the stored report, with its type in DuckDB.
type field struct{ name, is string }

// doubles are fields of numbers that may have decimals.
func doubles(names ...string) (all []field) {
	for _, name := range names {
		all = append(all, field{name, "DOUBLE"})
	}
	return all
}

// structure is how from_json is told of fields.
func structure(fields []field) string {
	said := make([]string, len(fields))
	for i, one := range fields {
		said[i] = fmt.Sprintf("%q: %q", one.name, one.is)
	}
	return "{" + strings.Join(said, ", ") + "}"
}

// ofList asks for a list of the stored report, a row an entry.
func (f *facts) ofList(path string, fields ...field) string {
	return f.ofReport(fmt.Sprintf("from_json(document -> '$.%s', '[%s]')", path, structure(fields)))
}

// ofSums asks for the headline figures of this week and of the weeks before that the report compares with.
func (f *facts) ofSums(fields ...field) string {
	of := structure(fields)
	return f.ofReport(fmt.Sprintf("coalesce(from_json(document -> '$.before', '[%s]'), [])\n    || [from_json(document -> '$.sums', '%[1]s')]", of))
}

func (f *facts) ofReport(list string) string {
	return fmt.Sprintf("select unnest(%s, recursive := true)\nfrom staging.service_weeks\nwhere service = %s and week = %s", list, quoted(f.Service), quoted(f.Week))
}

// ofFelt asks for the latencies by hour; a quantile is known by the bounds of its bucket.
func (f *facts) ofFelt() string {
	return fmt.Sprintf(`select felt.hour_start, felt.metric, felt.count,
    felt.p50.low as low_p50_s, felt.p50.high as high_p50_s, felt.p95.low as low_p95_s, felt.p95.high as high_p95_s,
    felt.p99.low as low_p99_s, felt.p99.high as high_p99_s, felt.within_ratio.low as low_within_ratio, felt.within_ratio.high as high_within_ratio,
    felt.rejected_per_s, felt.is_broken
from (
    select unnest(from_json(document -> '$.felt', '[{
        "hour_start": "TIMESTAMPTZ", "metric": "VARCHAR", "count": "BIGINT", "p50": {"low": "DOUBLE", "high": "DOUBLE"},
        "p95": {"low": "DOUBLE", "high": "DOUBLE"}, "p99": {"low": "DOUBLE", "high": "DOUBLE"},
        "within_ratio": {"low": "DOUBLE", "high": "DOUBLE"}, "rejected_per_s": "DOUBLE", "is_broken": "BOOLEAN"
    }]')) as felt
    from staging.service_weeks
    where service = %s and week = %s
) as hours
order by felt.metric, felt.hour_start`, quoted(f.Service), quoted(f.Week))
}

// ofSearch asks for the runs of the search that the capacity rests on; without one for what was rehearsed.
func (f *facts) ofSearch() (from, query string) {
	if f.Basis.Search == "" {
		return "staging.service_weeks", f.ofList("basis.curve", doubles("rate_per_s", "missed_ratio", "low_missed_ratio", "high_missed_ratio")...)
	}
	return "marts.capacity_runs", "select number, scale, rate_per_s, missed_ratio, verdict, is_valid\nfrom marts.capacity_runs\nwhere search_id = " + quoted(f.Basis.Search) + "\norder by number"
}

// ofRuns asks for the week's replays.
func (f *facts) ofRuns() string {
	if len(f.Runs) == 0 {
		return ""
	}
	ids := make([]string, len(f.Runs))
	for i, run := range f.Runs {
		ids[i] = quoted(run.ID)
	}
	return "select run_id, origin, p99_ttft_s, p99_tpot_s, is_valid\nfrom marts.runs\nwhere run_id in (" + strings.Join(ids, ", ") + ")\norder by run_id"
}
