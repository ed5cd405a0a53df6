-- One row per planned request of a run: the definition of every latency.
--
-- Instants are seconds since the run began, on one monotonic clock. A request that was never sent has a row too. Failed requests have the
-- quantities that they reached, so take percentiles where is_success and not is_warm_up.
-- Kept per run.
-- group: runs
-- run_id                   the replay
-- seq                      the request's place in its plan
-- session_id               requests of one session share it
-- turn                     0-based place in the session
-- class                    what the trace calls its kind
-- other_model              the model that its class asks for instead of the run's own; null: the run's own
-- is_unpredicted           the prediction of the run's own model is not of it: it asks for another model, or the server speculates, so that a token
--                          is not a step
-- is_warm_up               left out of every quantity
-- is_sent                  it left the client
-- is_success               it was sent, brought tokens and did not fail
-- failure                  kind of failure; null when there was none or it was never sent
-- failure_detail           what the server or the network said of it, short
-- input_tokens             prompt as planned, tokens
-- output_tokens            answer as planned, tokens
-- input_tokens_reported    prompt as the server's usage says, tokens
-- output_tokens_reported   answer as the server's usage says, tokens
-- received_tokens          tokens really received: usage's count, else counted token ids; null when neither is known
-- cached_tokens            prompt tokens that the server says it had; null when it does not say
-- shared_tokens            planned prompt tokens whose blocks an earlier request had; null without blocks
-- due_s                    when it should go out: by the plan; in a session the end of the turn before plus its think time; in a
--                          closed loop when its slot became free. Of a request of those two that was never sent, a lower bound
-- sent_s                   on a ready connection, just before the first byte is written
-- first_token_s            first chunk that brought a token
-- last_token_s             last such chunk
-- done_s                   the stream ended, was cut or failed
-- held_s                   wait behind a cap that the user asked for, seconds
-- connect_s                how long making its connection took, seconds; null when it went over one that was there
-- lateness_s               sent_s - due_s - held_s: the client's fault, seconds
-- ttft_s                   first_token_s - sent_s, seconds
-- ttft_from_due_s          first_token_s - due_s: free of coordinated omission, seconds
-- is_whole                 two tokens or more came at once: something held the answer back until it was whole
-- tpot_s                   (last_token_s - first_token_s) / (received_tokens - 1), seconds; null below two tokens, and where is_whole
-- e2e_s                    last_token_s - sent_s, seconds
-- e2e_from_due_s           last_token_s - due_s, seconds
-- wait_s                   sent_s - due_s: held and late together, seconds
-- chunk_count              chunks that brought tokens
-- read_count               socket reads that brought them; fewer than chunks: some came together
-- http_status              of the answer; null without one
-- finish_reason            of the stream; null where the server said none
-- endpoint                 base url that it went to, or the replica that a router names; null where the run had one base url and nothing names a replica
-- server_ttft_s            the server's own time, from scheduled to the first token, seconds; null where it does not say
-- server_queue_s           the server's own time in its queue, seconds
-- server_tpot_s            the server's own time from the first token to the last / (received_tokens - 1), seconds
-- server_mean_itl_s        the server's own mean gap between tokens, seconds
-- server_engine_s          its share of the time of its engine's steps, seconds; of a rehearsal, else null
-- server_recomputed_tokens  tokens computed again after it was preempted; of a rehearsal, else null
select
    requests.run_id,
    requests.seq,
    requests.session_id,
    requests.turn,
    requests.class,
    nullif(runs.class_models[requests.class], runs.served_model) as other_model,
    other_model is not null or coalesce(runs.speculative_tokens > 0, false) as is_unpredicted,
    requests.is_warm_up,
    requests.sent_s is not null as is_sent,
    requests.sent_s is not null and requests.first_token_s is not null and requests.failure is null as is_success,
    case
        when requests.failure is not null then requests.failure
        when requests.sent_s is not null and requests.first_token_s is null then 'no_token'
    end as failure,
    requests.failure_detail,
    requests.input_tokens,
    requests.output_tokens,
    requests.input_tokens_reported,
    requests.output_tokens_reported,
    coalesce(requests.output_tokens_reported, requests.output_tokens_counted) as received_tokens,
    requests.cached_tokens_reported as cached_tokens,
    requests.shared_tokens,
    requests.due_s,
    requests.sent_s,
    requests.first_token_s,
    requests.last_token_s,
    requests.done_s,
    requests.held_s,
    requests.connect_s,
    requests.sent_s - requests.due_s - coalesce(requests.held_s, 0) as lateness_s,
    requests.first_token_s - requests.sent_s as ttft_s,
    requests.first_token_s - requests.due_s as ttft_from_due_s,
    macros.came_whole(
        coalesce(requests.output_tokens_reported, requests.output_tokens_counted),
        requests.reads,
        len(requests.chunk_offsets_us),
        requests.sent_s,
        requests.first_token_s,
        requests.last_token_s
    ) as is_whole,
    case
        when coalesce(requests.output_tokens_reported, requests.output_tokens_counted) >= 2 and not is_whole
            then (requests.last_token_s - requests.first_token_s)
                / (coalesce(requests.output_tokens_reported, requests.output_tokens_counted) - 1)
    end as tpot_s,
    requests.last_token_s - requests.sent_s as e2e_s,
    requests.last_token_s - requests.due_s as e2e_from_due_s,
    requests.sent_s - requests.due_s as wait_s,
    coalesce(len(requests.chunk_offsets_us), 0) as chunk_count,
    requests.reads as read_count,
    requests.http_status,
    requests.finish_reason,
    requests.endpoint,
    requests.server_ttft_s,
    requests.server_queue_s,
    case
        when coalesce(requests.output_tokens_reported, requests.output_tokens_counted) >= 2
            then requests.server_generation_s
                / (coalesce(requests.output_tokens_reported, requests.output_tokens_counted) - 1)
    end as server_tpot_s,
    requests.server_mean_itl_s,
    requests.server_engine_s,
    requests.server_recomputed_tokens
from raw.requests
left join staging.runs on runs.run_id = requests.run_id
