package schedule

import (
	"reflect"
	"testing"
	"time"

	"tidemark/replay/plan"
	"tidemark/replay/wire"
)

func TestAnsweredTokensStandWhereTheyWereSaid(t *testing.T) {
	s := New(Sessions, 0, true)
	turn := func(n, input, history int) *Ticket {
		t := &Ticket{Req: plan.Request{Session: "a", Turn: n, InputTokens: input, OutputTokens: 3, HistoryTokens: history}, IsLast: n == 4}
		s.Add(t)
		return t
	}
	tickets := []*Ticket{turn(0, 10, 0), turn(1, 20, 13), turn(2, 30, 23), turn(3, 12, 12), turn(4, 40, 15)}
	answers := [][]int32{{1, 2, 3, 4}, {5, wire.UnknownID, 7}, {8, 9, 10}, {11, 12, 13}, nil}
	want := [][]plan.Answer{
		nil,
		{{At: 10, IDs: []int32{1, 2, 3}}}, // three were asked for
		{{At: 10, IDs: []int32{1, 2, 3}}, {At: 20, IDs: []int32{5}}}, // what nobody knows stays as planned
		{{At: 10, IDs: []int32{1, 2}}},                               // this turn's history is cut
		{{At: 10, IDs: []int32{1, 2}}, {At: 12, IDs: []int32{11, 12, 13}}},
	}
	for i, ticket := range tickets {
		if got := s.Release(time.Hour); got != ticket {
			t.Fatalf("turn %d is not released", i)
		}
		if !reflect.DeepEqual(ticket.Answers, want[i]) {
			t.Errorf("turn %d: got %v, want %v", i, ticket.Answers, want[i])
		}
		s.Complete(ticket, time.Second, answers[i])
	}
	if len(s.sessions) > 0 {
		t.Error("the session is kept after its last turn")
	}
}
