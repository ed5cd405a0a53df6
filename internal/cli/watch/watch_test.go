package watch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/internal/cli/progress"
	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim"
	"tidemark/replay"
	"tidemark/replay/plan"
)

// listening is a page that ends with the test.
func listening(t *testing.T) *Page {
	t.Helper()
	p := must.Get(Listen(0))(t)
	t.Cleanup(p.Close)
	return p
}

func judging(t *testing.T, objectives ...analysis.Objective) *progress.Judge {
	t.Helper()
	slo := must.Get(json.Marshal(analysis.SLO{Objectives: objectives}))(t)
	judge := must.Get(progress.NewJudge(slo, 0))(t)
	return judge
}

func get(t *testing.T, address, host string) (int, string, http.Header) {
	t.Helper()
	request := must.Get(http.NewRequestWithContext(t.Context(), "GET", address, nil))(t)
	if host != "" {
		request.Host = host
	}
	response := must.Get(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(text), response.Header
}

// evenly are n requests, so many a second.
func evenly(n int, perS float64) []plan.Request {
	requests := make([]plan.Request, n)
	for i := range requests {
		requests[i] = plan.Request{Seq: int64(i), Due: time.Duration(float64(i) / perS * float64(time.Second)), InputTokens: 16, OutputTokens: 4}
	}
	return requests
}

// Ten a second are asked for. Eight a second were sent in the first ten seconds, twelve in the next: 80 + 120 in 20 s.
func TestThePageShowsTheFiguresOfTheMoment(t *testing.T) {
	p := listening(t)
	if _, text, _ := get(t, p.Address, ""); !strings.Contains(text, "Nothing is sent yet") {
		t.Errorf("before the run the page says %s", text)
	}
	judge := judging(t, analysis.Objective{Metric: "ttft", Percentile: 50, AtMost: 0.2}, analysis.Objective{Metric: "failure_ratio", AtMost: 0.1})
	p.Begin("a <plan>", AskedBy("open", plan.Each(evenly(300, 10))), judge)
	for i := range 4 { // 100, 200, 300 ms and a failure
		w := replay.Watched{IsOver: true, First: time.Duration(i+1) * 100 * time.Millisecond, Last: time.Second, Tokens: 4}
		if i == 3 {
			w.Failure = "http"
		}
		judge.Watch()(w)
	}
	now := replay.Progress{PlanDuration: 30 * time.Second, Planned: 300, LateP50: 50 * time.Microsecond, LateP99: 2 * time.Millisecond, TTFTP50: 80 * time.Millisecond,
		TTFTP99: 120 * time.Millisecond, InFlight: 12, PredictedTPOT: 8 * time.Millisecond, Throttled: "GPU 3 by heat since 12s"}
	for second := 1; second <= 20; second++ {
		now.Elapsed, now.Sent, now.TPOT = time.Duration(second)*time.Second, int64(8*second), 9*time.Millisecond
		if second > 10 {
			now.Sent = int64(80 + 12*(second-10))
		}
		if second == 7 {
			now.TPOT = 0 // no token came
		}
		p.Show(now)
	}
	status, text, header := get(t, p.Address, "")
	if status != 200 || !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'sha256-") {
		t.Errorf("status %d, %v", status, header)
	}
	must.Say(t, text, "a &lt;plan&gt;", "20s passed of 30s: 200 of 300 requests sent.", `<dd class="v">12.0</dd><dd>10.0 asked</dd>`, `<dd class="v">2.00 ms</dd><dd>p50 0.0500 ms</dd>`,
		`<dd class="v">120 ms</dd><dd>p50 80.0 ms</dd>`, `<dd class="v">9.00 ms</dd><dd>8.00 ms predicted</dd>`, `<dt>In flight</dt><dd class="v">12</dd>`, `GPU clocks are held down</span>: GPU 3 by heat since 12s.`,
		`p50 TTFT</th><td class="r">197 ms</td>`, `<td class="r">200 ms</td><td class="r">1 of 3</td><td><span class="good">`, `<td class="r">25.0 %</td><td class="r">10.0 %</td><td class="r">1 of 4</td><td><span class="bad">`)
	if strings.Contains(text, "{{") || strings.Contains(text, "http://") && !strings.Contains(text, "http://www.w3.org") {
		t.Error("the page has a hole, or leads elsewhere")
	}
	if t.Failed() {
		t.Log(text[strings.Index(text, "<main>"):strings.Index(text, "<svg")])
	}
	points := p.now.Load().chart().Strips[1].Series[1].Points
	if len(points) != 20 || points[6].Y == points[6].Y { // NaN: a gap
		t.Errorf("where no token came the line of TPOT has %v, want a gap", points[6])
	}
	p.End()
	if _, text, _ := get(t, p.Address+"figures", ""); !strings.Contains(text, "Sending is over: 200 of 300") || strings.Contains(text, "<html") {
		t.Errorf("at the end the figures say %.300s", text)
	}
	if status, _, _ := get(t, p.Address, "tidemark.example:80"); status != http.StatusForbidden {
		t.Errorf("another name for this machine: status %d, want 403", status)
	}
}

// A chart of a day keeps its first and its newest reading, and some hundred between them.
func TestALongRunIsThinned(t *testing.T) {
	p := listening(t)
	p.Begin("", nil, judging(t))
	for second := 1; second <= 86400; second++ {
		p.Show(replay.Progress{Elapsed: time.Duration(second) * time.Second})
	}
	points := p.now.Load().Points
	if first, last := points[0].Elapsed, points[len(points)-1].Elapsed; len(points) > mostPoints || len(points) < mostPoints/2 || first != time.Second || last < 23*time.Hour+55*time.Minute {
		t.Errorf("%d points from %v to %v", len(points), first, last)
	}
}

func TestAskedIsOfOpenLoopsAlone(t *testing.T) {
	if AskedBy("closed", plan.Each(evenly(10, 1))) != nil || AskedBy("sessions", plan.Each(evenly(10, 1))) != nil {
		t.Error("due times say nothing of when a closed loop or a later turn sends")
	}
	asked := AskedBy("", plan.Each(evenly(10, 4))) // 4, 4, 2
	for at, want := range map[time.Duration]float64{0: 0, time.Second / 2: 2, time.Second: 4, 5 * time.Second / 2: 9, time.Hour: 10} {
		if got := asked.before(at); got != want {
			t.Errorf("due before %v: %v, want %v", at, got, want)
		}
	}
}

// Browsers that never read what they asked for, that ask for nothing, and that ask all the time, beside a run over real HTTP: all is sent
// on time, and no report waits. A page that wrote to its browsers itself would stand still for the ten seconds of a write's end.
func TestABrowserThatNeverReadsDelaysNothing(t *testing.T) {
	simulated := must.Get(vllmsim.New(vllmsim.Config{Config: engine.Config{Model: "tiny", MaxModelLen: 8192, MaxNumSeqs: 256, MaxNumBatchedTokens: 8192, KVBlocks: 8192,
		StepTime: func(engine.Step) time.Duration { return 2 * time.Millisecond }}}))(t)
	server := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	go simulated.Serve(server)
	defer simulated.Close()
	defer server.Close()

	p := listening(t)
	const n, perS = 600, 200
	path := filepath.Join(t.TempDir(), "plan.jsonl.zst")
	must.Get(plan.Write(path, plan.Header{Source: "even"}, plan.Choices{}, plan.Each(evenly(n, perS))))(t)
	planned := must.Get(plan.Open(path))(t)
	judge := judging(t, analysis.Objective{Metric: "ttft", Percentile: 99, AtMost: 1})
	p.Begin("even", AskedBy("open", planned.Requests()), judge)

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var filled, looked atomic.Int64
	address := strings.TrimSuffix(strings.TrimPrefix(p.Address, "http://"), "/")
	questions := bytes.Repeat(fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", address), 1000)
	for i := range 24 {
		browser := must.Get(net.Dial("tcp", address))(t)
		defer browser.Close()
		switch i % 3 {
		case 0: // asks until what it does not read fills every buffer on the way
			go func() {
				for browser.SetWriteDeadline(time.Now().Add(time.Second)) == nil {
					if _, err := browser.Write(questions); err != nil {
						filled.Add(1)
						return
					}
				}
			}()
		case 1: // asks for nothing
		case 2: // four times a second, where the page does so once
			go func() {
				for answers := bufio.NewReader(browser); ctx.Err() == nil; time.Sleep(250 * time.Millisecond) {
					fmt.Fprintf(browser, "GET /figures HTTP/1.1\r\nHost: %s\r\n\r\n", address)
					if response, err := http.ReadResponse(answers, nil); err == nil {
						io.Copy(io.Discard, response.Body)
						looked.Add(1)
					}
				}
			}()
		}
	}

	longest := time.Duration(0)
	settings := replay.Settings{BaseURLs: []string{"http://" + server.Addr().String()}, Model: "tiny", Version: "test", RunID: "watched", Abort: t.Context(), MetricsURLs: []string{"none"},
		Tell: func(string) {}, Watch: judge.Watch(), Progress: func(now replay.Progress) {
			began := time.Now()
			p.Show(now)
			longest = max(longest, time.Since(began))
		}}
	result := must.Get(replay.Run(t.Context(), planned, settings, filepath.Join(t.TempDir(), "run")))(t)
	t.Logf("lateness p99 %.3g ms, the longest report took %v, %d browsers are full, %d answers were read", 1e3*result.LatenessS.P99, longest, filled.Load(), looked.Load())
	if result.Completed != n || result.Unsent != 0 {
		t.Errorf("%d of %d completed, %d unsent", result.Completed, n, result.Unsent)
	}
	if result.LatenessS.P99 > 0.1 || longest > time.Second {
		t.Errorf("lateness p99 %v s, a report took %v: the run waited for a browser", result.LatenessS.P99, longest)
	}
	if filled.Load() == 0 || looked.Load() == 0 {
		t.Errorf("%d browsers were full and %d answers read: the test has shown nothing", filled.Load(), looked.Load())
	}
	if got := judge.Standings()[0]; got.Judged != n || !got.IsMet {
		t.Errorf("the SLO has %+v, want %d requests judged and met", got, n)
	}
	if now := p.now.Load().Progress; now.Sent != n || now.TTFTP50 <= 0 || now.TTFTP99 < now.TTFTP50 || now.LateP99 < now.LateP50 {
		t.Errorf("the last figures are %+v", now)
	}
}
