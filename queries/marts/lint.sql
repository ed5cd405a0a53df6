-- One row per replay, file of results, trace or series and case of seeds.lint_rules that it shows: an experiment whose figures mean less than
-- they seem to. Those of two runs beside each other are in marts.lint_pairs. Symptoms and findings of an audit that are cases have no threshold
-- of their own here. Name the subject: looking at everything takes a while.
-- group: trust
-- subject        run_id, source_name or series_id
-- subject_kind   'run', 'result', 'source' or 'series'
-- seq            order in which the cases are read
-- rule           the case
-- found          what was found, in numbers
-- wrong          why that is wrong
-- remedy         what to do
with found as (
    select
        run_id as subject,
        'run' as subject_kind,
        rule,
        found
    from marts.lint_runs
    union all
    select
        subject,
        'run',
        symptom,
        evidence
    from marts.symptoms
    where subject_kind = 'run'
    union all
    select
        source_name,
        'result',
        rule,
        found
    from marts.lint_results
    union all
    select
        traces.source_name,
        'result',
        traces.rule,
        traces.found
    from marts.lint_traces as traces
    inner join staging.sources on sources.source_name = traces.source_name
    where sources.kind = 'results'
    union all
    select
        traces.source_name,
        'source',
        traces.rule,
        traces.found
    from marts.lint_traces as traces
    inner join staging.sources on sources.source_name = traces.source_name
    where sources.kind <> 'results'
    union all
    select
        source_name,
        'source',
        replace(subject, ' ', '_'),
        found
    from marts.audit
    where is_alarm
    union all
    select
        series_id,
        'series',
        rule,
        found
    from marts.lint_series
)

select
    found.subject,
    found.subject_kind,
    rules.seq,
    found.rule,
    found.found,
    rules.wrong,
    rules.remedy
from found
inner join seeds.lint_rules as rules
    on rules.rule = found.rule
    and list_contains(string_split(rules.applies_to, ';'), found.subject_kind)
