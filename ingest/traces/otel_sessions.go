package traces

import (
	"cmp"
	"slices"

	"tidemark/ingest/read"
)

// spanPlace is where a request stands in its session.
type spanPlace struct {
	session, parent  string
	turn, parentTurn *int32
	think            *float64
}

// sessions puts requests into sessions: a conversation, as the spans name it, or
// else a trace of several requests. What an agent inside another agent asks for is
// a session of its own, called conversation/span, that the other one began.
func (s *spans) sessions(requests []*span) map[*span]spanPlace {
	several := map[string]int{}
	for _, one := range requests {
		several[one.trace]++
	}
	places := make(map[*span]spanPlace, len(requests))
	turns := map[string][]*span{}
	began := map[string]*span{} // the span of a session's agent
	for _, one := range requests {
		in, agent := s.session(one, several[one.trace] > 1)
		places[one] = in
		if in.session != "" {
			turns[in.session] = append(turns[in.session], one)
			began[in.session] = agent
		}
	}
	for _, of := range turns {
		slices.SortStableFunc(of, func(a, b *span) int { return cmp.Compare(a.start, b.start) })
		for i, one := range of {
			in := places[one]
			in.turn = new(int32(i))
			if i > 0 && of[i-1].end > 0 && of[i-1].end <= one.start {
				in.think = new(float64(one.start-of[i-1].end) / 1e9)
			}
			places[one] = in
		}
	}
	for _, one := range requests {
		in := places[one]
		if agent := began[in.session]; in.parent != "" && agent != nil {
			// The turn that asked for the agent is the last that ended before it.
			for i, turn := range turns[in.parent] {
				if turn.end > 0 && turn.end <= agent.start {
					in.parentTurn = new(int32(i))
				}
			}
			places[one] = in
		}
	}
	return places
}

// session names the session of a request, the session that began it, and the agent
// that it belongs to.
func (s *spans) session(of *span, isOneOfSeveral bool) (in spanPlace, agent *span) {
	conversation := of.conversation
	var agents []*span // the innermost first
	for outer := range s.around(of) {
		conversation = cmp.Or(conversation, outer.conversation)
		if outer.isAgent() {
			agents = append(agents, outer)
		}
	}
	switch {
	case conversation != "":
	case isOneOfSeveral:
		conversation = of.trace
	default:
		return spanPlace{}, nil
	}
	if !read.PlainID().MatchString(conversation) {
		number, ok := s.people.Of(conversation)
		if !ok {
			return spanPlace{}, nil
		}
		conversation = "session-" + number
	}
	name := func(i int) string { // of the session of an agent
		if i == len(agents)-1 || !read.PlainID().MatchString(agents[i].id) {
			return conversation
		}
		return conversation + "/" + agents[i].id
	}
	if len(agents) < 2 {
		return spanPlace{session: conversation}, nil
	}
	in = spanPlace{session: name(0)}
	if in.session != conversation {
		in.parent = name(1)
	}
	return in, agents[0]
}
