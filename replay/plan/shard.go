// A shard is a part of a plan that one of several clients sends. Requests keep their numbers and due times, so the shards
// together are the plan exactly. A session is always whole in one shard, since a turn waits for the turn before it.

package plan

import (
	"fmt"
	"iter"
	"strconv"

	"tidemark/internal/hint"
	"tidemark/internal/splitmix"
)

// Shard is one of Count parts of a plan, counted from 0.
type Shard struct{ Index, Count int }

// String is how people write it: 3/8.
func (s Shard) String() string { return strconv.Itoa(s.Index) + "/" + strconv.Itoa(s.Count) }

const (
	// sharedDepth is how many leading blocks are looked at to keep a prefix in one shard.
	sharedDepth = 4
	// fairShare bounds a prefix that is kept whole to this part of one shard's requests: a system prompt that all requests
	// have would otherwise put the whole plan into one shard.
	fairShare = 4
)

// WriteShard writes the shard's requests into a plan file at path, which must not exist. A request belongs to the shard that
// the hash of its session names. A request without a session goes with the longest group that it shares a prefix with: the
// first of its leading blocks that few enough requests begin with. Without any it goes by its number.
func WriteShard(whole *Plan, path string, shard Shard) (Header, error) {
	begun, err := whole.prefixes()
	if err != nil {
		return Header{}, err
	}
	most := whole.header.Requests / int64(shard.Count*fairShare)
	own := func(yield func(Request, error) bool) {
		for req, err := range whole.Requests() {
			if (err != nil || shardOf(req, begun, most, shard.Count) == shard.Index) && !yield(req, err) {
				return
			}
		}
	}
	return writePlan(path, whole.header, func(header *Header, body *lineFile) error {
		if err := header.recount(own, body); err != nil {
			return err
		}
		if header.Requests == 0 {
			return hint.Errorf("plan %s: no request belongs to shard %s", whole.path, shard).Hint("use fewer shards")
		}
		return nil
	})
}

// recount writes the requests as they are, and counts them into the header, which is otherwise the whole plan's.
func (h *Header) recount(requests iter.Seq2[Request, error], body *lineFile) error {
	h.Requests, h.InputTokens, h.OutputTokens, h.SharedTokens, h.Sessions = 0, 0, 0, 0, 0
	h.LongestTokens, h.LongestInputTokens, h.MeanRatePerS, h.PeakRatePerS = 0, 0, 0, 0
	t := newTotals(h)
	sessions := map[string]bool{}
	for req, err := range requests {
		if err != nil {
			return err
		}
		h.Requests++
		h.InputTokens += int64(req.InputTokens)
		h.OutputTokens += int64(req.OutputTokens)
		h.SharedTokens += int64(req.SharedTokens)
		h.LongestTokens = max(h.LongestTokens, req.InputTokens+req.OutputTokens)
		h.LongestInputTokens = max(h.LongestInputTokens, req.InputTokens)
		if req.Session == "" {
			h.Sessions++
		} else {
			sessions[req.Session] = true
		}
		t.rate(req.Due)
		if err := body.add(req); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	h.Sessions += int64(len(sessions))
	t.end()
	return nil
}

// prefixes counts the requests without a session that begin with each block. Ids are chained, so an id deep in a prompt
// stands for the whole prompt up to it.
func (p *Plan) prefixes() (map[uint64]int64, error) {
	begun := map[uint64]int64{}
	for req, err := range p.Requests() {
		if err != nil {
			return nil, err
		}
		if req.Session != "" {
			continue
		}
		for _, id := range req.Blocks[:min(len(req.Blocks), sharedDepth)] {
			begun[id]++
		}
	}
	return begun, nil
}

// shardOf says which shard sends a request.
func shardOf(req Request, begun map[uint64]int64, most int64, count int) int {
	key := splitmix.Mix(uint64(req.Seq))
	if req.Session != "" {
		key = splitmix.Hash(req.Session)
	} else {
		for _, id := range req.Blocks[:min(len(req.Blocks), sharedDepth)] {
			if begun[id] <= most {
				key = id
				break
			}
		}
	}
	return int(splitmix.Mix(key) % uint64(count))
}

// Join writes the plan that shards were made of into a plan file at path, which must not exist.
func Join(path string, shards []*Plan) (Header, error) {
	return writePlan(path, shards[0].header, func(header *Header, body *lineFile) error { return header.recount(inOrder(shards), body) })
}

// inOrder merges the requests of the shards by their number.
func inOrder(shards []*Plan) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		type source struct {
			next func() (Request, error, bool)
			head Request
		}
		var sources []*source
		for _, shard := range shards {
			next, stop := iter.Pull2(shard.Requests())
			defer stop()
			s := &source{next: next}
			head, err, ok := s.next()
			if err != nil {
				yield(head, err)
				return
			}
			if ok {
				s.head, sources = head, append(sources, s)
			}
		}
		for len(sources) > 0 {
			first := 0
			for i, s := range sources {
				if s.head.Seq < sources[first].head.Seq {
					first = i
				}
			}
			s := sources[first]
			if !yield(s.head, nil) {
				return
			}
			head, err, ok := s.next()
			if err != nil {
				yield(head, err)
				return
			}
			if s.head = head; !ok {
				sources = append(sources[:first], sources[first+1:]...)
			}
		}
	}
}
