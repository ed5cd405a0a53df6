-- Which requests of a run count in a share of failures and of accepted requests.
-- group: money

-- A request was tried when it was sent or failed, and also when it was not sent because no server was left: then it failed by the
-- server. What the user cancelled or left unsent was not tried.
--   select macros.is_tried(false, null, 'server')
create macro macros.is_tried(is_sent, failure, stopped_by) as
    coalesce(failure, '') <> 'cancelled'
    and (is_sent or failure is not null or coalesce(stopped_by = 'server', false));
