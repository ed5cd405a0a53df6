package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"tidemark/internal/escape"
	"tidemark/internal/serve/worker"
	"tidemark/queries"
)

// relation is one entry of /v1/schema.
type relation struct {
	Name    string   `json:"relation"`
	Kind    string   `json:"kind"`  // table, view or macro
	Group   string   `json:"group"` // of groups; of a table without one the schema
	Comment string   `json:"comment"`
	Columns []column `json:"columns"`
}

type column struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Unit    string `json:"unit,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// guide is /v1/schema: all relations, and the way that "tidemark schema" shows into them.
type guide struct {
	Relations     []*relation `json:"relations"`
	Groups        []group     `json:"groups"`
	StartHere     []string    `json:"start_here"`     // relations
	FirstExamples []string    `json:"first_examples"` // likewise
	Examples      []example   `json:"examples"`
}

type group struct {
	Name     string `json:"name"`
	Question string `json:"question"`
}

type example struct {
	Name     string `json:"name"`
	Group    string `json:"group"`
	Question string `json:"question"`
	Meaning  string `json:"meaning"`
	SQL      string `json:"sql"`
}

// guideTo has the groups and examples of this program, which an older snapshot lacks.
func guideTo(relations []*relation) guide {
	g := guide{Relations: relations, StartHere: queries.StartHere, FirstExamples: queries.ExamplesFirst}
	for _, one := range queries.Groups {
		g.Groups = append(g.Groups, group{one.Name, one.Question})
	}
	for _, one := range queries.Examples() {
		g.Examples = append(g.Examples, example{one.Name, one.Group, one.Question, one.Meaning, one.SQL})
	}
	groups := map[string]string{}
	for _, schema := range append([]string{"seeds"}, queries.Views...) {
		for _, file := range queries.In(schema, ".sql") {
			groups[file.Relation()] = queries.GroupOf(file.Text)
		}
	}
	for _, macro := range queries.Macros() {
		groups[macro.Name] = macro.Group
	}
	for _, r := range relations {
		schema, _, _ := strings.Cut(r.Name, ".")
		r.Group = cmp.Or(groups[r.Name], schema)
	}
	return g
}

// schemaQuery has one row per column, and one per macro. It leaves out views whose name ends in _now, whose rows a kept
// table of the same name holds.
const schemaQuery = `
with relations as (
    select schema_name as room, table_name as name, 'table' as kind, comment
    from duckdb_tables()
    where not internal and database_name = 'tidemark'
    union all
    select schema_name, view_name, 'view', comment
    from duckdb_views()
    where not internal and database_name = 'tidemark' and not ends_with(view_name, '_now')
),

listed as (
    select
        relations.*,
        duckdb_columns.column_index as place,
        duckdb_columns.column_name as "column",
        duckdb_columns.data_type as type,
        duckdb_columns.comment as column_comment
    from relations
    join duckdb_columns()
        on duckdb_columns.database_name = 'tidemark'
        and duckdb_columns.schema_name = relations.room
        and duckdb_columns.table_name = relations.name
    where room in ('marts', 'staging', 'checks', 'seeds', 'raw')
    union all
    select schema_name, function_name, 'macro', comment, 0, null, '(' || array_to_string(parameters, ', ') || ')', null
    from duckdb_functions()
    where schema_name = 'macros' and database_name = 'tidemark'
)

select
    room || '.' || name as relation,
    kind,
    comment,
    "column",
    type,
    column_comment
from listed
order by list_position(['marts', 'staging', 'checks', 'seeds', 'macros', 'raw'], room), name, place`

// schemaCache keeps the schema of one snapshot.
type schemaCache struct {
	mu    sync.Mutex
	of    *snapshot
	text  []byte
	units map[string]string // by the name of a column; of its first relation that has one
}

// serveSchema answers GET /v1/schema.
func (s *Server) serveSchema(w http.ResponseWriter, r *http.Request, asker string) {
	began := time.Now()
	text, _, of, err := s.schemaNow(r.Context(), asker)
	if err != nil {
		s.refuse(w, s.explain(r.Context(), err), began)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Tidemark-Snapshot", of.publishedAt())
	_, _ = w.Write(text)
}

// schemaNow is the schema of the newest snapshot, and the units of its columns.
func (s *Server) schemaNow(ctx context.Context, asker string) (text []byte, units map[string]string, of *snapshot, err error) {
	newest, _ := s.snapshots.newest()
	s.schema.mu.Lock()
	defer s.schema.mu.Unlock()
	if s.schema.of != newest {
		rows, err := s.collect(ctx, asker, worker.Errand{SQL: schemaQuery, Form: worker.JSON})
		if err != nil {
			return nil, nil, nil, err
		}
		relations, err := relationsOf(rows.body.Bytes())
		if err != nil {
			return nil, nil, nil, err
		}
		text, err := json.MarshalIndent(guideTo(relations), "", " ")
		if err != nil {
			return nil, nil, nil, err
		}
		s.schema.of, s.schema.text, s.schema.units = newest, text, unitsOf(relations)
	}
	return s.schema.text, s.schema.units, newest, nil
}

func unitsOf(relations []*relation) map[string]string {
	units := map[string]string{}
	for _, r := range relations {
		for _, c := range r.Columns {
			units[c.Name] = cmp.Or(units[c.Name], c.Unit)
		}
	}
	return units
}

// relationsOf groups the rows of schemaQuery by relation.
func relationsOf(text []byte) ([]*relation, error) {
	var rows []struct {
		Relation, Kind, Comment, Column, Type string
		ColumnComment                         string `json:"column_comment"`
	}
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, err
	}
	var all []*relation
	for _, row := range rows {
		if len(all) == 0 || all[len(all)-1].Name != row.Relation {
			comment := row.Comment
			if row.Kind == "macro" {
				comment = strings.TrimSpace(row.Type + " " + comment)
			}
			all = append(all, &relation{Name: row.Relation, Kind: row.Kind, Comment: escape.Controls(comment, "\n"), Columns: []column{}})
		}
		if last := all[len(all)-1]; row.Column != "" {
			comment := escape.Controls(row.ColumnComment, "\n")
			last.Columns = append(last.Columns, column{Name: row.Column, Type: row.Type, Unit: queries.UnitOf(row.Column, comment), Comment: comment})
		}
	}
	return all, nil
}
