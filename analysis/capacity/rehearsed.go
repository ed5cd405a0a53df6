package capacity

import (
	"context"
	"fmt"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/splitmix"
	"tidemark/replay/schedule"
)

// Rehearsed is a server in virtual time, as uneven as Noise says: for tests and for studies of the method.
type Rehearsed struct {
	Question *Question     // for mode, replicas and routing
	Engine   engine.Config // with its step time
	Noise    engine.Noise
	Says     Settings // what it tells; the zero value tells nothing

	runs int
}

// Measure plays the probe and looks at it as a real run would be looked at.
func (s *Rehearsed) Measure(ctx context.Context, p Probe) (Measured, error) {
	s.runs++
	q := *s.Question
	settings := q.rehearsal(s.Engine, 1)
	settings.Mode, settings.MaxConcurrency, settings.Noise = p.Mode, p.MaxConcurrency, s.Noise
	settings.Noise.Seed = splitmix.Mix(s.Noise.Seed + uint64(p.Number))
	all, err := replies(ctx, settings, p.Requests)
	if err != nil {
		return Measured{}, err
	}
	m := Measured{RunID: fmt.Sprintf("rehearsed-%d", p.Number), Replies: all, Said: Said{Settings: s.Says}}
	end := p.Length
	if p.Mode == schedule.Closed {
		end = 0
		for _, r := range all {
			end = max(end, r.Last)
		}
	}
	m.LoadS = end.Seconds()
	if p.Hopeless == nil {
		return m, nil
	}
	for at := HopelessFrom; at < end; at += HopelessEvery {
		if seen := asOf(all, at); p.Hopeless(at, seen) {
			m.CutAt, m.LoadS, m.Replies = at, at.Seconds(), seen
			break
		}
	}
	return m, nil
}

// asOf is what is known of replies at an instant.
func asOf(all []Reply, at time.Duration) []Reply {
	seen := make([]Reply, len(all))
	for i, r := range all {
		if !r.IsSent || r.Sent > at {
			continue
		}
		if r.First > at {
			r.First = 0
		}
		if r.Last > at {
			r.Last, r.Gaps = 0, nil
		}
		seen[i] = r
	}
	return seen
}
