package vllmsim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim/simpipe"
)

// repeated is a list or an object of n members.
func repeated(open, member, end string, n int) string {
	return open + strings.TrimSuffix(strings.Repeat(member+",", n), ",") + end
}

// TestBounds holds requests to the bounds that vLLM has, in vLLM's form of an
// error. Issue 11, row 13: one of these took the simulator to 11 GB.
func TestBounds(t *testing.T) {
	_, url := serve(t, small())
	for _, one := range []struct {
		sentence, body string
		status         int
		want           string
	}{
		{"a billion outputs", `{"prompt":[1],"max_tokens":2,"n":1000000000,"stream":true}`, 400, `"message":"n must be at most 16384, got 1000000000.`},
		{"no output", `{"prompt":[1],"n":0}`, 400, "n must be at least 1, got 0."},
		{"as many prompts as vLLM takes", `{"max_tokens":1,"prompt":` + repeated("[", "[300]", "]", 1024) + `}`, 200, `"index":1023`},
		{"one prompt more", `{"prompt":` + repeated("[", `"a"`, "]", 1025) + `}`, 400, `"message":"prompt list length 1025 exceeds the maximum allowed count of 1024.`},
		{"a flat list is one prompt", `{"max_tokens":1,"prompt":` + repeated("[", "300", "]", 2000) + `}`, 200, `"prompt_tokens":2000`},
		{"prompts times outputs", `{"n":16384,"prompt":["a","b"]}`, 400, "n times the number of prompts must be at most 16384 in this simulator, got 32768."},
		{"an answer too long to be held", `{"n":16384,"max_tokens":4000,"ignore_eos":true,"prompt":"a"}`, 400, "The answer would have more than 4194304 tokens"},
		{"a prompt that is echoed too often", `{"n":16384,"max_tokens":1,"echo":true,"prompt":` + repeated("[", "300", "]", 2000) + `}`, 400, "more than 4194304 tokens"},
		{"stop strings", `{"prompt":"a","stop":["a","b","c","d","e"]}`, 400, "List should have at most 4 items after validation, not 5"},
		{"stop ids", `{"prompt":"a","stop_token_ids":` + repeated("[", "300", "]", 129) + `}`, 400, "at most 128 items"},
		{"logprobs", `{"prompt":"a","logprobs":21}`, 400, "Requested sample logprobs of 21, which is greater than max allowed: 20"},
		{"the prompt's logprobs", `{"prompt":"a","prompt_logprobs":-1}`, 400, "Requested prompt logprobs of -1"},
		{"a request id that every chunk would repeat", `{"prompt":"a","request_id":"` + strings.Repeat("x", 257) + `"}`, 400, "String should have at most 256 characters"},
	} {
		status, answer := postAll(t, url+"/v1/completions", one.body)
		if status != one.status || !strings.Contains(answer, one.want) {
			t.Errorf("%s: got %d %.300s, want %d with %s", one.sentence, status, answer, one.status, one.want)
		}
		if status == 400 && !strings.HasPrefix(answer, `{"error":{"message":`) {
			t.Errorf("%s: not vLLM's form of an error: %.300s", one.sentence, answer)
		}
	}
}

// TestLargeBodiesStaySmall sends bodies of 4 MB that unfold when they are
// decoded, and counts what that allocates, most of it for a moment only.
func TestLargeBodiesStaySmall(t *testing.T) {
	_, url := serve(t, small())
	const size = 4 << 20
	var distinct strings.Builder
	for i := 0; distinct.Len() < size; i++ {
		fmt.Fprintf(&distinct, `"%x":1,`, i)
	}
	for sentence, one := range map[string]struct{ path, body string }{
		"prompts":          {"/v1/completions", `{"prompt":` + repeated("[", "[]", "]", size/3) + `}`},
		"members":          {"/v1/completions", `{` + distinct.String() + `"prompt":true}`},
		"deep lists":       {"/v1/completions", `{"prompt":` + strings.Repeat("[", size/2) + strings.Repeat("]", size/2) + `}`},
		"messages":         {"/v1/chat/completions", `{"messages":` + repeated("[", "1", "]", size/2) + `}`},
		"empty messages":   {"/v1/chat/completions", `{"messages":` + repeated("[", "{}", "]", size/3) + `}`},
		"a wrong type":     {"/v1/completions", `{"prompt":"a","n":` + repeated("[", "[]", "]", size/3) + `}`},
		"biases":           {"/v1/completions", `{"prompt":"a","logit_bias":{` + distinct.String() + `"1":1}}`},
		"a model's name":   {"/v1/completions", `{"prompt":"a","n":"` + strings.Repeat("x", size) + `"}`},
		"text of a prompt": {"/v1/completions", `{"prompt":"` + strings.Repeat("x", size) + `"}`},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status, answer := postAll(t, url+one.path, one.body)
		runtime.ReadMemStats(&after)
		most := uint64(40)
		if sentence == "empty messages" {
			most = 120 // each is decoded, one after the other
		}
		if status != 400 {
			t.Errorf("%s: got %d %.200s, want 400", sentence, status, answer)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > most*size {
			t.Errorf("%s: a body of %d bytes made the server allocate %d", sentence, size, got)
		}
	}
}

// TestLeavingFreesMemory asks for as many outputs as one request may have, each
// far from its end, and leaves: the running count goes to 0 and the memory back
// to what it was.
func TestLeavingFreesMemory(t *testing.T) {
	for _, one := range []struct {
		name, body string
		change     func(*Config)
	}{
		{"engine", `"max_tokens":250,"ignore_eos":true`, func(c *Config) { c.StepTime = func(engine.Step) time.Duration { return 20 * time.Millisecond } }},
		{"fixed, before its first token", `"max_tokens":250,"ignore_eos":true`, func(c *Config) { c.Fixed = &Fixed{TTFT: time.Hour, TPOT: time.Hour} }},
		{"fixed, between two tokens", `"max_tokens":250,"ignore_eos":true`, func(c *Config) { c.Fixed = &Fixed{TPOT: time.Hour} }},
		{"fixed, not streamed", `"max_tokens":250,"ignore_eos":true,"stream":false`, func(c *Config) { c.Fixed = &Fixed{TPOT: time.Hour} }},
	} {
		t.Run(one.name, func(t *testing.T) {
			c := small()
			one.change(&c)
			_, url := serve(t, c)
			before := heap()
			ctx, cancel := context.WithCancel(withTimeout(t))
			defer cancel()
			request, _ := http.NewRequestWithContext(ctx, "POST", url+"/v1/completions", strings.NewReader(`{"prompt":[300],"n":16384,"stream":true,`+one.body+`}`))
			left := make(chan struct{})
			go func() {
				defer close(left)
				if answer, err := http.DefaultClient.Do(request); err == nil {
					io.Copy(io.Discard, answer.Body)
					answer.Body.Close()
				}
			}()
			within(t, "it runs", func() bool { return scrape(t, url)["vllm:num_requests_running"] > 0 })
			held := heap() - before
			cancel()
			<-left
			within(t, "nothing runs", func() bool {
				got := scrape(t, url)
				return got["vllm:num_requests_running"] == 0 && got["vllm:num_requests_waiting"] == 0
			})
			if held < 3<<20 {
				t.Errorf("16384 outputs held only %d bytes: the test does not see them", held)
			}
			within(t, "the memory is free", func() bool { return heap()-before < held/10 })
		})
	}
}

// heap is what is in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManyOutputsArriveWhole reads an answer that is rendered in several parts.
func TestManyOutputsArriveWhole(t *testing.T) {
	c := small()
	c.Fixed = &Fixed{}
	_, url := serve(t, c)
	answer := post(t, url+"/v1/completions", `{"prompt":[300],"n":4000,"max_tokens":100,"ignore_eos":true,"stream":true,"return_token_ids":true,"stream_options":{"include_usage":true}}`)
	r, err := readStream(answer.Body)
	if err != nil || r.tokens != 400_000 || r.completion != 400_000 || !r.isDone {
		t.Errorf("got %d tokens, usage %d, done %t, %v", r.tokens, r.completion, r.isDone, err)
	}
}

// TestHeadersAreBounded refuses more header lines than vLLM takes, and gives
// strange methods and paths one label.
func TestHeadersAreBounded(t *testing.T) {
	c := small()
	c.APIKey = "key"
	_, url := serve(t, c)
	send := func(head string) string {
		conn := must.Get(net.Dial("tcp", strings.TrimPrefix(url, "http://")))(t)
		defer conn.Close()
		io.WriteString(conn, head+"host: x\r\n\r\n")
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return strings.TrimSpace(line)
	}
	for _, one := range []struct{ head, want string }{
		{"GET /health HTTP/1.1\r\n" + strings.Repeat("a: b\r\n", 200), "HTTP/1.1 200 OK"},
		{"GET /health HTTP/1.1\r\n" + strings.Repeat("a: b\r\n", 300), "HTTP/1.1 400 Bad Request"},
		{"GET /health HTTP/1.1\r\nx-request-id: " + strings.Repeat("x", 300) + "\r\n", "HTTP/1.1 400 Bad Request"},
		{"STRANGE /health HTTP/1.1\r\n", "HTTP/1.1 405 Method Not Allowed"},
		{"GET /v1/strange HTTP/1.1\r\n", "HTTP/1.1 401 Unauthorized"},
	} {
		if got := send(one.head); got != one.want {
			t.Errorf("%.60q: got %q, want %q", one.head, got, one.want)
		}
	}
	if text := get(t, url+"/metrics"); strings.Contains(strings.ToLower(text), "strange") {
		t.Error("a client can make any number of labels")
	}
}

// FuzzTextRequest looks for a body that is read wrongly: one that panics, or a
// list whose items are counted otherwise than encoding/json counts them.
func FuzzTextRequest(f *testing.F) {
	for _, body := range []string{
		`{"prompt":[1],"max_tokens":2,"n":1000000000,"stream":true}`, `{"prompt":["a",[1, 2],"b"]}`, `{"prompt":[[],]}`,
		`{"messages":[{"role":"user","content":[{"text":"x"}]}]}`, `{"messages":{"a":1}}`, `{"prompt":"\ud800","stop":["",{}]}`,
		`{"prompt":[1,2 ],"logit_bias":{"1":100,"x":1},"stop_token_ids":[300],"min_tokens":3}`, `[`, `{"prompt":[-1]}`, `{"prompt":[1.5]}`,
	} {
		f.Add([]byte(body), false)
		f.Add([]byte(body), true)
	}
	c := small()
	c.MaxModelLen, c.KVBlocks = 64, 16
	s := must.Get(New(c))(f)
	f.Fuzz(func(t *testing.T, body []byte, isChat bool) {
		a, refusal := s.readTextRequest(body, isChat, "")
		if refusal == nil && (len(a.choices) == 0 || len(a.choices) > maxAnswerOutputs) {
			t.Errorf("%s: %d outputs", body, len(a.choices))
		}
		var items []any
		if json.Unmarshal(body, &items) == nil && items != nil {
			raw := []byte(strings.TrimSpace(string(body)))
			if n, ok := eachItem(raw, func([]byte) bool { return true }); !ok || n != len(items) {
				t.Errorf("%s: got %d items, %t; want %d", body, n, ok, len(items))
			}
		}
	})
}

// TestSlowSendersAreLetGo sends nothing, half a header and half a body: each
// connection ends after a minute.
func TestSlowSendersAreLetGo(t *testing.T) {
	for _, sent := range []string{"", "POST /v1/compl", "POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n{"} {
		synctest.Test(t, func(t *testing.T) {
			l := simpipe.New()
			serveOn(t, small(), l)
			conn := dial(t, l)
			defer conn.Close()
			began := time.Now()
			io.WriteString(conn, sent)
			if answer, err := io.ReadAll(conn); err != nil || time.Since(began) != readTimeout {
				t.Errorf("%.20q: got %q, %v after %v", sent, answer, err, time.Since(began))
			}
		})
	}
}
