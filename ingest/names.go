package ingest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"

	"tidemark/ingest/read"
)

// nameFiles settles what the files would be called if the warehouse were empty: by
// their own names or, where several have the same name, with the folder after it.
func nameFiles(files []candidate, names *claims) {
	alike := map[string]int{}
	for _, file := range files {
		alike[read.SourceName(file.path)]++
	}
	for i := range files {
		name := read.SourceName(files[i].path)
		for place, candidate := range candidates(files[i].path, name) {
			if place == 0 && alike[name] > 1 {
				continue
			}
			if names.claim(candidate, files[i].path) {
				files[i].name = candidate
				break
			}
		}
	}
}

// candidates are a file's names, the best first, without end. What distinguishes
// them comes last, so that a pattern such as chat-* finds them all.
func candidates(path, name string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		longer := name
		if absolute, err := filepath.Abs(path); err == nil && path != "-" {
			longer = strings.Trim(name+"-"+read.KebabCase(filepath.Base(filepath.Dir(absolute))), "-")
		}
		if !yield(0, name) || !yield(1, longer) {
			return
		}
		for number := 2; yield(number, fmt.Sprintf("%s-%d", longer, number)); number++ {
		}
	}
}

// freeName is the name that the file is to have or, where another file has it
// already and this one is one of many, the next of its candidates.
func (n *claims) freeName(ctx context.Context, db rowQuerier, file candidate, name string) (string, error) {
	taken := nameIsFree(ctx, db, name)
	if taken == nil || !file.isOneOfMany || !errors.Is(taken, errNameTaken) {
		return name, taken
	}
	for _, free := range candidates(file.path, read.SourceName(file.path)) {
		if !n.claim(free, file.path) {
			continue
		}
		if err := nameIsFree(ctx, db, free); err == nil || !errors.Is(err, errNameTaken) {
			return free, err
		}
	}
	panic("unreachable: numbers do not end")
}

// claims are the names (or fingerprints) that the files of one Load have taken, so
// that two that are read at the same time do not take the same.
type claims struct {
	mutex   sync.Mutex
	claimed map[string]string // name -> path
}

func newClaims() *claims { return &claims{claimed: map[string]string{}} }

// claim says whether the name is the path's to use; the first who asks gets it.
func (n *claims) claim(name, path string) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if other, ok := n.claimed[name]; ok {
		return other == path
	}
	n.claimed[name] = path
	return true
}
