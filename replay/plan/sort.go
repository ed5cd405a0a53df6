// External merge sort: bounds of sessions are out of order, and a plan may be larger than memory. Parts of some 50 MB are
// sorted and spooled, then merged through a heap of their first requests. Equal due times keep the order in which they came.

package plan

import (
	"cmp"
	"iter"
	"slices"

	"tidemark/internal/heap"
)

// What is sorted in memory at once: some 50 MB.
const (
	sortRequests = 1 << 17
	sortBlocks   = 1 << 22
)

// byDue puts requests in order of due time, equal ones as they came, in bounded memory: parts are sorted, kept in spool
// files and merged. What fits one part never sees the disk.
func (d *draft) byDue(requests iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		s := sorter{folder: d.folder, isInMemory: d.isInMemory}
		defer s.remove()
		for req, err := range requests {
			if err == nil {
				err = s.add(req)
			}
			if err != nil {
				yield(req, err)
				return
			}
		}
		s.sort()
		if err := s.merge(yield); err != nil {
			yield(Request{}, err)
		}
	}
}

// sorter gathers requests in memory and spools them when they are too many.
type sorter struct {
	folder string
	// isInMemory says that all is one part.
	isInMemory bool

	part   []Request // the last part, in memory
	blocks int       // ids in it
	spools []*lineFile
}

// add limits both requests and block ids: prompts of a million tokens have thousands of ids each.
func (s *sorter) add(req Request) error {
	s.part = append(s.part, req)
	s.blocks += len(req.Blocks)
	if s.isInMemory || len(s.part) < sortRequests && s.blocks < sortBlocks {
		return nil
	}
	return s.spool()
}

// sort is stable: requests of one instant keep their order, which is that of their turns.
func (s *sorter) sort() {
	slices.SortStableFunc(s.part, func(a, b Request) int { return cmp.Compare(a.Due, b.Due) })
}

// spool writes the part in memory to a file of its own.
func (s *sorter) spool() error {
	s.sort()
	file, err := newLineFile(s.folder)
	if err != nil {
		return err
	}
	s.spools = append(s.spools, file)
	for _, req := range s.part {
		if err := file.add(req); err != nil {
			return err
		}
	}
	s.part, s.blocks = s.part[:0], 0
	return file.close()
}

// remove deletes the spool files, also after an error.
func (s *sorter) remove() {
	for _, file := range s.spools {
		file.remove()
	}
}

// merge yields the parts as one.
func (s *sorter) merge(yield func(Request, error) bool) error {
	if len(s.spools) == 0 {
		for _, req := range s.part {
			if !yield(req, nil) {
				return nil
			}
		}
		return nil
	}
	var heads []*mergeHead
	for i, file := range s.spools {
		next, stop := iter.Pull2(file.requests())
		defer stop()
		heads = append(heads, &mergeHead{part: i, next: next})
	}
	next, stop := iter.Pull2(Each(s.part))
	defer stop()
	heads = append(heads, &mergeHead{part: len(heads), next: next})
	return mergeHeads(heads, yield)
}

// mergeHead is the next request of one part.
type mergeHead struct {
	Request
	part int
	next func() (Request, error, bool)
}

// advance is false at the part's end.
func (h *mergeHead) advance() (bool, error) {
	req, err, ok := h.next()
	h.Request = req
	return ok, err
}

// mergeHeads yields the smallest head until all parts are empty; at equal times the earlier part comes first.
func mergeHeads(heads []*mergeHead, yield func(Request, error) bool) error {
	full := heap.New(func(a, b *mergeHead) bool { return a.Due < b.Due || a.Due == b.Due && a.part < b.part })
	for _, head := range heads {
		ok, err := head.advance()
		if err != nil {
			return err
		}
		if ok {
			full.Add(head)
		}
	}
	for full.Len() > 0 {
		head := full.First()
		if !yield(head.Request, nil) {
			return nil
		}
		ok, err := head.advance()
		if err != nil {
			return err
		}
		if ok {
			full.Replace(head)
		} else {
			full.Take()
		}
	}
	return nil
}
