-- Do requests come evenly or in bursts, and at which scale of time?
--
-- An index of 1 is a Poisson stream. An index that grows with the width of the window is traffic that swells and ebbs: replay it as it
-- was, because a stream of independent arrivals would not fill the queue as it does.
-- group: traces
select
    source_name,
    width_s,
    windows,
    mean_requests,
    peak_requests,
    dispersion_index
from marts.burstiness
order by
    source_name,
    width_s
