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

-- What the k-th bend of a curve adds to its line at x, which is a logarithm; nothing at an x before the bend.
--   select macros.rise_since(macros.curve_bends([1e0, 2e0, 4e0], [1e-3, 1e-3, 2e-3]), 2, ln(8e0))
create macro macros.rise_since(bends, k, x) as
    coalesce(bends[k].slope_change * greatest(0e0, x - bends[k].ln_x), 0e0);

-- Seconds at x. first_s is the time at the first point. The bends are written out because a
-- lambda here would copy the whole deployment for each row: ten times slower.
--   select macros.curve_s(1e-3, macros.curve_bends([1e0, 2e0, 4e0], [1e-3, 1e-3, 2e-3]), 8)
create macro macros.curve_s(first_s, bends, x) as
    case when len(bends) > 8 then error('curve_s: more than eight bends')::double
        else first_s * exp(
            macros.rise_since(bends, 1, ln(x))
            + macros.rise_since(bends, 2, ln(x))
            + macros.rise_since(bends, 3, ln(x))
            + macros.rise_since(bends, 4, ln(x))
            + macros.rise_since(bends, 5, ln(x))
            + macros.rise_since(bends, 6, ln(x))
            + macros.rise_since(bends, 7, ln(x))
            + macros.rise_since(bends, 8, ln(x))
        )
    end;
