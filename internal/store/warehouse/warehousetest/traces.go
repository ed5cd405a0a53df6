//go:build duckdb_arrow

package warehousetest

// Traces is SQL for three small traces: dated on one day, with relative times and prefix blocks, and dated over two days.
const Traces = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at) values
    (1, 'day', 'arrivals', 'azure', 'd.csv', 'aa', 10, 4, 4, 0, timestamptz '2023-11-16 18:00:00+00', true, 'datetime', null, null, 1, now()),
    (2, 'relative', 'arrivals', 'mooncake', 'r.jsonl', 'bb', 10, 2, 2, 0, null, false, 'ms', null, 512, 1, now()),
    (3, 'days', 'arrivals', 'azure', 'e.csv', 'cc', 10, 2, 2, 0, timestamptz '2023-11-16 18:00:00+00', true, 'datetime', null, null, 1, now());
insert into raw.arrivals values
    (1, 2, 60000000000, 100, 10, 's', 0, 'chat', null),
    (1, 3, 120000000000, 200, 20, 's', 1, 'chat', null),
    (1, 5, 180000000000, 300, 30, null, null, null, null),
    (1, 4, 180000000000, 400, 40, null, null, null, null),
    (2, 1, 27482000000, 6955, 52, null, null, null, [46, 47, 18446744073709551615]),
    (2, 2, 27482000001, 10, 2, null, null, null, null),
    (3, 2, 0, 1, 1, null, null, null, null),
    (3, 3, 86400000000000, 1, 1, null, null, null, null);
`
