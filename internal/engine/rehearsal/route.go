package rehearsal

import (
	"tidemark/internal/engine"
	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
)

// How requests are spread over replicas.
const (
	Turns       = "turns"        // as replay does: those of a session to one replica, others in turn
	LeastLoaded = "least-loaded" // to the replica that has fewest requests, running and waiting
)

type router struct {
	routing string
	engines []*engine.Server
	turn    int
}

func (r *router) pick(req plan.Request) int {
	if len(r.engines) == 1 {
		return 0
	}
	if r.routing == LeastLoaded {
		best := 0
		for i, engine := range r.engines {
			if engine.Load() < r.engines[best].Load() {
				best = i
			}
		}
		return best
	}
	if req.Session != "" {
		return int(splitmix.Hash(req.Session) % uint64(len(r.engines)))
	}
	r.turn++
	return (r.turn - 1) % len(r.engines)
}
