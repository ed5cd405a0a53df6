// More load of the same kind: clones of whole sessions, which begin in their originals' five minutes at a rate that rises and falls as it
// did (rate.go). Clones beside their originals would come in clumps: they took half of what a server takes of as many users.
// A clone shares prompts with others exactly as its original does, and nothing with its original: the blocks that the original
// had to itself get new ids. docs and the notebook of metrics define "thicken"; it is not the same as speed, which shortens
// think times too.

package plan

import (
	"fmt"
	"iter"
	"math"
	"os"
	"time"

	"tidemark/internal/heap"
	"tidemark/internal/splitmix"
)

// thickened plays every session about Thicken times: the original as it was, and clones at seeded moments. It needs the starts of all
// sessions and the largest block id before the first clone, so the requests pass through a spool file.
func (d *draft) thickened(requests iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		t := &thickener{seed: d.choices.Seed, factor: d.choices.Thicken, owner: map[uint64]uint64{}, unitOf: map[uint64]int{}, later: heap.New(earlier)}
		// What Duration leaves out need not be spooled: its clones are due in five minutes that are left out too, but for the last.
		spool, err := t.survey(d, d.inTime(requests))
		if err != nil {
			yield(Request{}, err)
			return
		}
		defer spool.remove()
		for req, err := range spool.requests() {
			if err != nil {
				yield(req, err)
				return
			}
			for t.later.Len() > 0 && t.later.First().Due <= req.Due-rateSpan {
				if !yield(t.later.Take().Request, nil) {
					return
				}
			}
			t.clone(req)
		}
		for t.later.Len() > 0 {
			if !yield(t.later.Take().Request, nil) {
				return
			}
		}
	}
}

// thickener makes clones while the spooled requests pass a second time.
type thickener struct {
	seed   uint64
	factor float64
	unitOf map[uint64]int    // session -> its place among the sessions
	starts []time.Duration   // of the sessions, in order
	begins [][]time.Duration // when the clones of each session begin
	stride uint64            // one past the largest block id of the source
	owner  map[uint64]uint64 // block id -> the session that had it first
	later  heap.Heap[*clone] // made and not yet due
	made   int64
}

// survey writes the requests to a spool and learns what the clones need.
func (t *thickener) survey(d *draft, requests iter.Seq2[Request, error]) (spool, error) {
	spool, err := d.newSpool()
	if err != nil {
		return nil, err
	}
	largest := uint64(0)
	for req, err := range requests {
		if err == nil {
			err = spool.add(req)
		}
		if err != nil {
			spool.remove()
			return nil, err
		}
		if session := sessionKey(req); !t.has(session) {
			t.unitOf[session] = len(t.starts)
			t.starts = append(t.starts, req.Due)
		}
		for _, id := range req.Blocks {
			largest = max(largest, id)
		}
	}
	t.begins = beginningsOf(t.starts, t.factor, t.seed)
	t.stride = largest + 1
	if err := spool.close(); err != nil {
		spool.remove()
		return nil, err
	}
	return spool, nil
}

func (t *thickener) has(session uint64) bool {
	_, has := t.unitOf[session]
	return has
}

// clone puts a request and its copies into the heap. All requests of a session move by the same offset.
func (t *thickener) clone(req Request) {
	session := sessionKey(req)
	for _, id := range req.Blocks {
		if _, had := t.owner[id]; !had {
			t.owner[id] = session
		}
	}
	t.put(req)
	unit := t.unitOf[session]
	for i, begin := range t.begins[unit] {
		c := req
		c.Due += begin - t.starts[unit]
		c.Blocks = t.ownBlocks(req.Blocks, session, i+1)
		if req.Session != "" {
			c.Session = fmt.Sprintf("%s~%d", req.Session, i+1)
		}
		t.put(c)
	}
}

func (t *thickener) put(req Request) {
	t.made++
	t.later.Add(&clone{req, t.made})
}

// ownBlocks keeps the leading blocks that another session had first: the original shared them, so does its clone. From
// there on the clone has blocks that nobody else has, the same ones in all its turns. So a clone shares exactly as many
// tokens as its original did.
func (t *thickener) ownBlocks(blocks []uint64, session uint64, nth int) []uint64 {
	if len(blocks) == 0 {
		return nil
	}
	own := make([]uint64, len(blocks))
	private := false
	for i, id := range blocks {
		private = private || t.owner[id] == session
		own[i] = id
		if private {
			own[i] = t.privateID(id, nth)
		}
	}
	return own
}

// privateID stays small where the source's ids are small: ids below the cube of the vocabulary differ in their first
// three tokens. Ids that are hashes already fill 64 bits and are hashed again.
func (t *thickener) privateID(id uint64, nth int) uint64 {
	if t.stride != 0 && t.stride < math.MaxUint64/1001 {
		return id + uint64(nth)*t.stride
	}
	return splitmix.Mix(id ^ splitmix.Mix(uint64(nth)))
}

// clone is a request that was made and is not due yet.
type clone struct {
	Request
	made int64 // ties in due time keep this order, so that the same seed gives the same plan
}

func earlier(a, b *clone) bool { return a.Due < b.Due || a.Due == b.Due && a.made < b.made }

// spool keeps requests that are read a second time.
type spool interface {
	add(Request) error
	close() error
	requests() iter.Seq2[Request, error]
	remove()
}

// newSpool is a file next to the plan that is being made, or memory where no file is made.
func (d *draft) newSpool() (spool, error) {
	if d.isInMemory {
		return &memory{}, nil
	}
	return newLineFile(d.folder)
}

// memory is a spool for plans that are small enough for it.
type memory struct{ held []Request }

func (m *memory) add(req Request) error               { m.held = append(m.held, req); return nil }
func (m *memory) close() error                        { return nil }
func (m *memory) requests() iter.Seq2[Request, error] { return Each(m.held) }
func (m *memory) remove()                             {}

// lineFile is a temporary compressed file of requests, next to the plan that is being made.
type lineFile struct {
	file  *os.File
	lines *LineWriter
	buf   []byte
}

// newLineFile lies in the plan's own folder: that disk must have the room anyway, and /tmp may be memory.
func newLineFile(folder string) (*lineFile, error) {
	file, err := os.CreateTemp(folder, ".plan-*.zst")
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	lines, err := NewLineWriter(file)
	if err != nil {
		return nil, err
	}
	return &lineFile{file: file, lines: lines}, nil
}

func (f *lineFile) add(req Request) error {
	f.buf = append(appendRequest(f.buf[:0], req), '\n')
	_, err := f.lines.Write(f.buf)
	return err
}

func (f *lineFile) close() error { return f.lines.Close() }

// remove closes and deletes the file; it may be called after an error anywhere.
func (f *lineFile) remove() {
	f.lines.Close()
	f.file.Close()
	os.Remove(f.file.Name())
}

// requests reads the file from its start; it must have been closed before.
func (f *lineFile) requests() iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		if _, err := f.file.Seek(0, 0); err != nil {
			yield(Request{}, err)
			return
		}
		readRequests(f.file, 0, yield)
	}
}
