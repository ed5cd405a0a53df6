-- The Monday report: what was found of a service in a week.

-- One row per service and week: everything that the page of the week shows, as it was made last.
create table raw.service_weeks (
    service varchar not null,
    week varchar not null,              -- ISO week in the service's zone: '2026-W47'
    source_ids bigint[] not null,       -- that it rests on
    file_sha256 varchar not null,       -- of the service file that it was made with
    document json not null,             -- the report whole; its keys are the columns of marts.service_weeks and marts.service_hours
    primary key (service, week)
);
comment on table raw.service_weeks is 'One row per service and week: everything that the page of the week shows, as it was made last.';

-- One row per service file that a report was made with.
create table raw.service_files (
    service varchar not null,
    file_sha256 varchar not null,       -- of its bytes
    path varchar not null,              -- as the user named it
    content varchar not null,           -- whole
    source_ids bigint[] not null,       -- none: the text holds nothing of a source
    used bigint not null,               -- grows with each report: the newest file has the largest
    primary key (service, file_sha256)
);
comment on table raw.service_files is 'One row per service file that a report was made with.';

-- One row per shape of traffic and deployment that was rehearsed: what one replica takes of it.
create table raw.shape_capacities (
    capacity_key varchar primary key,   -- hash of the shape, the deployment, the objectives and the model
    source_ids bigint[] not null,       -- that the shape was taken from
    document json not null
);
comment on table raw.shape_capacities is 'One row per shape of traffic and deployment that was rehearsed for a report.';

-- One row per service and week whose demand was added up: of weeks with a report, and of those before them.
create table raw.service_demands (
    service varchar not null,
    week varchar not null,
    demand_key varchar not null,        -- hash of the sources, their coverage and what was chosen of them: another one is added up again
    source_ids bigint[] not null,       -- that it rests on
    document json not null,
    primary key (service, week)
);
comment on table raw.service_demands is 'One row per service and week whose demand was added up: of weeks with a report, and of those before them.';
