//go:build duckdb_arrow

package published

// What is published in a bucket: a copy of the folder beside the warehouse.
//
//	manifest.json                                               names everything else; replaced last
//	snapshots/NUMBER.duckdb                                     latest.duckdb
//	lake/<schema>.<relation>/run_date=.../run=R/part.NUMBER.parquet
//
// NUMBER is another one for each publication, so that no object ever changes: who has read a manifest finds all that it
// names, byte for byte. An object that the next manifest does not name is listed there as retired and removed an hour
// later, by the first publication after that.
//
// Two publishers keep apart by the condition under which the manifest is replaced: that it is the one that was read. Who
// comes second reads it again. Nothing is removed, nor used again, that the manifest which was just replaced did not name,
// so that neither removes what the other is about to name.

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/store/objects"
)

const (
	bucketManifestName = "manifest.json"
	// bucketFormat counts up when an older program would misread what a newer one publishes.
	bucketFormat = 1
	// retiredFor is how long readers of an old manifest find what it names.
	retiredFor = time.Hour
	// leftAfter is the age at which an object that no manifest names is one that a killed publisher left.
	leftAfter = 24 * time.Hour
	// mostTries is how often a publisher that came second begins again.
	mostTries = 10
)

// bucketManifest is manifest.json of a bucket.
type bucketManifest struct {
	Format    int       `json:"format"`
	IsOff     bool      `json:"off,omitempty"` // publishing was switched off
	Version   string    `json:"version"`       // of the program that published
	Stamp     string    `json:"stamp"`         // fingerprint of its SQL
	Publisher string    `json:"publisher"`     // a number that the warehouse remembers (places.go)
	State     string    `json:"state"`         // of the warehouse (state.go)
	Published string    `json:"published_at"`  // RFC 3339
	Snapshot  *file     `json:"snapshot"`      // null: nothing is published at present
	Parts     []Part    `json:"parts"`         // of the lake
	Retired   []retired `json:"retired"`       // no longer published, and not removed yet
}

type file struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

type retired struct {
	Path string    `json:"path"`
	At   time.Time `json:"retired_at"`
}

// names are all objects that the manifest speaks for.
func (m bucketManifest) names() map[string]bool {
	names := map[string]bool{}
	if m.Snapshot != nil {
		names[m.Snapshot.Path] = true
	}
	for _, part := range m.Parts {
		names[part.Path] = true
	}
	return names
}

// Sent says what Send did.
type Sent struct {
	IsFirst     bool
	Objects     int   // that were written, without the manifest
	Bytes       int64 // of them
	Damaged     int   // objects that were missing or of another size, and were made anew
	IsUnguarded bool  // the server heeds no conditions: nothing keeps two publishers apart
}

// sending is one Send at work.
type sending struct {
	store      *objects.Store
	to         objects.Address
	warehouse  string
	folder     string
	version    string
	publisher  string
	replace    bool
	thorough   bool
	result     Sent
	isReplaced bool              // the manifest is the new one
	mine       map[string]string // objects that this process has written, by what is in them
}

// Send brings a bucket up to date with the folder beside the warehouse. The warehouse need not be open. replace takes the
// prefix from another warehouse; thorough looks whether all that should be there is.
func Send(ctx context.Context, warehouse string, to objects.Address, version string, replace, thorough bool) (Sent, error) {
	s := &sending{to: to, warehouse: warehouse, folder: Folder(warehouse, ""), version: version, replace: replace, thorough: thorough, mine: map[string]string{}}
	err := s.send(ctx)
	if err != nil {
		err = s.afterFailure(ctx, err)
	}
	return s.result, err
}

func (s *sending) send(ctx context.Context) (err error) {
	if s.store, err = objects.Open(s.to); err != nil {
		return err
	}
	if s.publisher, err = rememberBucket(ctx, s.store, s.warehouse, s.to); err != nil {
		return err
	}
	for range mostTries {
		err = s.once(ctx)
		if !errors.Is(err, objects.ErrChanged) && !errors.Is(err, errFolderChanged) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
	return fmt.Errorf("%w, %d times one after the other", err, mostTries)
}

// afterFailure removes what was written and is named by no manifest, and says what readers see.
func (s *sending) afterFailure(ctx context.Context, err error) error {
	if s.store != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		var left []objects.Object
		for _, name := range s.mine {
			left = append(left, objects.Object{Name: name})
		}
		_ = s.store.Remove(ctx, left) // else a later publication does
	}
	todo := hint.Of(err)
	switch {
	case s.isReplaced:
		todo = fmt.Sprintf(`readers see the new state; what is old was not removed, and the next "tidemark warehouse publish --publish %s" removes it`, s.to)
	case todo == "":
		todo = fmt.Sprintf(`readers see the state before; "tidemark warehouse publish --publish %s" tries again`, s.to)
	}
	failed := hint.Errorf("publish into %s: %w", s.to, err)
	return failed.Hint("%s", todo)
}

// once is one try, from reading the manifest to replacing it.
func (s *sending) once(ctx context.Context) error {
	local, err := holdFolder(s.folder)
	if err != nil {
		return err
	}
	defer local.snapshot.Close()
	old, tag, err := s.old(ctx)
	if err != nil || old.IsOff && !s.thorough {
		return err
	}
	if s.thorough {
		if err := s.dropMissing(ctx, &old); err != nil {
			return err
		}
	}
	next, err := s.write(ctx, local, old)
	if err != nil || next == nil {
		return err
	}
	text, err := json.MarshalIndent(next, "", " ")
	if err != nil {
		return err
	}
	if err := s.store.Swap(ctx, bucketManifestName, text, tag); errors.Is(err, objects.ErrChanged) {
		return err
	} else if s.mine = nil; err != nil { // nobody knows whether the manifest names them now
		return err
	}
	s.result.IsFirst = tag == ""
	s.isReplaced = true
	return s.tidy(ctx, old, *next)
}

// readBucket is the manifest and its tag; an empty one where there is none.
func readBucket(ctx context.Context, store *objects.Store, at objects.Address, seen string) (m bucketManifest, tag string, err error) {
	text, tag, err := store.Read(ctx, bucketManifestName, seen)
	if errors.Is(err, objects.ErrNotThere) {
		return m, "", nil
	}
	if err != nil {
		return m, tag, err
	}
	if err := json.Unmarshal(text, &m); err != nil || m.Format == 0 {
		return bucketManifest{}, tag, hint.Errorf("%s/%s: not a manifest of tidemark, or a damaged one", at, bucketManifestName).Mark(ErrDamaged).
			Hint(`see what it is; "tidemark warehouse publish --publish %s --replace" writes it anew`, at)
	}
	if m.Format > bucketFormat {
		return m, tag, hint.Errorf("%s: was published by tidemark %s in form %d; this one, which knows form %d, leaves it as it is", at, m.Version, m.Format, bucketFormat).
			Hint("upgrade this tidemark, or name another prefix")
	}
	return m, tag, nil
}

// old is the manifest that is to be replaced.
func (s *sending) old(ctx context.Context) (old bucketManifest, tag string, err error) {
	old, tag, err = readBucket(ctx, s.store, s.to, "")
	switch {
	case errors.Is(err, ErrDamaged) && s.replace:
		return bucketManifest{}, tag, nil
	case err != nil:
		return old, tag, err
	case tag == "":
		return old, tag, s.checkNew(ctx)
	case old.Publisher != s.publisher && old.Publisher != "" && !s.replace:
		return old, tag, hint.Errorf("it holds what is published of another warehouse, by tidemark %s at %s", old.Version, old.Published).
			Hint(`name another prefix; to give this one to %s, run "tidemark warehouse publish --publish %s --replace" on it`, s.warehouse, s.to)
	}
	return old, tag, nil
}

// checkNew refuses a prefix that holds other things, and looks whether the server heeds conditions.
func (s *sending) checkNew(ctx context.Context) error {
	there, err := s.store.List(ctx)
	if err != nil {
		return err
	}
	for _, o := range there {
		if !isOurObject(o.Name) && o.Name != tryName {
			return hint.Errorf("it holds objects that were not published by tidemark, such as %s", o.Name).Hint("name another prefix with --publish s3://bucket/prefix")
		}
	}
	keeps, err := s.store.KeepsConditions(ctx, tryName)
	s.result.IsUnguarded = !keeps
	return err
}

// tryName is the object on which conditions are tried, for a moment.
const tryName = "conditions-are-tried"

func isOurObject(name string) bool {
	return strings.HasPrefix(name, "snapshots/") || strings.HasPrefix(name, "lake/")
}

// dropMissing forgets what the old manifest names and the bucket does not have, so that it is written again.
func (s *sending) dropMissing(ctx context.Context, old *bucketManifest) error {
	there, err := s.store.List(ctx)
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	for _, o := range there {
		sizes[o.Name] = o.Bytes
	}
	isMissing := func(name string, bytes int64) bool {
		size, is := sizes[name]
		return !is || size != bytes
	}
	s.result.Damaged = 0
	if old.Snapshot != nil && isMissing(old.Snapshot.Path, old.Snapshot.Bytes) {
		old.Snapshot = nil
		s.result.Damaged++
	}
	whole := slices.DeleteFunc(slices.Clone(old.Parts), func(part Part) bool { return isMissing(part.Path, part.Bytes) })
	s.result.Damaged += len(old.Parts) - len(whole)
	old.Parts = whole
	return nil
}

// write writes the objects that the bucket lacks, and returns the manifest that names them; nil where nothing has changed.
func (s *sending) write(ctx context.Context, local *held, old bucketManifest) (*bucketManifest, error) {
	next := &bucketManifest{
		Format: bucketFormat, Version: s.version, Stamp: local.Stamp, Publisher: s.publisher, State: local.Snapshot, Published: local.Published,
		Parts: []Part{}, Retired: []retired{},
	}
	known := map[string]string{}
	for _, part := range old.Parts {
		known[part.identity()] = part.Path
	}
	number := publicationNumber()
	var lacking []Part // by their paths in the folder
	for _, part := range local.Parts {
		if where, is := known[part.identity()]; is {
			part.Path = where
		} else if where, is := s.mine[part.identity()]; is {
			part.Path = where
		} else {
			lacking = append(lacking, part)
			part.Path = strings.TrimSuffix(part.Path, ".parquet") + "." + number + ".parquet"
			s.mine[part.identity()] = part.Path
		}
		next.Parts = append(next.Parts, part)
	}
	isSame := old.Snapshot != nil && old.State == next.State && old.Stamp == next.Stamp
	if isSame && len(lacking) == 0 && len(old.Parts) == len(next.Parts) && s.result.Damaged == 0 && old.Publisher == next.Publisher {
		return nil, nil
	}
	if next.Snapshot = old.Snapshot; !isSame {
		var err error
		if next.Snapshot, err = s.writeSnapshot(ctx, local, number); err != nil {
			return nil, err
		}
	}
	err := objects.Each(ctx, len(lacking), func(ctx context.Context, i int) error {
		return s.writePart(ctx, lacking[i], s.mine[lacking[i].identity()])
	})
	if err != nil {
		return nil, err
	}
	for _, part := range lacking {
		s.result.Objects++
		s.result.Bytes += part.Bytes
	}
	next.retire(old)
	return next, nil
}

// publicationNumber sorts by time, and no two publishers have the same.
func publicationNumber() string {
	return time.Now().UTC().Format("20060102T150405Z") + "-" + rand.Text()[:8]
}

// identity tells parts with other rows apart, wherever they are.
func (part Part) identity() string {
	return strings.Join([]string{part.Relation, part.Key, part.Computed, part.SHA256, path.Base(path.Dir(part.Path))}, "\n")
}

func (s *sending) writeSnapshot(ctx context.Context, local *held, number string) (*file, error) {
	hash := sha256.New()
	size, err := io.Copy(hash, io.NewSectionReader(local.snapshot, 0, 1<<62))
	if err != nil {
		return nil, err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if where, is := s.mine[sum]; is {
		return &file{Path: where, Bytes: size, SHA256: sum}, nil
	}
	is := &file{Path: "snapshots/" + number + ".duckdb", Bytes: size, SHA256: sum}
	s.mine[sum] = is.Path
	s.result.Objects++
	s.result.Bytes += size
	return is, s.store.Write(ctx, is.Path, local.snapshot, size)
}

func (s *sending) writePart(ctx context.Context, part Part, name string) error {
	from, err := os.Open(filepath.Join(s.folder, filepath.FromSlash(part.Path)))
	if errors.Is(err, os.ErrNotExist) {
		return errFolderChanged
	}
	if err != nil {
		return err
	}
	defer from.Close()
	if info, err := from.Stat(); err != nil || info.Size() != part.Bytes {
		return errors.Join(err, errFolderChanged)
	}
	return s.store.Write(ctx, name, from, part.Bytes)
}

// retire lists what the old manifest named or had retired, and the new one does not name.
func (m *bucketManifest) retire(old bucketManifest) {
	now := time.Now().UTC().Truncate(time.Second)
	named := m.names()
	for name := range old.names() {
		if !named[name] {
			m.Retired = append(m.Retired, retired{name, now})
		}
	}
	for _, gone := range old.Retired {
		if now.Sub(gone.At) < retiredFor && !named[gone.Path] {
			m.Retired = append(m.Retired, gone)
		}
	}
	slices.SortFunc(m.Retired, func(a, b retired) int { return strings.Compare(a.Path, b.Path) })
}

// tidy removes what was retired long enough, and what killed publishers left.
func (s *sending) tidy(ctx context.Context, old, now bucketManifest) error {
	there, err := s.store.List(ctx)
	if err != nil {
		return err
	}
	var clock time.Time // of the server: when it got the manifest
	for _, o := range there {
		if o.Name == bucketManifestName {
			clock = o.Written
		}
	}
	stays, isDue := now.names(), map[string]bool{}
	for _, gone := range now.Retired {
		stays[gone.Path] = true
	}
	for _, gone := range old.Retired {
		isDue[gone.Path] = true
	}
	var remove []objects.Object
	for _, o := range there {
		isLeft := clock.Sub(o.Written) > leftAfter
		if isOurObject(o.Name) && !stays[o.Name] && (isDue[o.Name] || isLeft) {
			remove = append(remove, o)
		}
	}
	_ = s.store.EndUploads(ctx, clock.Add(-leftAfter), isOurObject) // not every server can
	if err := s.store.Remove(ctx, remove); err != nil {
		return hint.Errorf("it is published, and what is older cannot be removed: %w", err).Hint("%s", hint.Of(err))
	}
	return nil
}

var errFolderChanged = errors.New("the folder beside the warehouse changes all the time")

// held is what is published in a folder, with its snapshot open.
type held struct {
	Manifest
	snapshot *os.File
}

// holdFolder opens the snapshot as DuckDB does that reads: with a lock that keeps a publisher from writing into it, when it
// has become the spare one.
func holdFolder(folder string) (*held, error) {
	nothing := hint.Errorf("nothing is published in %s, of which the bucket has a copy", folder).Hint(`"tidemark warehouse publish" publishes there`)
	lock, err := os.Open(filepath.Join(folder, ".lock"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nothing
	}
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH); err != nil {
		return nil, err
	}
	m, err := ReadManifest(folder)
	if err != nil {
		return nil, err
	}
	snapshot, err := os.Open(Snapshot(folder))
	if m.IsOff || m.Snapshot == "" || errors.Is(err, os.ErrNotExist) {
		if err == nil {
			snapshot.Close()
		}
		return nil, nothing
	}
	if err != nil {
		return nil, err
	}
	if err := syscall.FcntlFlock(snapshot.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_RDLCK}); err != nil {
		snapshot.Close()
		return nil, fmt.Errorf("%w: %s", errFolderChanged, Snapshot(folder))
	}
	return &held{m, snapshot}, nil
}

// EmptyBuckets removes all that is published of a warehouse in the buckets that it remembers. What a bucket keeps as old
// versions goes too. It returns those that it emptied, and an error that names those that may still have rows.
func EmptyBuckets(ctx context.Context, warehouse, version string) (emptied []objects.Address, err error) {
	list, err := buckets(warehouse)
	errs := []error{err}
	for _, b := range list {
		is, err := emptyBucket(ctx, b, version, false)
		if err != nil {
			errs = append(errs, hint.Errorf("%s may still have rows that are gone from the warehouse: %w", b.at.Today(), err).
				Hint("remove them with a tool for buckets, old versions too, or try again: tidemark warehouse publish --off --publish %s; where the bucket is gone for good, take it out of %s",
					b.at.Today(), placesFile(warehouse)))
		} else if is {
			emptied = append(emptied, b.at)
		}
	}
	return emptied, errors.Join(errs...)
}

// SwitchOffBucket removes all that is published in a bucket, and says in it that nothing is to be published any more.
func SwitchOffBucket(ctx context.Context, warehouse string, at objects.Address, version string) error {
	is := false
	store, err := objects.Open(at)
	if err != nil {
		return err
	}
	publisher, err := rememberBucket(ctx, store, warehouse, at)
	if err == nil {
		is, err = emptyBucket(ctx, bucketPlace{at: at, publisher: publisher}, version, true)
	}
	if err == nil && !is {
		err = hint.Errorf("it holds what is published of another warehouse").Hint("name the warehouse with --warehouse FILE")
	}
	if err != nil {
		return fmt.Errorf("publish into %s: %w", at, err)
	}
	return nil
}

// emptyBucket removes what is this warehouse's; it is false where nothing is.
func emptyBucket(ctx context.Context, place bucketPlace, version string, off bool) (is bool, err error) {
	store, err := objects.Open(place.at)
	if err != nil {
		return false, err
	}
	for range mostTries {
		old, tag, err := readBucket(ctx, store, place.at, "")
		isOurs := place.publisher != "" && old.Publisher == place.publisher
		if errors.Is(err, ErrDamaged) && place.publisher != "" { // nobody can say of which warehouse it is, and this one published here
			isOurs, err = true, nil
		}
		isThere := tag != ""
		if err != nil || isThere && !isOurs {
			return false, err
		}
		if !off && (!isThere || old.IsOff) { // nothing is published, but a publisher that was killed may have left rows
			return false, removeAll(ctx, store)
		}
		next := bucketManifest{Format: bucketFormat, IsOff: off, Version: version, Publisher: place.publisher, Published: time.Now().UTC().Format(time.RFC3339), Parts: []Part{}, Retired: []retired{}}
		text, err := json.MarshalIndent(next, "", " ")
		if err != nil {
			return false, err
		}
		err = store.Swap(ctx, bucketManifestName, text, tag)
		if errors.Is(err, objects.ErrChanged) {
			continue
		}
		if err != nil {
			return false, err
		}
		return true, removeAll(ctx, store)
	}
	return false, objects.ErrChanged
}

// removeAll removes what was published, old versions too, and what was not published whole; the manifest of now stays.
func removeAll(ctx context.Context, store *objects.Store) error {
	there, err := store.ListVersions(ctx)
	if err != nil {
		return err
	}
	there = slices.DeleteFunc(there, func(o objects.Object) bool {
		return !isOurObject(o.Name) && o.Name != bucketManifestName || o.Name == bucketManifestName && o.IsNow()
	})
	err = store.Remove(ctx, there)
	// Its clock may be ahead of this one's.
	if unended := store.EndUploads(ctx, time.Now().AddDate(1, 0, 0), isOurObject); unended != nil {
		err = errors.Join(err, fmt.Errorf("uploads that were broken off cannot be ended: %w", unended))
	}
	return err
}
