package fleet

import (
	"context"
	"fmt"
	"math"
	"sync"

	"tidemark/internal/parallel"
)

// rehearser answers one question on every processor, and keeps what it rehearses.
type rehearser struct {
	Asked
	mu    sync.Mutex // of Kept and fresh
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

// rehearse is the capacity of a shape.
func (r *rehearser) rehearse(ctx context.Context, server Server, shape Shape) (Capacity, error) {
	return r.once(server.key(&shape), func() (Capacity, error) { return server.Rehearse(ctx, shape) })
}

// ratios of the capacity of a shape, in fleets of other sizes.
func (r *rehearser) ratios(ctx context.Context, shape Shape, full Capacity) *ratios {
	server := r.Server
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
	return &ratios{perS: perS, full: full, ln: map[int]float64{full.Replicas: 0}}
}

// fleets are the ratios at the shape of the week's fullest hour, which stand for all of its hours: how much replicas gain by serving together depends on their slots and the bounds of
// the SLO more than on lengths.
func (r *rehearser) fleets(ctx context.Context, groups []group, of []int, hours []Hour) *ratios {
	best, most := -1, 0.0
	for i := range hours {
		if g := of[i]; g >= 0 && groups[g].capacity.PerS > 0 && hours[i].PeakPerS/groups[g].capacity.PerS > most {
			best, most = g, hours[i].PeakPerS/groups[g].capacity.PerS
		}
	}
	if best < 0 {
		return &ratios{full: Capacity{Replicas: 1, Most: math.Inf(1)}, ln: map[int]float64{1: 0}}
	}
	return r.ratios(ctx, groups[best].shape, groups[best].capacity)
}

// rehearseAll fills the capacity of each group.
func (r *rehearser) rehearseAll(ctx context.Context, groups []group) error {
	return parallel.Told(len(groups), r.Told, func(i int) (err error) {
		groups[i].capacity, err = r.rehearse(ctx, r.Server, groups[i].shape)
		return err
	})
}
