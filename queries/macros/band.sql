-- The band in which 90 % of measured times lie around their prediction. It is made of the terms: each may be off by its own share
-- (seeds.term_spreads), independently of the others, so that a large uncertain term widens the band and a small one does not. A band of
-- ratio r goes from predicted / (1 + r) to predicted * (1 + r).
-- group: model

-- The lower end of the band in which 90 % of measured times lie around their prediction, seconds.
--   select macros.band_low(10e-3, 0.25)
create macro macros.band_low(predicted, band_ratio) as
    predicted / (1 + band_ratio);

-- The upper end of that band, seconds.
--   select macros.band_high(10e-3, 0.25)
create macro macros.band_high(predicted, band_ratio) as
    predicted * (1 + band_ratio);

-- Whether a measured time lies in that band of its prediction, both in seconds.
--   select macros.is_in_band(11e-3, 10e-3, 0.25)
create macro macros.is_in_band(measured, predicted, band_ratio) as
    measured between macros.band_low(predicted, band_ratio) and macros.band_high(predicted, band_ratio);

-- seeds.term_spreads as a map from 'term condition', or 'term' where it always holds.
--   select macros.spreads()['layers far'] as spread
create macro macros.spreads() as (select spreads.of_terms from warehouse.spreads);

-- One standard deviation of each term's logarithm, for a deployment, as a struct by term; and of what is not a term's.
--   spreads        macros.spreads()
--   gpu            'measured', 'related' or 'not measured'
--   far            0: the engine's version was measured, 1: three minor versions away, or further
--   experts_by     'table', 'carried' or 'law'; null without experts
--   is_vllm        the engine that kernels were measured with
--   is_fitted      constants were fitted to this family of models
--   has_kin        a kernel was timed on the GPU or on one of its family; false: all of the prediction is uncertain, whatever its terms
--   has_replicas_sharing   replicas share out their experts, and no such server was measured
--   has_indexers   sparse attention, of which nothing was measured
--   select macros.term_spreads(macros.spreads(), 'measured', 0.5e0, 'table', true, false).layers as layers
create macro macros.term_spreads(spreads, gpu, far, experts_by, is_vllm, is_fitted, has_kin := true, has_replicas_sharing := false, has_indexers := false) as {
    'shared': sqrt(pow(spreads['all'], 2) + case when far = 1 then pow(spreads['extra far'], 2) else 0 end
        + case when has_kin then 0 else pow(spreads['extra unmeasured GPU'], 2) end
        + case when has_replicas_sharing then pow(spreads['extra replicas sharing experts'], 2) else 0 end
        + case when has_indexers then pow(spreads['extra indexers'], 2) else 0 end),
    'weights': spreads['weights ' || gpu],
    'experts': case when experts_by is null then 0e0
        else spreads['experts ' || experts_by]
            + case when is_vllm then 0 else spreads['experts other engine'] end
            + case when gpu = 'not measured' then spreads['experts not measured'] else 0 end
    end,
    'kv': spreads['kv ' || case when gpu = 'not measured' then gpu else 'measured' end],
    'arithmetic': spreads['arithmetic'],
    'layers': spreads['layers'] + far * spreads['layers far']
        + case when experts_by is null or is_fitted then 0 else spreads['layers other family'] end,
    'allreduce': spreads['allreduce ' || case when gpu = 'not measured' then gpu else 'measured' end] + far * spreads['allreduce far'],
    'host': spreads['host'] + far * spreads['host far'],
    'static_batch': spreads['extra static batch'],
    'short_of_kv': spreads['extra short of KV cache'],
    'prefill': spreads['prefill'] + case when is_vllm then 0 else spreads['prefill other engine'] end
        + case when experts_by is null then 0 else spreads['prefill experts'] end,
    'ttft': spreads['ttft'] + case when is_vllm then 0 else spreads['ttft other engine'] end + case when gpu = 'not measured' then spreads['ttft not measured'] else 0 end,
    'request': spreads['ttft request'],
    'wait': spreads['ttft wait'],
    'prompt': spreads['ttft prompt'],
    'steps': spreads['ttft steps']
};

-- The band's ratio, exp(1.645 sigma) - 1: 1.645 standard deviations on each side hold 90 % of a normal distribution. `spread` is of
-- macros.term_spreads, terms a struct of seconds, extra a further standard deviation. Guessing tokens is as uncertain as arithmetic.
--   select macros.terms_band_ratio(macros.term_spreads(macros.spreads(), 'measured', 0, null, true, true), 10e-3, {'weights': 5e-3, 'experts': 0,
--       'kv': 1e-3, 'arithmetic': 0, 'layers': 2e-3, 'allreduce': 0, 'host': 1e-3, 'draft': 0, 'prefill': 1e-3}, 0) as ratio
create macro macros.terms_band_ratio(spread, predicted_s, terms, extra) as
    exp(1.645e0 * sqrt(
        pow(spread.shared, 2) + pow(extra, 2)
        + (
            pow(terms.weights * spread.weights, 2) + pow(terms.experts * spread.experts, 2) + pow(terms.kv * spread.kv, 2)
            + pow((terms.arithmetic + terms.draft) * spread.arithmetic, 2) + pow(terms.layers * spread.layers, 2)
            + pow(terms.allreduce * spread.allreduce, 2) + pow(terms.host * spread.host, 2) + pow(terms.prefill * spread.prefill, 2)
        ) / pow(predicted_s, 2)
    )) - 1;

-- The band's ratio of a bare decode step of so many sequences, with so many tokens of context each: what to expect of a deployment whose
-- load is not known. d.fixed_band_ratio, where there is one, is that of all its predictions.
--   select macros.step_band_ratio(d, 16, 2000) from macros.deployment({'gpu': 'H100', 'catalog_model': 'llama-3.1-8b'})
create macro macros.step_band_ratio(d, batch, context) as
    coalesce(d.fixed_band_ratio, list_transform(
        [{
            'weights': macros.weights_s(d, batch), 'experts': macros.experts_s(d, batch),
            'kv': macros.kv_s(d, batch * context, batch * least(context, coalesce(d.window_tokens, context))),
            'arithmetic': 0e0, 'layers': macros.layers_s(d), 'allreduce': macros.allreduce_s(d, batch),
            'host': macros.host_s(d, batch), 'draft': 0e0, 'prefill': 0e0, 'spread': d.spread
        }],
        lambda term: macros.terms_band_ratio(
            term.spread, term.weights + term.experts + term.kv + term.layers + term.allreduce + term.host, term, 0e0
        )
    )[1]);
