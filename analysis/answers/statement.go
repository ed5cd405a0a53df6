package answers

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"tidemark/internal/hint"

	"github.com/duckdb/duckdb-go/v2"
)

// allowed says whether a query is one statement that only reads. A warehouse that is
// opened read-only guards itself alone: "copy" writes a file wherever it is told to.
// Reading files stays possible.
func allowed(ctx context.Context, db *sql.DB, query string) error {
	connection, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer connection.Close()
	return connection.Raw(func(raw any) error { return readsOnly(raw.(driver.Conn), query) })
}

func readsOnly(connection driver.Conn, query string) error {
	switch word, rest := firstWord(query); word {
	case "explain": // its own kind says nothing: "explain analyze" runs what it explains
		return readsOnly(connection, explainOptions.ReplaceAllString(rest, ""))
	case "export": // makes its folder while it is prepared
		return noQuery()
	}
	// Not PrepareContext: that runs all statements but the last.
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
		return fmt.Errorf("query: a %T is no statement of DuckDB", prepared)
	}
	kind, err := statement.StatementType()
	if err == nil && kind != duckdb.STATEMENT_TYPE_SELECT { // which describe, show, summarize and pragma table_info are too
		return noQuery()
	}
	return err
}

var (
	beginning      = regexp.MustCompile(`(?s)^(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(\w*)(.*)$`)
	explainOptions = regexp.MustCompile(`(?is)^(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:analyze\b|\([^)]*\b(?:analyze|format)\b[^)]*\))`)
)

// firstWord is the first word after all comments, in lower case, and what follows it.
func firstWord(query string) (word, rest string) {
	parts := beginning.FindStringSubmatch(query)
	return strings.ToLower(parts[1]), parts[2]
}

// wrongQuery tells a query that cannot be meant from one that a file or the machine keeps from its answer.
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

func noQuery() error {
	return hint.Misuse("not a query: only what reads can be asked").
		Hint(`ask with select, from, describe, show, summarize or explain; to keep an answer, redirect "tidemark sql --csv"`)
}
