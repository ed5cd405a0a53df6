-- A request that succeeded was answered with 200, ended by stop or length, and brought the
-- tokens that were asked for: none of its failure kinds was overlooked. A server may
-- leave out the finish reason or the count, but not both: one of them must show a whole answer.
-- group: trust
-- run_id            the replay
-- seq               the request's place in its plan
-- http_status       of the answer
-- finish_reason     of the stream; null where the server said none
-- output_tokens     answer as planned, tokens
-- received_tokens   tokens really received
select
    requests.run_id,
    requests.seq,
    raw_requests.http_status,
    raw_requests.finish_reason,
    requests.output_tokens,
    requests.received_tokens
from staging.requests
inner join raw.requests as raw_requests
    on raw_requests.run_id = requests.run_id
    and raw_requests.seq = requests.seq
where requests.is_success
    and (
        raw_requests.http_status is distinct from 200
        or raw_requests.finish_reason not in ('stop', 'length')
        or requests.received_tokens < requests.output_tokens
        or (raw_requests.finish_reason is null and requests.received_tokens is null)
    )
