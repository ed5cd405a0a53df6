-- What a diagnosis says of its figures.
-- group: diagnosis

-- Whether a value is on the side of a bound that is asked for; null where either is not known.
--   select macros.holds(0.9, '>=', 0.8)
create macro macros.holds(value, comparison, bound) as
    case comparison
        when '>' then value > bound
        when '>=' then value >= bound
        when '<' then value < bound
        when '<=' then value <= bound
    end;

-- A comparison in words: '>=' is 'at least'.
--   select macros.comparison_words('>=')
create macro macros.comparison_words(comparison) as
    case comparison when '>' then 'above' when '>=' then 'at least' when '<' then 'below' else 'at most' end;

-- A value with its unit, for a sentence.
--   select macros.figure_text(12.34e-3, 's')
create macro macros.figure_text(value, unit) as
    case
        when unit = 'flag' then case when value > 0 then 'yes' else 'no' end
        when unit = 's' then macros.duration_text(value)
        when unit = 'per_s' then macros.figures(value) || '/s'
        when unit = 'byte_per_s' then macros.figures(value / 1e9) || ' GB/s'
        when unit = 'C' then macros.figures(value) || ' °C'
        when unit = 'ratio' then macros.figures(value)
        when unit = 'tokens' then macros.figures(round(value)) || ' tokens'
        when value = round(value) then macros.count_text(value)
        else macros.figures(value)
    end;

-- What limits decoding, in a sentence, from a map of figures; null if nothing decoded. The streaming share of the prediction proves nothing:
-- only the counter DRAM_ACTIVE shows that memory was busy.
--   select macros.regime_text(map {'tpot_s': 10e-3, 'memory_term_ratio': 0.8e0, 'slowdown_ratio': 1.1e0})
create macro macros.regime_text(value_of) as
    case
        when value_of['tpot_s'] is null then null
        when value_of['memory_term_ratio'] is null
            then 'what binds decoding is not known: the run has no environment that the model knows'
        when value_of['memory_term_ratio'] < 0.5e0
            then 'decoding is not memory-bound by its prediction: streaming weights and KV cache is '
                || macros.percent_text(value_of['memory_term_ratio']) || ' of it'
        when value_of['dram_active_ratio'] is null
            then 'decoding is memory-bound by its prediction (streaming weights and KV cache is '
                || macros.percent_text(value_of['memory_term_ratio']) || ' of it); not confirmed: DRAM_ACTIVE was not measured'
        when value_of['dram_active_ratio'] >= 0.7e0 * value_of['predicted_floor_share_ratio']
            then 'decoding is memory-bound: streaming weights and KV cache is ' || macros.percent_text(value_of['memory_term_ratio'])
                || ' of its prediction; confirmed by DRAM_ACTIVE ' || macros.percent_text(value_of['dram_active_ratio'])
        else 'decoding is not memory-bound, whatever its prediction: DRAM_ACTIVE is ' || macros.percent_text(value_of['dram_active_ratio'])
            || ' where ' || macros.percent_text(0.7e0 * value_of['predicted_floor_share_ratio']) || ' is the least expected'
    end || coalesce('; time per token ' || macros.figures(value_of['slowdown_ratio']) || ' times its prediction (mean over tokens)', '');

-- The figures of a list that were measured: those whose value is not null.
--   select macros.known_figures([{'name': 'tpot_s', 'value': 10e-3}, {'name': 'ttft_s', 'value': null}])
create macro macros.known_figures(figures) as
    list_filter(figures, lambda one: one.value is not null);
