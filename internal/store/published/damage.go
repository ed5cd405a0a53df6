//go:build duckdb_arrow

package published

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// damage is what is missing in a folder, or is not as its manifest says.
type damage struct {
	owners   map[string]bool // Key and Computed of damaged parts: everything of that run or source is written again
	snapshot bool
	files    int
}

// damaged looks at presence and size of all files and, where it is thorough, at their content.
func (p publication) damaged(ctx context.Context, thorough bool) (d damage) {
	d.owners = map[string]bool{}
	for _, part := range p.old.Parts {
		if !p.isWhole(part, thorough) {
			d.owners[part.Key+part.Computed] = true
			d.files++
		}
	}
	info, err := os.Stat(Snapshot(p.folder))
	d.snapshot = err != nil || !info.Mode().IsRegular() || p.old.Bytes > 0 && info.Size() != p.old.Bytes || thorough && !p.isSnapshotWhole(ctx)
	if d.snapshot && p.old.Snapshot != "" {
		d.files++
	}
	return d
}

func (p publication) isWhole(part Part, thorough bool) bool {
	path := filepath.Join(p.folder, filepath.FromSlash(part.Path))
	if thorough {
		return isFile(path, file{Bytes: part.Bytes, SHA256: part.SHA256})
	}
	info, err := os.Stat(path)
	return err == nil && info.Size() == part.Bytes
}

// isSnapshotWhole compares a snapshot that was copied with the warehouse, which has not changed since. That of a large
// warehouse has other bytes: DuckDB opens it, which reads its headers and its catalogue, and no row.
func (p publication) isSnapshotWhole(ctx context.Context) bool {
	if p.size < largeBytes {
		return p.old.Snapshot != p.now || sameBytes(p.file, p.size, Snapshot(p.folder))
	}
	absolute, err := filepath.Abs(Snapshot(p.folder))
	if err != nil {
		return false
	}
	conn, err := p.w.DB().Conn(ctx)
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("attach '%s' as snapshot (read_only)", strings.ReplaceAll(absolute, "'", "''"))); err != nil {
		return false
	}
	_, err = conn.ExecContext(ctx, "detach snapshot")
	return err == nil
}

func sameBytes(file io.ReaderAt, size int64, path string) bool {
	other, err := os.Open(path)
	if err != nil {
		return false
	}
	defer other.Close()
	ours, theirs := make([]byte, 1<<20), make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(ours)) {
		n := min(int64(len(ours)), size-at)
		if _, err := file.ReadAt(ours[:n], at); err != nil && err != io.EOF {
			return false
		}
		if _, err := other.ReadAt(theirs[:n], at); err != nil && err != io.EOF || !bytes.Equal(ours[:n], theirs[:n]) {
			return false
		}
	}
	return true
}
