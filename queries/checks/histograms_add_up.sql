-- A histogram's last bucket and its count grow by the same number. One row per file and histogram where they do not: buckets are missing,
-- or a look was read while it changed.
--
-- group: trust
-- source_name    the file
-- metric         the family
-- last_buckets   growth of the buckets up to +Inf
-- counts         growth of the counts
select
    source_name,
    metric,
    sum(increase) filter (where part = 'bucket') as last_buckets,
    sum(increase) filter (where part = 'count') as counts
from staging.metric_intervals
where part = 'count' or (part = 'bucket' and isinf(le))
group by all
having count(*) filter (where part = 'bucket') > 0
    and count(*) filter (where part = 'count') > 0
    and last_buckets <> counts
