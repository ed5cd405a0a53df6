// Waiting until servers have nothing else to do. A server counts a request a moment after its last byte has left, and an
// engine may be between two batches, so one idle look proves nothing: two in a row do, a quarter of a second apart.

package replay

import (
	"context"
	"net/http"
	"sync"
	"time"

	"tidemark/internal/hint"
	"tidemark/replay/engines"
	"tidemark/replay/host"
)

// drainEvery is how often a server that still runs others' requests is asked.
const drainEvery = 250 * time.Millisecond

// drain waits until the servers have been idle at two looks in a row; without a time-out it only takes the first look.
func (a *controlClient) drain(ctx context.Context, s Settings, first []exposition, r *readiness) error {
	began := time.Now()
	idle := 0
	at, isKnown := loadOf(first)
	if !isKnown {
		return ctx.Err()
	}
	before := at
	r.RunningBefore, r.WaitingBefore = &before.Running, &before.Waiting
	for {
		if idle++; !at.IsIdle() {
			idle = 0
		}
		isDrained := at.IsIdle()
		r.IsDrained, r.WaitedS = &isDrained, time.Since(began).Seconds()
		switch {
		case s.DrainTimeout == 0:
			r.WaitedS = 0
			return nil
		case idle == 2:
			return nil
		case time.Since(began) >= s.DrainTimeout:
			return stillBusy(at, s.DrainTimeout)
		}
		if !host.TimerSleep(ctx, drainEvery) {
			return ctx.Err()
		}
		if next, isKnown := loadOf(a.expositions(ctx, s.MetricsURLs)); isKnown { // a look without an answer says nothing
			at = next
		} else {
			idle = -1
		}
	}
}

// stillBusy ends a run before it began: figures taken together with an unknown load are nobody's.
func stillBusy(at engines.Load, waited time.Duration) error {
	return hint.Errorf("replay: after %v the server still runs %d requests and has %d waiting, none of them ours: nothing was sent",
		waited, at.Running, at.Waiting).Hint("find out who else uses it, wait longer with --drain-timeout, or leave it out to measure together with that load")
}

// exposition is what one address of metrics says; nil: it gave no answer.
type exposition struct {
	address string
	text    []byte
}

// expositions asks all addresses at once: one that hangs costs its time-out, and no more.
func (a *controlClient) expositions(ctx context.Context, addresses []string) []exposition {
	all := make([]exposition, 0, len(addresses))
	var asking sync.WaitGroup
	for _, address := range addresses {
		if address == noMetrics {
			continue
		}
		all = append(all, exposition{address: address})
		one := &all[len(all)-1]
		asking.Go(func() {
			if status, text, err := a.get(ctx, address); err == nil && status == http.StatusOK {
				one.text = text
			}
		})
	}
	asking.Wait()
	return all
}

// loadOf adds up. An exporter of other things counts for nothing; a server that does not answer leaves all unknown.
func loadOf(all []exposition) (sum engines.Load, isKnown bool) {
	for _, one := range all {
		if one.text == nil {
			return engines.Load{}, false
		}
		load, is := engines.LoadIn(one.text)
		sum.Running, sum.Waiting, isKnown = sum.Running+load.Running, sum.Waiting+load.Waiting, isKnown || is
	}
	return sum, isKnown
}
