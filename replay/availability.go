// Which servers are there. A connection that is refused is counted for its endpoint, and three in a row mean that it is
// down. The counters are read by all goroutines that connect, so they are atomics; the list of absences has a lock of its
// own, since it is only touched when a server goes or comes back.

package replay

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tidemark/internal/hint"
	"tidemark/replay/wire"
)

// An endpoint has gone when refusedLimit connections to it in a row were refused, and it is back when one is made. While
// another endpoint is left the run goes on: requests are routed as before, so those that the missing endpoint was to get
// are still tried at their due times and fail. Nothing is sent elsewhere instead: the others get the load that they were
// to get, and the share that failed is what users of such a deployment would have seen. Not so in a closed loop: a refused
// request frees its slot at once, and the next one may go to another server.

const (
	refusedLimit = 3 // refused connections in a row

	onDeadGoOn = "go-on"
	onDeadStop = "stop"
)

// Who ended a run that stopped by itself.
const (
	stoppedByServer = "server" // it has gone: the run says something of the server, and nothing of the client
	stoppedByClient = "client" // a full disk, a plan that cannot be read
	stoppedBySetup  = "set-up" // the server was given another model
)

// stopError is why a run stopped by itself.
type stopError struct {
	by string
	error
}

func (e stopError) Unwrap() error { return e.error }

// whoStopped is the client where nobody else is to blame.
func whoStopped(err error) string {
	var stop stopError
	if errors.As(err, &stop) {
		return stop.by
	}
	return stoppedByClient
}

// absence is the time in which an endpoint was gone.
type absence struct {
	BaseURL string   `json:"base_url"`
	AtS     float64  `json:"at_s"`                // since the run began
	BackAtS *float64 `json:"back_at_s,omitempty"` // absent: it did not come back
	Reason  string   `json:"reason"`
}

// availability knows which endpoints have gone.
type availability struct {
	router *router
	stops  bool // at the first that goes
	tell   func(string)
	giveUp func(error)

	mu   sync.Mutex
	gone []absence
}

// down takes note of an endpoint that has gone, and ends the run where none is left that the plan may use.
func (p *availability) down(e *endpoint, at time.Duration, why string) {
	p.mu.Lock()
	reason := fmt.Sprintf("%d connections in a row were refused, the last with: %s", refusedLimit, why)
	p.gone = append(p.gone, absence{BaseURL: e.address, AtS: at.Seconds(), Reason: reason})
	p.mu.Unlock()
	left := p.router.left()
	switch {
	case p.stops || len(left) == 0 && len(p.router.all) == 1:
		p.giveUp(stopError{stoppedByServer, fmt.Errorf("the server at %s has gone: %s", e.pool.Address, reason)})
	case len(left) == 0:
		p.giveUp(stopError{stoppedByServer, fmt.Errorf("all servers have gone, the last one at %s: %s", e.pool.Address, reason)})
	default:
		p.tell(fmt.Sprintf("the server at %s has gone: %s; its requests fail from now on, the others go on at %s", e.pool.Address, reason,
			strings.Join(left, ", ")))
	}
}

// up takes note of an endpoint that is there again.
func (p *availability) up(e *endpoint, at time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	seconds := at.Seconds()
	for i := range p.gone {
		if p.gone[i].BaseURL == e.address && p.gone[i].BackAtS == nil {
			p.gone[i].BackAtS = &seconds
		}
	}
}

// reached takes note that a connection to an endpoint was made.
func (s *runState) reached(e *endpoint) {
	if e.refused.Swap(0) >= refusedLimit {
		s.availability.up(e, s.now())
	}
}

// refusedBy takes note that a connection was refused at its due time.
func (s *runState) refusedBy(e *endpoint, err error) {
	if e.refused.Add(1) == refusedLimit {
		s.availability.down(e, s.now(), wire.Cause(err))
	}
}

// left are the endpoints that requests of the plan may go to and that are there.
func (r *router) left() (addresses []string) {
	for _, e := range r.all {
		if e.refused.Load() < refusedLimit && r.mayUse(e) {
			addresses = append(addresses, e.pool.Address)
		}
	}
	return addresses
}

// mayUse says whether a request of the plan may go to an endpoint: that of a route's class, or one of the base urls where
// some class has no route.
func (r *router) mayUse(e *endpoint) bool {
	for _, routed := range r.byClass {
		if routed == e {
			return true
		}
	}
	return r.usesBase.Load()
}

// checkOnDead allows the two answers to a server that goes away while others are left.
func (s Settings) checkOnDead() error {
	if on := cmp.Or(s.OnDead, onDeadGoOn); on != onDeadGoOn && on != onDeadStop {
		return hint.Errorf("replay: %q is not an answer to a server that goes away", s.OnDead).Hint("the known ones are go-on and stop")
	}
	return nil
}
