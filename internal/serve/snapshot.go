package serve

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tidemark/internal/hint"
)

// SnapshotName is the file that "tidemark warehouse publish" replaces by a rename.
const SnapshotName = "latest.duckdb"

// snapshot is one version of the published file. It stays readable as long as it is open, whatever takes its name.
type snapshot struct {
	file *os.File
	info fs.FileInfo
	id   int // counts the versions that this server has seen
}

// publishedAt is when the file was written, as clients see it.
func (s *snapshot) publishedAt() string { return s.info.ModTime().UTC().Format(time.RFC3339Nano) }

// snapshots follows the published file. A new one is served once a worker has opened it: a file may have a good beginning and no end.
type snapshots struct {
	path  string
	prove func(*snapshot) error // opens it in a worker

	looking sync.Mutex // held while a new file is looked at
	refused refused

	mu      sync.Mutex
	current *snapshot
	proving *snapshot // open, and not yet served
}

// openSnapshots wants a snapshot to be there at the start.
func openSnapshots(folder string) (*snapshots, error) {
	s := &snapshots{path: filepath.Join(folder, SnapshotName)}
	first, err := openSnapshot(s.path, 1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, hint.Errorf("serve: no published snapshot %s", s.path).Mark(fs.ErrNotExist).
			Hint(`make it with "tidemark warehouse publish", or name the folder that holds latest.duckdb with --published DIR`)
	}
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	s.current = first
	return s, nil
}

func openSnapshot(path string, id int) (*snapshot, error) {
	file, err := openNameless(path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, err
	}
	var head [12]byte // a checksum of 8 bytes, and the mark
	if _, err := io.ReadFull(io.NewSectionReader(file, 0, 12), head[:]); err != nil || !info.Mode().IsRegular() || string(head[8:]) != "DUCK" {
		file.Close()
		return nil, hint.Errorf("%s: not a DuckDB file", path).Hint(`make it anew with "tidemark warehouse publish"`)
	}
	return &snapshot{file: file, info: info, id: id}, nil
}

// openNameless opens the file by a second name that it removes at once. DuckDB shows the path of its file to every query;
// of a file without a name it knows only the number. Where this server may not make the name, the path shows.
func openNameless(path string) (*os.File, error) {
	second := filepath.Join(filepath.Dir(path), fmt.Sprintf(".serve-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err := os.Link(path, second); err != nil {
		return os.Open(path)
	}
	file, err := os.Open(second)
	if removeErr := os.Remove(second); removeErr != nil && err == nil {
		file.Close()
		return nil, removeErr
	}
	return file, err
}

// newest opens the file again where another one has taken its name. Where that cannot be read, the last one stays.
func (s *snapshots) newest() (now *snapshot, err error) {
	s.looking.Lock()
	defer s.looking.Unlock()
	current := s.current // changes below alone
	info, err := os.Stat(s.path)
	switch {
	case err != nil:
		return current, err
	case isSameFile(info, current.info):
		return current, nil
	}
	if err := s.refused.still(info); err != nil {
		return current, err
	}
	next, err := openSnapshot(s.path, current.id+1)
	if err != nil {
		return current, err
	}
	if err := s.try(next); err != nil {
		next.file.Close()
		s.refused.note(next.info, err)
		return current, err
	}
	s.refused = refused{}
	return next, nil
}

// refused is a file that no worker has opened. One that a worker names broken is not tried again. A worker that dies without a word may have died
// of something that passes, such as a machine without memory: the file is tried again after a time that doubles, and not with every query.
type refused struct {
	file  fs.FileInfo
	err   error
	wait  time.Duration
	until time.Time
}

func (r *refused) still(now fs.FileInfo) error {
	if r.file == nil || !isSameFile(now, r.file) {
		return nil
	}
	if errors.Is(r.err, errNotOpened) || time.Now().Before(r.until) {
		return r.err
	}
	return nil
}

func (r *refused) note(file fs.FileInfo, err error) {
	if r.file == nil || !isSameFile(file, r.file) {
		r.wait = firstWait
	}
	*r = refused{file: file, err: err, wait: min(2*r.wait, time.Hour), until: time.Now().Add(r.wait)}
}

const firstWait = 5 * time.Second

// try makes a snapshot the current one if a worker can open it.
func (s *snapshots) try(next *snapshot) error {
	s.mu.Lock()
	s.proving = next
	s.mu.Unlock()
	err := s.prove(next)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proving = nil
	if err == nil {
		s.current.file.Close() // processes that work on it have it open themselves
		s.current = next
	}
	return err
}

func isSameFile(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// with lends the open file of a snapshot, unless a newer one has replaced it.
func (s *snapshots) with(of *snapshot, use func(*os.File) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != of && s.proving != of {
		return errReplaced
	}
	return use(of.file)
}

var (
	errReplaced  = errors.New("a newer snapshot has come")
	errNotOpened = errors.New("the snapshot cannot be opened")
)

func (s *snapshots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.file.Close()
}
