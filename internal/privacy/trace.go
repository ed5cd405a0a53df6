//go:build duckdb_arrow

package privacy

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/store/warehouse"
)

// Row is one request. Names are indices into the trace's lists, which keeps a
// row small: a week of traffic has tens of millions.
type Row struct {
	At            int64   // nanoseconds, since 1970 or the trace's own zero
	Input, Output int64   // tokens
	Session       int32   // in Trace.Sessions; 0: none, as for the next three
	Parent        int32   // session that started this one
	Tenant        int32   // of Trace.Tenants
	Class         int32   // of Trace.Classes
	Turn          int32   // -1: not known
	ParentTurn    int32   // -1: not known
	Failed        int8    // 0: no, 1: yes, -1: not known
	ThinkS        float64 // NaN: not known
	Blocks        []uint64
}

// Trace is the requests of a source in order of time. The first entry of each
// list of names is "", for none.
type Trace struct {
	Rows        []Row
	IsDated     bool
	Sources     int // files that it came from
	BlockTokens int64
	Sessions    []string
	Tenants     []string
	Classes     []string
}

// names numbers the different names that occur.
type names struct {
	list   []string
	places map[string]int32
}

func newNames() *names { return &names{[]string{""}, map[string]int32{"": 0}} }

func (n *names) place(name string) int32 {
	if place, known := n.places[name]; known {
		return place
	}
	place := int32(len(n.list))
	name = strings.Clone(name) // the batch that holds it is about to be freed
	n.list, n.places[name] = append(n.list, name), place
	return place
}

// builder collects a trace row by row.
type builder struct {
	trace                      Trace
	sessions, tenants, classes *names
}

func newBuilder() *builder {
	return &builder{sessions: newNames(), tenants: newNames(), classes: newNames()}
}

func (b *builder) done() *Trace {
	b.trace.Sessions, b.trace.Tenants, b.trace.Classes = b.sessions.list, b.tenants.list, b.classes.list
	slices.SortStableFunc(b.trace.Rows, func(x, y Row) int { return cmp.Compare(x.At, y.At) })
	return &b.trace
}

const traceQuery = `
select
    arrivals.arrival_ns + case when sources.is_dated then epoch_us(sources.origin_at) * 1000 else 0 end as at_ns,
    arrivals.input_tokens,
    arrivals.output_tokens,
    coalesce(arrivals.turn, -1)::bigint as turn,
    coalesce(details.parent_turn, -1)::bigint as parent_turn,
    coalesce(details.is_failed::bigint, -1) as failed,
    coalesce(arrivals.session_id, '') as session,
    coalesce(details.parent_session_id, '') as parent,
    coalesce(details.tenant, '') as tenant,
    coalesce(arrivals.class, '') as class,
    coalesce(details.think_s, 'nan'::double) as think_s,
    arrivals.blocks
from raw.arrivals
inner join raw.sources on sources.source_id = arrivals.source_id
left join raw.arrival_details as details on details.source_id = arrivals.source_id and details.line = arrivals.line
where sources.name = $1 or sources.collection = $1
order by at_ns, arrivals.source_id, arrivals.line`

// read reads the arrivals of a source, or of all sources in a collection.
func read(ctx context.Context, w *warehouse.Warehouse, name string) (*Trace, error) {
	b := newBuilder()
	var blockTokens sql.NullInt64
	err := w.DB().QueryRowContext(ctx, `
		select bool_and(is_dated), max(block_tokens), count(*)
		from raw.sources
		where kind = 'arrivals' and (name = $1 or collection = $1)`, name).Scan(&b.trace.IsDated, &blockTokens, &b.trace.Sources)
	if err != nil {
		return nil, err
	}
	b.trace.BlockTokens = blockTokens.Int64
	err = w.Arrow(ctx, func(conn *duckdb.Arrow) error {
		reader, err := conn.QueryContext(ctx, traceQuery, name)
		if err != nil {
			return err
		}
		defer reader.Release()
		for reader.Next() {
			b.decode(reader.RecordBatch())
		}
		return reader.Err()
	})
	return b.done(), err
}

// decode reads a batch of traceQuery by the positions of its columns.
func (b *builder) decode(batch arrow.RecordBatch) {
	whole := func(column, row int) int64 { return batch.Column(column).(*array.Int64).Value(row) }
	text := func(column, row int) string { return batch.Column(column).(*array.String).Value(row) }
	lists := batch.Column(11).(*array.List)
	ids := lists.ListValues().(*array.Uint64).Uint64Values()
	for i := range int(batch.NumRows()) {
		row := Row{
			At: whole(0, i), Input: whole(1, i), Output: whole(2, i),
			Turn: int32(whole(3, i)), ParentTurn: int32(whole(4, i)), Failed: int8(whole(5, i)),
			Session: b.sessions.place(text(6, i)), Parent: b.sessions.place(text(7, i)),
			Tenant: b.tenants.place(text(8, i)), Class: b.classes.place(text(9, i)),
			ThinkS: batch.Column(10).(*array.Float64).Value(i),
		}
		if lists.IsValid(i) {
			begin, end := lists.ValueOffsets(i)
			row.Blocks = slices.Clone(ids[begin:end])
		}
		b.trace.Rows = append(b.trace.Rows, row)
	}
}

// roots are, for each session, the session at the start of its chain of
// parents: all sub-agents of a conversation belong to one user.
func (t *Trace) roots() []int32 {
	parent := make([]int32, len(t.Sessions))
	for _, row := range t.Rows {
		if row.Parent != 0 && row.Parent != row.Session {
			parent[row.Session] = row.Parent
		}
	}
	roots := make([]int32, len(parent))
	for session := range roots {
		at := int32(session)
		for range 16 { // deeper than any file nests; a file with a cycle ends here too
			if parent[at] == 0 {
				break
			}
			at = parent[at]
		}
		roots[session] = at
	}
	return roots
}

// users numbers the user of each row: its tenant, or the root of its session;
// -1 for a row with neither, which counts as a user of its own. some reports
// whether any row has a user.
func (t *Trace) users() (users []int32, some bool) {
	roots := t.roots()
	users = make([]int32, len(t.Rows))
	for i, row := range t.Rows {
		switch {
		case row.Tenant != 0 && t.Tenants[row.Tenant] != other:
			users[i], some = row.Tenant, true
		case row.Session != 0:
			users[i], some = int32(len(t.Tenants))+roots[row.Session], true
		default:
			users[i] = -1
		}
	}
	return users, some
}

// other is the name of classes and tenants that too few requests have.
const other = "other"

const (
	second = int64(time.Second)
	minute = 60 * second
	hour   = 60 * minute
)

// floorTo is the last multiple of step at or before an instant.
func floorTo(at, step int64) int64 {
	rest := at % step
	if rest < 0 {
		rest += step
	}
	return at - rest
}
