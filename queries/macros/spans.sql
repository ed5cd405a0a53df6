-- Long times, large files and places in a trace, in sentences.
-- group: text

-- Seconds as a person says them, however many: 12.3 ms, 217 s, 58.9 min, 26.4 h, 7.00 days.
--   select macros.span_text(95000)
create macro macros.span_text(seconds) as
    case
        when seconds < 300 then macros.duration_text(seconds)
        when seconds < 3 * 3600 then macros.figures(seconds::double / 60) || ' min'
        when seconds < 3 * 86400 then macros.figures(seconds::double / 3600) || ' h'
        else macros.figures(seconds::double / 86400) || ' days'
    end;

-- A place in a trace, as --from and --until read it: +2160s.
--   select macros.offset_text(2160.4)
create macro macros.offset_text(seconds) as
    '+' || floor(seconds)::bigint || 's';

-- Bytes as a person says them, in powers of a thousand: 3.03 MB.
--   select macros.bytes_text(3.03e6)
create macro macros.bytes_text(bytes) as
    case
        when bytes < 1e3 then bytes || ' B'
        when bytes < 1e6 then macros.figures(bytes / 1e3) || ' kB'
        when bytes < 1e9 then macros.figures(bytes / 1e6) || ' MB'
        else macros.figures(bytes / 1e9) || ' GB'
    end;

-- A length of a clock as it was chosen: 3 s, 100 ms.
--   select macros.tick_text(0.1)
create macro macros.tick_text(seconds) as
    case
        when seconds < 1 then format('{:g}', round(seconds * 1e3, 6)) || ' ms'
        else format('{:g}', round(seconds::double, 6)) || ' s'
    end;

-- A number of any size with its noun: 1 name, 1,230 names.
--   select macros.many_text(1230, 'name')
create macro macros.many_text(n, noun) as
    macros.count_text(n) || ' ' || noun || case when n = 1 then '' else 's' end;
