//go:build soak

package soak

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"
)

// readers open the snapshots of some warehouses again and again, as a notebook would that knows nothing of their writers.
type readers struct {
	t             *testing.T
	opens, absent atomic.Int64
	least         atomic.Int64 // opens before they may stop; -1: they go on
	work          sync.WaitGroup
}

// lookAtAll is how many opens there are to one that looks whether every source is whole; the rest count the sources.
const lookAtAll = 50

func newReaders(t *testing.T, of ...*mortal) *readers {
	r := &readers{t: t}
	r.least.Store(-1)
	for _, k := range of {
		path := filepath.Join(k.folder, "tidemark.published", "latest.duckdb")
		r.work.Go(func() {
			for n := 0; r.goesOn(); n++ {
				if !r.look(path, n%lookAtAll == 0) {
					return
				}
			}
		})
	}
	t.Cleanup(func() { r.least.Store(0); r.work.Wait() }) // also where the test has failed
	return r
}

func (r *readers) goesOn() bool {
	least := r.least.Load()
	return least < 0 || r.opens.Load() < least && !r.t.Failed() && !timeIsUp(r.t)
}

// stopAfter waits until the readers have opened snapshots that often.
func (r *readers) stopAfter(least int64) (opens, absent int64) {
	r.least.Store(least)
	r.work.Wait()
	return r.opens.Load(), r.absent.Load()
}

// look opens a snapshot and reads from it. A folder without one is what a killed purge leaves, until the next verb publishes.
func (r *readers) look(path string, isWhole bool) (isFine bool) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		r.absent.Add(1)
		time.Sleep(10 * time.Millisecond)
		return true
	}
	query := "select count(*)::varchar from raw.sources"
	if isWhole {
		query = "select coalesce(string_agg(source, ' '), '') from (" + sources + ")"
	}
	db, err := sql.Open("duckdb", path+"?access_mode=read_only&threads=1")
	if err == nil {
		var answer string
		err = db.QueryRow(query).Scan(&answer)
		if strings.Contains(answer, "?") {
			r.t.Errorf("a reader of %s: torn: %s", path, answer)
			return false
		}
		err = errors.Join(err, db.Close())
	}
	if _, gone := os.Stat(path); err != nil && !errors.Is(gone, fs.ErrNotExist) {
		r.t.Errorf("a reader of %s: %v", path, err)
		return false
	}
	r.opens.Add(1)
	return true
}
