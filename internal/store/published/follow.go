//go:build duckdb_arrow

package published

// How "tidemark serve" reads a bucket: it keeps the snapshot that the manifest names in a folder of its own, and asks
// every few seconds whether there is another manifest.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/store/objects"
)

// askEvery is how often a bucket is asked for a new manifest. An answer without one is a few hundred bytes.
const askEvery = 5 * time.Second

// Follower keeps a folder like a bucket: latest.duckdb in it is whole at any time, and of the newest manifest that could be
// fetched.
type Follower struct {
	at     objects.Address
	store  *objects.Store
	folder string

	fetching sync.Mutex
	tag      string // of the manifest that the folder is of
	damaged  damagedSnapshot

	mu      sync.Mutex
	trouble error
}

// Follow fetches what is published, and fails where that is not possible. The folder is below the user's cache folder;
// programs that follow the same bucket share it.
func Follow(ctx context.Context, at objects.Address) (*Follower, error) {
	store, err := objects.Open(at)
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, hint.Errorf("%s: no folder to keep a copy in: %w", at, err).Hint("set $XDG_CACHE_HOME")
	}
	sum := sha256.Sum256([]byte(at.WithEndpoint().Full()))
	f := &Follower{at: at, store: store, folder: filepath.Join(cache, "tidemark", "published", hex.EncodeToString(sum[:8]))}
	if err := os.MkdirAll(f.folder, 0o700); err != nil {
		return nil, err
	}
	_, err = f.Refresh(ctx)
	return f, err
}

// Folder is where the snapshot is.
func (f *Follower) Folder() string { return f.folder }

// Trouble is why the folder may be behind the bucket, or nil.
func (f *Follower) Trouble() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.trouble
}

// Run follows until the context ends, and tells each trouble once.
func (f *Follower) Run(ctx context.Context, tell func(format string, args ...any)) {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	told := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, err := f.Refresh(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && told != "":
			told = ""
			tell("%s can be read again", f.at)
		case err != nil && err.Error() != told:
			told = err.Error()
			tell("warning: %v; the last snapshot is served until that is over", err)
		}
	}
}

// Refresh fetches the snapshot of a new manifest, if there is one.
func (f *Follower) Refresh(ctx context.Context) (isNew bool, err error) {
	f.fetching.Lock()
	defer f.fetching.Unlock()
	for range mostTries {
		isNew, err = f.refresh(ctx)
		if !errors.Is(err, errRetired) {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trouble = err
	return isNew, err
}

// damagedSnapshot is what a manifest names and is not as it says. While the manifest is the same it is not fetched again before a time that
// doubles: a large snapshot every few seconds would be all that the network does.
type damagedSnapshot struct {
	tag   string
	err   error
	wait  time.Duration
	until time.Time
}

func (d *damagedSnapshot) still(tag string) error {
	if tag == d.tag && time.Now().Before(d.until) {
		return d.err
	}
	return nil
}

func (d *damagedSnapshot) note(tag string, err error) {
	if !errors.Is(err, ErrDamaged) {
		return
	}
	if tag != d.tag {
		d.wait = askEvery
	}
	d.tag, d.err, d.wait = tag, err, min(2*d.wait, time.Hour)
	d.until = time.Now().Add(d.wait)
}

// errRetired: the snapshot was removed between the reading of the manifest and the end of its own reading. There is a newer
// manifest then.
var errRetired = errors.New("the snapshot that the manifest names is not there")

func (f *Follower) refresh(ctx context.Context) (isNew bool, err error) {
	m, tag, err := readBucket(ctx, f.store, f.at, f.tag)
	if errors.Is(err, objects.ErrSame) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	release, err := lockFile(f.folder, 0o600)
	if err != nil {
		return false, err
	}
	defer release()
	path := Snapshot(f.folder)
	if m.Snapshot == nil {
		// What was published is withdrawn, and this copy of it too: a purge is behind it, or the end of publishing.
		f.tag = ""
		return false, errors.Join(hint.Errorf("nothing is published in %s", f.at).Hint(`"tidemark warehouse publish --publish %s" publishes there`, f.at), removeIfThere(path))
	}
	if !isFile(path, *m.Snapshot) {
		if err := f.damaged.still(tag); err != nil {
			return false, err
		}
		if err := f.fetch(ctx, *m.Snapshot, path); err != nil {
			f.damaged.note(tag, err)
			return false, err
		}
		isNew = true
	}
	f.damaged = damagedSnapshot{}
	// The file has the time at which it was published, as in a folder of the publisher's.
	if at, err := time.Parse(time.RFC3339, m.Published); err == nil {
		_ = os.Chtimes(path, at, at)
	}
	f.tag = tag
	return isNew, nil
}

// fetch puts the snapshot into place once it is whole.
func (f *Follower) fetch(ctx context.Context, from file, path string) error {
	return replace(path, 0o600, func(to *os.File) error {
		hash := sha256.New()
		err := f.store.Fetch(ctx, from.Path, &atMost{io.MultiWriter(to, hash), from.Bytes})
		if errors.Is(err, objects.ErrNotThere) {
			f.tag = ""
			return fmt.Errorf("%w: %w", errRetired, err)
		}
		if err != nil && !errors.Is(err, errTooLong) {
			return err
		}
		if got := hex.EncodeToString(hash.Sum(nil)); got != from.SHA256 {
			return hint.Errorf("%s/%s: is not what the manifest says: other bytes", f.at, from.Path).Mark(ErrDamaged).
				Hint(`remove the object; then "tidemark warehouse publish --publish %s" makes it anew`, f.at)
		}
		return nil
	})
}

// atMost fails at the first byte too many: what a bucket holds has any length.
type atMost struct {
	to   io.Writer
	left int64
}

var errTooLong = errors.New("longer than its manifest says")

func (a *atMost) Write(p []byte) (int, error) {
	if a.left -= int64(len(p)); a.left < 0 {
		return 0, errTooLong
	}
	return a.to.Write(p)
}

// isFile compares a file with what a manifest says of it.
func isFile(path string, is file) bool {
	from, err := os.Open(path)
	if err != nil {
		return false
	}
	defer from.Close()
	if info, err := from.Stat(); err != nil || info.Size() != is.Bytes {
		return false
	}
	hash := sha256.New()
	_, err = io.Copy(hash, from)
	return err == nil && hex.EncodeToString(hash.Sum(nil)) == is.SHA256
}
