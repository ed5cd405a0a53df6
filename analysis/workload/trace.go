//go:build duckdb_arrow

package workload

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/analysis/answers"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// A name means one trace, or a collection of traces such as the sessions of a folder. The files of a collection need one clock before they
// can be played together: absolute times if every file has them; otherwise their starts are drawn as a Poisson process at a rate that the
// user must give, because no file says when its session began. A drawn plan says that it was drawn.

// Starts say when the sessions of a collection start if they have no absolute times, as files of a folder whose times each count from
// their own first request.
type Starts struct {
	RatePerS float64 // sessions started a second, as a Poisson process; 0: none are drawn
	Seed     uint64  // of their order and of the gaps between them
}

// trace is what a name refers to: one trace file, or a collection of them.
type trace struct {
	name         string
	members      []member
	isCollection bool
}

// member is one file of it, and when it starts on the common clock.
type member struct {
	source int64
	sha256 string
	start  time.Duration
	at     sql.Null[int64] // Unix nanoseconds of its first arrival; null for relative times
	length time.Duration
}

// traceOf finds a trace or a collection by its name. If both exist, it is the trace.
func traceOf(ctx context.Context, db *sql.DB, name string) (trace, error) {
	t := trace{name: name}
	err := warehouse.Each(ctx, db, `
select
    sources.source_id,
    any_value(sources.sha256),
    any_value(case when sources.is_dated then epoch_us(sources.origin_at) * 1000 end) + min(arrivals.arrival_ns),
    coalesce(max(arrivals.arrival_ns) - min(arrivals.arrival_ns), 0),
    any_value(sources.name <> $1)
from raw.sources
left join raw.arrivals on arrivals.source_id = sources.source_id
where sources.kind = 'arrivals'
    and (sources.name = $1 or sources.collection = $1 and not exists (from raw.sources as named where named.kind = 'arrivals' and named.name = $1))
group by
    sources.source_id,
    sources.name
order by sources.name`, []any{name}, func(scan func(...any) error) error {
		var m member
		err := scan(&m.source, &m.sha256, &m.at, &m.length, &t.isCollection)
		t.members = append(t.members, m)
		return err
	})
	if err != nil {
		return t, fmt.Errorf("source %s: %w", name, err)
	}
	if len(t.members) == 0 {
		return t, unknownSource(ctx, db, name)
	}
	return t, nil
}

// isDated says whether every file has absolute times.
func (t trace) isDated() bool {
	return !slices.ContainsFunc(t.members, func(m member) bool { return !m.at.Valid })
}

// start puts the files of a collection on one clock: their own if they have one, else the starts that are drawn.
func (t trace) start(starts Starts) error {
	switch hasOwn := !t.isCollection || t.isDated(); {
	case hasOwn && starts.RatePerS > 0:
		return hint.Misuse("source %s: --session-rate: its requests have times of their own", t.name).
			Hint("leave it out; --request-rate changes a rate")
	case !t.isCollection:
		return nil
	case hasOwn:
		first := t.members[0].at.V
		for _, m := range t.members {
			first = min(first, m.at.V)
		}
		for i, m := range t.members {
			t.members[i].start = time.Duration(m.at.V - first)
		}
		return nil
	case starts.RatePerS <= 0:
		return hint.Misuse("source %s: its %d sessions have no absolute start", t.name, len(t.members)).
			Hint("say how many start a second, as in --session-rate 0.1; the plan says that they were drawn")
	}
	return t.draw(starts)
}

// draw starts the sessions in a seeded order with exponential gaps (a Poisson process), the first one at 0. The sum of the gaps must fit a
// time.Duration, with room for the sessions' own length.
func (t trace) draw(starts Starts) error {
	random := rand.New(rand.NewPCG(starts.Seed, 0x5e55109))
	random.Shuffle(len(t.members), func(i, j int) { t.members[i], t.members[j] = t.members[j], t.members[i] })
	atS := 0.0
	for i := range t.members {
		t.members[i].start = time.Duration(atS * 1e9)
		atS += random.ExpFloat64() / starts.RatePerS
	}
	if !(atS < math.MaxInt64/2e9) {
		return hint.Misuse("source %s: --session-rate %v: its sessions would start over centuries", t.name, starts.RatePerS).
			Hint("take a higher one")
	}
	return nil
}

// sha256 is the fingerprint of the file, or of the fingerprints of all files in
// the order of their names.
func (t trace) sha256() string {
	if !t.isCollection {
		return t.members[0].sha256
	}
	all := sha256.New()
	for _, m := range t.members {
		all.Write([]byte(m.sha256 + "\n"))
	}
	return hex.EncodeToString(all.Sum(nil))
}

// span is the extent of all files on the common clock. Call start first.
func (t trace) span() span {
	s := span{source: t.name}
	var first sql.Null[int64]
	for _, m := range t.members {
		s.length = max(s.length, m.start+m.length)
		if t.isDated() && (!first.Valid || m.at.V < first.V) {
			first = m.at
		}
	}
	if first.Valid {
		s.begin = new(time.Unix(0, first.V/1000*1000))
	}
	return s
}

// rows is SQL for a relation with the requests of all files: staging.trace_rows with offsets on the common clock.
func (t trace) rows() string {
	if !t.isCollection {
		return "(from staging.trace_rows where source_id = " + strconv.FormatInt(t.members[0].source, 10) + ")"
	}
	var starts []string
	for _, m := range t.members {
		starts = append(starts, fmt.Sprintf("(%d::bigint, %d::bigint)", m.source, int64(m.start)))
	}
	return `(
    select trace_rows.* replace (trace_rows.offset_ns + starts.start_ns as offset_ns)
    from staging.trace_rows
    inner join (values ` + strings.Join(starts, ", ") + `) as starts (source_id, start_ns) on starts.source_id = trace_rows.source_id
)`
}

// traceNames are the names that can be planned from: traces and collections of them.
const traceNames = `
select source_name as name
from staging.sources
where kind in ('arrivals', 'lengths', 'metrics')
union
select collection as name
from staging.sources
where collection is not null
order by name`

// unknownSource is the error for a name that no source or collection has; its hint lists those that a plan can be made from.
func unknownSource(ctx context.Context, db *sql.DB, name string) error {
	return answers.Unknown(ctx, db, "source", name, traceNames, `add one with "tidemark ingest"`)
}
