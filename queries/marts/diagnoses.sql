-- One row per subject of a diagnosis: how much is known of it, what limits its decoding, and the symptoms that it shows.
-- marts.symptoms has one row per symptom, and documents its fields.
--
-- A symptom fires when all conditions of one of its alternatives hold on figures that were measured, none of its exclusions does, and
-- no symptom that explains it fires. It is confirmed if all its confirming figures were measured and agree.
--
-- It is one chain of steps, so that who asks for one subject and says of which kind it is waits for no other: of a file of metrics only for that.
-- group: diagnosis
-- subject        the run's id, a file of metrics, or file#point of another tool's measurement
-- subject_kind   'run', 'point' or 'metrics'
-- figures        how many figures of marts.evidence were known
-- regime         what limits decoding, in a sentence; null where nothing decoded
-- symptoms       structs, in the order in which they are read; [] for none
with known as (
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
        cardinality(known.value_of)::bigint as figures,
        case when known.subject_kind = 'run' then macros.regime_text(known.value_of) end as regime,
        conditions.symptom,
        conditions.alternative,
        conditions.role,
        conditions.seq,
        conditions.says,
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
        subject_kind,
        symptom,
        role,
        alternative,
        any_value(figures) as figures,
        any_value(regime) as regime,
        bool_and(coalesce(is_held, false)) as are_all_held,
        bool_or(coalesce(is_held, false)) as is_one_held,
        string_agg(measured || ' (' || asked || ')', '; ' order by seq) as told,
        string_agg(measured || ' (' || asked || ')', '; ' order by seq) filter (where is_held) as agreeing,
        string_agg(measured || ', not ' || asked, '; ' order by seq) filter (where not is_held) as disagreeing,
        string_agg(says, '; ' order by seq) filter (where is_held is null) as missing
    from held
    group by
        subject,
        subject_kind,
        symptom,
        role,
        alternative
),

-- All alternatives that hold are evidence, not only the first.
fired as (
    select
        subject,
        subject_kind,
        symptom,
        any_value(figures) as figures,
        any_value(regime) as regime,
        string_agg(told, '; or: ' order by alternative) filter (where role = 'needs' and are_all_held) as evidence,
        coalesce(bool_or(is_one_held) filter (where role = 'unless'), false) as is_excluded,
        string_agg(agreeing, '; ' order by alternative) filter (where role = 'confirms') as agreeing,
        string_agg(disagreeing, '; ' order by alternative) filter (where role = 'confirms') as disagreeing,
        string_agg(missing, '; ' order by alternative) filter (where role = 'confirms') as missing
    from alternatives
    group by
        subject,
        subject_kind,
        symptom
),

named as (
    select
        *,
        evidence is not null and not is_excluded as is_firing,
        case
            when disagreeing is not null then false
            when missing is null and agreeing is not null then true
        end as is_confirmed,
        list(symptom) filter (where evidence is not null and not is_excluded) over (partition by subject, subject_kind) as firing
    from fired
)

select
    named.subject,
    named.subject_kind,
    any_value(named.figures) as figures,
    any_value(named.regime) as regime,
    coalesce(list({
        'seq': symptoms.seq,
        'symptom': symptoms.symptom,
        'rule': symptoms.rule,
        'kind': symptoms.kind,
        'title': symptoms.title,
        'evidence': named.evidence,
        'is_confirmed': named.is_confirmed,
        'confirmation': case
            when named.is_confirmed then 'confirmed: ' || named.agreeing
            when named.disagreeing is not null then 'not confirmed: ' || named.disagreeing
            when named.missing is not null then 'not confirmed: not measured: ' || named.missing
            else 'not confirmed: nothing that was measured can'
        end,
        'meaning': symptoms.meaning,
        'confirm_with': symptoms.confirm_with,
        'first_response': symptoms.first_response,
        'unknown': symptoms.unknown
    } order by symptoms.seq) filter (where named.is_firing and not list_has_any(symptoms.unless, named.firing)), []) as symptoms
from named
inner join staging.symptoms on symptoms.symptom = named.symptom
group by
    named.subject,
    named.subject_kind
