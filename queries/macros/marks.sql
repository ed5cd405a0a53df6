-- group: statistics

-- What a sum that only grows gained between a request's first mark and its last.
--   select macros.between_marks(total, is_last) from (values (10, false), (25, true)) as marks (total, is_last)
create macro macros.between_marks(total, is_last) as
    max(total) filter (where is_last) - coalesce(max(total) filter (where not is_last), 0);
