package rehearsal

import (
	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
)

// How requests are spread over replicas.
const (
	Turns       = "turns"        // as replay does: those of a session to one replica, others in turn
	LeastLoaded = "least-loaded" // to the replica that has fewest requests, running and waiting
	Prefix      = "prefix"       // to the one that was sent most of the prompt's leading blocks, as a cache-aware router does
)

// Routings are all of them.
var Routings = []string{Turns, LeastLoaded, Prefix}

// A router that follows the prefix does so for a match of this share of the prompt's tokens, and while the most loaded replica has neither so many requests more than
// the least loaded nor so many times as many: the defaults of SGLang's cache_aware policy (github.com/lightseekorg/smg, docs/getting-started/load-balancing.md).
const (
	matchShare  = 0.3
	moreThan    = 64
	timesAsMany = 1.5
	mostMatched = 64 // replicas that are told apart
)

// Router says which replica a request goes to: of a rehearsal, and of a replay over several addresses.
type Router struct {
	Routing  string
	Replicas int
	Load     func(replica int) int // its requests, running and waiting

	turn int
	sent map[uint64]uint64 // of each block the replicas that it was sent to, as bits
}

// Pick is called once for each request, in the order in which they are sent.
func (r *Router) Pick(req plan.Request) int {
	switch {
	case r.Replicas == 1:
		return 0
	case r.Routing == LeastLoaded:
		return r.least(^uint64(0))
	case r.Routing == Prefix && len(req.Blocks) > 0:
		return r.byPrefix(req)
	case req.Session != "":
		return int(splitmix.Hash(req.Session) % uint64(r.Replicas))
	}
	r.turn++
	return (r.turn - 1) % r.Replicas
}

// least is the least loaded of some replicas, as bits. Replicas beyond the last bit are always among them.
func (r *Router) least(of uint64) int {
	best := -1
	for i := range r.Replicas {
		if (i >= mostMatched || of>>i&1 == 1) && (best < 0 || r.Load(i) < r.Load(best)) {
			best = i
		}
	}
	return best
}

func (r *Router) byPrefix(req plan.Request) int {
	if r.sent == nil {
		r.sent = map[uint64]uint64{}
	}
	to := r.least(^uint64(0))
	if having, matched := r.longest(req.Blocks); float64(min(matched*req.BlockTokens, req.InputTokens)) >= matchShare*float64(req.InputTokens) && !r.isUneven(r.Load(to)) {
		to = r.least(having)
	}
	for _, b := range req.Blocks {
		r.sent[b] |= 1 << to
	}
	return to
}

// longest are the replicas that were sent the longest beginning of a prompt, and how many blocks that is.
func (r *Router) longest(blocks []uint64) (having uint64, matched int) {
	having = ^uint64(0) >> (mostMatched - r.Replicas)
	for _, b := range blocks {
		left := having & r.sent[b]
		if left == 0 {
			break
		}
		having = left
		matched++
	}
	return having, matched
}

// isUneven says that some replica has far more requests than the least loaded.
func (r *Router) isUneven(least int) bool {
	most := 0
	for i := range r.Replicas {
		most = max(most, r.Load(i))
	}
	return most-least > moreThan && float64(most) > timesAsMany*float64(least)
}
