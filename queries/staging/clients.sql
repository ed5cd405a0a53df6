-- One row per replay: how the client itself did while it ran, from run.json. A figure that run.json lacks is null; after a kill it lacks all.
-- Kept per run.
-- group: runs
-- run_id               the replay
-- lag_p50_s            how late the client's own timers were while requests were in flight, and so may a read have been, seconds
-- lag_p99_s            the same, 99th percentile
-- lag_max_s            the same, worst
-- stall_s              the longest that the client stood still with requests in flight, seconds
-- max_stall_s          a longer one makes the run invalid, seconds
-- cpu_s                CPU time used, seconds
-- cores                cores that it could use
-- busiest_cpu_ratio    CPU time of its busiest second over what its cores have
-- gc_pause_s           all pauses of the garbage collector together, seconds
-- gc_cycles            collections
-- open_files_max       most files and connections open at once
-- open_files_limit     as many were allowed
-- rss_max_bytes        most memory held, bytes
-- wall_step_s          largest jump of the wall clock against the monotonic one, seconds; no due time looks at it
-- retransmits          TCP segments that the host sent again while the run lasted
-- coalesced_ratio      token chunks that came in a read together with another, of all
-- waited_s             its threads waited for a core, all together, seconds; this and the next five exist on Linux only
-- waited_for_others_s  of that, while others had the cores
-- most_waited_for_others_s   the most of that in any second
-- others_cpu_ratio     of its cores' time, had by other processes and machines
-- steal_ratio          of its cores' time, had by other machines of the same host
-- cpu_pressure_ratio   of the run's time, in which some task of this machine waited for a core
select
    runs.run_id,
    (runs.document ->> '$.result.client.lag_s.p50')::double as lag_p50_s,
    (runs.document ->> '$.result.client.lag_s.p99')::double as lag_p99_s,
    (runs.document ->> '$.result.client.lag_s.max')::double as lag_max_s,
    (runs.document ->> '$.result.client_stall_s')::double as stall_s,
    (runs.document ->> '$.settings.max_stall_s')::double as max_stall_s,
    (runs.document ->> '$.result.client.cpu_s')::double as cpu_s,
    (runs.document ->> '$.result.client.cores')::double as cores,
    (runs.document ->> '$.result.client.busiest_cpu_ratio')::double as busiest_cpu_ratio,
    (runs.document ->> '$.result.client.gc_pause_s')::double as gc_pause_s,
    (runs.document ->> '$.result.client.gc_cycles')::double as gc_cycles,
    (runs.document ->> '$.result.client.open_files_max')::double as open_files_max,
    (runs.document ->> '$.result.client.open_files_limit')::double as open_files_limit,
    (runs.document ->> '$.result.client.rss_max_bytes')::double as rss_max_bytes,
    (runs.document ->> '$.result.client.wall_step_s')::double as wall_step_s,
    (runs.document ->> '$.result.client.retransmits')::double as retransmits,
    (runs.document ->> '$.result.client.coalesced_ratio')::double as coalesced_ratio,
    (runs.document ->> '$.result.client.waited_s')::double as waited_s,
    (runs.document ->> '$.result.client.waited_for_others_s')::double as waited_for_others_s,
    (runs.document ->> '$.result.client.most_waited_for_others_s')::double as most_waited_for_others_s,
    (runs.document ->> '$.result.client.others_cpu_ratio')::double as others_cpu_ratio,
    (runs.document ->> '$.result.client.steal_ratio')::double as steal_ratio,
    (runs.document ->> '$.result.client.cpu_pressure_ratio')::double as cpu_pressure_ratio
from raw.runs
