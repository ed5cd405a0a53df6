package ingest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/ingest/runs"
	"tidemark/internal/hint"
)

// Which files the paths name. A folder may be one source (a run, a results folder)
// or a tree of files, each a source of its own.

// candidate is one file, or one folder that is one source, to take in.
type candidate struct {
	path   string
	source int64  // its number in the warehouse, if it is taken in
	size   int64  // on disk, bytes; 0 where that is not known
	name   string // that it is to have, unless the user names another
	isRun  bool
	merged string   // where the whole run lies that path is a shard of; empty: path is whole
	notes  []string // of merging
	// isResults is a results folder, see folder.go.
	isResults bool
	inFolder  bool // came from a folder: what is not data is passed over

	// isOneOfMany files cannot be named by hand: a name that is taken gives way.
	isOneOfMany bool

	isAfter bool // all other files have been read
}

// gather lists what the paths name. Folders are walked; a folder with a run.json is
// one run, and one with row-*.json and their hardware.md is a results folder.
func gather(paths []string) (files []candidate, passedOver []Result, errs []error) {
	for _, path := range paths {
		if path == "-" {
			files = append(files, candidate{path: path})
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			errs = append(errs, missing(path, err))
		case !info.IsDir():
			files = append(files, candidate{path: path})
		default:
			inside, passed, err := walk(path)
			if err == nil && len(inside) == 0 {
				err = hint.Errorf("%s", "ingest "+path+": a folder with no file in it").
					Hint("name a trace, or a run's folder (it has a run.json)")
			}
			files, passedOver = append(files, inside...), append(passedOver, passed...)
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return files, passedOver, errs
}

// walk lists a folder's files by name. Hidden files are left out, as is what is not
// a regular file (a pipe would block). A link to a file is that file; a link to a
// folder is not followed, so that the walk ends.
func walk(root string) (files []candidate, passedOver []Result, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return missing(path, err)
		case path != root && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case entry.IsDir():
			if _, err := os.Stat(filepath.Join(path, runs.RunFile)); err == nil {
				files = append(files, candidate{path: path, isRun: true})
				return fs.SkipDir
			}
			if isResultsFolder(path) {
				files = append(files, candidate{path: path, isResults: true})
			}
		case !isFile(path, entry):
			passedOver = append(passedOver, Result{Path: path, Notes: []string{"passed over: neither a file nor a link to one"}})
		case isPart(entry) && slices.ContainsFunc(files, func(f candidate) bool { return f.isResults && f.path == filepath.Dir(path) }):
		default:
			files = append(files, candidate{path: path, inFolder: true})
		}
		return nil
	})
	return files, passedOver, err
}

// isFile says that there is a regular file, or a link that leads to one.
func isFile(path string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// missing is the error of a path that cannot be read, in the system's words.
func missing(path string, err error) error {
	var pathError *fs.PathError
	reason := err
	if errors.As(err, &pathError) {
		reason = pathError.Err
	}
	return hint.Errorf("ingest %s: %v", path, reason).Hint("check the path")
}

// sizeOf is a regular file's size on disk; 0 for anything else.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}
