package vllmsim

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim/simpipe"
)

func TestMain(m *testing.M) {
	if runBenchClient() {
		return
	}
	goleak.VerifyTestMain(m)
}

// small is a server with a tiny vocabulary and an instant engine.
func small() Config {
	return Config{
		Config: engine.Config{
			Model: "tiny", MaxModelLen: 4096, MaxNumSeqs: 32, MaxNumBatchedTokens: 4096, BlockSize: 16, KVBlocks: 1024,
			EnablePrefixCaching: true, StepTime: func(engine.Step) time.Duration { return time.Millisecond },
		},
		Vocab: 8192, EndOfText: -1,
	}
}

// serve runs a simulator on a real socket for the time of the test.
func serve(t testing.TB, c Config) (s *Server, url string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	return serveOn(t, c, l), "http://" + l.Addr().String()
}

func serveOn(t testing.TB, c Config, l net.Listener) *Server {
	t.Helper()
	s := must.Get(New(c))(t)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != net.ErrClosed {
			t.Errorf("Serve: got %v, want %v", err, net.ErrClosed)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// dial connects to a server on a fake clock.
func dial(t testing.TB, l *simpipe.Listener) net.Conn {
	t.Helper()
	conn := must.Get(l.Dial(t.Context(), "", ""))(t)
	return conn
}

func post(t testing.TB, url, body string) *http.Response {
	t.Helper()
	answer := must.Get(http.Post(url, "application/json", strings.NewReader(body)))(t)
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func postAll(t testing.TB, url, body string) (status int, answer string) {
	t.Helper()
	r := post(t, url, body)
	all := must.Get(io.ReadAll(r.Body))(t)
	return r.StatusCode, string(all)
}

func get(t testing.TB, url string) string {
	t.Helper()
	answer := must.Get(http.Get(url))(t)
	defer answer.Body.Close()
	all := must.Get(io.ReadAll(answer.Body))(t)
	return string(all)
}

// reading is what a client learns of one stream.
type reading struct {
	id           string
	tokens       int // counted from token_ids
	chunks       int
	ids          []int32
	finish       string
	prompt       int // as usage says
	completion   int
	cached       int
	isDone       bool // [DONE] came
	errorCode    int
	firstToken   time.Time
	lastToken    time.Time
	mostPerChunk int
}

func readStream(body io.Reader) (r reading, err error) {
	all := newLines(body)
	for {
		line, err := all.next()
		if err == io.EOF {
			return r, nil
		}
		if err != nil {
			return r, err
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			r.isDone = true
			continue
		}
		var event struct {
			ID      string
			Choices []struct {
				TokenIDs []int32 `json:"token_ids"`
				Finish   *string `json:"finish_reason"`
			}
			Usage *struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
				Details    struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
			Error *struct{ Code int }
		}
		if err := json.Unmarshal(data, &event); err != nil {
			return r, err
		}
		r.id = event.ID
		if event.Error != nil {
			r.errorCode = event.Error.Code
		}
		for _, c := range event.Choices {
			r.ids = append(r.ids, c.TokenIDs...)
			if n := len(c.TokenIDs); n > 0 {
				r.lastToken = time.Now()
				if r.tokens == 0 {
					r.firstToken = r.lastToken
				}
				r.tokens += n
				r.chunks++
				r.mostPerChunk = max(r.mostPerChunk, n)
			}
			if c.Finish != nil {
				r.finish = *c.Finish
			}
		}
		if u := event.Usage; u != nil {
			r.prompt, r.completion, r.cached = u.Prompt, u.Completion, u.Details.Cached
		}
	}
}

type lines struct {
	from io.Reader
	buf  []byte
	err  error
}

func newLines(from io.Reader) *lines { return &lines{from: from} }

func (l *lines) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf, '\n'); i >= 0 {
			line := l.buf[:i]
			l.buf = l.buf[i+1:]
			return line, nil
		}
		if l.err != nil {
			return nil, l.err
		}
		more := make([]byte, 32<<10)
		n, err := l.from.Read(more)
		l.buf, l.err = append(l.buf, more[:n]...), err
	}
}

// streamed posts body to /v1/completions and reads the stream to its end.
func streamed(t testing.TB, url, body string) reading {
	t.Helper()
	answer := post(t, url+"/v1/completions", body)
	r, err := readStream(answer.Body)
	must.Do(t, err)
	return r
}

func withTimeout(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func itoa(n int) string { return strconv.Itoa(n) }

func fromHex(s string) int {
	n, err := strconv.ParseInt(s, 16, 64)
	if err != nil {
		return -1
	}
	return int(n)
}

func ids(from, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(from + i)
	}
	return out
}
