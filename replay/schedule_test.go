package replay

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/internal/splitmix"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// sending is what a schedule decided for one request, and when it ended.
type sending struct {
	seq             int64
	due, held, sent time.Duration
	done            time.Duration
}

// simulate drives a schedule as a dispatcher does, on a clock that jumps from one event to the next. A request takes a
// time of its own, the same in every simulation.
func simulate(s *schedule.Schedule, requests []plan.Request) (log []sending) {
	type flight struct {
		t    *schedule.Ticket
		ends time.Duration
	}
	var flights []flight
	now, read := -beginAhead, 0
	for {
		for read < len(requests) && s.Room() > 0 && (s.IsClosed || requests[read].Due-readAhead <= now) {
			s.Add(&schedule.Ticket{Req: requests[read]})
			read++
		}
		for s.Prepare(now) != nil {
		}
		for t := s.Release(now); t != nil; t = s.Release(now) {
			took := time.Duration(1+splitmix.Mix(uint64(t.Req.Seq))%uint64(400*time.Millisecond)) + 1
			flights = append(flights, flight{t, now + took})
			log = append(log, sending{t.Req.Seq, t.Due, t.Held, now, now + took})
		}
		if s.Room() > 0 && read < len(requests) && s.IsClosed {
			continue
		}
		next := s.Wake()
		if read < len(requests) && s.Room() > 0 {
			next = min(next, requests[read].Due-readAhead)
		}
		slices.SortFunc(flights, func(a, b flight) int { return int(a.ends - b.ends) })
		if len(flights) > 0 {
			next = min(next, flights[0].ends)
		}
		if next == schedule.Never {
			return log
		}
		now = max(now, next)
		for len(flights) > 0 && flights[0].ends <= now {
			s.Complete(flights[0].t, flights[0].ends, nil)
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
}{{schedule.Open, 0}, {schedule.Open, 3}, {schedule.Sessions, 0}, {schedule.Sessions, 4}, {schedule.Closed, 1}, {schedule.Closed, 5}}

func TestScheduleKeepsItsWordForEverySeed(t *testing.T) {
	seeds := uint64(proof.Many(50, 1000))
	if isRace {
		seeds = 50
	}
	for seed := range seeds {
		plan := conversations(seed, 12)
		for _, m := range modesOf {
			where := fmt.Sprintf("seed %d, %s, limit %d", seed, m.mode, m.limit)
			log := simulate(schedule.New(m.mode, m.limit, false), plan)
			if again := simulate(schedule.New(m.mode, m.limit, false), plan); !reflect.DeepEqual(log, again) {
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
		if s.sent != s.due+s.held || s.held < 0 || s.held > 0 && (limit == 0 || mode == schedule.Closed) {
			t.Fatalf("%s: %+v is not sent when it is due", where, *s)
		}
	}
	checkFlights(t, where, mode, limit, log)
	before := map[string]*sending{}
	for i, r := range plan {
		s, turn := bySeq[i], before[r.Session]
		want := r.Due
		switch {
		case mode == schedule.Closed:
			want = s.due
			if turn != nil && s.sent < turn.done {
				t.Fatalf("%s: %+v overtakes its session", where, *s)
			}
		case mode == schedule.Sessions && turn != nil && r.Think != nil:
			want = turn.done + *r.Think
		case mode == schedule.Sessions && turn != nil:
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
		if mode == schedule.Closed && !wasFull { // a slot never waits: it is taken when it comes free
			t.Fatalf("%s: request %d went at %v, when nothing had ended", where, s.seq, s.sent)
		}
	}
}

func TestRequestsGoToTheirServers(t *testing.T) {
	s := Settings{BaseURLs: []string{"http://a:1", "http://b:1/v1"}, Routes: map[string]string{"P0": "http://c:1", "P1": "http://a:1"}}
	targets := must.Get(s.targets())(t)
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

// The first server needs 2 s for an answer, the second none. Six requests, 100 ms apart: the least loaded is the first once, and then the second, whose answers
// are over. By prefix four prompts of two histories, A, B, B and A with a block more, go where their beginnings went.
func TestAReplayChoosesByLoadAndByPrefix(t *testing.T) {
	t.Parallel()
	prompt := func(seq int64, blocks ...uint64) plan.Request {
		return plan.Request{Seq: seq, Due: time.Duration(seq) * 100 * time.Millisecond, InputTokens: 16 * len(blocks), OutputTokens: 2, Blocks: blocks, BlockTokens: 16}
	}
	for routing, c := range map[string]struct {
		requests []plan.Request
		slow     time.Duration // a token of the first server
		want     string
	}{
		"least-loaded": {[]plan.Request{prompt(0, 1), prompt(1, 2), prompt(2, 3), prompt(3, 4), prompt(4, 5), prompt(5, 6)}, time.Second, "011111"},
		"prefix":       {[]plan.Request{prompt(0, 1, 2), prompt(1, 7, 8), prompt(2, 7, 8, 9), prompt(3, 1, 2, 3)}, 150 * time.Millisecond, "0110"},
	} {
		one, two := newFake(t, well(c.slow)), newFake(t, well(0))
		s := settingsFor(one.URL)
		s.BaseURLs, s.Routing = append(s.BaseURLs, two.URL), routing
		_, rows, err := replayed(t, planOf(t, plan.Each(c.requests)), s)
		must.Do(t, err)
		went := make([]byte, len(rows))
		for _, row := range rows {
			went[row.Seq] = '0'
			if row.Endpoint == two.URL {
				went[row.Seq] = '1'
			}
		}
		if string(went) != c.want {
			t.Errorf("%s: requests went to %s, want %s", routing, went, c.want)
		}
	}
	s := settingsFor("http://a:1")
	s.Routing = "prefix"
	must.Fail(t, s.Check(), "nothing to choose between")
}
