package capacity

import (
	"math"
	"slices"
	"sort"
	"time"

	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// plans makes the requests at a multiple. Made plans are kept: a search looks at the same ones many times.
type plans struct {
	q    *Question
	made map[planKey][]plan.Request
	held int // requests in made
}

type planKey struct {
	scale float64
	seed  uint64
}

// mostHeld limits the memory of kept plans to some 100 MB.
const mostHeld = 800_000

func newPlans(q *Question) *plans { return &plans{q: q, made: map[planKey][]plan.Request{}} }

// whole is the whole window at a multiple, drawn by a seed.
func (p *plans) whole(scale float64, seed uint64) ([]plan.Request, error) {
	if p.q.Mode == schedule.Closed || scale == 1 && !p.q.BySpeed {
		return p.q.Window, nil
	}
	key := planKey{scale, seed}
	if made, isThere := p.made[key]; isThere {
		return made, nil
	}
	choices := plan.ScaledBy(scale, p.q.BySpeed, seed)
	if p.q.Mode == schedule.Sessions {
		choices.Mode, choices.IsBounded = "sessions", true
	}
	made, err := plan.Scaled(p.q.Window, choices)
	if err != nil {
		return nil, err
	}
	if p.held += len(made); p.held > mostHeld {
		clear(p.made)
		p.held = len(made)
	}
	p.made[key] = made
	return made, nil
}

// length of the window at a multiple.
func (q *Question) length(scale float64) time.Duration {
	if q.BySpeed {
		return time.Duration(float64(q.Length) / scale)
	}
	return q.Length
}

// probeSeed of the n-th run: each run draws its own sessions.
func (q *Question) probeSeed(n int) uint64 {
	return splitmix.Mix(q.Seed ^ splitmix.Mix(uint64(n)^0x9406e))
}

// curveSeed of the n-th play of the window; the same at each multiple, so that a larger one contains the smaller.
func (q *Question) curveSeed(n int) uint64 {
	return splitmix.Mix(q.Seed ^ splitmix.Mix(uint64(n)^0xc0e5e))
}

// piece is what a run sends: the requests due within a time from a place in the plan on, due from 0. A session that is under way there
// goes on with the turn that is due next.
func piece(whole []plan.Request, from, length time.Duration) []plan.Request {
	begin := sort.Search(len(whole), func(i int) bool { return whole[i].Due >= from })
	end := sort.Search(len(whole), func(i int) bool { return whole[i].Due >= from+length })
	cut := slices.Clone(whole[begin:end])
	for i := range cut {
		cut[i].Due -= from
		cut[i].Seq = int64(i)
	}
	return cut
}

// places are where pieces of that length may begin: n of them, evenly over the window.
func places(window, length time.Duration, n int) []time.Duration {
	if length >= window {
		return []time.Duration{0}
	}
	begins := make([]time.Duration, n)
	for i := range begins {
		begins[i] = time.Duration(float64(window-length) * float64(i) / float64(n-1))
	}
	return begins
}

// golden is the n-th place by golden-ratio steps: no two are near each other.
func golden(window, length time.Duration, n int) time.Duration {
	_, share := math.Modf(0.5 + float64(n)*0.6180339887498949)
	return time.Duration(share * float64(max(window-length, 0)))
}
