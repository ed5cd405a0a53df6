package fleet

import (
	"context"
	"errors"
	"math"

	"tidemark/analysis/capacity"
)

// calibration is the server as a search has measured it: the model with all steps so much longer or shorter that it takes of the search's window what
// the search found. The hours of a week are then rehearsed with that server. A ratio of two rehearsals would not do: where a bound is tight, one error of
// all steps changes what an hour takes by much more than what the window takes.
type calibration struct {
	Server
	window Capacity // of the search's window, by this server
}

// Steps are looked for between a seventh of the model's and seven times as long, in ln.
const mostOff = 2

// calibrate finds it; nil: there is no search, its traffic is gone, or no speed of the model takes as much.
func (r *rehearser) calibrate(ctx context.Context) (*calibration, error) {
	s := r.Search
	if s == nil || s.Window == nil {
		return nil, nil
	}
	server := r.Server
	server.Replicas = int(s.replicas)
	off, err := r.once(server.key(s.Window)+"/calibrated", func() (c Capacity, err error) {
		played, err := server.rehearsal(ctx, *s.Window, server.size(), server.played())
		if err != nil {
			return c, err
		}
		c.Slow, c.Gain, err = played.slower(math.Log(s.PerS))
		return c, err
	})
	if err != nil || math.IsNaN(off.Slow) || off.Gain == 0 {
		return nil, err
	}
	model := server.Engine.StepTime
	server.Engine.StepTime = capacity.ShiftedSteps(model)(capacity.Shift{All: off.Slow})
	server.Slower, server.Faster = math.Log(s.PerS/s.LowPerS)/off.Gain, math.Log(s.PerS/s.LowPerS)/off.Gain
	if s.HighPerS != nil {
		server.Faster = math.Log(*s.HighPerS/s.PerS) / off.Gain
	}
	if s.Origin != Measured { // nothing is known of how far the model is from real GPUs
		server.Slower, server.Faster = math.Hypot(server.Slower, math.Log1p(server.Band)), math.Hypot(server.Faster, math.Log1p(server.Band))
	}
	window, err := r.rehearse(ctx, server, *s.Window)
	if err != nil || window.PerS <= 0 {
		return nil, err
	}
	server.Replicas = r.Server.Replicas
	return &calibration{server, window}, nil
}

// slower is by how much all steps must be longer, in ln, so that one replica takes exp(wanted) a second, and by how much more than steps are longer it
// takes less there. Without an answer the gain is 0.
func (r *played) slower(wanted float64) (off, gain float64, err error) {
	takes := func(off float64) (float64, error) {
		l, err := r.at(capacity.Shift{All: off}, math.Log(0.7*r.mostPerS/r.windowS)-off, true)
		return math.Log(r.perReplica(l)), err
	}
	// Between two speeds, one of which takes more and one less, by the chord, and by halves where that is steep.
	low, high := 0.0, 0.0
	more, err := takes(0)
	less := more
	for step := 0.2; err == nil && more < wanted && low > -mostOff; step *= 2 {
		low = max(low-step, -mostOff)
		more, err = takes(low)
	}
	for step := 0.2; err == nil && less > wanted && high < mostOff; step *= 2 {
		high = min(high+step, mostOff)
		less, err = takes(high)
	}
	if err != nil || more < wanted || less > wanted {
		return 0, 0, err
	}
	for range 8 {
		if high-low < 0.01 {
			break
		}
		share := 0.5
		if !math.IsInf(less, 0) {
			share = max(0.1, min(0.9, (more-wanted)/(more-less)))
		}
		off = low + share*(high-low)
		got, err := takes(off)
		if err != nil {
			return 0, 0, err
		}
		if got >= wanted {
			low, more = off, got
		} else {
			high, less = off, got
		}
	}
	// How steep it is there is told by two speeds that are well apart.
	const apart = 0.05
	a, errA := takes(off - apart)
	b, errB := takes(off + apart)
	if errA != nil || errB != nil {
		return 0, 0, errors.Join(errA, errB)
	}
	return off, max(1, (a-b)/(2*apart)), nil
}
