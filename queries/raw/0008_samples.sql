-- The Monday report: requests of each hour, so that the page is made again without reading the week's requests again.

alter table raw.service_demands add column samples blob;
comment on column raw.service_demands.samples is 'What is rehearsed of each hour: a few thousand requests an hour, packed. Null: not kept.';
