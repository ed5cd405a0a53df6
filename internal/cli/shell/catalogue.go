package shell

import (
	"context"
	"database/sql"
	"strings"

	"tidemark/analysis/answers"
	"tidemark/internal/store/warehouse"
)

// thing is what a word can become: a relation, a column, a macro, a keyword or a command.
type thing struct {
	name  string
	about string // one line: what it is, with its unit
}

// catalogue is what there is to ask about, as it was when the warehouse was opened.
type catalogue struct {
	relations []thing // with schema
	macros    []thing // with schema
	columns   map[string][]thing
	groups    map[string]string
}

func readCatalogue(ctx context.Context, db *sql.DB) (catalogue, error) {
	c := catalogue{columns: map[string][]thing{}, groups: map[string]string{}}
	listed, err := answers.Schema(ctx, db, "")
	if err != nil {
		return c, err
	}
	for _, row := range listed.Rows {
		name, _ := row[0].(string)
		comment, _ := row[3].(string)
		one := thing{name, firstSentence(comment)}
		c.groups[name], _ = row[2].(string)
		if row[1] == "macro" {
			c.macros = append(c.macros, one)
		} else {
			c.relations = append(c.relations, one)
		}
	}
	err = warehouse.Each(ctx, db, columnsQuery, nil, func(scan func(...any) error) error {
		var relation, column, kind string
		var comment sql.NullString
		if err := scan(&relation, &column, &kind, &comment); err != nil {
			return err
		}
		about := strings.ToLower(kind)
		if comment.String != "" {
			about += "  " + comment.String
		}
		c.columns[relation] = append(c.columns[relation], thing{column, about})
		return nil
	})
	return c, err
}

const columnsQuery = `
select
    schema_name || '.' || table_name,
    column_name,
    data_type,
    comment
from duckdb_columns()
where schema_name in ('marts', 'staging', 'checks', 'seeds', 'raw')
    and not internal
order by table_oid, column_index`

// firstSentence is what a comment says first. A full stop within a number or a name ends no sentence.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if sentence, _, isFound := strings.Cut(text, ". "); isFound {
		return sentence + "."
	}
	return text
}
