package answers

import (
	"context"
	"database/sql"
	"strings"

	"tidemark/internal/hint"
)

// Schema lists what there is to ask: all relations and macros, or, for one of them, its columns, or its parameters and definition.
func Schema(ctx context.Context, db *sql.DB, relation string) (Table, error) {
	if relation == "" {
		return Ask(ctx, db, relationsQuery)
	}
	table, err := Ask(ctx, db, columnsQuery, relation)
	if err != nil {
		return Table{}, err
	}
	if len(table.Rows) == 0 {
		table, err = macro(ctx, db, relation)
		if err != nil || len(table.Rows) > 0 {
			return table, err
		}
		return Table{}, Unknown(ctx, db, "relation", relation, relationNames, "")
	}
	table.Name = relation
	table.Comment, err = Comment(ctx, db, relation)
	return table, err
}

// macro is a macro's parameters and definition; empty if there is no such macro.
func macro(ctx context.Context, db *sql.DB, name string) (Table, error) {
	table, err := Ask(ctx, db, macroQuery, name)
	table.Name = name
	return table, err
}

// macroQuery has one row per parameter, then the comment and the definition.
const macroQuery = `
with macro as (
    select
        parameters,
        comment,
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
    select 'definition', macro_definition, 1001 from macro
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
    relation,
    kind,
    comment
from (` + relations + `
    union all
    select
        schema_name || '.' || function_name,
        'macro',
        '(' || array_to_string(parameters, ', ') || ')'
    from duckdb_functions()
    where schema_name = 'macros'
)
order by
    list_position(['marts', 'staging', 'checks', 'seeds', 'macros', 'raw'], split_part(relation, '.', 1)),
    relation`

const relationNames = `select relation from (` + relations + `) order by relation`

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

// Comment is what the header of a relation's file says before its columns; empty where there is none.
func Comment(ctx context.Context, db *sql.DB, relation string) (string, error) {
	var comment sql.NullString
	err := db.QueryRowContext(ctx, "select comment from ("+relations+") where relation = ?", relation).Scan(&comment)
	return comment.String, err
}

// Described fills in a table's comments from the relation whose columns it shows.
func Described(ctx context.Context, db *sql.DB, table Table, relation string) (Table, error) {
	about, err := Schema(ctx, db, relation)
	if err != nil {
		return table, err
	}
	comments := map[any]any{}
	for _, row := range about.Rows {
		comments[row[0]] = row[2]
	}
	for i, column := range table.Columns {
		table.Columns[i].Comment, _ = comments[column.Name].(string)
	}
	table.Name, table.Comment = relation, about.Comment
	return table, nil
}

// Unknown is the error for a name that is not there; its hint has the nearest names or those that there are. names is a query with one
// column, otherwise what else the user can do.
func Unknown(ctx context.Context, db *sql.DB, thing, name, names, otherwise string) error {
	table, err := Ask(ctx, db, names)
	if err != nil {
		return err
	}
	var known []string
	for _, row := range table.Rows {
		known = append(known, row[0].(string))
	}
	todo := hint.Known(thing, known, name)
	switch {
	case otherwise == "":
	case strings.HasSuffix(todo, "?"):
		todo += " (" + otherwise + ")"
	default:
		todo += "; " + otherwise
	}
	return hint.Misuse("no %s named %q", thing, name).Hint("%s", todo)
}
