package fleet

import (
	"context"
	"math"
	"slices"

	"tidemark/analysis/capacity"
)

// Nine is how many replicas the busiest hour needs for a share of requests within every bound of the SLO.
type Nine struct {
	Share    float64
	PerS     *float64 // that one replica then takes
	Replicas *int     // nil: no number reaches it, because requests that have a replica to themselves miss a bound more often
}

// Nines are the replicas for each share, rehearsed at the busiest hour's shape. Where a search measured the replica, rehearsals say by how much
// less it takes. The lengths are those of the sample, whose 2,000 requests know nothing of a share beyond 99.9 %.
func (answer *Answer) Nines(ctx context.Context, a Asked, shares ...float64) (all []Nine, err error) {
	if answer.Busiest < 0 {
		return nil, nil
	}
	need := &answer.Hours[answer.Busiest]
	if need.PerS == nil || need.RehearsedAs < 0 {
		return nil, nil
	}
	r := a.rehearser()
	for _, within := range shares {
		server := answer.server
		server.Objectives, server.Replicas = atShare(server.Objectives, within), need.Capacity.Replicas
		c := need.Capacity // where the SLO asks for this share, and for no other
		if !slices.Equal(server.Objectives, answer.server.Objectives) {
			if c, err = r.nine(ctx, &server, answer.Shape, within); err != nil {
				return nil, err
			}
		}
		nine := Nine{Share: within}
		if c.PerS > 0 {
			nine.PerS = new(*need.PerS * min(c.PerS/need.Capacity.PerS, 1))
			nine.Replicas = need.fleets.enough(need.peak, *nine.PerS)
		}
		all = append(all, nine)
	}
	return all, need.fleets.err
}

// nine is the capacity at a share, from what is kept or played now.
func (r *rehearser) nine(ctx context.Context, server *Server, shape Shape, within float64) (Capacity, error) {
	return r.once(server.key(&shape)+"/nines", func() (c Capacity, err error) {
		requests := int(max(float64(server.played()), 10/(1-within))) // some ten of which miss
		played, err := server.rehearsal(ctx, shape, server.Replicas, requests)
		if err != nil {
			return c, err
		}
		got, err := played.at(capacity.Shift{}, math.Log(0.5*played.mostPerS/played.windowS), false)
		c.PerS = played.perReplica(got)
		return c, err
	})
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
