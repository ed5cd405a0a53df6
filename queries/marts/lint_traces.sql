-- One row per source with requests of sessions or with prefix blocks, a trace or a file of results, and case of seeds.lint_rules that its
-- prompts show. What else is odd about a trace is in marts.audit; marts.lint has both.
-- group: trust
-- source_name   what the user calls it
-- rule          the case, as in seeds.lint_rules
-- found         what was found, in numbers
with turns as (
    select
        source_name,
        0 as point,
        session_id,
        turn,
        input_tokens,
        output_tokens
    from staging.trace_rows
    where turn is not null
    union all
    select
        sources.source_name,
        requests.point,
        requests.session_id,
        requests.turn,
        requests.input_tokens,
        requests.output_tokens
    from staging.result_requests as requests
    inner join staging.sources on sources.source_id = requests.source_id
    where requests.turn is not null
),

-- A prompt that holds the conversation so far is as long as the last prompt and its answer, and something new. One that such prompts were
-- appended to once more is as long as all prompts and answers before it. The two differ from the third turn on.
histories as (
    select
        source_name,
        input_tokens,
        row_number() over session as place,
        lag(input_tokens + output_tokens) over session as last_tokens,
        sum(input_tokens + output_tokens) over (session rows between unbounded preceding and 1 preceding) as all_tokens
    from turns
    where session_id is not null
    window session as (partition by source_name, point, session_id order by turn)
),

doubled as (
    select
        source_name,
        count(*) as later,
        count(*) filter (where input_tokens >= all_tokens and all_tokens > 1.2e0 * last_tokens) as whole
    from histories
    where place > 2
    group by source_name
    having count(*) >= 10
),

-- The first requests of a trace are enough to know whether its prompts are all the same or go on from each other.
prompts as (
    select
        source_name,
        line,
        offset_ns,
        session_id,
        blocks
    from staging.trace_rows
    where len(blocks) > 0
    qualify row_number() over (partition by source_name order by offset_ns, line) <= 2000
),

alike as (
    select
        source_name,
        sum(copies) as requests,
        max(copies) as most
    from (
        select
            source_name,
            count(*) as copies
        from prompts
        group by
            source_name,
            blocks
    ) as same
    group by source_name
    having sum(copies) >= 20
),

-- The last block of a prompt may be partial: a later prompt that goes on from it has all the others, in their places.
places as (
    select
        source_name,
        line,
        len(blocks) as blocks,
        unnest(range(1, len(blocks))) as place,
        unnest(blocks[1:-2]) as block
    from prompts
    where session_id is null
),

continued as (
    select
        later.source_name,
        count(distinct later.line) as requests
    from places as later
    inner join (select * from places where place = blocks - 1 and place >= 2) as earlier
        on earlier.source_name = later.source_name
        and earlier.place = later.place
        and earlier.block = later.block
        and earlier.blocks < later.blocks
        and earlier.line < later.line
    group by later.source_name
)

select
    source_name,
    'cumulative_and_appended' as rule,
    macros.count_text(whole) || ' of ' || macros.count_text(later) || ' prompts from the third turn on are as long as all prompts and answers before them together' as found
from doubled
where whole >= 0.9e0 * later
union all
select
    source_name,
    'identical_prompts',
    macros.count_text(most) || ' of the first ' || macros.count_text(requests) || ' prompts are the same'
from alike
where most >= 0.5e0 * requests
union all
select
    continued.source_name,
    'single_turns',
    macros.count_text(continued.requests) || ' of the first ' || macros.count_text(alike.requests) || ' prompts go on from an earlier one, and none has a session'
from continued
inner join alike on alike.source_name = continued.source_name
where continued.requests >= 0.1e0 * alike.requests
