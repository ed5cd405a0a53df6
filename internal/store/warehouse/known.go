//go:build duckdb_arrow

package warehouse

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// What is known of GPUs, models, constants and kernels: the tables of queries/warehouse hold what macros would otherwise work out of seeds and
// of what was taken in, for each question. That takes DuckDB little time to do and much to plan, because the macros that a prediction asks name
// each other many times. The tables change only with the program, and where GPUs, models, calibrations or kernel times are taken in or forgotten.

// knownQuery is a fingerprint of the data, other than seeds, that these tables are worked out from. A source that was purged may leave its number
// to another file, whose times are told by its sha256 alone.
const knownQuery = `
select concat_ws(' ',
    (select concat(count(*), '-', bit_xor(hash(gpus))) from raw.gpus),
    (select concat(count(*), '-', bit_xor(hash(model_configs)), '-', md5(string_agg(sources.name, chr(10) order by sources.source_id)))
        from raw.model_configs left join raw.sources using (source_id)),
    (select concat(count(*), '-', bit_xor(hash(calibrations))) from raw.calibrations),
    (select concat(count(*), '-', bit_xor(hash(kernel_tables)), '-', md5(string_agg(distinct sources.sha256, ' ' order by sources.sha256)))
        from raw.kernel_tables left join raw.sources using (source_id))
) as fingerprint`

// knownTable is the record of what they were worked out from.
const knownTable = "create or replace table warehouse.known as" + knownQuery

// KnowAgain works them out again if their data have changed.
func KnowAgain(ctx context.Context, db Querier) error {
	var isSame bool
	if err := db.QueryRowContext(ctx, "select (from warehouse.known) is not distinct from ("+knownQuery+")").Scan(&isSame); err != nil || isSame {
		return err
	}
	for _, p := range knownInOrder() {
		if _, err := db.ExecContext(ctx, fmt.Sprintf("delete from %s; insert into %s by name\n%s", p.relation, p.relation, p.text)); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	_, err := db.ExecContext(ctx, "update warehouse.known set fingerprint = ("+knownQuery+")")
	return err
}

// knownInOrder are the tables, each after those that it is worked out from, through macros too.
var knownInOrder = sync.OnceValue(func() (known []part) {
	parts, err := ordered(slices.Concat(knownParts(), macroParts()))
	if err != nil {
		panic(err) // a loop in the source tree that every test shows
	}
	isKnown := map[string]bool{}
	for _, p := range knownParts() {
		isKnown[p.relation] = true
	}
	for _, p := range parts {
		if isKnown[p.relation] {
			known = append(known, p)
		}
	}
	return known
})

// Known names these tables, the record last.
func Known() (names []string) {
	for _, p := range knownParts() {
		names = append(names, p.relation)
	}
	return append(names, "warehouse.known")
}
