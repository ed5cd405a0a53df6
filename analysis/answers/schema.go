package answers

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/queries"
)

// Schema lists what there is to ask: all relations and macros, those of one group or of one schema, or, for one relation or macro, its columns, or its
// parameters and definition. A name may lack its schema where only one relation or macro has it.
func Schema(ctx context.Context, db *sql.DB, name string) (Table, error) {
	if name == "" {
		return Ask(ctx, db, relationsQuery)
	}
	if _, is := Group(name); is {
		return Ask(ctx, db, "from ("+relationsQuery+`) where "group" = ?`, name)
	}
	if name == "macros" {
		return Ask(ctx, db, "select listed.* from ("+relationsQuery+`) as listed left join warehouse.groups on groups.name = listed."group" where kind = 'macro' order by groups.place, relation`)
	}
	if slices.Contains([]string{"raw", "seeds", "staging", "marts", "checks"}, name) {
		return Ask(ctx, db, "from ("+relationsQuery+`) where starts_with(relation, ? || '.')`, name)
	}
	relation, err := fullName(ctx, db, name)
	if err != nil {
		return Table{}, err
	}
	if strings.HasPrefix(relation, "macros.") {
		table, err := Ask(ctx, db, macroQuery, relation)
		table.Name = relation
		return columnsApart(table), err
	}
	table, err := Ask(ctx, db, columnsQuery, relation)
	if err != nil {
		return Table{}, err
	}
	table.Name = relation
	table.Comment, err = comment(ctx, db, relation)
	return table, err
}

// columnsApart gives the columns that a macro's comment describes, in indented lines, rows of their own.
func columnsApart(table Table) Table {
	var rows [][]any
	for _, row := range table.Rows {
		text, isText := row[1].(string)
		if row[0] != "comment" || !isText {
			rows = append(rows, row)
			continue
		}
		about, columns, name := "", [][]any{}, 0 // name: where names of columns begin
		for line := range strings.Lines(text) {
			words := strings.TrimSpace(line)
			switch indent := len(line) - len(strings.TrimLeft(line, " ")); {
			case indent < 2 && len(columns) == 0:
				about = strings.TrimSpace(about + "\n" + words)
			case len(columns) > 0 && indent != name: // goes on with the one before
				last := columns[len(columns)-1]
				last[1] = last[1].(string) + " " + words
			default:
				name = indent
				called, means, _ := strings.Cut(words, "  ")
				columns = append(columns, []any{"column", called + ": " + strings.TrimSpace(means)})
			}
		}
		rows = append(append(rows, []any{"comment", about}), columns...)
	}
	table.Rows = rows
	return table
}

// Group is the group of that name.
func Group(name string) (queries.Group, bool) {
	if place := queries.GroupPlace(name); place < len(queries.Groups) {
		return queries.Groups[place], true
	}
	return queries.Group{}, false
}

// fullName is the relation or macro that a name means. A name that none has is an error, with those that it resembles.
func fullName(ctx context.Context, db *sql.DB, name string) (string, error) {
	table, err := Ask(ctx, db, namesQuery)
	if err != nil {
		return "", err
	}
	var full, bare, found []string
	for _, row := range table.Rows {
		known := row[0].(string)
		_, rest, _ := strings.Cut(known, ".")
		full, bare = append(full, known), append(bare, rest)
		if known == name {
			return name, nil
		}
		if rest == name {
			found = append(found, known)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", hint.Misuse("%q is in more than one schema", name).Hint("name one of %s", strings.Join(found, ", "))
	}
	columns, err := Ask(ctx, db, "select schema_name || '.' || table_name, column_name from duckdb_columns() where contains(column_name, ?) and not internal and schema_name <> 'main' order by all limit 5", name)
	if err != nil {
		return "", err
	}
	var having []string
	for _, row := range columns.Rows {
		having = append(having, fmt.Sprintf("%s.%s", row...))
	}
	if isWord := func(known string) bool { return strings.Contains(known, name) }; len(having) > 0 && !slices.ContainsFunc(bare, isWord) {
		return "", hint.Misuse("no relation, macro or group named %q", name).Hint("columns with that word: %s", strings.Join(having, ", "))
	}
	if meant := MeantRelation(full, bare, name); meant != "" {
		return "", hint.Misuse("no relation named %q", name).Hint("%s", meant)
	}
	return "", hint.Misuse("no relation, macro or group named %q", name).Hint(`"tidemark schema" lists them`)
}

// MeantRelation is a hint with the relations that a name resembles; empty if there are none. A name with a wrong schema resembles those
// that are alike without it.
func MeantRelation(full, bare []string, name string) string {
	_, rest, hasSchema := strings.Cut(name, ".")
	if !hasSchema {
		rest = name
	}
	if i := slices.Index(bare, rest); i >= 0 {
		return "did you mean " + full[i] + "?"
	}
	if !hasSchema {
		return hint.DidYouMean(bare, rest)
	}
	var alike []string // the schema, which is always alike, counts for nothing
	for _, one := range full {
		if schema, relation, _ := strings.Cut(one, "."); strings.HasPrefix(name, schema+".") && hint.DidYouMean([]string{relation}, rest) != "" {
			alike = append(alike, one)
		}
	}
	if meant := hint.DidYouMean(alike, name); meant != "" {
		return meant
	}
	return hint.DidYouMean(bare, rest)
}

// namesQuery has the names of all relations and macros.
const namesQuery = `
select relation from (` + relations + `)
union
select schema_name || '.' || function_name from duckdb_functions() where schema_name = 'macros'
order by relation`

// macroQuery has one row per parameter, then the comment, an example and the definition.
const macroQuery = `
with macro as (
    select
        parameters,
        split_part(comment, chr(10) || 'Example: ', 1) as comment,
        nullif(split_part(comment, chr(10) || 'Example: ', 2), '') as example,
        macro_definition
    from duckdb_functions()
    where schema_name = 'macros'
        and schema_name || '.' || function_name = ?
),

parts as (
    select
        'parameter' as part,
        unnest(parameters) as text,
        generate_subscripts(parameters, 1) as place
    from macro
    union all
    select 'comment', comment, 1000 from macro
    union all
    select 'example', example, 1001 from macro
    union all
    select 'definition', macro_definition, 1002 from macro
)

select
    part,
    text
from parts
where text is not null
order by place`

// relations lists tables and views. Marts are either: those that are kept per run are tables.
const relations = `
    select
        schema_name || '.' || table_name as relation,
        'table' as kind,
        comment
    from duckdb_tables()
    where not internal
        and schema_name in ('raw', 'seeds', 'staging', 'marts')
    union all
    select
        schema_name || '.' || view_name,
        'view',
        comment
    from duckdb_views()
    where not internal
        and schema_name in ('staging', 'marts', 'checks')`

// relationsQuery lists relations and macros, what users ask most first.
const relationsQuery = `
select
    listed.relation,
    kind,
    coalesce("group", split_part(listed.relation, '.', 1)) as "group",
    comment,
    columns
from (` + relations + `
    union all
    select
        schema_name || '.' || function_name,
        'macro',
        '(' || array_to_string(parameters, ', ') || ') ' || coalesce(comment, '')
    from duckdb_functions()
    where schema_name = 'macros'
) as listed
left join warehouse.catalogue using (relation)
left join (
    select
        schema_name || '.' || table_name as relation,
        string_agg(column_name, ', ' order by column_index) as columns
    from duckdb_columns()
    where not internal
    group by all
) as described using (relation)
order by
    list_position(['marts', 'staging', 'checks', 'seeds', 'macros', 'raw'], split_part(listed.relation, '.', 1)),
    listed.relation`

// columnsQuery has the columns of one relation with their comments, which come from the header of its file.
const columnsQuery = `
select
    column_name as "column",
    data_type as type,
    comment
from duckdb_columns()
where schema_name || '.' || table_name = ?
    and not internal
order by column_index`

// comment is what the header of a relation's file says before its columns; empty where there is none.
func comment(ctx context.Context, db *sql.DB, relation string) (string, error) {
	var comment sql.NullString
	err := db.QueryRowContext(ctx, "select comment from ("+relations+") where relation = ?", relation).Scan(&comment)
	return comment.String, err
}

// Unknown is the error for a name that is not there, or that is of something else; its hint has the nearest names or those that there are.
// names is a query with one column, otherwise what else the user can do.
func Unknown(ctx context.Context, db *sql.DB, thing, name, names, otherwise string) error {
	table, err := Ask(ctx, db, names)
	if err != nil {
		return err
	}
	todo := hint.Known(thing, table.FirstColumn(), name)
	switch {
	case otherwise == "":
	case strings.HasSuffix(todo, "?"):
		todo += " (" + otherwise + ")"
	default:
		todo += "; " + otherwise
	}
	what, err := whatIs(ctx, db, thing, name)
	switch {
	case err != nil:
		return err
	case what == "":
		return hint.Misuse("no %s named %q", thing, name).Hint("%s", todo)
	case len(table.Rows) == 0:
		todo = "tidemark sources " + escape.Shell(name)
	}
	return hint.Misuse("%s is no %s: it is %s", name, thing, what).Hint("%s", todo)
}

// kindsOfSources in words, where "a source of" and the kind are none.
var kindsOfSources = map[string]string{
	"arrivals": "a trace", "lengths": "histograms of lengths", "metrics": "metrics of servers or GPUs", "results": "figures of another tool",
	"folder": "a results folder", "capacity": "a search for capacity", "run": "a run",
}

// whatIs says what has a name that is not that of a run or source of the kind that was wanted; empty: nothing has it.
func whatIs(ctx context.Context, db *sql.DB, thing, name string) (string, error) {
	if !slices.Contains([]string{"run", "source", "trace", "subject", "run or results folder"}, thing) {
		return "", nil
	}
	found, err := Ask(ctx, db, "select kind, format from staging.sources where source_name = ? and kind <> 'run' union all select 'run', '' from staging.runs where run_id = ? limit 1", name, name)
	if err != nil || len(found.Rows) == 0 {
		return "", err
	}
	kind, format := found.Rows[0][0].(string), found.Rows[0][1].(string)
	if kind == "run" {
		return kindsOfSources[kind], nil
	}
	return fmt.Sprintf("%s (%s)", cmp.Or(kindsOfSources[kind], "a source of "+kind), format), nil
}
