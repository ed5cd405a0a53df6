package analysis

// The lists that verbs print as they are. Those in brief have the columns that fit a terminal.

import (
	"cmp"
	"context"
	"database/sql"
)

// Sources has a row for each source but the runs: all columns of traces, and of the others those that apply.
func Sources(ctx context.Context, db *sql.DB) (Table, error) {
	return ask(ctx, db, `
select
    files.kind,
    files.collection,
    files.licence,
    coalesce(traces.source_name, files.source_name) as source_name,
    files.format,
    files.rows_read,
    files.rows_kept,
    files.rows_rejected,
    traces.* exclude (source_name, format, rows_read, rows_kept, rows_rejected)
from staging.sources as files
left join marts.sources as traces on traces.source_name = files.source_name
where files.kind <> 'run'
order by files.source_name`)
}

// SourcesInBrief are the traces, where the files of a collection are one row, and everything else, with the name last because it may be long.
func SourcesInBrief(ctx context.Context, db *sql.DB) (traces, others Table, err error) {
	traces, err = ask(ctx, db, `
select
    coalesce(files.collection, files.source_name) as name,
    case when any_value(files.collection) is null then any_value(files.format) else count(*) || ' ' || any_value(files.format) end as format,
    sum(files.rows_kept)::bigint as rows,
    case when count(*) = 1 then max(traces.duration_s) end as span_s,
    case when count(*) = 1 then max(traces.mean_rate_per_s) end as rate_per_s,
    coalesce(max(collections.p50_input_tokens), max(traces.p50_input_tokens)) as p50_in,
    coalesce(max(collections.p50_output_tokens), max(traces.p50_output_tokens)) as p50_out
from staging.sources as files
left join marts.sources as traces on traces.source_name = files.source_name
left join marts.collections on collections.collection = files.collection
where files.kind = 'arrivals'
group by name
order by name`)
	if err != nil {
		return traces, others, err
	}
	others, err = ask(ctx, db, `
select
    kind,
    format,
    rows_kept as rows,
    source_name as name
from staging.sources
where kind not in ('arrivals', 'run')
order by
    kind,
    name`)
	return traces, others, err
}

// Runs are all that marts.runs has, with the verdict of each on its SLO.
func Runs(ctx context.Context, db *sql.DB) (Table, error) {
	return ask(ctx, db, `
select
    runs.*,
    verdicts.slo_name,
    verdicts.outcome as slo_outcome,
    verdicts.reason as slo_reason
from marts.runs
left join marts.verdicts on verdicts.run_id = runs.run_id
order by runs.run_id`)
}

// RunsInBrief names a run by its name, or by its short id, where that is enough for every verb, because an id takes half a terminal.
func RunsInBrief(ctx context.Context, db *sql.DB) (Table, error) {
	return ask(ctx, db, `
select
    case
        when name <> '' and count(*) over (partition by name) = 1 then name
        when count(*) over (partition by `+shortID+`) = 1
            and `+shortID+` not in (select name from staging.runs where name is not null union all select name from raw.sources)
            then `+shortID+`
        else run_id
    end as run,
    case when count(*) over (partition by name) > 1 then nullif(name, '') end as name,
    case
        when not is_valid then 'invalid'
        when has_failed then 'failed'
        else coalesce(verdicts.outcome, 'valid')
    end as verdict,
    p99_ttft_s,
    p99_tpot_s,
    failed,
    sent,
    p99_lateness_s as p99_late_s,
    measured_on,
    run_id as id
from marts.runs
left join marts.verdicts using (run_id)
order by run_id`)
}

// CertificateInBrief shows each finding with its bound, and its meaning only where it is not ok.
func CertificateInBrief(ctx context.Context, db *sql.DB, runID string) (Table, error) {
	return ask(ctx, db, `
select
    outcome,
    subject,
    measured
        || case when bound is null then '' else ' (' || bound || ')' end
        || case when outcome = 'ok' then '' else ': ' || meaning end as found
from marts.certificate
where run_id = ?
order by seq`, runID)
}

// EngineTime says in a sentence where the time of a run's engine went; none where its steps are not known, or no share of their time is.
func EngineTime(ctx context.Context, db *sql.DB, runID string) (sentences []string, err error) {
	table, err := ask(ctx, db, `
with kinds as (
    select
        sum(steps) as steps,
        sum(time_ratio) as time_ratio,
        case kind when 'decode' then 'decoding alone' when 'mixed' then 'decoding and prompts' when 'prefill' then 'prompts alone' else 'the GPU waiting' end as words,
        case kind when 'decode' then 0 when 'mixed' then 1 when 'prefill' then 2 else 3 end as place
    from marts.step_kinds
    where run_id = ?
        and time_ratio > 0
    group by kind
)

select
    macros.count_text(sum(steps)) || ' engine steps; of the time with requests in flight '
    || string_agg(macros.percent_text(time_ratio) || ' ' || words, ', ' order by place) as sentence
from kinds
having count(*) > 0`, runID)
	return table.FirstColumn(), err
}

// RunNotes are what somebody wrote of these runs for their readers (replay --note), each behind the run's name.
func RunNotes(ctx context.Context, db *sql.DB, runs ...string) (notes []string, err error) {
	table, err := ask(ctx, db, `
select 'note of ' || coalesce(name, run_id) || ': ' || note
from staging.runs
where list_contains(string_split($1, ','), run_id)
    and note <> ''
order by list_position(string_split($1, ','), run_id)`, list(runs))
	return table.FirstColumn(), err
}

// Throttlings says of each GPU of a run or of a file of metrics what held its clock down, since when, and how much of the time. kind is that of
// marts.throttlings: 'run' or 'source'.
func Throttlings(ctx context.Context, db *sql.DB, subject, kind string) (sentences []string, err error) {
	table, err := ask(ctx, db, `
select
    case when starts_with(gpu, 'GPU') then '' else 'GPU ' end || gpu || ': ' || case cause when 'heat' then 'heat' when 'power' then 'its power limit' when 'hardware' then 'the hardware, which does not say why,' else 'a cause of no name' end
    || ' held its clock down ' || case when is_from_start then 'from the first look on' else 'from ' || macros.duration_text(begin_s) || ' on' end
    || ', in ' || macros.percent_text(held_ratio) || ' of the looks since'
    || case when held_sm_clock_hz is null then '' else ': ' || round(1e-6 * held_sm_clock_hz)::bigint || ' MHz' end
    || case when held_sm_clock_hz is null or free_sm_clock_hz is null then '' else ', up to ' || round(1e-6 * free_sm_clock_hz)::bigint || ' before' end as sentence
from marts.throttlings
where subject = ? and subject_kind = '`+kind+`' -- not a parameter: a run must not wait for every file of metrics
order by
    begin_s,
    gpu,
    cause`, subject)
	return table.FirstColumn(), err
}

// Kernels says of each profile of a run which kernels took the GPU's time, beside what the terms of the prediction say, and of what part of the run.
func Kernels(ctx context.Context, db *sql.DB, runID string) (sentences []string, err error) {
	table, err := ask(ctx, db, `
select
    'kernels of ' || source_name || ': '
    || string_agg(
        category || ' ' || coalesce(macros.percent_text(share_ratio), '-')
        || case when predicted_share_ratio is null then '' else ' (predicted ' || macros.percent_text(predicted_share_ratio) || ')' end,
        ', ' order by share_ratio desc nulls last, predicted_share_ratio desc
    ) filter (where category != 'prefill')
    || ' of the time of all kernels of the capture; the summary says no instants, so that the steady part of the run '
    || case
        when any_value(steady_from_s) is null then '(it has none) '
        else '(from ' || macros.duration_text(any_value(steady_from_s)) || ' to ' || macros.duration_text(any_value(steady_until_s)) || ') '
    end
    || 'cannot be cut out of it'
    || coalesce(
        '; prompts are predicted to take ' || macros.percent_text(any_value(predicted_share_ratio) filter (where category = 'prefill'))
        || ', and their kernels are in the measured shares of gemm and attention: the predicted shares of these two are of decoding alone, not like for like',
        ''
    ) as sentence
from marts.run_kernels
where run_id = ?
    and (share_ratio > 0 or predicted_share_ratio > 0)
group by source_name
order by source_name`, runID)
	return table.FirstColumn(), err
}

// RunOfProfile is the run that a profile of kernels is of; empty where it is of none.
func RunOfProfile(ctx context.Context, db *sql.DB, source string) (string, error) {
	table, err := ask(ctx, db, "select run_id from marts.run_kernels where source_name = ? limit 1", source)
	return cmp.Or(append(table.FirstColumn(), "")...), err
}

// Anatomy says in a few sentences where the time of a run's requests went, behind which class they waited, and what each class cost and got; those of
// which nothing is known are left out.
func Anatomy(ctx context.Context, db *sql.DB, runID string) (sentences []string, err error) {
	table, err := ask(ctx, db, `
with classes as (
    select *
    from marts.class_anatomy
    where run_id = $1
        and completed > 0
),

parts as (
    select
        mean_wait_s + mean_e2e_s as of_s,
        unnest(range(6)) as place,
        unnest(['before they were sent', 'queue', if(mean_queue_s is null, 'queue and prefill', 'prefill'), 'outside the engine', 'decode', 'stalls']) as part,
        unnest([mean_wait_s, mean_queue_s, coalesce(mean_prefill_s, mean_ttft_s), mean_outside_s, mean_decode_s, mean_stall_s]) as part_s
    from classes
    where is_all
),

named as (
    select
        *,
        row_number() over (order by tried desc, class) as place
    from classes
    where not is_all
        and class is not null
    qualify count(*) over (partition by true) > 1
        and place <= 4
),

said as (
    select
        0 as seq,
        'a request took ' || macros.duration_text(any_value(of_s)) || ' in the mean: '
        || string_agg(macros.percent_text(part_s / of_s) || ' ' || part, ', ' order by place) filter (where part_s >= 5e-4 * of_s) as sentence
    from parts
    having any_value(of_s) > 0
    union all
    select
        1,
        macros.percent_text(behind_ratio) || ' waited while the server computed the prompt of another'
        || case when behind_class is null or not exists (from named) then '' else ', ' || macros.percent_text(behind_class_ratio) || ' of these behind ' || behind_class end
    from classes
    where is_all
        and behind_ratio > 0
    union all
    select
        2,
        'GPU time' || case when any_value(gpu_by) = 'work' then ' (by predicted work)' else '' end || ': '
        || string_agg(class || ' ' || macros.percent_text(gpu_ratio) || ' for ' || macros.percent_text(tried / all_tried) || ' of the requests', ', ' order by place)
    from (select named.*, classes.tried as all_tried from named inner join classes on classes.is_all) as shared
    where gpu_ratio is not null
    having count(*) > 0
    union all
    select
        3,
        'accepted: ' || string_agg(class || ' ' || macros.percent_text(accepted_ratio) || ', ' || round(goodput_per_s, 2) || ' a second', '; ' order by place)
    from named
    where accepted_ratio is not null
    having count(*) > 0
)

select sentence
from said
order by seq`, runID)
	return table.FirstColumn(), err
}

// Steps has a row for each step of an experiment.
func Steps(ctx context.Context, db *sql.DB, seriesID string) (Table, error) {
	return ask(ctx, db, "from marts.steps where series_id = ? order by series_row", seriesID)
}
