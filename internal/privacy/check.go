//go:build duckdb_arrow

package privacy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
)

// called finds the sources of a name, which may be that of a collection.
const called = "select sources.source_id from raw.sources where sources.name = $1 or sources.collection = $1"

// Names are all sources of a warehouse.
func Names(ctx context.Context, w *warehouse.Warehouse) ([]string, error) {
	return warehouse.Values[string](ctx, w.DB(), "select name from raw.sources order by name")
}

// kindOf is the kind of a source, or of a collection of sources.
func kindOf(ctx context.Context, w *warehouse.Warehouse, name string) (string, error) {
	kinds, err := warehouse.Values[string](ctx, w.DB(), "select distinct kind from raw.sources where name = $1 or collection = $1", name)
	switch {
	case err != nil:
		return "", err
	case len(kinds) == 0:
		known, err := Names(ctx, w)
		if err != nil {
			return "", err
		}
		return "", unknownSource(name, known)
	case slices.Contains(kinds, "arrivals"):
		return "arrivals", nil
	}
	return kinds[0], nil
}

// ErrUnknown marks the error of a name that no source has.
var ErrUnknown = errors.New("no such source")

func unknownSource(name string, known []string) error {
	todo := `add one with "tidemark ingest"`
	if len(known) > 0 {
		const few = 10
		todo = "known sources are " + strings.Join(known[:min(few, len(known))], ", ")
		if len(known) > few {
			todo += ", ..."
		}
	}
	return hint.Misuse("no source named %q", name).Hint("%s", todo).Mark(ErrUnknown)
}

// isTrace refuses sources that have nothing to export.
func isTrace(ctx context.Context, w *warehouse.Warehouse, name string) error {
	kind, err := kindOf(ctx, w, name)
	if err == nil && kind != "arrivals" {
		err = hint.Errorf("source %s: holds %s, no requests with times and lengths", name, kind).Hint("only traces can be exported")
	}
	return err
}

// CheckSource checks a source of the warehouse against the rules. Whether it is
// k-anonymous is a verdict of its own.
func CheckSource(ctx context.Context, w *warehouse.Warehouse, name string, terms Terms) (rules []Verdict, anonymity Verdict, err error) {
	kind, err := kindOf(ctx, w, name)
	if err != nil {
		return nil, Verdict{}, err
	}
	s := &subject{isTrace: kind == "arrivals", isOther: kind != "arrivals" && kind != "lengths"}
	err = s.inspectText(ctx, w, called, name)
	switch {
	case err != nil || s.isOther:
	case s.isTrace:
		s.trace, err = read(ctx, w, name)
	default:
		err = s.readCells(ctx, w, name)
	}
	if err != nil {
		return nil, Verdict{}, fmt.Errorf("source %s: %w", name, err)
	}
	if err := s.manifestBeside(ctx, w, name); err != nil {
		return nil, Verdict{}, err
	}
	return s.verdicts(terms), s.anonymity(terms), nil
}

// manifestBeside finds the manifest of the file that a source came from, as
// long as that file is still where it was.
func (s *subject) manifestBeside(ctx context.Context, w *warehouse.Warehouse, name string) error {
	paths, err := warehouse.Values[string](ctx, w.DB(), "select path from raw.sources where name = $1 or collection = $1", name)
	if err != nil || len(paths) != 1 {
		return err
	}
	if _, err := os.Stat(paths[0]); err == nil {
		s.findManifest(lengthsName(paths[0]))
	}
	return nil
}

// readCells reads the cells and windows of a source that is a histogram.
func (s *subject) readCells(ctx context.Context, w *warehouse.Warehouse, name string) (err error) {
	s.lengths, err = warehouse.All(ctx, w.DB(), `
		select coalesce(window_from_s, 0), coalesce(window_until_s, 0), coalesce(class, ''), coalesce(client, ''),
			coalesce(input_above, -1), coalesce(input_up_to, -1), coalesce(output_above, -1), coalesce(output_up_to, -1), requests
		from raw.length_cells
		where source_id in (`+called+`)`, []any{name}, func(c *lengthCell) []any {
		return []any{&c.fromS, &c.untilS, &c.class, &c.client, &c.bounds[0], &c.bounds[1], &c.bounds[2], &c.bounds[3], &c.requests}
	})
	if err != nil {
		return err
	}
	s.rates, err = warehouse.All(ctx, w.DB(), `
		select window_from_s, window_until_s, coalesce(class, ''), requests from raw.rate_windows where source_id in (`+called+`)`, []any{name}, func(r *rateCell) []any {
		return []any{&r.fromS, &r.untilS, &r.class, &r.requests}
	})
	return err
}

// Passed reports whether every rule holds.
func Passed(verdicts []Verdict) bool {
	return !slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Verdict == Fails })
}
