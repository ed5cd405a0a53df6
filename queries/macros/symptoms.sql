-- What a diagnosis says of its figures.

-- Whether a value is on the side of a bound that is asked for; null where either is not known.
create macro macros.holds(value, comparison, bound) as
    case comparison
        when '>' then value > bound
        when '>=' then value >= bound
        when '<' then value < bound
        when '<=' then value <= bound
    end;

create macro macros.comparison_words(comparison) as
    case comparison when '>' then 'above' when '>=' then 'at least' when '<' then 'below' else 'at most' end;

-- A value with its unit, for a sentence.
create macro macros.figure_text(value, unit) as
    case
        when unit = 'flag' then case when value > 0 then 'yes' else 'no' end
        when unit = 's' then macros.duration_text(value)
        when unit = 'per_s' then macros.signed_figures(value) || '/s'
        when unit = 'byte_per_s' then macros.signed_figures(value / 1e9) || ' GB/s'
        when unit = 'C' then macros.signed_figures(value) || ' °C'
        when unit = 'ratio' then macros.signed_figures(value)
        when unit = 'tokens' then macros.signed_figures(round(value)) || ' tokens'
        when value = round(value) then macros.count_text(value)
        else macros.signed_figures(value)
    end;

-- Small numbers too, as 1.2e-06.
create macro macros.signed_figures(value) as
    case when value <> 0 and abs(value) < 1e-4 then format('{:.3g}', value::double) else macros.figures(value) end;
