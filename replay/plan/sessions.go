// Sessions in a plan. A trace says when a turn arrived, which contains how long the traced server took for the turn before.
// Replayed on another server those answers take another time, so a turn's due time becomes a lower bound: think time after
// the turn before, as if answers took none. The schedule adds the real answers when it sends.

package plan

import (
	"iter"
	"time"
)

// bounded gives every turn the earliest time that it can be due: its think time after that of the turn before, as if
// answers took no time. Where the think time is not known the turn keeps its own arrival. The result is out of order:
// a trace's arrivals hold the time of the answers too.
func bounded(requests iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		bounds := map[uint64]time.Duration{} // session -> bound of its last turn
		for req, err := range requests {
			if err == nil && req.Session != "" {
				session := sessionKey(req)
				before, isLater := bounds[session]
				switch {
				case isLater && req.Think != nil:
					req.Due = before + *req.Think
				case isLater:
					req.Due = max(req.Due, before)
				}
				bounds[session] = req.Due
			}
			if !yield(req, err) {
				return
			}
		}
	}
}

// inTime leaves out what Duration leaves out: requests due at or after it or, of sessions, those that begin then.
func (d *draft) inTime(requests iter.Seq2[Request, error]) iter.Seq2[Request, error] {
	if d.choices.Duration == 0 {
		return requests
	}
	return func(yield func(Request, error) bool) {
		begun := map[uint64]bool{} // sessions in time
		for req, err := range requests {
			if err == nil && !d.isInTime(req, begun) {
				if d.choices.Mode == "sessions" {
					continue // a session that is in time may still have turns
				}
				return
			}
			if !yield(req, err) {
				return
			}
		}
	}
}

// isInTime keeps a session whole: once its first turn is in time, so are the others.
func (d *draft) isInTime(req Request, begun map[uint64]bool) bool {
	inTime := req.Due < d.choices.Duration
	if d.choices.Mode != "sessions" || req.Session == "" {
		return inTime
	}
	session := sessionKey(req)
	if begun[session] {
		return true
	}
	if inTime {
		begun[session] = true
	}
	return inTime
}
