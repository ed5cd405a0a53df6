//go:build duckdb_arrow

package warehouse

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"tidemark/queries"
)

// What a new version of the SQL leaves as it is. The file knows the text of every
// relation, macro and seed by which its kept rows were computed (warehouse.texts). A
// kept table stands where neither its own text nor that of anything that it reads has
// changed, comments aside; all others are made and filled again. After a migration none
// stands, because a migration may change the raw rows.

const textsTable = "create or replace table warehouse.texts (relation varchar not null, fingerprint varchar not null)"

// standing are the kept tables whose rows stay.
type standing map[string]bool

// unchanged finds out which kept tables stand. It must be asked before anything is dropped.
func unchanged(ctx context.Context, tx *sql.Tx, parts []part, migrated bool) (standing, error) {
	stands := standing{}
	if migrated {
		return stands, nil
	}
	tables, err := Values[string](ctx, tx, "select schema_name || '.' || table_name from duckdb_tables() where database_name = current_database()")
	if err != nil {
		return nil, err
	}
	isTable := map[string]bool{}
	for _, name := range tables {
		isTable[name] = true
	}
	if !isTable["warehouse.texts"] || !isTable["warehouse.kept"] { // of an older version
		return stands, nil
	}
	before, err := Values[string](ctx, tx, "select relation || ' ' || fingerprint from warehouse.texts")
	if err != nil {
		return nil, err
	}
	wasSo := map[string]bool{}
	for _, line := range before {
		wasSo[line] = true
	}
	ordered, err := ordered(parts)
	if err != nil {
		return nil, err
	}
	now, isOther := fingerprints(parts), map[string]bool{}
	for _, p := range ordered {
		isOther[p.relation] = isOther[p.relation] || !wasSo[p.relation+" "+now[p.relation]]
		for _, name := range referred(p.text) {
			isOther[p.relation] = isOther[p.relation] || isOther[name]
		}
	}
	for _, p := range ordered {
		if p.isKept && isTable[p.relation] && !isOther[p.relation] {
			stands[p.relation] = true
		}
	}
	return stands, nil
}

// fingerprints are those of each part's own text and rows. Overloads of a macro share one.
func fingerprints(parts []part) map[string]string {
	all := map[string]string{}
	for _, p := range parts {
		hash := sha256.New()
		for _, text := range []string{all[p.relation], queries.WithoutComments(p.text), p.rows, fmt.Sprint(p.isKept)} {
			fmt.Fprintf(hash, "%d ", len(text))
			_, _ = io.WriteString(hash, text)
		}
		all[p.relation] = hex.EncodeToString(hash.Sum(nil))
	}
	return all
}

// recordTexts writes the fingerprints for the next version to compare with.
func recordTexts(ctx context.Context, tx *sql.Tx, parts []part) error {
	var relations, values []string
	for relation, value := range fingerprints(parts) {
		relations, values = append(relations, relation), append(values, value)
	}
	if _, err := tx.ExecContext(ctx, textsTable); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "insert into warehouse.texts select unnest(?::varchar[]), unnest(?::varchar[])", relations, values)
	return err
}

// clear empties the derived schemas but for the tables that stand.
func (s standing) clear(ctx context.Context, tx *sql.Tx) error {
	holds := map[string]bool{}
	for name := range s {
		schema, _, _ := strings.Cut(name, ".")
		holds[schema] = true
	}
	for i := range derived {
		// In reverse order, so that a schema is dropped after those that depend on it.
		schema := derived[len(derived)-1-i]
		statements := fmt.Sprintf("drop schema if exists %s cascade; create schema %s", schema, schema)
		if holds[schema] {
			relations, err := Values[string](ctx, tx, `
				select 'view ' || schema_name || '.' || view_name from duckdb_views() where schema_name = $1 and database_name = current_database()
				union all
				select 'table ' || schema_name || '.' || table_name from duckdb_tables() where schema_name = $1 and database_name = current_database()`, schema)
			if err != nil {
				return err
			}
			statements = s.dropping(relations)
		}
		if statements == "" {
			continue
		}
		if _, err := tx.ExecContext(ctx, statements); err != nil {
			return err
		}
	}
	return nil
}

// dropping are the statements that drop relations, each given as its kind and name.
func (s standing) dropping(relations []string) string {
	var statements []string
	for _, relation := range relations {
		if _, name, _ := strings.Cut(relation, " "); !s[name] {
			statements = append(statements, "drop "+relation)
		}
	}
	return strings.Join(statements, ";\n")
}

// fill computes the kept tables that do not stand, of the runs whose other rows do.
func (s standing) fill(ctx context.Context, db Querier) error {
	all, _ := ofRunsInOrder()
	lacks := func(r relation) bool { return r.kept && !s[r.name] }
	if !slices.ContainsFunc(all, lacks) {
		return nil
	}
	passes, total, err := runsByPass(ctx, db)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "set asof_loop_join_threshold = 0"); err != nil { // see refresh
		return err
	}
	done := 0
	for _, runs := range passes {
		if tell, is := ctx.Value(progressKey{}).(func(done, of int)); is {
			tell(done, total)
		}
		if err := all.narrow(ctx, db, runs); err != nil {
			return err
		}
		if err := all.insert(ctx, db, lacks); err != nil {
			return err
		}
		done += len(runs)
	}
	_, err = db.ExecContext(ctx, "update warehouse.kept set computed_at = now()")
	return err
}

// runsByPass are the runs that have kept rows, so many together as a pass computes.
func runsByPass(ctx context.Context, db Querier) (passes [][]string, runs int, err error) {
	requests := int64(requestsPerPass) // in the last pass
	err = Each(ctx, db, `
		select
			kept.run_id,
			(select count(*) from raw.requests where requests.run_id = kept.run_id)
		from warehouse.kept
		where kept.run_id in (select run_id from raw.runs)
		order by kept.run_id`, nil, func(scan func(...any) error) error {
		var run string
		var its int64
		if err := scan(&run, &its); err != nil {
			return err
		}
		if requests+its > requestsPerPass {
			passes, requests = append(passes, nil), 0
		}
		requests += its
		passes[len(passes)-1] = append(passes[len(passes)-1], run)
		runs++
		return nil
	})
	return passes, runs, err
}
