-- Units as other tools write them.
-- group: tools

-- Times this, a number in the unit is in seconds, tokens, requests, bytes or ratios, or these per second; null: not a unit that is known.
--   select macros.si_factor('ms')
create macro macros.si_factor(unit) as
    case
        when lower(unit) in ('s', 'sec', 'second', 'seconds') then 1e0
        when lower(unit) in ('ms', 'millisecond', 'milliseconds', 'ms/token', 'ms/tok') then 1e-3
        when lower(unit) in ('us', 'µs', 'microsecond', 'microseconds') then 1e-6
        when lower(unit) in ('ns', 'nanosecond', 'nanoseconds') then 1e-9
        when lower(unit) in ('s/token', 's/tok') then 1e0
        when lower(unit) in ('%', 'percent') then 1e-2
        when lower(unit) in ('token', 'tokens', 'count', 'request', 'requests', 'ratio', 'queries') then 1e0
        when regexp_matches(lower(unit), '^(tokens?|tok|requests?|req|queries|query)/(s|sec|second)(/(user|gpu))?$') then 1e0
    end;
