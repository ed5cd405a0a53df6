-- A measured curve: a line in logarithms that bends at each measured point; flat below
-- the first one, straight on above the last.
-- group: kernels

-- Where the line bends: ln of x, and by how much the slope changes there. At most nine points, x ascending.
--   select macros.curve_bends([1e0, 2e0, 4e0], [1e-3, 1e-3, 2e-3])
create macro macros.curve_bends(x, seconds) as
    list_transform(range(1, len(x)), lambda i: {
        'ln_x': ln(x[i]),
        'slope_change': macros.slope_after(x, seconds, i) - coalesce(macros.slope_after(x, seconds, i - 1), 0e0)
    });

-- Slope in logarithms from the i-th point of a curve to the next; null before the first.
--   select macros.slope_after([1e0, 2e0, 4e0], [1e-3, 1e-3, 2e-3], 2)
create macro macros.slope_after(x, seconds, i) as
    case when i > 0 then (ln(seconds[i + 1]) - ln(seconds[i])) / (ln(x[i + 1]) - ln(x[i])) end;

-- Seconds at x. first_s is the time at the first point. The outer lambda plans the arguments once, however long they are. It takes
-- them as one struct, because a lambda that names a column of its own copies that column for each row: the whole deployment.
--   select macros.curve_s(1e-3, macros.curve_bends([1e0, 2e0, 4e0], [1e-3, 1e-3, 2e-3]), 8)
create macro macros.curve_s(first_s, bends, x) as
    list_transform(
        [{'first_s': first_s, 'bends': bends, 'ln_x': ln(x)}],
        lambda curve: curve.first_s * exp(coalesce(
            list_sum(list_transform(
                curve.bends,
                lambda bend: coalesce(bend.slope_change * greatest(0e0, curve.ln_x - bend.ln_x), 0e0)
            )),
            0e0
        ))
    )[1];
