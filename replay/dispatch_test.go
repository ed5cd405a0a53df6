package replay

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// pipeServer is a vLLM over net.Pipe, for a fake clock: its first token comes 30 ms after the request and one more every
// 10 ms, exactly. freeze makes everything that falls into it wait for its end.
type pipeServer struct {
	began          time.Time
	freezeAt, thaw time.Duration
	answer         func(net.Conn) // nil: well; it ends with the connection
}

func (p *pipeServer) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go p.serve(server)
	return client, nil
}

func (p *pipeServer) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		var answer string
		switch req.URL.Path {
		case "/v1/completions":
			if p.answer != nil {
				p.answer(conn)
				return
			}
			if !p.complete(conn, body) {
				return
			}
			continue
		case "/v1/models":
			answer = `{"data":[{"id":"tiny"},{"id":"large"}]}`
		case "/metrics":
			answer = "vllm:num_requests_running 0\n"
		}
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)
	}
}

func (p *pipeServer) complete(conn net.Conn, body []byte) bool {
	want := 0
	fmt.Sscanf(string(body[strings.Index(string(body), `"max_tokens":`):]), `"max_tokens":%d`, &want)
	for i := range want {
		gap := 10 * time.Millisecond
		if i == 0 {
			gap = 30 * time.Millisecond
		}
		time.Sleep(gap)
		if at := time.Since(p.began); at >= p.freezeAt && at < p.thaw {
			time.Sleep(p.thaw - at)
		}
		out, finish := []byte(nil), ""
		if i == 0 {
			out = append(out, fixedHead...)
		}
		if i == want-1 {
			finish = "length"
		}
		out = appendChunk(out, "data: "+tokenChunk(i, finish)+"\n\n")
		if finish != "" {
			out = appendChunk(out, "data: "+usageChunk(1, want)+"\n\n")
			out = append(appendChunk(out, "data: [DONE]\n\n"), "0\r\n\r\n"...)
		}
		if _, err := conn.Write(out); err != nil {
			return false
		}
	}
	return true
}

// onFakeClock replays the requests in a bubble where time stands still while anything runs; rows come in order of seq.
func onFakeClock(t *testing.T, requests []plan.Request, server *pipeServer) (result Result, rows []line) {
	t.Helper()
	return onFakeClockAs(t, requests, server, settingsFor("http://tiny"))
}

func onFakeClockAs(t *testing.T, requests []plan.Request, server *pipeServer, s Settings) (result Result, rows []line) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	result = inBubble(t, requests, server, s, folder, func(*Settings) {})
	rows = rowsIn(t, folder)
	slices.SortFunc(rows, func(a, b line) int { return int(a.Seq - b.Seq) })
	return result, rows
}

// inBubble replays the requests into a folder, where time stands still while anything runs. change sets what takes its time from the bubble.
func inBubble(t *testing.T, requests []plan.Request, server *pipeServer, s Settings, folder string, change func(*Settings)) (result Result) {
	t.Helper()
	plan := planOf(t, plan.Each(requests))
	synctest.Test(t, func(t *testing.T) {
		server.began = time.Now().Add(beginAhead)
		s.Dial, s.Sleep = server.dial, host.TimerSleep
		change(&s)
		result = must.Get(Run(t.Context(), plan, s, folder))(t)
		synctest.Wait()
	})
	return result
}

func TestDueTimesAreExactForEverySeed(t *testing.T) {
	for seed := range uint64(proof.Many(6, 40)) {
		requests := poisson(seed, 60)
		result, rows := onFakeClock(t, requests, &pipeServer{})
		if result.Completed != 60 || result.LatenessS.Max != 0 {
			t.Fatalf("seed %d: %+v", seed, result)
		}
		for i, r := range rows {
			due := requests[i].Due.Seconds()
			if *r.Sent != r.Due || !isClose(r.Due, due) || !isClose(*r.First, due+0.030) ||
				!isClose(*r.Last, due+0.030+0.010*float64(requests[i].OutputTokens-1)) || r.InputTokens != requests[i].InputTokens {
				t.Fatalf("seed %d, request %d: %+v", seed, i, r)
			}
		}
		if seed < 5 {
			_, again := onFakeClock(t, requests, &pipeServer{})
			if got, want := eventLog(again), eventLog(rows); !reflect.DeepEqual(got, want) {
				t.Errorf("seed %d: two runs on the same clock differ: %v and %v", seed, got, want)
			}
		}
	}
}

// eventLog is the rows less which of two requests of one instant had the idle connection and which a new one.
func eventLog(rows []line) []line {
	events := slices.Clone(rows)
	for i := range events {
		events[i].Connect = nil
	}
	return events
}

func poisson(seed uint64, n int) (requests []plan.Request) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	at := time.Duration(0)
	for i := range n {
		requests = append(requests, plan.Request{Seq: int64(i), Due: at, InputTokens: 1 + rnd.IntN(50), OutputTokens: 1 + rnd.IntN(20)})
		if rnd.IntN(3) > 0 { // a third come in bursts, at the same instant
			at += time.Duration(rnd.ExpFloat64() * float64(40*time.Millisecond))
		}
	}
	return requests
}

func isClose(a, b float64) bool { return a-b < 1e-8 && b-a < 1e-8 }

// A server that stands still for 2 s delays answers, not due times: a request due 0.5 s into the freeze waits 1.5 s less
// than one due at its begin, and each was sent when it was due.
func TestAFrozenServerShowsInFullFromTheDueTime(t *testing.T) {
	var requests []plan.Request
	for i := range 100 {
		requests = append(requests, plan.Request{Due: time.Duration(i) * 100 * time.Millisecond, InputTokens: 5, OutputTokens: 1})
	}
	_, rows := onFakeClock(t, requests, &pipeServer{freezeAt: 3 * time.Second, thaw: 5 * time.Second})
	for _, r := range rows {
		want := 0.030
		if at := r.Due + 0.030; at >= 3 && at < 5 {
			want = 5 - r.Due
		}
		if *r.Sent != r.Due || !isClose(*r.First-r.Due, want) {
			t.Errorf("due %v: sent %v, first token after %v, want %v", r.Due, *r.Sent, *r.First-r.Due, want)
		}
	}
}

// The time of day is only written down: a clock set back by 5 s in mid-run moves nothing.
func TestASteppedWallClockMovesNothing(t *testing.T) {
	fake := newFake(t, well(0))
	calls := 0
	s := settingsFor(fake.URL)
	s.Wall = func() time.Time {
		calls++
		return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).Add(time.Duration(-5*calls) * time.Second)
	}
	_, rows, err := replayed(t, planOf(t, every(10*time.Millisecond, 10, 9, 1)), s)
	if err != nil || len(rows) != 10 {
		t.Fatal(len(rows), err)
	}
	for _, r := range rows {
		if *r.Sent < r.Due || *r.Done < *r.Sent {
			t.Errorf("%+v", r)
		}
	}
}
