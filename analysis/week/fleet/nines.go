package fleet

import (
	"context"
	"fmt"
	"math"

	"tidemark/analysis/capacity"
)

// Nine is how many replicas the busiest hour needs for a share of requests within every bound of the SLO.
type Nine struct {
	Share    float64
	PerS     *float64 // that one replica then takes
	Replicas *int     // nil: no number reaches it, because requests that have a replica to themselves miss a bound more often
}

// mostForNines bounds what is played for a share: at 99.99 % some ten requests of it miss.
const mostForNines = 100_000

// Nines are the replicas for each share, rehearsed at the busiest hour's shape. Where a search measured the replica, rehearsals say by how much
// less it takes. The lengths are those of the sample: requests that are rarer than one in it are not played.
func (answer *Answer) Nines(ctx context.Context, a Asked, shares ...float64) (all []Nine, err error) {
	if answer.Busiest < 0 {
		return nil, nil
	}
	need := &answer.Hours[answer.Busiest]
	if need.PerS == nil || need.RehearsedAs < 0 {
		return nil, nil
	}
	groups, of := share(a.Hours)
	shape := groups[of[answer.Busiest]].shape
	for _, within := range shares {
		server := a.Server
		server.Objectives = atShare(a.Server.Objectives, within)
		c, err := a.nine(ctx, &server, shape, within)
		if err != nil {
			return nil, err
		}
		nine := Nine{Share: within}
		if c.PerS > 0 {
			perS := *need.PerS * min(c.PerS/need.Capacity.PerS, 1)
			replicas := max(1, int(math.Ceil(need.peak/perS-1e-9)))
			nine.PerS, nine.Replicas = &perS, &replicas
		}
		all = append(all, nine)
	}
	return all, nil
}

// nine is the capacity at a share, from what is kept or played now.
func (a *Asked) nine(ctx context.Context, server *Server, shape Shape, within float64) (c Capacity, err error) {
	key := server.key(&shape) + "/nines"
	if a.Kept != nil {
		if c, isThere := a.Kept.Get(key); isThere {
			return c, nil
		}
	}
	requests := int(max(float64(server.played()), min(mostForNines, 10/(1-within))))
	r, err := server.rehearsal(ctx, shape, requests)
	if err != nil {
		return c, err
	}
	got, err := r.at(capacity.Shift{}, math.Log(0.5*r.mostPerS/r.windowS), false)
	if err != nil {
		return c, err
	}
	if !math.IsInf(got.Ln, -1) {
		c.PerS = math.Exp(got.Ln) * r.windowS
	}
	if a.Kept != nil {
		if err := a.Kept.Put(key, c); err != nil {
			return c, fmt.Errorf("fleet: keep a rehearsal: %w", err)
		}
	}
	return c, nil
}

// atShare are the bounds of an SLO for that share of requests: of several for one metric the one of the highest percentile, for a bound of the median
// is not meant for all.
func atShare(objectives []capacity.Objective, within float64) (all []capacity.Objective) {
	for i, o := range objectives {
		isHighest := true
		for j, other := range objectives {
			if o.Metric == other.Metric && o.Class == other.Class && (other.Quantile > o.Quantile || other.Quantile == o.Quantile && j < i) {
				isHighest = false
			}
		}
		if isHighest {
			o.Quantile = within
			all = append(all, o)
		}
	}
	return all
}
