//go:build duckdb_arrow

package warehouse

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/queries"
)

// derived are the schemas that can be made again at any time, because they hold
// no data of a user.
var derived = []string{"seeds", "macros", "staging", "marts", "checks"}

// part is one thing to make: a seed, a macro or a view.
type part struct {
	relation string // schema.name
	path     string // the file that errors name
	text     string // as it stands in the file
	rows     string // of a seed, as they stand in the file beside it
	isView   bool
	isKept   bool   // a view whose rows are kept in a table, see keep.go
	keptOf   string // what a run must have to have rows in it
	isHeld   bool   // a view whose rows are held in a temporary table while those of kept ones are computed
	create   func(ctx context.Context, tx *sql.Tx) error
}

// rebuild makes seeds, macros, views, comments and those kept tables anew whose SQL has
// changed (renew.go), and stamps the file.
func rebuild(ctx context.Context, tx *sql.Tx, migrated bool) error {
	parts := slices.Concat(seedParts(), macroParts(), knownParts(), viewParts())
	stands, err := unchanged(ctx, tx, parts, migrated)
	if err != nil {
		return err
	}
	if err := build(ctx, tx, parts, stands); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, knownTable); err != nil {
		return err
	}
	if err := comment(ctx, tx); err != nil {
		return err
	}
	if err := guide(ctx, tx); err != nil {
		return fmt.Errorf("guide: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "delete from warehouse.stamp"); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "insert into warehouse.stamp values (?, ?)", queries.Stamp(), time.Now().UTC()); err != nil {
		return err
	}
	if err := recordTexts(ctx, tx, parts); err != nil {
		return err
	}
	if len(stands) == 0 {
		if _, err := tx.ExecContext(ctx, keptTable); err != nil {
			return err
		}
	} else if err := stands.fill(ctx, tx); err != nil {
		return fmt.Errorf("upgrade: %w", err)
	}
	return RefreshWithin(ctx, tx)
}

// build makes parts anew, each after those that it needs, but for the tables that stand.
func build(ctx context.Context, tx *sql.Tx, parts []part, stands standing) error {
	if err := stands.clear(ctx, tx); err != nil {
		return err
	}
	parts, err := ordered(parts)
	if err != nil {
		return err
	}
	var views []part
	for _, p := range parts {
		if stands[p.relation] {
			continue
		}
		if p.isView {
			views = append(views, p) // a seed or a macro never reads from a view
			continue
		}
		if err := p.create(ctx, tx); err != nil {
			return fmt.Errorf("%s: %w", p.path, err)
		}
	}
	return makeViews(ctx, tx, views)
}

var macroName = regexp.MustCompile(`(?i)^create (?:or replace )?(?:macro|function) (macros\.\w+)`)

// macroParts are the statements of all macro files. Each statement is a part of
// its own, because a file may hold several that need what stands in another
// file.
func macroParts() []part {
	var parts []part
	for _, file := range queries.In("macros", ".sql") {
		for _, statement := range queries.Statements(file.Text) {
			relation := file.Path // a statement that makes no macro: it runs after what it names, and nothing waits for it
			code := strings.Join(strings.Fields(queries.WithoutComments(statement)), " ")
			if found := macroName.FindStringSubmatch(code); found != nil {
				relation = found[1]
			}
			parts = append(parts, part{relation: relation, path: file.Path, text: statement, create: run(statement)})
		}
	}
	return parts
}

// knownParts are the tables of the catalogue as it is known with what was taken in, see known.go.
func knownParts() []part {
	var parts []part
	for _, file := range queries.In("warehouse", ".sql") {
		parts = append(parts, part{relation: file.Relation(), path: file.Path, text: file.Text, create: run("create or replace table " + file.Relation() + " as\n" + file.Text)})
	}
	return parts
}

func viewParts() []part {
	var parts []part
	for _, schema := range queries.Views {
		for _, file := range queries.In(schema, ".sql") {
			text := strings.TrimRight(strings.TrimSpace(file.Text), ";")
			parts = append(parts, part{
				relation: file.Relation(), path: file.Path, text: file.Text, isView: true, isKept: file.IsKept(), keptOf: file.KeptOf(), isHeld: file.IsHeld(),
				create: run("create view " + file.Relation() + " as\n" + text),
			})
		}
	}
	return parts
}

func run(statement string) func(context.Context, *sql.Tx) error {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement)
		return err
	}
}

// ordered sorts parts topologically, each after those that its text names.
// Parts that do not need each other keep their order.
func ordered(parts []part) ([]part, error) {
	byName := map[string][]int{} // overloads of a macro share a name
	for i, p := range parts {
		byName[p.relation] = append(byName[p.relation], i)
	}
	const unseen, open, done = 0, 1, 2
	seen := make([]int, len(parts))
	var sorted []part
	var visit func(i int, trail []string) error
	visit = func(i int, trail []string) error {
		p := parts[i]
		trail = append(trail, p.relation)
		switch seen[i] {
		case done:
			return nil
		case open:
			return fmt.Errorf("%s: depends on itself: %s", p.path, strings.Join(trail, " -> "))
		}
		seen[i] = open
		for _, name := range referred(p.text) {
			for _, needed := range byName[name] {
				if name == p.relation {
					continue
				}
				if err := visit(needed, trail); err != nil {
					return err
				}
			}
		}
		seen[i] = done
		sorted = append(sorted, p)
		return nil
	}
	for i := range parts {
		if err := visit(i, nil); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}
