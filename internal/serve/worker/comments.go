//go:build duckdb_arrow

package worker

import (
	"maps"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2/mapping"

	"tidemark/internal/lazy"
)

// readComments keeps what the snapshot says of its columns, by relation. It takes milliseconds, while the process waits for its errand.
func (s *session) readComments() error {
	statement, err := s.prepare("select schema_name || '.' || table_name, column_name, comment from duckdb_columns() where database_name = 'tidemark' and comment is not null")
	if err != nil {
		return err
	}
	defer mapping.DestroyPrepare(&statement)
	rows, err := s.start(statement)
	if err != nil {
		return err
	}
	defer mapping.DestroyResult(&rows.result)
	s.comments = map[string]map[string]string{}
	for {
		batch, err := rows.next()
		if err != nil || batch == nil {
			return err
		}
		relations, columns, comments := batch.Column(0).(*array.String), batch.Column(1).(*array.String), batch.Column(2).(*array.String)
		for i := range int(batch.NumRows()) {
			relation := strings.Clone(relations.Value(i))
			if s.comments[relation] == nil {
				s.comments[relation] = map[string]string{}
			}
			s.comments[relation][strings.Clone(columns.Value(i))] = strings.Clone(comments.Value(i))
		}
		batch.Release()
	}
}

var relationName = lazy.Regexp(`(?i)\b(marts|staging|checks|seeds|raw)"?\."?([a-z0-9_]+)`)

// commentsOn are the comments on the columns of the relations that a query names. Where two of these say something else of a column, it has none.
func (s *session) commentsOn(query string) map[string]string {
	said, differ := map[string]string{}, map[string]bool{}
	for _, name := range relationName().FindAllStringSubmatch(query, -1) {
		for column, comment := range s.comments[strings.ToLower(name[1]+"."+name[2])] {
			differ[column] = differ[column] || said[column] != "" && said[column] != comment
			said[column] = comment
		}
	}
	maps.DeleteFunc(said, func(column, _ string) bool { return differ[column] })
	return said
}
