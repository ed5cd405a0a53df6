package fleet

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
)

// rehearser answers one question on every processor, and keeps what it rehearses.
type rehearser struct {
	Asked
	mu    sync.Mutex // of Kept, fresh and Told
	fresh int
}

func (a Asked) rehearser() *rehearser { return &rehearser{Asked: a} }

// once is a rehearsal as it is kept, or as it is made now.
func (r *rehearser) once(key string, rehearse func() (Capacity, error)) (c Capacity, err error) {
	if r.Kept != nil {
		r.mu.Lock()
		c, isKept := r.Kept.Get(key)
		r.mu.Unlock()
		if isKept {
			return c, nil
		}
	}
	if c, err = rehearse(); err != nil {
		return c, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fresh++
	if r.Kept != nil {
		if err := r.Kept.Put(key, c); err != nil {
			return c, fmt.Errorf("fleet: keep a rehearsal: %w", err)
		}
	}
	return c, nil
}

// rehearse is the capacity of a shape, and that of fleets of other sizes as they are asked for.
func (r *rehearser) rehearse(ctx context.Context, server Server, shape Shape) (Capacity, *ratios, error) {
	c, err := r.once(server.key(&shape), func() (Capacity, error) { return server.Rehearse(ctx, shape) })
	perS := func(replicas int) (float64, error) {
		server.Replicas = replicas
		c, err := r.once(server.key(&shape)+"/centre", func() (c Capacity, err error) {
			played, err := server.rehearsal(ctx, shape, replicas, server.played())
			if err != nil {
				return c, err
			}
			centre, err := played.centre(false)
			c.PerS = played.perReplica(centre)
			return c, err
		})
		return c.PerS, err
	}
	return c, &ratios{perS: perS, full: c, ln: map[int]float64{c.Replicas: 0}}, err
}

// rehearseAll fills the capacity of each group, and says that of the search's window, which is as old as the search and was sent to as many replicas
// as that had; nil: there is none.
func (r *rehearser) rehearseAll(ctx context.Context, groups []group) (measured *Capacity, err error) {
	all := len(groups)
	if r.Search != nil && r.Search.Window != nil {
		all++
	}
	done := 0
	err = r.inParallel(ctx, all, func(i int) (err error) {
		server, shape := r.Server, Shape{}
		if i == len(groups) {
			server.Replicas, shape = int(r.Search.replicas), *r.Search.Window
		} else {
			shape = groups[i].shape
		}
		c, fleets, err := r.rehearse(ctx, server, shape)
		r.mu.Lock()
		defer r.mu.Unlock()
		if done++; r.Told != nil {
			r.Told(done, all)
		}
		if i == len(groups) {
			measured = &c
		} else {
			groups[i].capacity, groups[i].fleets = c, fleets
		}
		return err
	})
	return measured, err
}

// inParallel does n things on as many threads as there are. The first error ends it.
func (r *rehearser) inParallel(ctx context.Context, n int, do func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var working sync.WaitGroup
	for range max(1, min(n, cmp.Or(r.Threads, runtime.GOMAXPROCS(0)))) {
		working.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				if err := do(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	working.Wait()
	return context.Cause(ctx)
}
