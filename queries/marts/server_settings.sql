-- One row per run and setting of its server: what was asked for, or assumed where nothing was, compared with what the
-- server says it really runs with. A default that nobody set shows here, and so does a flag that had no effect.
-- Kept per run.
-- group: runs
-- run_id         the replay
-- setting        its name, as vLLM calls it
-- asked_or_assumed   by the environment of the run: as it was given, or our own default; null where neither is
-- effective      as the server says; null where it does not
-- is_different   both are known and they differ; numbers are compared as numbers, who asks for 'auto' gets anything, a server's
--                'auto' is its model's own type, bfloat16 is bf16, fp8_e4m3 is fp8, and of versions the shorter says how much was meant
with words as (
    select
        settings.*,
        lower(settings.asked) as asked_word,
        replace(replace(regexp_replace(
            lower(case when settings.effective = 'auto' then types.effective else settings.effective end),
            '^torch[.]|_e[45]m[23](fn)?$', '', 'g'
        ), 'bfloat16', 'bf16'), 'float16', 'fp16') as effective_word
    from staging.server_settings as settings
    left join staging.server_settings as types on types.run_id = settings.run_id and types.setting = 'dtype'
)

select
    run_id,
    setting,
    asked as asked_or_assumed,
    effective,
    coalesce(
        asked_word <> effective_word
        and asked_word <> 'auto'
        and not coalesce(try_cast(asked as double) = try_cast(effective as double), false)
        and not (setting = 'engine_version' and starts_with(effective || '.', asked || '.')),
        false
    ) as is_different
from words
