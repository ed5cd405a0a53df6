-- One row per series of a metrics file, with its name and labels taken apart.
-- group: server
-- source_id     the file
-- source_name   what the user calls it
-- format        the reader that took it in
-- name          as exposed
-- labels        'k="v",...' sorted by key
-- metric        the family it belongs to, with vllm: for ray_vllm: and vllm_, without _bucket, _sum, _count, _total
-- part          'bucket', 'sum' or 'count' of a histogram or summary, else 'value'
-- le            upper bound of a bucket, in the family's own unit
-- is_counter    it only grows, except after a restart
-- model         served name; null where the labels have none
-- engine        which of several engines of one server; null where the labels have none
-- target        which server, by the labels that a collector adds (instance, pod, ...); '' where there are none
-- gpu           which GPU: its UUID, else host and number; null where it is of none
-- exporter      address that a GPU was seen through; one GPU may be seen through two
-- dimensions    the labels that are left: reason, endpoint, ...; '' for none
-- quantity      our word for what it says; null where we have none
-- kind          'counter', 'gauge' or 'histogram'; null with quantity
-- factor        times its values: base units
-- priority      if a file has a quantity under several names, the one with the smallest priority counts
with listed as (
    select
        metrics.source_id,
        sources.name as source_name,
        sources.format,
        metrics.name,
        metrics.labels
    from raw.metrics
    inner join raw.sources on sources.source_id = metrics.source_id
    group by all
),

named as (
    select distinct
        source_id,
        name
    from listed
),

-- A histogram has all three; a gauge whose name ends in _count has not.
families as (
    select
        source_id,
        regexp_replace(name, '_(bucket|sum|count)$', '') as family
    from named
    where regexp_matches(name, '_(bucket|sum|count)$')
    group by all
    having count(*) > 1 or bool_or(name like '%\_bucket' escape '\')
),

parts as (
    select
        listed.*,
        regexp_extract_all(listed.labels, '[^=,]+="(?:[^"\\]|\\.)*"') as pairs,
        case when families.family is null then 'value' else regexp_extract(listed.name, '(bucket|sum|count)$', 1) end as part,
        regexp_replace(
            regexp_replace(
                case
                    when families.family is not null then families.family
                    when listed.format = 'engine-csv' and listed.name not like 'vllm:%' then 'vllm:' || listed.name
                    else listed.name
                end,
                '^(?:ray_)?(vllm|sglang|trtllm)[:_]', '\1:'
            ),
            '_total$', ''
        ) as metric
    from listed
    left join families
        on families.source_id = listed.source_id
        and regexp_matches(listed.name, '_(bucket|sum|count)$')
        and families.family = regexp_replace(listed.name, '_(bucket|sum|count)$', '')
),

labelled as (
    select
        parts.* exclude (pairs),
        case when part = 'bucket' then try_cast(regexp_extract(labels, '(?:^|,)le="([^"]*)"', 1) as double) end as le,
        nullif(regexp_extract(labels, '(?:^|,)(?:model_name|model|gen_ai_request_model)="((?:[^"\\]|\\.)*)"', 1), '') as model,
        nullif(regexp_extract(labels, '(?:^|,)engine="([^"]*)"', 1), '') as engine,
        array_to_string(
            list_filter(pairs, lambda pair: regexp_matches(pair, '^(instance|pod|namespace|job|container|cluster|node|replica|service|WorkerId|ReplicaId|NodeAddress|SessionName|endpoint_url)=')),
            ','
        ) as target,
        coalesce(
            nullif(regexp_extract(labels, '(?:^|,)(?:UUID|uuid)="([^"]*)"', 1), ''),
            nullif(concat_ws(' ', nullif(regexp_extract(labels, '(?:^|,)Hostname="([^"]*)"', 1), ''), nullif(regexp_extract(labels, '(?:^|,)gpu="([^"]*)"', 1), '')), '')
        ) as gpu,
        nullif(regexp_extract(labels, '(?:^|,)instance="((?:[^"\\]|\\.)*)"', 1), '') as exporter,
        array_to_string(
            list_filter(
                pairs,
                lambda pair: not regexp_matches(
                    pair,
                    '^(le|engine|model_name|model|instance|pod|namespace|job|container|cluster|node|replica|service|WorkerId|ReplicaId|NodeAddress|SessionName|endpoint_url)='
                )
            ),
            ','
        ) as dimensions
    from parts
)

select
    labelled.source_id,
    labelled.source_name,
    labelled.format,
    labelled.name,
    labelled.labels,
    labelled.metric,
    labelled.part,
    labelled.le,
    labelled.part <> 'value' or coalesce(metric_names.kind = 'counter', labelled.name like '%\_total' escape '\') as is_counter,
    labelled.model,
    labelled.engine,
    labelled.target,
    labelled.gpu,
    labelled.exporter,
    labelled.dimensions,
    metric_names.quantity,
    metric_names.kind,
    coalesce(metric_names.factor, 1e0) as factor,
    coalesce(metric_names.priority, 9) as priority
from labelled
left join seeds.metric_names
    on metric_names.metric = labelled.metric
    and contains(labelled.labels, coalesce(metric_names.label, ''))
    and (metric_names.kind = 'histogram') = (labelled.part <> 'value')
