package replay

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// onBothDrivers runs a test over the event loop, where there is one, and over a goroutine for each request: a stream has
// one meaning.
func onBothDrivers(t *testing.T, what string, test func(t *testing.T, drive func(*Settings))) {
	t.Run("loop, "+what, func(t *testing.T) { test(t, func(*Settings) {}) })
	t.Run("strands, "+what, func(t *testing.T) {
		test(t, func(s *Settings) { s.Dial = (&net.Dialer{}).DialContext })
	})
}

// wire answers with these bytes as the body of a stream, chunked and written in pieces of the sizes given.
func chunkedOverTheWire(body string, size func() int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn := hijack(w)
		defer conn.Close()
		out := []byte(rawHead)
		for rest := body; rest != ""; {
			n := min(size(), len(rest))
			out = appendChunk(out, rest[:n])
			rest = rest[n:]
		}
		out = append(out, "0\r\n\r\n"...)
		for len(out) > 0 {
			n := min(size(), len(out))
			if _, err := conn.Write(out[:n]); err != nil {
				return
			}
			out = out[n:]
		}
		io.Copy(io.Discard, conn) // until the client has had enough
	}
}

// Every stream of testdata comes to the same over a real connection, whatever the pieces.
func TestStreamsOverTheWire(t *testing.T) {
	for name, want := range streams {
		text := must.Get(os.ReadFile("testdata/streams/" + name + ".txt"))(t)
		onBothDrivers(t, name, func(t *testing.T, drive func(*Settings)) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(1, 2))
			for what, size := range map[string]func() int{
				"whole": func() int { return 1 << 20 }, "in bytes": func() int { return 1 }, "in pieces": func() int { return 1 + rnd.IntN(90) },
			} {
				fake := newFake(t, chunkedOverTheWire(string(text), size))
				s := settingsFor(fake.URL)
				drive(&s)
				asked := int(max(want.Output, want.Counted, 1))
				_, rows, err := replayed(t, planOf(t, every(0, 1, 9, asked)), s)
				if err != nil || len(rows) != 1 {
					t.Fatalf("%s: %d rows, %v", what, len(rows), err)
				}
				checkWire(t, what, rows[0], want)
			}
		})
	}
}

func checkWire(t *testing.T, what string, r line, want seen) {
	t.Helper()
	value := func(n *int64) int64 {
		if n == nil {
			return na
		}
		return *n
	}
	got := fmt.Sprint(len(r.Offsets), value(r.OutCounted), value(r.InReported), value(r.OutReported), value(r.Cached), r.Finish)
	if wanted := fmt.Sprint(len(want.Chunks), want.Counted, want.Prompt, want.Output, want.Cached, want.Finish); got != wanted {
		t.Errorf("%s: got %s, want %s: %+v", what, got, wanted, r)
	}
	for i, n := range r.Tokens {
		if max(value(n), 0) != int64(want.Chunks[i]) {
			t.Errorf("%s: chunk %d has %d tokens, want %d", what, i, value(n), want.Chunks[i])
		}
	}
	if isBad := want.Failure != "" || want.Protocol; isBad && (r.Failure == "" || !strings.Contains(r.Detail, want.Failure)) {
		t.Errorf("%s: got %q %q, want %q", what, r.Failure, r.Detail, want.Failure)
	}
	if first := value(int64OrNil(r.First)); (first == na) != (len(want.Chunks) == 0 && !want.Inferred) {
		t.Errorf("%s: the first token came at %d ns", what, first)
	}
}

func int64OrNil(seconds *float64) *int64 {
	if seconds == nil {
		return nil
	}
	n := int64(*seconds * 1e9)
	return &n
}

func TestLongLines(t *testing.T) {
	stream := func(letters int) string {
		text := `data: {"choices":[{"text":"` + strings.Repeat("x", letters) + `","token_ids":[5],"finish_reason":"length"}]}`
		return text + "\n\ndata: " + usageChunk(9, 1) + "\n\ndata: [DONE]\n\n"
	}
	for _, c := range []struct {
		letters int
		failure string
	}{{1_000_000, ""}, {1_200_000, "protocol"}} {
		onBothDrivers(t, fmt.Sprint(c.letters, " bytes"), func(t *testing.T, drive func(*Settings)) {
			t.Parallel()
			fake := newFake(t, chunkedOverTheWire(stream(c.letters), func() int { return 10_000 }))
			s := settingsFor(fake.URL)
			drive(&s)
			_, rows, err := replayed(t, planOf(t, every(0, 1, 9, 1)), s)
			if err != nil || len(rows) != 1 || rows[0].Failure != c.failure {
				t.Errorf("%+v, %v", rows, err)
			}
		})
	}
}

func TestChunksOfOneReadBearOneInstant(t *testing.T) {
	onBothDrivers(t, "three chunks", func(t *testing.T, drive func(*Settings)) {
		fake := newFake(t, rawStream(rawHead, rawChunk(tokenChunk(1, "")), rawChunk(tokenChunk(2, "")), rawChunk(tokenChunk(3, "length")),
			rawChunk(usageChunk(9, 3)), rawChunk("[DONE]"), "0\r\n\r\n"))
		s := settingsFor(fake.URL)
		drive(&s)
		_, rows, err := replayed(t, planOf(t, every(0, 1, 9, 3)), s)
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
		if r := rows[0]; r.Failure != "" || r.Reads != 1 || len(r.Offsets) != 3 || r.Offsets[0] != r.Offsets[2] || *r.First != *r.Last {
			t.Errorf("%+v", r)
		}
	})
}

// endlessModel does not say how much it holds.
const endlessModel = `{"data":[{"id":"tiny"}]}`

// A prompt of two megabytes does not fit any socket at once, and the server takes its time.
func TestALongPromptIsWrittenAsTheServerTakesIt(t *testing.T) {
	onBothDrivers(t, "300,000 tokens", func(t *testing.T, drive func(*Settings)) {
		t.Parallel()
		fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			if got := len(bodyOf(r).Prompt); got != 300_000 {
				http.Error(w, fmt.Sprint(got, " tokens came"), http.StatusBadRequest)
				return
			}
			well(0)(w, r)
		})
		fake.probe = status(200, endlessModel)
		s := settingsFor(fake.URL)
		drive(&s)
		result, rows, err := replayed(t, planOf(t, every(0, 3, 300_000, 2)), s)
		if err != nil || result.Completed != 3 {
			t.Fatalf("%+v, %+v, %v", result, rows, err)
		}
		for _, r := range rows {
			if r.Written == nil || *r.Written < *r.Sent {
				t.Errorf("%+v", r)
			}
		}
	})
}

// A server may answer and hang up before it has read the request: what it said counts.
func TestAnAnswerBeforeTheRequestIsRead(t *testing.T) {
	onBothDrivers(t, "413", func(t *testing.T, drive func(*Settings)) {
		t.Parallel()
		fake := newFake(t, nil)
		fake.probe = status(200, endlessModel)
		whole := fake.Config.Handler
		fake.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/completions" {
				whole.ServeHTTP(w, r)
				return
			}
			conn := hijack(w)
			defer conn.Close()
			io.WriteString(conn, "HTTP/1.1 413 Payload Too Large\r\nContent-Length: 20\r\n\r\n{\"error\":\"too long\"}")
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn) // a reset would take the answer with it
		})
		s := settingsFor(fake.URL)
		drive(&s)
		_, rows, err := replayed(t, planOf(t, every(0, 1, 1_000_000, 2)), s)
		if err != nil || len(rows) != 1 || rows[0].Failure != "http_413" {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}
