-- A measured curve: a line in logarithms through the measured points; flat below the first one, straight on above the last. It is kept at
-- every power of two, so that a time is looked up and not searched for.
-- group: kernels

-- The curve through points, x ascending: log2 of its first x, and at that and each further power of two the logarithm of the time over the
-- first time.
--   select macros.curve_line([1e0, 2e0, 4e0], [1e-3, 1e-3, 2e-3])
create macro macros.curve_line(x, seconds) as {
    'first': log2(x[1]),
    'logs': list_transform(
        range(0, 1 + ceil(log2(x[-1] / x[1]) - 1e-9)::bigint),
        lambda doublings: macros.line_at(x, seconds, x[1] * pow(2e0, doublings)) - ln(seconds[1])
    )
};

-- ln of the time at x_at, on the line through the two points around it; the last two where there is none above it.
--   select macros.line_at([1e0, 2e0, 4e0], [1e-3, 1e-3, 2e-3], 3e0)
create macro macros.line_at(x, seconds, x_at) as
    list_transform(
        [greatest(1, least(len(x) - 1, len(list_filter(x, lambda one: one <= x_at * (1 + 1e-9)))))],
        lambda below: ln(seconds[below]) + coalesce(
            ln(x_at / x[below]) * ln(seconds[below + 1] / seconds[below]) / ln(x[below + 1] / x[below]), 0e0
        )
    )[1];

-- Where such a line bends: ln of x, and by how much the slope changes there.
--   select macros.line_bends(macros.curve_line([1e0, 2e0, 4e0], [1e-3, 1e-3, 2e-3]))
create macro macros.line_bends(line) as
    list_transform(range(1, len(line.logs)), lambda i: {
        'ln_x': (line.first + i - 1) * ln(2e0),
        'slope_change': (line.logs[i + 1] - line.logs[i] - case when i > 1 then line.logs[i] - line.logs[i - 1] else 0 end) / ln(2e0)
    });

-- Seconds at x. first_s is the time at the first point, line is of macros.curve_line. The outer lambda plans the arguments once, however long
-- they are. It takes them as one struct, because a lambda that names a column of its own copies that column for each row: the whole deployment.
--   select macros.curve_s(1e-3, macros.curve_line([1e0, 2e0, 4e0], [1e-3, 1e-3, 2e-3]), 8)
create macro macros.curve_s(first_s, line, x) as
    list_transform(
        [{'first_s': first_s, 'logs': line.logs, 'doublings': greatest(0e0, log2(x) - line.first)}],
        lambda asked_curve: asked_curve.first_s * exp(macros.log_after(
            asked_curve.logs, asked_curve.doublings, greatest(0, least(len(asked_curve.logs) - 2, floor(asked_curve.doublings)))::bigint
        ))
    )[1];

-- The logarithm so many doublings after the first, which is between number `below`, counted from 0, and the next.
--   select macros.log_after([0e0, 0e0, 0.7e0], 1.5e0, 1)
create macro macros.log_after(logs, doublings, below) as
    logs[below + 1] + coalesce((doublings - below) * (logs[below + 2] - logs[below + 1]), 0e0);
