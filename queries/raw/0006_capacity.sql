-- A search for capacity: how large a multiple of a window's traffic a server takes within an SLO.

-- One row per search, as its state file was when it was taken in last.
create table raw.capacities (
    search_id varchar not null,         -- of the file's header: the source and a hash of what was asked
    source_id bigint not null,
    header json not null,               -- the first line
    runs json not null,                 -- of each run that ended what the file says, without the lists of single requests
    answer json,                        -- null: the search has not ended
    last_event_at timestamptz           -- of the last line; null: the file does not say
);
comment on table raw.capacities is 'One row per search for capacity, as its state file was when it was taken in last.';
