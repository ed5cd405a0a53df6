// Turns of a session follow each other: the next is due when the one before has ended and its think time is over. A turn
// that is read too early waits behind the one before it (parked). Where answers become part of later prompts, their token
// ids are kept until the session's last turn; the reader counts turns ahead so that this memory can be given back.

package schedule

import (
	"slices"
	"time"

	"tidemark/replay/plan"
	"tidemark/replay/wire"
)

// sessionState is what the schedule knows of a session: its turns go one after the other, in the order of the plan.
type sessionState struct {
	open    int32         // turns that were read and have not ended
	end     time.Duration // of the last turn that has
	last    *Ticket       // of those that were read
	answers []plan.Answer // what the earlier turns were answered, where that is kept
}

// follow puts a turn behind the one before it; false when it has to wait for its end.
func (s *Schedule) follow(t *Ticket) bool {
	c, isKnown := s.sessions[t.session]
	waits := c.open > 0
	if waits {
		c.last.next = t
		s.parked++
	} else if isKnown {
		s.setDue(t, c.end)
		c.answers = t.recall(c.answers)
	}
	c.last = t
	c.open++
	s.sessions[t.session] = c
	return !waits
}

// setDue is when a turn is due, once the turn before it has ended. A failed turn does not end its session.
func (s *Schedule) setDue(t *Ticket, before time.Duration) {
	switch {
	case s.IsClosed:
		t.Due = before
	case t.Req.Think != nil:
		t.Due = before + *t.Req.Think
	default:
		t.Due = max(t.Req.Due, before)
	}
}

// turnEnded lets the next turn of the session come.
func (s *Schedule) turnEnded(t *Ticket, at time.Duration, ids []int32) {
	c, isKnown := s.sessions[t.session]
	if !isKnown { // the run was stopped
		return
	}
	if c.open--; c.open == 0 && t.IsLast {
		delete(s.sessions, t.session)
		return
	}
	c.end = at
	if s.KeepsIDs && len(ids) > 0 {
		ids = ids[:min(len(ids), t.Req.OutputTokens)]
		if i := slices.Index(ids, wire.UnknownID); i >= 0 { // from there on the ids are not known: the planned ones stay
			ids = ids[:i]
		}
		c.answers = append(c.answers, plan.Answer{At: t.Req.InputTokens, IDs: append([]int32(nil), ids...)})
	}
	next := t.next
	t.next = nil
	if c.open == 0 {
		c.last = nil
	}
	if next != nil {
		s.parked--
		s.setDue(next, at)
		c.answers = next.recall(c.answers)
		s.enqueue(next)
	}
	s.sessions[t.session] = c
}

// recall gives a turn the answers that its history holds, and returns them: what lies past the history is not part of
// this session's prompts any more.
func (t *Ticket) recall(answered []plan.Answer) []plan.Answer {
	var kept []plan.Answer
	for _, a := range answered {
		if room := t.Req.HistoryTokens - a.At; room > 0 {
			kept = append(kept, plan.Answer{At: a.At, IDs: a.IDs[:min(room, len(a.IDs))]})
		}
	}
	t.Answers = kept
	return kept[:len(kept):len(kept)]
}
