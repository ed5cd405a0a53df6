-- A measured curve: a line in logarithms that bends at each measured point; flat below
-- the first one, straight on above the last.
-- group: kernels

-- Where the line bends: ln of x, and by how much the slope changes there. At most nine points, x ascending.
create macro macros.curve_bends(x, seconds) as
    list_transform(range(1, len(x)), lambda i: {
        'ln_x': ln(x[i]),
        'slope_change': macros.slope_after(x, seconds, i) - coalesce(macros.slope_after(x, seconds, i - 1), 0e0)
    });

-- Slope from the i-th point to the next; null before the first.
create macro macros.slope_after(x, seconds, i) as
    case when i > 0 then (ln(seconds[i + 1]) - ln(seconds[i])) / (ln(x[i + 1]) - ln(x[i])) end;

-- What the k-th bend adds to the line at x; nothing at an x before the bend.
create macro macros.rise_since(bends, k, x) as
    coalesce(bends[k].slope_change * greatest(0e0, x - bends[k].ln_x), 0e0);

-- Seconds at x. first_s is the time at the first point. The bends are written out because a
-- lambda here would copy the whole deployment for each row: ten times slower.
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
