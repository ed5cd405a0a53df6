-- One row per run and setting of its server: what was asked for beside what the server says it
-- really runs with. A default that nobody set shows here, and so does a flag that had no effect.
-- run_id         the replay
-- setting        its name, as vLLM calls it
-- asked          by the environment that the run was given; null where nothing was
-- effective      as the server says; null where it does not
-- is_different   both are known and they differ; numbers are compared as numbers, 'auto' is anything, and of versions the shorter
--                says how much was meant
select
    run_id,
    setting,
    asked,
    effective,
    coalesce(
        lower(asked) <> lower(effective)
        and lower(asked) <> 'auto'
        and not coalesce(try_cast(asked as double) = try_cast(effective as double), false)
        and not (setting = 'engine_version' and starts_with(effective || '.', asked || '.')),
        false
    ) as is_different
from staging.server_settings
