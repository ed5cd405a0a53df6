package ingest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// knownSource is a source with the same bytes that is in the warehouse already. As
// an error it rolls back a transaction whose file turned out to be known.
type knownSource struct {
	name, format, readAs string
	read, kept, rejected int64
}

func (k *knownSource) Error() string { return "known already as " + k.name }

func (k *knownSource) result() Result {
	if k == nil {
		return Result{}
	}
	return Result{Name: k.name, Format: k.format, FormatWhy: "known already", AlreadyKnown: true,
		RowsRead: k.read, RowsKept: k.kept, RowsRejected: k.rejected}
}

// asAsked is the known source, unless it was read in another way than the user asks for now.
func (k *knownSource) asAsked(opts Options) (Result, error) {
	was, asked := k.readAs, opts.readAs()
	if opts.Format != "" && opts.Format != k.format {
		was, asked = k.format, opts.Format
	}
	if asked == "" || asked == was {
		return k.result(), nil
	}
	return Result{}, hint.Misuse("it is in the warehouse already, as %s, read as %s and not as %s", k.name, cmp.Or(was, "its content says"), asked).
		Hint("remove it first: tidemark warehouse purge %s", k.name)
}

// readAs is what the user says of columns and times; empty for nothing.
func (o Options) readAs() string {
	var said []string
	for _, ours := range slices.Sorted(maps.Keys(o.Columns)) {
		said = append(said, ours+"="+o.Columns[ours])
	}
	if o.TimeUnit != "" {
		said = append(said, "time unit "+o.TimeUnit)
	}
	return strings.Join(said, ", ")
}

// rowQuerier is a transaction or the connection pool.
type rowQuerier interface {
	QueryRow(ctx context.Context, query string, args ...any) *sql.Row
}

// knownSums finds the source with these fingerprints; nil where there is none.
func knownSums(ctx context.Context, tx rowQuerier, known read.Sums) (*knownSource, error) {
	var k knownSource
	err := tx.QueryRow(ctx, "select name, format, coalesce(read_as, ''), rows_read, rows_kept, rows_rejected from raw.sources where sha256 in (?, ?) limit 1", known.Content, known.Disk).
		Scan(&k.name, &k.format, &k.readAs, &k.read, &k.kept, &k.rejected)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &k, err
}

// refuseKnown is the source with these fingerprints as an error, which ends the transaction of
// its second copy: another reader was first.
func refuseKnown(ctx context.Context, tx rowQuerier, sums read.Sums) error {
	known, err := knownSums(ctx, tx, sums)
	if err == nil && known != nil {
		err = known
	}
	return err
}

// pool is a rowQuerier outside of any transaction.
type pool struct{ db *sql.DB }

func (p pool) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return p.db.QueryRowContext(ctx, query, args...)
}

// knownFile saves reading a file that is known: where a source has its size or its
// name (it may be the same rows, packed otherwise), the file is hashed first. Any
// other known file is found out at its end.
func knownFile(ctx context.Context, db *sql.DB, file candidate, size int64) (*knownSource, error) {
	var same int
	err := db.QueryRowContext(ctx, "select count(*) from raw.sources where size_bytes = ? or name = ?", size, file.name).Scan(&same)
	if err != nil || same == 0 || size == 0 {
		return nil, err
	}
	sums, err := read.SumsOf(ctx, file.path)
	if err != nil {
		return nil, nil // its reader says better what is wrong
	}
	return knownSums(ctx, pool{db}, sums)
}

// nameIsFree refuses a name that other bytes have.
func nameIsFree(ctx context.Context, db rowQuerier, name string) error {
	var path string
	err := db.QueryRow(ctx, "select path from raw.sources where name = ?", name).Scan(&path)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return hint.Errorf("the name %s is taken by another file (%s)", name, path).
		Hint("choose another one with --name NAME").Mark(errNameTaken)
}

var errNameTaken = errors.New("the name is taken")
