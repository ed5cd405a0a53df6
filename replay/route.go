// Which server a request goes to: by its class, else by its session (hashed, so that later turns find their prefix in the
// cache of the same server), else in turn. pick is called in the order of the plan, so that the same plan always goes to the
// same servers. A policy that looks at loads or prefixes chooses bodyAhead before the request is due, from what is open then.

package replay

import (
	"slices"
	"sync"
	"sync/atomic"

	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
	"tidemark/replay/wire"
)

// endpoint is one server that is sent to.
type endpoint struct {
	address string // its base url, as it is shown
	name    string // the same; empty when there is only one
	pool    *wire.Pool
	writer  *requestWriter
	refused atomic.Int64 // connections refused in a row
	open    atomic.Int64 // requests that were given to it and have not ended
}

// router says which request goes where: by its class, else by its session, else in turn.
type router struct {
	all      []*endpoint
	base     []*endpoint
	byClass  map[string]*endpoint
	turn     int
	choosing sync.Mutex
	policy   *rehearsal.Router // nil: in turns
	isBare   bool              // all connections are sockets for the event loop
	// usesBase says that some request may go to base: a class without a route, or a request without a class.
	usesBase atomic.Bool
}

// newRouter makes a pool and a writer for each server; classes are those of the plan, as far as it names them.
func newRouter(s Settings, servers []Server, prompts plan.Prompts, classes []string) *router {
	r := &router{byClass: map[string]*endpoint{}, isBare: isBare(s, servers)}
	byURL := map[string]*endpoint{}
	for _, server := range servers {
		t := server.target
		e := &endpoint{
			address: t.shown(),
			pool:    wire.NewPool(t.address, s.Dial, t.tlsConfig(s), s.ConnectTimeout, r.isBare),
			writer:  newRequestWriter(t.base.EscapedPath()+s.Endpoint, t.base.Host, s, server.engine.Fields, prompts),
		}
		if len(servers) > 1 {
			e.name = e.address
		}
		r.all = append(r.all, e)
		byURL[t.base.String()] = e
	}
	find := func(address string) *endpoint {
		t, _ := parseTarget(address) // Check has parsed it before
		return byURL[t.base.String()]
	}
	for _, address := range s.BaseURLs {
		r.base = append(r.base, find(address))
	}
	for class, address := range s.Routes {
		r.byClass[class] = find(address)
	}
	if s.Routing != "" && s.Routing != rehearsal.Turns && len(r.base) > 1 {
		r.policy = &rehearsal.Router{Routing: s.Routing, Replicas: len(r.base), Load: func(i int) int { return int(r.base[i].open.Load()) }}
	}
	hasNoRoute := func(class string) bool { return r.byClass[class] == nil }
	r.usesBase.Store(len(classes) == 0 || len(classes) == plan.MaxClasses || slices.ContainsFunc(classes, hasNoRoute))
	return r
}

// isBare says whether the connections are plain sockets of ours, which the event loop can take over.
func isBare(s Settings, servers []Server) bool {
	for _, server := range servers {
		if server.target.base.Scheme != "http" {
			return false
		}
	}
	return hasEventLoop && s.dialsPlainly && s.Sleep == nil
}

// unbare leaves the connections to Go.
func (r *router) unbare() {
	r.isBare = false
	for _, e := range r.all {
		e.pool.Unbare()
	}
}

// pick is called in the order of the plan. It is nil where a policy chooses later.
func (r *router) pick(req plan.Request) *endpoint {
	if e := r.byClass[req.Class]; e != nil {
		return e
	}
	r.usesBase.Store(true)
	if len(r.base) == 0 { // routes alone, and a class that has none
		return r.all[0]
	}
	if r.policy != nil {
		return nil
	}
	if req.Session != "" {
		return r.base[splitmix.Hash(req.Session)%uint64(len(r.base))]
	}
	e := r.base[r.turn%len(r.base)]
	r.turn++
	return e
}

// choose has the policy say where a request goes, and counts it there.
func (r *router) choose(req plan.Request) *endpoint {
	r.choosing.Lock()
	defer r.choosing.Unlock()
	e := r.base[r.policy.Pick(req)]
	e.open.Add(1)
	return e
}

func (r *router) close() {
	for _, e := range r.all {
		e.pool.Close()
	}
}
