package objects

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/internal/escape"
	"tidemark/internal/hint"
)

// runFile is the object of a run's folder that is written last. It says whether the client has ended.
const runFile = "run.json"

// fetchedFile marks a folder as a copy of one in a bucket. It holds the address.
const fetchedFile = ".fetched"

// KeepFolder copies the folder of a run that is being sent, soon and then at intervals, so that what was measured is not lost with the
// machine. A copy that fails is left to the next one, and at the end to PutFolder, which comes after stop.
func (s *Store) KeepFolder(ctx context.Context, folder string, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a pod that is told to end may need its half minute for the last copy
	var copying sync.WaitGroup
	copying.Go(func() {
		for wait := every / 12; ; wait = every { // the first while the client still waits for the start
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
				_ = s.PutFolder(ctx, folder)
			}
		}
	})
	return func() { cancel(); copying.Wait() }
}

// PutFolder writes the files of a run's folder as objects below its name.
func (s *Store) PutFolder(ctx context.Context, folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var names []string
	for _, file := range files {
		if file.Type().IsRegular() && file.Name() != runFile && file.Name() != runFile+".new" && file.Name() != fetchedFile { // the second is about to be renamed
			names = append(names, file.Name())
		}
	}
	for _, name := range append(names, runFile) {
		if err := s.PutFile(ctx, path.Join(filepath.Base(folder), name), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// PutFile writes a file as an object.
func (s *Store) PutFile(ctx context.Context, name, from string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return s.Write(ctx, name, file, info.Size())
}

// FetchFile copies the object at s3://bucket/name to a file that does not exist.
func FetchFile(ctx context.Context, address, to string) error {
	s, name, err := openAbove(address)
	if err != nil {
		return err
	}
	return s.fetchTo(ctx, name, to)
}

func (s *Store) fetchTo(ctx context.Context, name, to string) error {
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(s.Fetch(ctx, name, file), file.Close())
}

// FetchFolders copies the run folders whose address matches, as s3://bucket/results/RUN-shard-*, into a local folder, and names them. One
// that is there already stays, unless its client had not ended: the folder of a run that has ended does not change. What was not fetched is
// never replaced: it may be newer, and be written at this moment.
func FetchFolders(ctx context.Context, address, into string) (folders []string, err error) {
	s, pattern, err := openAbove(address)
	if err != nil {
		return nil, err
	}
	list, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	files, there := map[string][]string{}, []string{}
	for _, object := range list {
		folder, file, isIn := strings.Cut(object.Name, "/")
		if !isIn || !filepath.IsLocal(folder) || !filepath.IsLocal(file) || strings.Contains(file, "/") {
			continue
		}
		if files[folder] == nil {
			there = append(there, folder)
		}
		if matches, err := path.Match(pattern, folder); err != nil {
			return nil, hint.Misuse("%s: %w", address, err)
		} else if matches {
			files[folder] = append(files[folder], file)
			continue
		}
		files[folder] = []string{}
	}
	for _, folder := range there {
		switch {
		case len(files[folder]) == 0:
			continue
		case !slices.Contains(files[folder], runFile):
			return nil, hint.Errorf("%s/%s has no %s: its client has only begun, or was refused or killed then", s.at, folder, runFile).
				Hint("wait for it; if it was refused or killed, the load was not the plan: send all of it again")
		}
		to := filepath.Join(into, folder)
		if err := s.fetchFolder(ctx, folder, files[folder], to); err != nil {
			return nil, err
		}
		folders = append(folders, to)
	}
	if len(folders) == 0 {
		return nil, hint.Misuse("%s: no run's folder has that name", address).Hint("%s", hint.Known("folder", there, pattern))
	}
	return folders, nil
}

// fetchFolder copies to the side and renames, so that the folder is there whole or not at all.
func (s *Store) fetchFolder(ctx context.Context, folder string, files []string, to string) error {
	address := s.at.String() + "/" + folder
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		if err != nil || !isRunning(to) {
			return err
		}
		if !isCopy(to, address, files) {
			return hint.Errorf("%s is not a copy of %s, and its client has not ended", to, address).
				Hint("ingest the folder that is there (tidemark ingest %s), or fetch into another one: --runs DIR", escape.Shell(to))
		}
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	beside, err := os.MkdirTemp(filepath.Dir(to), ".fetch-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(beside)
	for _, file := range files {
		if err := s.fetchTo(ctx, path.Join(folder, file), filepath.Join(beside, file)); err != nil {
			return err
		}
	}
	mark := os.WriteFile(filepath.Join(beside, fetchedFile), []byte(address+"\n"), 0o644)
	if err := errors.Join(mark, os.Chmod(beside, 0o755), os.RemoveAll(to)); err != nil {
		return err
	}
	return os.Rename(beside, to)
}

// isRunning says that a folder was fetched before its client had ended, or that the client never did.
func isRunning(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, runFile))
	var said struct{ Status string }
	return err == nil && json.Unmarshal(text, &said) == nil && said.Status == "running"
}

// isCopy says that a folder was fetched from an address and holds nothing else.
func isCopy(folder, address string, files []string) bool {
	mark, err := os.ReadFile(filepath.Join(folder, fetchedFile))
	entries, unreadable := os.ReadDir(folder)
	return err == nil && unreadable == nil && strings.TrimSpace(string(mark)) == address && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() != fetchedFile && !slices.Contains(files, e.Name())
	})
}

// openAbove opens the prefix that holds an object, or objects that match a pattern, and gives the name below it.
func openAbove(address string) (*Store, string, error) {
	where, endpoint, hasEndpoint := strings.Cut(address, "?endpoint=")
	cut := strings.LastIndex(where, "/")
	above, name := where[:cut], where[cut+1:]
	if name == "" || len(above) <= len(scheme) {
		return nil, "", hint.Misuse("%s: an object or folder in a bucket is wanted", address).Hint("as in s3://bucket/results/RUN-shard-*")
	}
	if hasEndpoint {
		above += "?endpoint=" + endpoint
	}
	at, err := ParseAddress(above)
	if err != nil {
		return nil, "", err
	}
	s, err := Open(at)
	return s, name, err
}
