package ingest

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/duckdb/duckdb-go/v2"

	"tidemark/internal/store/warehouse"
)

// mostBlockUses are measured of a trace, from its start: each costs up to a
// microsecond, and some 40 bytes while it is read.
const mostBlockUses = 1 << 19

// reuse finds how far back each prompt block was last used, exactly: the place of
// the block in the order of last use as its request arrives, the block used last
// being the first. A cache that holds C blocks and evicts the one used longest ago
// (LRU) holds the first C of them, so one pass gives the hit rate of every cache
// size (Mattson et al. 1970, stack distances). The order is kept in a Fenwick tree
// over the uses: a distance is the number of last uses after a place, in
// logarithmic time.
//
// Only the leading blocks of a prompt that are in the cache help, so a block counts
// as no nearer than the blocks before it. As in an engine, the end of a prompt is
// evicted before its start.
//
// A block is looked up once a use, and then goes by its number: the map is most of the cost.
type reuse struct {
	numbers map[uint64]int32 // of the blocks, in the order of their first use
	places  []int32          // of each, its last use's place on the line of uses, the latest at the end
	used    int              // blocks that have a place
	line    []int32          // Fenwick tree: how many blocks have their last use at a place
	end     int32            // next free place
	counts  [66]int64        // uses by distance: [k] up to 2^k; [neverUsed] for the first time
	latest  []int32          // the numbers of one prompt's blocks
}

const (
	neverUsed = 65
	noPlace   = -1
)

// prompt counts one request's blocks, and uses them.
func (r *reuse) prompt(blocks []uint64) {
	furthest := 0
	r.latest = r.latest[:0]
	for _, block := range blocks {
		number, isKnown := r.numbers[block]
		if !isKnown {
			number = int32(len(r.places))
			r.numbers[block], r.places = number, append(r.places, noPlace)
		}
		r.latest = append(r.latest, number)
		if furthest != neverUsed {
			furthest = max(furthest, r.distance(number))
		}
		r.counts[furthest]++
	}
	for i := len(r.latest) - 1; i >= 0; i-- {
		r.use(r.latest[i])
	}
}

// distance is the block's place in the order of last use, as the power of two that
// it is not beyond.
func (r *reuse) distance(number int32) int {
	place := r.places[number]
	if place == noPlace {
		return neverUsed
	}
	from := r.used - int(r.upTo(place)) + 1
	return bits.Len(uint(from - 1))
}

// use makes a block the one that was used last.
func (r *reuse) use(number int32) {
	if place := r.places[number]; place != noPlace {
		r.add(place, -1)
		r.places[number] = noPlace
		r.used--
	}
	if int(r.end) == len(r.line)-1 {
		r.shorten()
	}
	r.places[number] = r.end
	r.used++
	r.add(r.end, 1)
	r.end++
}

// shorten leaves out the places that are not the last use of any block, and makes
// room for as many again.
func (r *reuse) shorten() {
	inOrder := make([]int32, r.end) // the number of each place's block, from 1
	for number, place := range r.places {
		if place != noPlace {
			inOrder[place] = int32(number) + 1
		}
	}
	r.line = make([]int32, max(1<<10, 2*r.used+2))
	r.end = 0
	for _, number := range inOrder {
		if number > 0 {
			r.places[number-1] = r.end
			r.add(r.end, 1)
			r.end++
		}
	}
}

// add changes the Fenwick tree by n at a place.
func (r *reuse) add(place, n int32) {
	for i := int(place) + 1; i < len(r.line); i += i & -i {
		r.line[i] += n
	}
}

// upTo is how many blocks have their last use at a place or before it.
func (r *reuse) upTo(place int32) (n int32) {
	for i := place + 1; i > 0; i -= i & -i {
		n += r.line[i]
	}
	return n
}

// blockDistanceRow is a row of raw.block_distances.
type blockDistanceRow struct {
	UpToBlocks *int64 // nil: never used before
	Uses       int64
}

// rows are the uses by distance, as raw.block_distances has them.
func (r *reuse) rows() []blockDistanceRow {
	var rows []blockDistanceRow
	for k, uses := range r.counts {
		switch {
		case uses == 0:
		case k == neverUsed:
			rows = append(rows, blockDistanceRow{Uses: uses})
		default:
			rows = append(rows, blockDistanceRow{UpToBlocks: new(int64(1) << k), Uses: uses})
		}
	}
	return rows
}

// measureReuse runs once a trace is in.
func (l *fileLoad) measureReuse(ctx context.Context, tx *warehouse.Tx, source int64) error {
	if l.format.Kind != "arrivals" {
		return nil
	}
	note, err := insertDistances(ctx, tx, source)
	if note != "" {
		l.result.Notes = append(l.result.Notes, note)
	}
	return err
}

// insertDistances measures a trace's reuse, if it has prefix blocks. Where that is
// not all of it, the note says so.
func insertDistances(ctx context.Context, tx *warehouse.Tx, source int64) (note string, err error) {
	var uses int64
	err = tx.QueryRow(ctx, "select coalesce(sum(len(blocks)), 0)::bigint from raw.arrivals where source_id = ?", source).Scan(&uses)
	if err != nil || uses == 0 {
		return "", err
	}
	r, requests, measured := &reuse{numbers: map[uint64]int32{}, line: make([]int32, 1<<10)}, 0, 0
	err = eachPrompt(ctx, tx, source, min(1, mostBlockUses/float64(uses)), func(blocks []uint64) bool {
		if measured += len(blocks); measured > mostBlockUses {
			return false
		}
		requests++
		r.prompt(blocks)
		return true
	})
	if err != nil {
		return "", err
	}
	if uses > mostBlockUses {
		note = fmt.Sprintf("reuse with a finite cache was measured for the first %d requests: the trace uses prompt blocks %d times, more than %d",
			requests, uses, mostBlockUses)
	}
	for _, row := range r.rows() {
		err := tx.Exec(ctx, "insert into raw.block_distances (source_id, up_to_blocks, uses) values (?, ?, ?)", source, row.UpToBlocks, row.Uses)
		if err != nil {
			return "", err
		}
	}
	return note, nil
}

// eachPrompt gives the blocks of each request in order of arrival, of about that
// share of them, until it is enough.
func eachPrompt(ctx context.Context, tx *warehouse.Tx, source int64, share float64, give func([]uint64) bool) error {
	return tx.Arrow(func(conn *duckdb.Arrow) error {
		reader, err := conn.QueryContext(ctx, `
			select blocks
			from raw.arrivals
			where source_id = $1
				and len(blocks) > 0
				and ($2 >= 1e0 or arrival_ns <= (select quantile_disc(arrival_ns, least(1e0, 1.25e0 * $2)) from raw.arrivals where source_id = $1))
			order by
				arrival_ns,
				line`, source, share)
		if err != nil {
			return err
		}
		defer reader.Release()
		for reader.Next() {
			if !givePrompts(reader.RecordBatch(), give) {
				return nil
			}
		}
		return reader.Err()
	})
}

// givePrompts hands out the lists of one batch without copying them.
func givePrompts(batch arrow.RecordBatch, give func([]uint64) bool) bool {
	lists := batch.Column(0).(*array.List)
	ids := lists.ListValues().(*array.Uint64).Uint64Values()
	for i := range lists.Len() {
		begin, end := lists.ValueOffsets(i)
		if !give(ids[begin:end]) {
			return false
		}
	}
	return true
}
