-- One row per subject of a diagnosis and figure that is known of it. A subject is a run, a measurement of another tool (named by its file and
-- place: file#0), or a file of metrics. A figure that was not measured has no row.
-- group: diagnosis
-- subject        the run's id, the file, or file#point
-- subject_kind   'run', 'point' or 'metrics'
-- figure         its name
-- value          in its unit
-- unit           's', 'ratio', 'tokens', 'requests', 'per_s', 'byte_per_s', 'flag' (1 is yes), 'C', or the noun that is counted
-- says           what it is, in words
with together as (
    select
        run_id as subject,
        'run' as subject_kind,
        figure,
        value
    from marts.evidence_load
    union all
    select
        run_id,
        'run',
        figure,
        value
    from marts.evidence_prompts
    union all
    select
        run_id,
        'run',
        figure,
        value
    from marts.evidence_server
    union all
    select
        run_id,
        'run',
        figure,
        value
    from marts.evidence_between
    union all
    select
        run_id,
        'run',
        figure,
        value
    from marts.evidence_steps
    union all
    select
        source_name || '#' || point,
        'point',
        figure,
        value
    from marts.evidence_points
    union all
    select
        source_name,
        'metrics',
        figure,
        value
    from marts.evidence_metrics
)

select
    known.subject,
    known.subject_kind,
    known.figure,
    known.value,
    figures.unit,
    figures.says
from together as known
inner join staging.evidence_figures as figures on figures.figure = known.figure
where known.value is not null
