package ingest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"tidemark/ingest/metrics"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
)

// growth is how an earlier state of a file that has grown is found and replaced.
type growth struct {
	what string // in words
	find string // its source and name, by what Grows says and the source of the later state
	// isOlder compares the sources of the later and the earlier state.
	isOlder string
	tables  []string // that hold rows of it
}

// growths by the kind of the source.
var growths = map[string]growth{
	"capacity": {"the search", `
		select sources.source_id, sources.name
		from raw.capacities
		inner join raw.sources on sources.source_id = capacities.source_id
		where capacities.search_id = ? and capacities.source_id <> ?`, `
		select new.last_event_at < old.last_event_at
			or new.last_event_at = old.last_event_at and json_array_length(new.runs) < json_array_length(old.runs)
		from raw.capacities as new, raw.capacities as old
		where new.source_id = ? and old.source_id = ?`, []string{"raw.capacities"}},
	"metrics": {"what was collected", `
		select sources.source_id, sources.name
		from raw.sources
		inner join raw.metrics on metrics.source_id = sources.source_id
		where sources.format = 'prometheus-collected' and metrics.name = '` + metrics.CollectedName + `' and metrics.labels = ? and sources.source_id <> ?
		limit 1`, `
		select new.value < old.value
		from raw.metrics as new, raw.metrics as old
		where new.source_id = ? and new.name = '` + metrics.CollectedName + `' and old.source_id = ? and old.name = '` + metrics.CollectedName + `'`, []string{"raw.metrics"}},
}

// earlierState is the state that is in the warehouse already.
type earlierState struct {
	source int64 // 0: there is none
	name   string
}

// earlier finds the source that a file which has grown replaces.
func (l *fileLoad) earlier(ctx context.Context, db rowQuerier) (e earlierState, err error) {
	if l.format.Grows == nil {
		return e, nil
	}
	err = db.QueryRow(ctx, growths[l.format.Kind].find, l.format.Grows(l.head), l.file.source).Scan(&e.source, &e.name)
	if errors.Is(err, sql.ErrNoRows) {
		return earlierState{}, nil
	}
	return e, err
}

// replace removes the earlier state, in the transaction that has taken in the later one. An older copy of the file, whose last event
// is before the last one that is known, must not replace what came after it.
func (l *fileLoad) replace(ctx context.Context, tx rowWriter) error {
	e, err := l.earlier(ctx, tx)
	if err != nil || e.source == 0 {
		return err
	}
	g := growths[l.format.Kind]
	var isOlder bool
	err = tx.QueryRow(ctx, g.isOlder, l.file.source, e.source).Scan(&isOlder)
	if err != nil {
		return err
	}
	if isOlder {
		return hint.Errorf("the warehouse has a later state of %s, as %s", strings.Replace(g.what, "the ", "this ", 1), e.name).
			Hint("this is an older copy of the file; to have it all the same, remove the later one first: tidemark warehouse purge %s", escape.Shell(e.name))
	}
	for _, table := range append(slices.Clone(g.tables), "raw.rejects", "raw.manifests", "raw.sources") {
		if err := tx.Exec(ctx, "delete from "+table+" where source_id = ?", e.source); err != nil {
			return err
		}
	}
	l.result.Name = cmp.Or(l.opts.Name, e.name)
	l.result.Notes = append(l.result.Notes, "replaces an earlier state of "+g.what)
	return nil
}

// rowWriter is a transaction.
type rowWriter interface {
	rowQuerier
	Exec(ctx context.Context, statement string, args ...any) error
}
