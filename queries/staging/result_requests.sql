-- One row per request that another tool timed. A request without a token is a failure here, even if the tool counts it as a success: its TTFT
-- of 0 is not a measurement.
-- Published per source.
-- group: tools
-- source_id      file that it came from
-- point          measurement, as in staging.points
-- seq            0-based place in the file
-- session_id     requests of one session share it
-- turn           0-based place in the session
-- is_warm_up     left out of every quantity
-- is_success     it brought tokens and did not fail
-- is_counted     the tool counts it as a success
-- failure        kind; null when there was none
-- input_tokens   prompt
-- output_tokens  answer, as the tool counted it
-- cached_tokens  prompt tokens that the server said it had
-- due_s          when it should go out, on the tool's own clock, seconds
-- sent_s         when it did
-- ttft_s         first token minus sent, seconds; null without a token
-- e2e_s          last token minus sent, seconds; where the file has no latencies, ttft_s and all gaps together
-- is_e2e_summed  e2e_s is that sum: what passed between the last chunk and the end of the stream is not in it
-- tpot_s         (e2e_s - ttft_s) / (output_tokens - 1), seconds; null below two tokens
-- gaps_us        between successive chunks of the answer, whole microseconds
-- finish_reason  of the stream
with told as (
    select
        result_requests.source_id,
        result_requests.point,
        result_requests.seq,
        result_requests.session_id,
        result_requests.turn,
        coalesce(is_warm_up, false) as is_warm_up,
        failure,
        -- Without a count, a TTFT of 0 tells an answer of no token.
        failure is null and coalesce(output_tokens, case when ttft_s = 0 then 0 else 1 end) > 0 as is_success,
        input_tokens,
        output_tokens,
        cached_tokens,
        due_s,
        started_s,
        nullif(ttft_s, 0) as ttft_s, -- 0 where the answer was not streamed
        coalesce(e2e_s, nullif(ttft_s, 0) + coalesce(list_sum(chunk_gaps_us), 0) * 1e-6) as e2e_s,
        -- Readers sum the gaps before they are cut to microseconds, and say so.
        e2e_s is null or coalesce(points.settings ->> '$.e2e_from_gaps' = 'true', false) as is_e2e_summed,
        chunk_gaps_us,
        finish_reason
    from raw.result_requests
    left join raw.points
        on points.source_id = result_requests.source_id
        and points.point = result_requests.point
)

select
    source_id,
    point,
    seq,
    session_id,
    turn,
    is_warm_up,
    is_success,
    failure is null as is_counted,
    case
        when failure is not null then failure
        when not is_success then 'no_token'
    end as failure,
    input_tokens,
    output_tokens,
    cached_tokens,
    due_s,
    started_s as sent_s,
    case when is_success then ttft_s end as ttft_s,
    case when is_success then e2e_s end as e2e_s,
    is_e2e_summed,
    case when is_success and output_tokens >= 2 then (e2e_s - ttft_s) / (output_tokens - 1) end as tpot_s,
    chunk_gaps_us as gaps_us,
    finish_reason
from told
