-- What other tools call their statistics.
-- group: statistics

-- A statistic of a list in order, by the name that staging.figures has for it; null for an empty list or another name.
--   select macros.statistic([1e0, 2e0, 4e0], 'p50')
create macro macros.statistic(sorted, name) as
    case
        when len(sorted) = 0 then null
        when name = 'mean' then list_avg(sorted)
        when name = 'std' then list_stddev_pop(sorted)
        when name = 'min' then sorted[1]
        when name = 'max' then sorted[len(sorted)]
        when name = 'sum' then list_sum(sorted)
        when name = 'count' then len(sorted)::double
        when regexp_matches(name, '^p[0-9]+(\.[0-9]+)?$') then macros.interpolated(sorted, try_cast(name[2:] as double) / 100)
    end;
