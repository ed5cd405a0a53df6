package shell

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"tidemark/analysis/answers"
	"tidemark/internal/cli/tables"
	"tidemark/internal/deployment"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
)

// Limits are what a question may take.
type Limits struct {
	MemoryBytes float64       // 0: half of the machine's
	Files       bool          // it may read files
	Timeout     time.Duration // 0: no limit
}

// Ask runs a question in a warehouse that was opened for it, and prints rows as they come. A query may come from anywhere, so it
// is confined first; a warehouse cannot be released from this, so it must be closed afterwards. tell gets a warning about figures of
// different meaning.
func Ask(ctx context.Context, w *warehouse.Warehouse, query string, limits Limits, rows tables.Writer, tell func(string)) error {
	if mixed, err := answers.MixedDefinitions(ctx, w.DB(), query); err == nil && mixed != "" {
		tell("note: " + mixed)
	}
	if limits.MemoryBytes == 0 {
		text, err := w.MemoryLimit(ctx)
		if err != nil {
			return err
		}
		limit, isSize := deployment.Bytes(text)
		if !isSize {
			return fmt.Errorf("sql: DuckDB says %q for the memory it may take", text)
		}
		limits.MemoryBytes = limit * 50 / 80 // DuckDB's limit is 80 % of memory; a query gets 50 %
	}
	if err := w.Confine(ctx, int64(limits.MemoryBytes), limits.Files); err != nil {
		return err
	}
	err := answers.Stream(ctx, w.DB(), query, rows.Begin, rows.Row)
	if enough, canEnd := rows.(interface{ Enough() error }); canEnd && errors.Is(err, tables.ErrEnough) {
		return enough.Enough()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("sql: %w", queryError(ctx, w, err, limits.MemoryBytes)), rows.Flush())
	}
	return rows.End()
}

// queryError says in the user's words what stopped a query.
func queryError(ctx context.Context, w *warehouse.Warehouse, err error, memory float64) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "Out of Memory Error"):
		return hint.Errorf("the query needs more than %s of memory, all that it may take (--memory)", show.Scaled(memory, "B")).
			Hint("ask for less at once (fewer columns, a shorter window, no order by), or allow more with --memory %s", show.Scaled(2*memory, "B"))
	case strings.Contains(text, "Permission Error") && strings.Contains(text, "disabled by configuration"):
		return hint.Misuse("the query reads a file, which is not allowed").Hint("--files allows it")
	case missingFile.MatchString(text):
		return hint.Misuse("%w", err).Hint(`"tidemark schema" lists the relations; --files lets a query read a file`)
	}
	if found := missingName.FindStringSubmatch(text); found != nil {
		if meant := meantRelation(ctx, w, text, found[1]); meant != "" {
			return hint.Misuse("%w", err).Hint("%s", meant)
		}
	}
	if short := answers.WithoutOwnNames(text); short != text {
		return hint.Misuse("%s", short).Hint(`"tidemark schema" lists what there is to ask`)
	}
	return err
}

var (
	// missingFile recognises DuckDB's message for a file name in place of a table.
	missingFile = regexp.MustCompile(`Table with name \S*[/.]\S* does not exist`)
	// missingName recognises those for a relation or a macro.
	missingName = regexp.MustCompile(`(?:Table(?: Function)?|Scalar Function|Macro Function|View) with name "?(\w+)"? does not exist`)
	// quotedLine is the line of the query that DuckDB shows below its message.
	quotedLine = regexp.MustCompile(`(?s)LINE \d+: (.*?)\n`)
)

// meantRelation is a hint with the relations that a missing one resembles. DuckDB's message has the name without its schema; the line
// of the query below it has both.
func meantRelation(ctx context.Context, w *warehouse.Warehouse, text, name string) string {
	if line := quotedLine.FindStringSubmatch(text + "\n"); line != nil {
		if full := regexp.MustCompile(`\w+\.` + regexp.QuoteMeta(name) + `\b`).FindString(line[1]); full != "" {
			name = full
		}
	}
	table, err := answers.Schema(ctx, w.DB(), name)
	if err == nil && table.Name != "" && table.Name != name { // it is there, in a schema
		return "did you mean " + table.Name + "?"
	}
	return hint.Of(err)
}
