//go:build vllm

package realvllm

import (
	"bytes"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim"
)

// simulatorAnswersAlike sends the same requests to the real server and to the
// simulator and compares the shapes of their answers: status, headers, keys and
// their order, types of values, names and labels of metrics.
func simulatorAnswersAlike(t *testing.T, s *server) {
	if !strings.HasPrefix(s.version, "0.32.") {
		t.Skipf("the simulator writes vLLM 0.32's format, this is %s", s.version)
	}
	simulated := simulator(t, s)
	s.resetPrefixCache(t)
	theirs, ours := span{before: scrape(t, s.baseURL)}, span{before: scrape(t, simulated)}
	askBoth := func(questions []question) {
		for _, q := range questions {
			q.askedOfBoth(t, s.baseURL, simulated)
		}
		t.Logf("%d questions to both", len(questions))
	}
	askBoth(inTokens(s))
	theirs.after, ours.after = scrape(t, s.baseURL), scrape(t, simulated)
	askBoth(inText(s))
	metricsAlike(t, theirs.after, ours.after)
	countedAlike(t, theirs, ours)
}

// askedOfBoth asks both, and again where the real server merged the tokens of a stream into fewer events: it does so
// when it is behind with sending, which says nothing of its format. Both are asked equally often, so that what they
// count stays comparable; a difference of shape does not go away by asking.
func (q question) askedOfBoth(t *testing.T, real, simulated string) {
	t.Helper()
	const attempts = 5
	for attempt := 1; ; attempt++ {
		theirs, ours := ask(t, real, q.method, q.path, q.body), ask(t, simulated, q.method, q.path, q.body)
		isMerged := bytes.Count(theirs.body, []byte("data: ")) < bytes.Count(ours.body, []byte("data: ")) && bodyShape(theirs) != bodyShape(ours)
		if !isMerged || attempt == attempts {
			q.answeredAlike(t, theirs, ours)
			return
		}
	}
}

func (q question) answeredAlike(t *testing.T, theirs, ours answer) {
	t.Helper()
	compare(t, q.name+": status", fmt.Sprint(theirs.status), fmt.Sprint(ours.status))
	compare(t, q.name+": headers", headerNames(theirs.header), headerNames(ours.header))
	compare(t, q.name+": content type", theirs.header.Get("Content-Type"), ours.header.Get("Content-Type"))
	if bytes.Contains(theirs.body, []byte(`"error"`)) && !q.isLoose {
		compare(t, q.name+": body", string(theirs.body), string(ours.body))
		return
	}
	compare(t, q.name+": body", bodyShape(theirs), bodyShape(ours))
}

func simulator(t *testing.T, s *server) (baseURL string) {
	t.Helper()
	simulated := must.Get(vllmsim.New(vllmsim.Config{
		Config: engine.Config{
			Model: s.model, Version: s.version, MaxModelLen: s.maxModelLen, BlockSize: 128, EnablePrefixCaching: true,
			StepTime: func(engine.Step) time.Duration { return 5 * time.Millisecond },
		},
		Vocab: 8192, PerRequestMetrics: true, RequestIDHeaders: true,
	}))(t)
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	served := make(chan error, 1)
	go func() { served <- simulated.Serve(listener) }()
	t.Cleanup(func() { simulated.Close(); <-served })
	return "http://" + listener.Addr().String()
}

// question is one request, asked of both servers.
type question struct {
	name, method, path string
	body               any
	isLoose            bool // the wording of the error may differ, its shape not
}

func get(name, path string) question { return question{name: name, method: http.MethodGet, path: path} }

func complete(name string, body any) question {
	return question{name: name, method: http.MethodPost, path: "/v1/completions", body: body}
}

func chat(name string, body any) question {
	return question{name: name, method: http.MethodPost, path: "/v1/chat/completions", body: body}
}

var fourTokens = []int{300, 301, 302, 303}

// someTokens are enough that a busy server, which merges the tokens it is behind
// with, still sends a chunk between the first and the last.
const someTokens = 24

// inText are questions whose prompt is text: as many tokens as the tokenizer
// makes of it, and the two have different ones.
func inText(s *server) []question {
	measured := asTidemarkAsks(s.model, fourTokens, someTokens)
	streamed := with(measured, "prompt", nil, "messages", []any{map[string]any{"role": "user", "content": "hello"}})
	return []question{
		{name: "tokenize", method: http.MethodPost, path: "/tokenize", body: map[string]any{"model": s.model, "prompt": "hello world"}},
		complete("text", with(measured, "prompt", "hello world")),
		chat("chat", streamed),
		chat("chat not streamed", with(streamed, "stream", false, "stream_options", nil)),
	}
}

// inTokens are questions whose prompt is token ids, or refused.
func inTokens(s *server) []question {
	prompt := fourTokens
	measured := asTidemarkAsks(s.model, prompt, someTokens)
	tooMuch := slices.Repeat(prompt, s.maxModelLen/len(prompt)+1)
	return []question{
		get("health", "/health"),
		get("models", "/v1/models"),
		get("unknown path", "/nowhere"),
		get("wrong method", "/v1/completions"),
		complete("as measured", measured),
		complete("one token", asTidemarkAsks(s.model, prompt, 1)),
		complete("a long prompt", asTidemarkAsks(s.model, tooMuch[:1000], 2)),
		complete("the same again", asTidemarkAsks(s.model, tooMuch[:1000], 2)),
		complete("no token ids", with(measured, "return_token_ids", nil)),
		complete("no usage", with(measured, "stream_options", nil)),
		complete("running usage", with(measured, "stream_options", map[string]any{"include_usage": true, "continuous_usage_stats": true})),
		complete("two prompts", with(measured, "prompt", [][]int{{300, 301}, {302, 303}}, "max_tokens", 1, "min_tokens", 1)),
		complete("not streamed", with(measured, "stream", false, "stream_options", nil)),
		complete("unknown model", with(measured, "model", "nobody")),
		complete("prompt too long", with(measured, "prompt", tooMuch)),
		complete("output cut below min_tokens", with(measured, "prompt", tooMuch[:s.maxModelLen-1])),
		complete("no prompt", with(measured, "prompt", nil)),
		complete("empty prompt", with(measured, "prompt", []int{})),
		complete("empty text", with(measured, "prompt", "")),
		complete("empty list in the list", with(measured, "prompt", [][]int{{}})),
		complete("id out of vocabulary", with(measured, "prompt", []int{300, 999999})),
		complete("min above max", with(measured, "min_tokens", someTokens+1)),
		complete("no output", with(measured, "max_tokens", 0, "min_tokens", 0)),
		complete("not JSON", []byte("{")),
		{name: "prompt of a wrong type", method: http.MethodPost, path: "/v1/completions", body: with(measured, "prompt", true), isLoose: true},
	}
}

// with is body with some fields (name, value, ...) replaced; nil removes one.
func with(body map[string]any, fields ...any) map[string]any {
	body = maps.Clone(body)
	for i := 0; i < len(fields); i += 2 {
		name := fields[i].(string)
		if body[name] = fields[i+1]; fields[i+1] == nil {
			delete(body, name)
		}
	}
	return body
}

func compare(t *testing.T, what, theirs, ours string) {
	t.Helper()
	if theirs != ours {
		t.Errorf("%s differs\n  real:      %s\n  simulator: %s", what, theirs, ours)
	}
}

// headerNames leaves out what only says how the body is framed.
func headerNames(header http.Header) string {
	names := slices.Sorted(maps.Keys(header))
	return strings.Join(slices.DeleteFunc(names, func(name string) bool {
		return name == "Content-Length" || name == "Transfer-Encoding"
	}), " ")
}
