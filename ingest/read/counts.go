package read

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tidemark/internal/hint"
)

// TooManyRejects refuses a file of which a larger share than allowed was rejected.
// The hint says the share that would take it in.
func TooManyRejects(sum Counts, allowed float64) error {
	ratio := float64(sum.Rejected) / float64(max(sum.Read, 1))
	switch {
	case sum.Rejected == 0:
		return nil
	case sum.Kept == 0:
		return fmt.Errorf("no row can be read: %s", FirstRejects(sum.Rejects))
	case ratio <= allowed:
		return nil
	}
	return hint.Errorf("%d of %d rows rejected, more than %g of them: %s", sum.Rejected, sum.Read, max(allowed, 0), FirstRejects(sum.Rejects)).
		Hint("mend the file, or take it in without these rows: --max-rejected %.2g", ratio*1.1)
}

// FirstRejects names the first few: where and why, never the text.
func FirstRejects(rejects []Reject) string {
	const few = 3
	var parts []string
	for _, r := range rejects[:min(len(rejects), few)] {
		part := fmt.Sprintf("line %d: ", r.Line)
		if r.Column != "" {
			part += r.Column + ": "
		}
		parts = append(parts, part+r.Reason)
	}
	if len(rejects) > few {
		parts = append(parts, "...")
	}
	return strings.Join(parts, "; ")
}

// Batch is what a block came to: read = rows of the record + rejects, unless a
// line makes several rows.
type Batch struct {
	Record    arrow.RecordBatch
	Read      int64
	Kept      int64
	Rejects   []Reject
	first     int64 // arrival of the first and of the last kept row, nanoseconds
	last      int64
	backwards int64 // kept rows that are earlier than the row before them in the block
	ties      int64 // kept rows that are of the same instant as the row before them in the block
	Extra     int64 // rows with something that the format's notes count
}

// Limits on what is worth keeping of a file that is not what it seems to be.
const (
	maxRejects   = 1_000_000
	hopelessFrom = 1_000 // rejects without one kept row
)

// Counts is the sum of the batches so far.
type Counts struct {
	Read, Kept, Rejected int64
	Backwards, Ties      int64
	Extra                int64
	Last                 int64 // arrival of the last kept row, nanoseconds
	Rejects              []Reject
}

// hopeless ends a file early that is not what it seems to be.
func (t *Counts) hopeless() error {
	switch {
	case t.Kept == 0 && t.Rejected >= hopelessFrom:
		return fmt.Errorf("not one of the first %d rows can be read: %s", t.Rejected, FirstRejects(t.Rejects))
	case t.Rejected > maxRejects:
		return fmt.Errorf("more than %d rows rejected: %s", maxRejects, FirstRejects(t.Rejects))
	}
	return nil
}
