package replay

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
	"tidemark/replay/wire"
)

// sending is what a schedule decided for one request, and when it ended.
type sending struct {
	seq             int64
	due, held, sent time.Duration
	done            time.Duration
}

// simulate drives a schedule as a dispatcher does, on a clock that jumps from one event to the next. A request takes a
// time of its own, the same in every simulation.
func simulate(s *schedule, requests []plan.Request) (log []sending) {
	type flight struct {
		t    *ticket
		ends time.Duration
	}
	var flights []flight
	now, read := -beginAhead, 0
	for {
		for read < len(requests) && s.room() > 0 && (s.isClosed || requests[read].Due-readAhead <= now) {
			s.add(&ticket{req: requests[read]})
			read++
		}
		for t := s.prepare(now); t != nil; t = s.prepare(now) {
			t.isReady = true
		}
		for t := s.release(now); t != nil; t = s.release(now) {
			took := time.Duration(1+splitmix.Mix(uint64(t.req.Seq))%uint64(400*time.Millisecond)) + 1
			flights = append(flights, flight{t, now + took})
			log = append(log, sending{t.req.Seq, t.due, t.held, now, now + took})
		}
		if s.room() > 0 && read < len(requests) && s.isClosed {
			continue
		}
		next := s.wake()
		if read < len(requests) && s.room() > 0 {
			next = min(next, requests[read].Due-readAhead)
		}
		slices.SortFunc(flights, func(a, b flight) int { return int(a.ends - b.ends) })
		if len(flights) > 0 {
			next = min(next, flights[0].ends)
		}
		if next == never {
			return log
		}
		now = max(now, next)
		for len(flights) > 0 && flights[0].ends <= now {
			s.complete(flights[0].t, flights[0].ends, nil)
			flights = flights[1:]
		}
	}
}

// conversations makes some sessions of some turns; a turn's due time is the earliest it can have, in the order of a plan.
func conversations(seed uint64, sessions int) (requests []plan.Request) {
	rnd := rand.New(rand.NewPCG(seed, 11))
	for i := range sessions {
		at := time.Duration(rnd.Int64N(int64(3 * time.Second)))
		name := fmt.Sprintf("s%d", i)
		if rnd.IntN(4) == 0 {
			name = ""
		}
		for turn := range 1 + rnd.IntN(5) {
			r := plan.Request{Session: name, Turn: turn, Due: at, InputTokens: 1 + rnd.IntN(40), OutputTokens: 1 + rnd.IntN(9)}
			think := time.Duration(rnd.Int64N(int64(time.Second)))
			if turn > 0 && rnd.IntN(5) > 0 {
				r.Think = &think
				r.Due = at + think
			}
			at = r.Due
			requests = append(requests, r)
		}
	}
	slices.SortStableFunc(requests, func(a, b plan.Request) int { return int(a.Due - b.Due) })
	for i := range requests {
		requests[i].Seq = int64(i)
	}
	return requests
}

// modesOf are the ways in which a plan is sent.
var modesOf = []struct {
	mode  string
	limit int
}{{modeOpen, 0}, {modeOpen, 3}, {modeSessions, 0}, {modeSessions, 4}, {modeClosed, 1}, {modeClosed, 5}}

func TestScheduleKeepsItsWordForEverySeed(t *testing.T) {
	seeds := uint64(1000)
	if testing.Short() || isRace {
		seeds = 50
	}
	for seed := range seeds {
		plan := conversations(seed, 12)
		for _, m := range modesOf {
			where := fmt.Sprintf("seed %d, %s, limit %d", seed, m.mode, m.limit)
			log := simulate(newSchedule(m.mode, m.limit, false), plan)
			if again := simulate(newSchedule(m.mode, m.limit, false), plan); !reflect.DeepEqual(log, again) {
				t.Fatalf("%s: two logs of one plan differ", where)
			}
			checkLog(t, where, m.mode, m.limit, plan, log)
		}
	}
}

func checkLog(t *testing.T, where, mode string, limit int, plan []plan.Request, log []sending) {
	t.Helper()
	if len(log) != len(plan) {
		t.Fatalf("%s: sent %d of %d", where, len(log), len(plan))
	}
	bySeq := make([]*sending, len(plan))
	for i := range log {
		s := &log[i]
		if bySeq[s.seq] != nil {
			t.Fatalf("%s: %d was sent twice", where, s.seq)
		}
		bySeq[s.seq] = s
		if s.sent != s.due+s.held || s.held < 0 || s.held > 0 && (limit == 0 || mode == modeClosed) {
			t.Fatalf("%s: %+v is not sent when it is due", where, *s)
		}
	}
	checkFlights(t, where, mode, limit, log)
	before := map[string]*sending{}
	for i, r := range plan {
		s, turn := bySeq[i], before[r.Session]
		want := r.Due
		switch {
		case mode == modeClosed:
			want = s.due
			if turn != nil && s.sent < turn.done {
				t.Fatalf("%s: %+v overtakes its session", where, *s)
			}
		case mode == modeSessions && turn != nil && r.Think != nil:
			want = turn.done + *r.Think
		case mode == modeSessions && turn != nil:
			want = max(r.Due, turn.done)
		}
		if s.due != want {
			t.Fatalf("%s: request %d is due at %v, want %v", where, i, s.due, want)
		}
		if r.Session != "" {
			before[r.Session] = s
		}
	}
}

// checkFlights counts what is in flight at each sending.
func checkFlights(t *testing.T, where, mode string, limit int, log []sending) {
	t.Helper()
	for i, s := range log {
		inFlight := 1
		wasFull := s.sent == 0
		for j, other := range log {
			if i != j && other.sent <= s.sent && other.done > s.sent && (other.sent < s.sent || j < i) {
				inFlight++
			}
			wasFull = wasFull || other.done == s.sent
		}
		if limit > 0 && inFlight > limit {
			t.Fatalf("%s: %d in flight with request %d", where, inFlight, s.seq)
		}
		if mode == modeClosed && !wasFull { // a slot never waits: it is taken when it comes free
			t.Fatalf("%s: request %d went at %v, when nothing had ended", where, s.seq, s.sent)
		}
	}
}

func TestAnsweredTokensStandWhereTheyWereSaid(t *testing.T) {
	s := newSchedule(modeSessions, 0, true)
	turn := func(n, input, history int) *ticket {
		t := &ticket{req: plan.Request{Session: "a", Turn: n, InputTokens: input, OutputTokens: 3, HistoryTokens: history}, isLast: n == 4}
		s.add(t)
		return t
	}
	tickets := []*ticket{turn(0, 10, 0), turn(1, 20, 13), turn(2, 30, 23), turn(3, 12, 12), turn(4, 40, 15)}
	answers := [][]int32{{1, 2, 3, 4}, {5, wire.UnknownID, 7}, {8, 9, 10}, {11, 12, 13}, nil}
	want := [][]plan.Answer{
		nil,
		{{At: 10, IDs: []int32{1, 2, 3}}}, // three were asked for
		{{At: 10, IDs: []int32{1, 2, 3}}, {At: 20, IDs: []int32{5}}}, // what nobody knows stays as planned
		{{At: 10, IDs: []int32{1, 2}}},                               // this turn's history is cut
		{{At: 10, IDs: []int32{1, 2}}, {At: 12, IDs: []int32{11, 12, 13}}},
	}
	for i, ticket := range tickets {
		if got := s.release(time.Hour); got != ticket {
			t.Fatalf("turn %d is not released", i)
		}
		if !reflect.DeepEqual(ticket.answers, want[i]) {
			t.Errorf("turn %d: got %v, want %v", i, ticket.answers, want[i])
		}
		s.complete(ticket, time.Second, answers[i])
	}
	if len(s.sessions) > 0 {
		t.Error("the session is kept after its last turn")
	}
}

func TestRequestsGoToTheirServers(t *testing.T) {
	s := Settings{BaseURLs: []string{"http://a:1", "http://b:1/v1"}, Routes: map[string]string{"P0": "http://c:1", "P1": "http://a:1"}}
	targets, err := s.targets()
	if err != nil {
		t.Fatal(err)
	}
	var servers []Server
	for _, t := range targets {
		servers = append(servers, Server{target: t})
	}
	r := newRouter(s, servers, plan.Prompts{}, nil)
	for i, want := range []string{"http://a:1", "http://b:1", "http://a:1", "http://b:1"} {
		if got := r.pick(plan.Request{}).name; got != want {
			t.Errorf("request %d goes to %s, want %s", i, got, want)
		}
	}
	if got := r.pick(plan.Request{Class: "P0", Session: "x"}).name; got != "http://c:1" {
		t.Errorf("P0 goes to %s", got)
	}
	if got := r.pick(plan.Request{Class: "P1"}); got != r.base[0] {
		t.Errorf("P1 goes to %s", got.name)
	}
	seen := map[string]int{}
	for i := range 1000 {
		session := fmt.Sprint("s", i)
		e := r.pick(plan.Request{Session: session})
		if e != r.pick(plan.Request{Session: session, Turn: 1}) {
			t.Errorf("%s goes to two servers", session)
		}
		seen[e.name]++
	}
	if seen["http://a:1"] < 400 || seen["http://b:1"] < 400 {
		t.Errorf("sessions are shared out as %v", seen)
	}
}
