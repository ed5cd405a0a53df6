-- Who is to blame for a client that was late. replay/host/contention.go says the same by the same rule.
-- group: trust

-- The most that the client's threads waited in a second for a core that others had, over what was late; 0 where they waited more for
-- themselves, null where it is not known.
--   select macros.others_wait_ratio(client, 0.3)
--   from (select {'waited_s': 0.6e0, 'waited_for_others_s': 0.5e0, 'most_waited_for_others_s': 0.2e0, 'cpu_pressure_ratio': 0.1e0,
--       'steal_ratio': 0e0, 'busiest_cpu_ratio': 0.3e0, 'cores': 2} as client)
create macro macros.others_wait_ratio(client, late_s) as
    case
        when client.waited_for_others_s <= client.waited_s / 2 then 0
        else client.most_waited_for_others_s / nullif(late_s, 0)
    end;

-- Whether others had the CPU when the client was late: its wait for a core was at least half of the lateness, late_s. If it is not
-- known, others are not blamed.
--   select macros.others_took_cpu(client, 0.3)
--   from (select {'waited_s': 0.6e0, 'waited_for_others_s': 0.5e0, 'most_waited_for_others_s': 0.2e0, 'cpu_pressure_ratio': 0.1e0,
--       'steal_ratio': 0e0, 'busiest_cpu_ratio': 0.3e0, 'cores': 2} as client)
create macro macros.others_took_cpu(client, late_s) as
    coalesce(macros.others_wait_ratio(client, late_s) >= 0.5e0, false);

-- How the client's threads waited for a core while others had it, in words, for a run of run_s seconds; null where that is not known.
--   select macros.cpu_line_text(client, 60)
--   from (select {'waited_s': 0.6e0, 'waited_for_others_s': 0.5e0, 'most_waited_for_others_s': 0.2e0, 'cpu_pressure_ratio': 0.1e0,
--       'steal_ratio': 0e0, 'busiest_cpu_ratio': 0.3e0, 'cores': 2} as client)
create macro macros.cpu_line_text(client, run_s) as
    'in ' || macros.duration_text(run_s) || ' the client''s threads waited ' || macros.duration_text(client.waited_for_others_s)
    || ' for a core (run queue)' || coalesce(', CPU pressure ' || macros.percent_text(client.cpu_pressure_ratio), '')
    || case
        when client.steal_ratio >= 1e-2 then ', ' || macros.percent_text(client.steal_ratio) || ' of the cores went to other machines of this host'
        else ''
    end;

-- The end of a sentence about a client that was late: why, and what to do.
--   select macros.client_blame(client, 0.3, 60)
--   from (select {'waited_s': 0.6e0, 'waited_for_others_s': 0.5e0, 'most_waited_for_others_s': 0.2e0, 'cpu_pressure_ratio': 0.1e0,
--       'steal_ratio': 0e0, 'busiest_cpu_ratio': 0.3e0, 'cores': 2} as client)
create macro macros.client_blame(client, late_s, run_s) as
    case
        when macros.others_took_cpu(client, late_s)
            then '; others took the CPU: ' || macros.cpu_line_text(client, coalesce(run_s, 0))
                || '; stop them, or give the client a core of its own'
        when client.busiest_cpu_ratio >= 0.8e0
            then '; the client used ' || macros.percent_text(client.busiest_cpu_ratio) || ' of its ' || coalesce(printf('%.3g ', client.cores::double), '')
                || 'cores in its busiest second: give it more cores or less load'
        when client.waited_s is null then '; who had the CPU is not known: give the client a core of its own'
        else '; it did not wait that long for a core: look for a pause of the machine, or one thread at its limit'
    end;
