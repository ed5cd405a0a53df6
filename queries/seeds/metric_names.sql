-- One row per name under which a server, a gateway or a GPU exporter says one of our quantities. Names are
-- written as staging.metric_series writes them: vllm: for ray_vllm: and vllm_, without _total and without a histogram's _bucket,
-- _sum and _count.
-- group: server
-- metric      the exporter's name
-- label       text that the labels must hold, as 'gen_ai_token_type="input"'; null for none
-- quantity    our word for it
-- kind        'counter', 'gauge' or 'histogram'
-- factor      its unit in base units: seconds, bytes, tokens, W, J, Hz, ratios of 1
-- priority    where one file says a quantity twice, the smallest is taken
-- source      where that is from
create table seeds.metric_names (
    metric varchar not null,
    label varchar,
    quantity varchar not null,
    kind varchar not null,
    factor double not null,
    priority integer not null,
    source varchar not null
);
