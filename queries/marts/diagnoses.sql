-- One row per subject of a diagnosis: how much is known of it, what limits its decoding, and the symptoms that it shows.
-- marts.symptoms has one row per symptom, and documents its fields.
--
-- A symptom fires when all conditions of one of its alternatives hold on figures that were measured, none of its exclusions does, and
-- no symptom that explains it fires. It is confirmed if all its confirming figures were measured and agree.
-- group: diagnosis
-- subject        the run's id, a file of metrics, or file#point of another tool's measurement
-- subject_kind   'run', 'point' or 'metrics'
-- figures        how many figures of marts.evidence were known
-- regime         what limits decoding, in a sentence; null where nothing decoded
-- symptoms       structs, in the order in which they are read; [] for none
with known as materialized (
    select
        subject,
        subject_kind,
        map_from_entries(list((figure, value))) as value_of
    from marts.evidence
    group by
        subject,
        subject_kind
),

held as (
    select
        known.subject,
        known.subject_kind,
        conditions.symptom,
        conditions.alternative,
        conditions.role,
        conditions.seq,
        conditions.says,
        value_of[conditions.figure] as value,
        macros.holds(
            value_of[conditions.figure], conditions.comparison,
            conditions.bound * case when conditions.times_figure is null then 1 else value_of[conditions.times_figure] end
        ) as is_held,
        conditions.says || ' ' || macros.figure_text(value_of[conditions.figure], conditions.unit) as measured,
        macros.comparison_words(conditions.comparison) || ' '
        || case
            when conditions.times_figure is null then macros.figure_text(conditions.bound, conditions.unit)
            else case when conditions.bound = 1 then '' else macros.figures(conditions.bound) || ' times ' end
                || coalesce(macros.figure_text(value_of[conditions.times_figure], conditions.unit), '?')
                || ', ' || conditions.times_says
        end as asked
    from known
    cross join staging.symptom_conditions as conditions
),

alternatives as (
    select
        subject,
        symptom,
        alternative,
        bool_and(coalesce(is_held, false)) as is_held,
        string_agg(measured || ' (' || asked || ')', '; ' order by seq) as told
    from held
    where role = 'needs'
    group by
        subject,
        symptom,
        alternative
),

-- All alternatives that hold are evidence, not only the first.
seen as (
    select
        subject,
        symptom,
        string_agg(told, '; or: ' order by alternative) as evidence
    from alternatives
    where is_held
    group by
        subject,
        symptom
),

sides as (
    select
        subject,
        symptom,
        coalesce(bool_or(is_held) filter (where role = 'unless'), false) as is_excluded,
        case
            when count(*) filter (where role = 'confirms') = 0 then null
            when bool_or(not is_held) filter (where role = 'confirms') then false
            when count(*) filter (where role = 'confirms' and is_held is null) = 0 then true
        end as is_confirmed,
        string_agg(measured || ' (' || asked || ')', '; ' order by seq) filter (where role = 'confirms' and is_held) as agreeing,
        string_agg(measured || ', not ' || asked, '; ' order by seq) filter (where role = 'confirms' and not is_held) as disagreeing,
        string_agg(says, '; ' order by seq) filter (where role = 'confirms' and is_held is null) as missing,
        any_value(subject_kind) as subject_kind
    from held
    group by
        subject,
        symptom
),

firing as (
    select
        seen.subject,
        seen.symptom,
        seen.evidence,
        sides.* exclude (subject, symptom)
    from seen
    inner join sides on sides.subject = seen.subject and sides.symptom = seen.symptom
    where not sides.is_excluded
),

firing_names as (
    select
        subject,
        list(symptom) as symptoms
    from firing
    group by subject
),

shown as (
    select
        firing.subject,
        list({
            'seq': symptoms.seq,
            'symptom': symptoms.symptom,
            'rule': symptoms.rule,
            'kind': symptoms.kind,
            'title': symptoms.title,
            'evidence': firing.evidence,
            'is_confirmed': firing.is_confirmed,
            'confirmation': case
                when firing.is_confirmed then 'confirmed: ' || firing.agreeing
                when firing.disagreeing is not null then 'not confirmed: ' || firing.disagreeing
                when firing.missing is not null then 'not confirmed: not measured: ' || firing.missing
                else 'not confirmed: nothing that was measured can'
            end,
            'meaning': symptoms.meaning,
            'confirm_with': symptoms.confirm_with,
            'first_response': symptoms.first_response,
            'unknown': symptoms.unknown
        } order by symptoms.seq) as symptoms
    from firing
    inner join firing_names on firing_names.subject = firing.subject
    inner join staging.symptoms on symptoms.symptom = firing.symptom
    where not list_has_any(symptoms.unless, firing_names.symptoms)
    group by firing.subject
)

select
    known.subject,
    known.subject_kind,
    cardinality(known.value_of)::bigint as figures,
    case when known.subject_kind = 'run' then macros.regime_text(known.value_of) end as regime,
    coalesce(shown.symptoms, []) as symptoms
from known
left join shown on shown.subject = known.subject
