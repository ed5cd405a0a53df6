package answers

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"tidemark/internal/hint"
	"tidemark/internal/lazy"

	"github.com/duckdb/duckdb-go/v2"
)

// readsOnly is nil for a query that is one statement and only reads. Opening the warehouse read-only protects only the warehouse itself:
// "copy" still writes a file wherever it is told to. Reading files stays possible. It lets DuckDB parse the query and looks at the kind of
// statement that it found, because a list of forbidden words would never be complete.
func readsOnly(connection driver.Conn, query string) error {
	switch word, rest := firstWord(query); word {
	case "explain": // its kind is always "explain", but "explain analyze" runs the statement: look at that
		return readsOnly(connection, explainOptions().ReplaceAllString(rest, ""))
	case "export": // creates its folder already while it is prepared
		return noQuery()
	}
	if Effect(query) != "" {
		return noQuery()
	}
	// Not PrepareContext: the driver would run all statements except the last.
	prepared, err := connection.Prepare(query)
	if err != nil && strings.Contains(err.Error(), "multi-statement") {
		return hint.Misuse("more than one statement in a query").
			Hint(`ask one at a time; "pivot" counts as several unless it names its values: on x in ('a', 'b')`)
	}
	if err != nil {
		return wrongQuery(err)
	}
	defer prepared.Close()
	statement, isDuckDB := prepared.(*duckdb.Stmt)
	if !isDuckDB {
		return fmt.Errorf("query: a %T is not a DuckDB statement", prepared)
	}
	kind, err := statement.StatementType()
	if err == nil && kind != duckdb.STATEMENT_TYPE_SELECT { // describe, show, summarize and pragma table_info are of this kind too
		return noQuery()
	}
	return err
}

var (
	beginning      = lazy.Regexp(`(?s)^(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)(.*)$`)
	explainOptions = lazy.Regexp(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:analyze\b|\([^)]*\b(?:analyze|format)\b[^)]*\))`)
)

// showTables recognises DuckDB's statement for the tables of the schema main, in which a warehouse has none.
var showTables = lazy.Regexp(`(?i)^\s*show\s+tables\s*;?\s*$`)

// Meant is the query that a person means: "show tables" lists all that there is.
func Meant(query string) string {
	if !showTables().MatchString(query) {
		return query
	}
	return "select relation as name, kind from (" + relations + ") where not ends_with(relation, '_now') order by relation"
}

// ownNames recognises DuckDB's guess at a name where it guesses tables of its own.
var ownNames = lazy.Regexp(`\n?Did you mean "(?:pg_|duckdb_|sqlite_|information_schema|system\.|temp\.)[^"]*"\?`)

// WithoutOwnNames leaves DuckDB's guess out of its message where no relation of the warehouse is meant.
func WithoutOwnNames(message string) string { return ownNames().ReplaceAllString(message, "") }

// firstWord is the first word after all comments, in lower case, and what follows it.
func firstWord(query string) (word, rest string) {
	parts := beginning().FindStringSubmatch(query)
	return strings.ToLower(parts[1]), parts[2]
}

// wrongQuery marks an error as the user's when the query itself is wrong. A missing file or too little memory is not the user's SQL.
func wrongQuery(err error) error {
	var of *duckdb.Error
	if !errors.As(err, &of) {
		return err
	}
	switch of.Type {
	case duckdb.ErrorTypeParser, duckdb.ErrorTypeSyntax, duckdb.ErrorTypeBinder, duckdb.ErrorTypeCatalog:
		return hint.Misuse("%w", err).Hint(`"tidemark schema" lists the relations, "tidemark schema RELATION" its columns`)
	}
	return err
}

// noQuery is the error for a statement that does not read.
func noQuery() error {
	return hint.Misuse("not a query: only statements that read can be asked").
		Hint(`ask with select, from, describe, show, summarize or explain; to keep an answer, redirect "tidemark sql --csv"`)
}
