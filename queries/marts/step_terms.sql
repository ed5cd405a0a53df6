-- One row per run and term of a step's time: what the measured steps say of it, beside what the model says of the same steps.
--
-- Both are of one regression, over the same rows of marts.step_gap: of measured and of predicted steps. Steps that decode alone give a plane over
-- requests and contexts; rows further from it than four and a half times the median distance are left out, and the plane is drawn again. Where
-- requests or contexts stand still they are part of 'fixed'; where a slope has a standard error above half of what the model says of it, nothing is
-- said. The prompts' term is the slope of what steps with prompts take above that plane, over their tokens; where
-- steps are counted by the second, of what seconds take.
-- Kept per run with steps.
-- group: tpot
-- run_id        the replay
-- term_seq      order in which terms are told
-- term          'fixed': of each step; 'sequence': more for each request that decodes; 'context': more for each token of their contexts; 'prompt': more
--               for each prompt token that is computed
-- rows          rows of marts.step_gap, or seconds, that say so
-- measured_s    of the measured steps, seconds
-- error_s       its standard error, as if rows knew nothing of each other, seconds; null for 'fixed'
-- model_s       of the predicted ones, seconds
-- ratio         measured_s / model_s
with decoding as (
    select
        run_id,
        decode_requests::double as x,
        decode_kv_tokens as z,
        step_s as y,
        predicted_step_s as model_y
    from marts.step_gap
    where kind = 'decode'
        and step_s is not null
        and predicted_step_s is not null
),

rough as (
    select
        run_id,
        macros.plane({
            'x': avg(x), 'z': avg(z), 'y': avg(y), 'xx': var_pop(x), 'zz': var_pop(z),
            'xz': covar_pop(x, z), 'xy': covar_pop(x, y), 'zy': covar_pop(z, y)
        }) as plane
    from decoding
    group by run_id
),

apart as (
    select
        decoding.*,
        abs(y - macros.plane_at(rough.plane, x, z)) as distance_s
    from decoding
    inner join rough on rough.run_id = decoding.run_id
    where rough.plane is not null
),

near as (
    select *
    from (
        select
            *,
            median(distance_s) over (partition by run_id) as usual_s
        from apart
    ) as each
    where distance_s <= 4.5e0 * usual_s + 1e-9
),

drawn as (
    select
        run_id,
        count(*) as rows,
        var_pop(x) as xx,
        var_pop(z) as zz,
        covar_pop(x, z) as xz,
        macros.plane({
            'x': avg(x), 'z': avg(z), 'y': avg(y), 'xx': var_pop(x), 'zz': var_pop(z),
            'xz': covar_pop(x, z), 'xy': covar_pop(x, y), 'zy': covar_pop(z, y)
        }) as measured,
        macros.plane({
            'x': avg(x), 'z': avg(z), 'y': avg(model_y), 'xx': var_pop(x), 'zz': var_pop(z),
            'xz': covar_pop(x, z), 'xy': covar_pop(x, model_y), 'zy': covar_pop(z, model_y)
        }) as model
    from near
    group by run_id
    having count(*) >= 3
),

planes as (
    select
        drawn.run_id,
        drawn.rows,
        any_value(drawn.measured) as measured,
        any_value(drawn.model) as model,
        -- Of a slope: the variance of what is left, over that of the variable where the other one is held.
        sum(pow(near.y - macros.plane_at(drawn.measured, near.x, near.z), 2)) / nullif(drawn.rows - 3, 0) / drawn.rows as left_over,
        sqrt(left_over / nullif(any_value(drawn.xx - case when drawn.measured.per_z is null then 0 else drawn.xz * drawn.xz / drawn.zz end), 0)) as error_x_s,
        sqrt(left_over / nullif(any_value(drawn.zz - case when drawn.measured.per_x is null then 0 else drawn.xz * drawn.xz / drawn.xx end), 0)) as error_z_s
    from near
    inner join drawn on drawn.run_id = near.run_id
    group by
        drawn.run_id,
        drawn.rows
    having (any_value(drawn.measured).per_x is null or error_x_s <= any_value(drawn.model).per_x / 2)
        and (any_value(drawn.measured).per_z is null or error_z_s <= any_value(drawn.model).per_z / 2)
),

-- What steps with prompts take above the plane. Without both slopes the plane says nothing of other batches.
prompted as (
    select
        gaps.run_id,
        sum(gaps.steps * gaps.prefill_tokens) as tokens,
        case
            when any_value(gaps.measured_by) = 'counts' then sum(gaps.busy_s)
            else sum(gaps.steps * gaps.step_s)
        end - sum(gaps.steps * macros.plane_at(planes.measured, gaps.decode_requests, gaps.decode_kv_tokens)) as measured_s,
        sum(gaps.steps * (gaps.predicted_step_s - macros.plane_at(planes.model, gaps.decode_requests, gaps.decode_kv_tokens))) as model_s
    from marts.step_gap as gaps
    inner join planes on planes.run_id = gaps.run_id
    where planes.measured.per_x is not null
        and planes.measured.per_z is not null
    group by
        gaps.run_id,
        gaps.source_id,
        gaps.engine,
        gaps.rank,
        case when gaps.measured_by = 'counts' then gaps.second else gaps.seq end
    having tokens > 0
        and (any_value(gaps.measured_by) <> 'counts' or sum(gaps.busy_s) < 1.001e0) -- no second before it was empty
        and measured_s is not null
        and model_s is not null
),

prompts as (
    select
        run_id,
        count(*) as rows,
        regr_slope(measured_s, tokens) as measured_s,
        sqrt(greatest(0, regr_syy(measured_s, tokens) - regr_slope(measured_s, tokens) * regr_sxy(measured_s, tokens)) / nullif(count(*) - 2, 0) / regr_sxx(measured_s, tokens)) as error_s,
        regr_slope(model_s, tokens) as model_s
    from prompted
    group by run_id
    having count(*) >= 3
),

terms as (
    select
        run_id,
        unnest([
            {'term_seq': 1, 'term': 'fixed', 'rows': rows, 'measured_s': measured.fixed, 'error_s': null::double, 'model_s': model.fixed},
            {'term_seq': 2, 'term': 'sequence', 'rows': rows, 'measured_s': measured.per_x, 'error_s': error_x_s, 'model_s': model.per_x},
            {'term_seq': 3, 'term': 'context', 'rows': rows, 'measured_s': measured.per_z, 'error_s': error_z_s, 'model_s': model.per_z}
        ], recursive := true)
    from planes
    union all
    select
        run_id,
        4,
        'prompt',
        rows,
        measured_s,
        error_s,
        model_s
    from prompts
)

select
    run_id,
    term_seq,
    term,
    rows,
    measured_s,
    error_s,
    model_s,
    measured_s / nullif(model_s, 0) as ratio
from terms
where measured_s is not null
    and (term <> 'prompt' or error_s <= model_s / 2)
