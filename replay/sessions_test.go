package replay

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// counting answers as well does, and notes the most that it had in flight.
func counting(gap time.Duration, now, most *atomic.Int64) http.HandlerFunc {
	answer := well(gap)
	return func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); {
			old = most.Load()
		}
		answer(&leaving{w, now}, r)
	}
}

// leaving counts a request out before its last event goes off: the client may be quicker than a handler's return.
type leaving struct {
	http.ResponseWriter
	now *atomic.Int64
}

func (l *leaving) Write(p []byte) (int, error) {
	if string(p) == "data: [DONE]\n\n" {
		l.now.Add(-1)
	}
	return l.ResponseWriter.Write(p)
}

func (l *leaving) Flush() { l.ResponseWriter.(http.Flusher).Flush() }

func TestModesOverTheWire(t *testing.T) {
	asked := conversations(3, 25)
	for i := range asked { // quicker than on a fake clock
		asked[i].Due /= 4
		if think := asked[i].Think; think != nil {
			*think /= 4
		}
	}
	for _, m := range modesOf {
		onBothDrivers(t, fmt.Sprintf("%s, limit %d", m.mode, m.limit), func(t *testing.T, drive func(*Settings)) {
			t.Parallel()
			var now, most atomic.Int64
			fake := newFake(t, counting(time.Millisecond, &now, &most))
			s := settingsFor(fake.URL)
			s.Mode, s.MaxConcurrency = m.mode, m.limit
			s.WarmUp = time.Second / 4
			drive(&s)
			result, rows, err := replayed(t, planOf(t, plan.Each(asked)), s)
			if err != nil || result.Completed != int64(len(asked)) || len(rows) != len(asked) {
				t.Fatalf("%+v, %v", result, err)
			}
			if m.limit > 0 && most.Load() > int64(m.limit) {
				t.Errorf("%d in flight at the server", most.Load())
			}
			slices.SortFunc(rows, func(a, b line) int { return int(a.Seq - b.Seq) })
			checkTurns(t, m.mode, asked, rows)
		})
	}
}

func checkTurns(t *testing.T, mode string, plan []plan.Request, rows []line) {
	t.Helper()
	before := map[string]*line{}
	for i, r := range rows {
		req, turn := plan[i], before[plan[i].Session]
		if *r.Sent < r.Due+*r.Held || r.IsWarmUp != (r.Due < 0.25) {
			t.Errorf("request %d: %+v", i, r)
		}
		if turn != nil && req.Session != "" && mode != schedule.Open {
			least := *turn.Done
			if mode == schedule.Sessions && req.Think != nil {
				least += req.Think.Seconds()
			}
			if r.Due < least-1e-9 {
				t.Errorf("request %d is due at %v, %v before it may be", i, r.Due, least-r.Due)
			}
		}
		before[req.Session] = &rows[i]
	}
}

// The server's own words become part of the later prompts, and nothing else of them changes.
func TestLaterTurnsRepeatWhatWasAnswered(t *testing.T) {
	var requests []plan.Request
	think := 10 * time.Millisecond
	for turn := range 3 {
		r := plan.Request{Seq: int64(turn), Session: "a", Turn: turn, InputTokens: 20 + 30*turn, OutputTokens: 4, Think: &think,
			Blocks: []uint64{1, 2, 3, 4, 5, 6}[:2+turn*2], BlockTokens: 16}
		if turn > 0 {
			r.HistoryTokens = 20 + 30*(turn-1) + 4
		}
		r.Due = time.Duration(turn) * think
		requests = append(requests, r)
	}
	for _, history := range []string{"planned", "answered"} {
		onBothDrivers(t, history, func(t *testing.T, drive func(*Settings)) {
			fake := newFake(t, well(time.Millisecond)) // it says 100, 101, 102, 103
			s := settingsFor(fake.URL)
			s.Mode, s.History = schedule.Sessions, history
			drive(&s)
			result, _, err := replayed(t, planOf(t, plan.Each(requests)), s)
			if err != nil || result.Completed != 3 {
				t.Fatalf("%+v, %v", result, err)
			}
			prompts, _ := plan.NewPrompts(plan.DefaultVocabLow, plan.DefaultVocabHigh, 7)
			for i, b := range fake.bodies {
				want := prompts.TokenIDs(requests[i])
				for turn := 0; turn < i && history == "answered"; turn++ {
					copy(want[requests[turn].InputTokens:], []int{100, 101, 102, 103})
				}
				if !slices.Equal(b.Prompt, want) {
					t.Errorf("turn %d: got %v, want %v", i, b.Prompt, want)
				}
			}
		})
	}
}

func TestRowsSayWhichServerAnswered(t *testing.T) {
	onBothDrivers(t, "two servers", func(t *testing.T, drive func(*Settings)) {
		a, b := newFake(t, well(0)), newFake(t, well(0))
		s := settingsFor(a.URL)
		s.BaseURLs = append(s.BaseURLs, b.URL)
		drive(&s)
		result, rows, err := replayed(t, planOf(t, every(5*time.Millisecond, 20, 9, 2)), s)
		if err != nil || result.Completed != 20 || len(a.bodies) != 10 || len(b.bodies) != 10 {
			t.Fatalf("%d and %d, %+v, %v", len(a.bodies), len(b.bodies), result, err)
		}
		for _, r := range rows {
			if want := []string{a.URL, b.URL}[r.Seq%2]; r.Endpoint != want {
				t.Errorf("row %d: %q, want %q", r.Seq, r.Endpoint, want)
			}
		}
	})
}

func TestTheServersOwnTimesAreKept(t *testing.T) {
	onBothDrivers(t, "metrics", func(t *testing.T, drive func(*Settings)) {
		fake := newFake(t, events(tokenChunk(1, "length"),
			`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1},"metrics":{"time_to_first_token_ms":21.5,"generation_time_ms":0,"queue_time_ms":0.125,"mean_itl_ms":null}}`,
			"[DONE]"))
		s := settingsFor(fake.URL)
		drive(&s)
		_, rows, err := replayed(t, planOf(t, every(0, 1, 9, 1)), s)
		if err != nil || len(rows) != 1 || rows[0].Failure != "" {
			t.Fatal(rows, err)
		}
		if r := rows[0]; *r.ServerTTFT != 0.0215 || *r.ServerGen != 0 || *r.ServerQueue != 0.000125 || r.ServerITL != nil {
			t.Errorf("%+v", r)
		}
	})
}

// Servers that shorten a prompt or stop early say so nowhere but in the usage: asked against got is in the row.
func TestWhatWasGotStandsBesideWhatWasAsked(t *testing.T) {
	for _, c := range []struct {
		what         string
		input, got   int
		output, said int
		failure      string
	}{
		{"a prompt cut to the slot", 3000, 1976, 3, 3, ""},
		{"an end of text that was to be ignored", 9, 9, 3, 2, "short_output"},
		{"min_tokens and max_tokens ignored", 9, 9, 3, 5, "long_output"},
	} {
		onBothDrivers(t, c.what, func(t *testing.T, drive func(*Settings)) {
			fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				openStream(w)
				for range c.said {
					event(w, `{"choices":[{"text":" t","index":0,"finish_reason":null}]}`)
				}
				event(w, fmt.Sprintf(`{"choices":[{"text":"","index":0,"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, c.got, c.said))
				event(w, "[DONE]")
			})
			fake.probe = status(200, endlessModel)
			s := settingsFor(fake.URL)
			drive(&s)
			result, rows, err := replayed(t, planOf(t, every(0, 1, c.input, c.output)), s)
			if err != nil || len(rows) != 1 || rows[0].Failure != c.failure {
				t.Fatal(rows, err)
			}
			if r := rows[0]; r.InputTokens != c.input || *r.InReported != int64(c.got) || r.OutputTokens != c.output || *r.OutReported != int64(c.said) ||
				result.InputTokensReported != int64(c.got) || result.OutputTokensReported != int64(c.said) {
				t.Errorf("%+v, %+v", r, result)
			}
		})
	}
}

// A run over TLS goes over goroutines; it says the same.
func TestARunOverTLS(t *testing.T) {
	fake := newFake(t, well(time.Millisecond))
	secure := httptest.NewTLSServer(fake.Config.Handler)
	defer secure.Close()
	defer secure.CloseClientConnections()
	s := settingsFor(secure.URL)
	s.TLS = secure.Client().Transport.(*http.Transport).TLSClientConfig
	result, rows, err := replayed(t, planOf(t, every(5*time.Millisecond, 30, 9, 3)), s)
	if err != nil || result.Completed != 30 || len(rows) != 30 {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, r := range rows {
		if *r.OutCounted != 3 || *r.Sent < r.Due {
			t.Errorf("%+v", r)
		}
	}
}

// heldConn writes all that is written while it is held in one piece.
type heldConn struct {
	net.Conn
	isHeld bool
	held   []byte
}

func (c *heldConn) Write(p []byte) (int, error) {
	if !c.isHeld {
		return c.Conn.Write(p)
	}
	c.held = append(c.held, p...)
	return len(p), nil
}

type heldListener struct{ net.Listener }

func (l heldListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &heldConn{Conn: conn}, err
}

// A server that says more than its answer: over TLS both come off the socket in one read, as two records, and the second
// must not be taken for the answer to the next request.
func TestWhatIsLeftOverOnAConnectionAnswersNobody(t *testing.T) {
	fake := newFake(t, nil)
	fake.complete = func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		wire, isPlain := conn.(*heldConn)
		if !isPlain {
			wire = conn.(*tls.Conn).NetConn().(*heldConn)
		}
		body := "data: " + tokenChunk(300, "length") + "\n\ndata: [DONE]\n\n"
		wire.isHeld = true
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		fmt.Fprint(conn, "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\nstray")
		wire.isHeld = false
		wire.Write(wire.held)
		io.Copy(io.Discard, conn) // until the client has had enough of it
	}
	for _, isTLS := range []bool{false, true} {
		server := httptest.NewUnstartedServer(fake.Config.Handler)
		server.Listener = heldListener{server.Listener}
		s := settingsFor("")
		if isTLS {
			server.StartTLS()
			s.TLS = server.Client().Transport.(*http.Transport).TLSClientConfig
		} else {
			server.Start()
		}
		s.BaseURLs = []string{server.URL}
		// Far enough apart that the later ones find the connections of the first.
		result, _, err := replayed(t, planOf(t, every(schedule.ConnectAhead/3, 6, 9, 1)), s)
		if err != nil || result.Completed != 6 {
			t.Errorf("%s: %+v, %v", server.URL, result, err)
		}
		server.CloseClientConnections()
		server.Close()
	}
}
