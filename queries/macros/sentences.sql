-- Numbers in sentences.
-- group: text

-- A number with its noun: 1 request, 2 requests.
--   select macros.counted(2, 'request')
create macro macros.counted(n, noun) as
    n || ' ' || noun || case when n = 1 then '' else 's' end;

-- How numbers and times are written is said in internal/show, which has the same rule in Go.

-- A measured number: three significant figures, without an exponent from a ten-thousandth up: 0.0123, 20.0, 1,230.
--   select macros.figures(1234.5)
create macro macros.figures(x) as
    -- The lambda has x planned once and not at each of its uses: x may be a long expression.
    list_transform([x::double], lambda v: case
        when v = 0 then '0'
        when abs(v) >= 999.5e0 then format('{:,.0f}', round(v / pow(10, floor(log10(abs(v))) - 2)) * pow(10, floor(log10(abs(v))) - 2))
        else format(
            case
                when abs(v) >= 99.95e0 then '{:.0f}'
                when abs(v) >= 9.995e0 then '{:.1f}'
                when abs(v) >= 0.9995e0 then '{:.2f}'
                when abs(v) >= 0.09995e0 then '{:.3f}'
                when abs(v) >= 0.009995e0 then '{:.4f}'
                when abs(v) >= 0.0009995e0 then '{:.5f}'
                when abs(v) >= 0.00009995e0 then '{:.6f}'
                else '{:.2e}'
            end,
            v
        )
    end)[1];

-- A time: 12.3 ms, from one second on 2.50 s.
--   select macros.duration_text(12.34e-3)
create macro macros.duration_text(seconds) as
    list_transform(
        [seconds::double],
        lambda s: case when abs(s) >= 0.9995e0 then macros.figures(s) || ' s' else macros.figures(s * 1e3) || ' ms' end
    )[1];

-- A share in percent, with three significant figures: 95.0 %.
--   select macros.percent_text(0.95)
create macro macros.percent_text(ratio) as
    macros.figures(ratio::double * 100) || ' %';

-- A count as a person says it: 1,234.
--   select macros.count_text(1234)
create macro macros.count_text(n) as
    format('{:,}', n::bigint);

-- Tokens asked for and got, over the requests of which both are known.
--   select macros.tokens_text(100, 5000, 4990, 1, 0)
create macro macros.tokens_text(requests, asked, got, short, long) as
    case
        when coalesce(requests, 0) = 0 then 'not known: the server does not count them'
        else 'asked ' || macros.count_text(asked) || ', got ' || macros.count_text(got)
            || case when short + long = 0 then ''
                else ': ' || macros.count_text(short) || ' short, ' || macros.count_text(long) || ' long of '
                    || macros.counted(requests, 'request')
            end
    end;

-- A count of tokens in words that is alike for counts that are nearly alike: 1,018 and 1,024 are 1,000.
--   select macros.two_figures(12345) as said
create macro macros.two_figures(n) as
    macros.count_text(case when n >= 1 then round(n / pow(10, floor(log10(n)) - 1)) * pow(10, floor(log10(n)) - 1) else n end);

-- A word as a POSIX shell reads it back: in single quotes where it holds what means something to a shell.
--   select macros.shell_word('chat [prod]')
create macro macros.shell_word(word) as
    case
        when regexp_matches(word, '^[A-Za-z0-9_./:@%+=,-]+$') then word
        else '''' || replace(word, '''', '''\''''') || ''''
    end;
