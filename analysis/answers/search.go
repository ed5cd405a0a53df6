package answers

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"tidemark/internal/hint"
)

// Word is something that has a name and a meaning: a flag, which the command line knows and no warehouse.
type Word struct{ Kind, Name, Where, Meaning string }

// kindsOfWords in the order of an answer: what explains most comes first.
var kindsOfWords = []string{"word", "flag", "metric", "relation", "macro", "column"}

// Search finds what has a text in its name, and behind it what has it in its meaning: words of the glossary, metrics of tools and servers, relations,
// macros, columns, and the flags that are handed over. Hyphens, underscores and blanks are the same. A column that several relations have is one row.
func Search(ctx context.Context, db *sql.DB, text string, flags []Word) (Table, error) {
	found, err := Ask(ctx, db, wordsQuery)
	if err != nil {
		return found, err
	}
	for _, f := range flags {
		found.Rows = append(found.Rows, []any{"flag", f.Name, f.Where, f.Meaning})
	}
	wanted := loosely(text)
	if strings.TrimSpace(wanted) == "" {
		return found, hint.Misuse("there is no word to search for").Hint("tidemark schema --search max-num-seqs")
	}
	place := func(row []any) int { // 0: the name is that, 1: it holds it, 2: the meaning does; -1: neither
		name, _ := row[1].(string)
		meaning, _ := row[3].(string)
		switch name := loosely(name); {
		case name == wanted:
			return 0
		case strings.Contains(name, wanted):
			return 1
		case strings.Contains(loosely(meaning), wanted):
			return 2
		}
		return -1
	}
	found.Rows = slices.DeleteFunc(found.Rows, func(row []any) bool { return place(row) < 0 })
	slices.SortStableFunc(found.Rows, func(a, b []any) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(slices.Index(kindsOfWords, a[0].(string)), slices.Index(kindsOfWords, b[0].(string))))
	})
	if len(found.Rows) == 0 {
		return found, hint.Misuse("nothing is called %q, and no meaning has it", text).Hint(`part of a word is enough: "tidemark schema --search prefix"`)
	}
	return found, nil
}

// loosely is a text without what tells spellings of one word apart.
func loosely(text string) string {
	return strings.ToLower(strings.TrimLeft(strings.NewReplacer("-", " ", "_", " ").Replace(text), " "))
}

// wordsQuery has one row for each thing with a name.
const wordsQuery = `
with words as (
    select 'word' as kind, word as name, held_in as place, meaning, seq from seeds.glossary
    union all
    select 'metric', name, tool, meaning, 0 from seeds.definitions
    union all
    select 'metric', metric, quantity, kind || '; ' || source, 1 from seeds.metric_names
    union all
    select kind, relation, "group", comment, 0 from (` + relationsQuery + `)
    union all
    select
        'column',
        column_name,
        string_agg(schema_name || '.' || table_name, ', ' order by schema_name, table_name),
        comment,
        0
    from duckdb_columns()
    where not internal
        and schema_name in ('raw', 'seeds', 'staging', 'marts', 'checks')
    group by column_name, comment
)

select
    case kind when 'table' then 'relation' when 'view' then 'relation' else kind end as kind,
    name,
    place as "where",
    meaning
from words
order by seq, name, place`
