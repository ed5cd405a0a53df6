-- In sessions and in a closed loop no turn goes out before the turn before it has ended, and in
-- sessions none is due before. Half a microsecond is rounding.
-- group: trust
-- run_id           the replay
-- session_id       the session
-- turn             0-based place in it
-- due_s            when the turn was due, seconds since the run began
-- sent_s           when it was sent
-- ended_before_s   when the turn before it had ended
select
    each.run_id,
    each.session_id,
    each.turn,
    each.due_s,
    each.sent_s,
    each.ended_before_s
from (
    select
        requests.run_id,
        runs.mode,
        requests.session_id,
        requests.turn,
        requests.due_s,
        requests.sent_s,
        max(requests.done_s) over (
            partition by requests.run_id, requests.session_id order by requests.turn rows between unbounded preceding and 1 preceding
        ) as ended_before_s
    from staging.requests
    inner join staging.runs on runs.run_id = requests.run_id
    where requests.session_id is not null
        and runs.mode in ('sessions', 'closed')
        and (requests.is_sent or requests.failure is not null)
) as each
where each.sent_s < each.ended_before_s - 0.5e-6
    or (each.mode = 'sessions' and each.due_s < each.ended_before_s - 0.5e-6)
