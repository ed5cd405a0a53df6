package vllmsim

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// TestTranscripts sends the requests of a real vLLM 0.32.0's transcripts to the
// simulator and compares the answers in shape: headers, keys and their order,
// number of events, finish reasons, token counts. Texts and ids are another
// model's and masked, and so are counts of prompts given as text.
func TestTranscripts(t *testing.T) {
	shared := os.Getenv("TIDEMARK_SHARED")
	shared = cmp.Or(shared, "../../../shared")
	folder := filepath.Join(shared, "traces", "vllm-cpu")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("LEFT OUT: no real transcripts at %s; set TIDEMARK_SHARED", folder)
	}
	_, url := serve(t, realConfig())
	for _, name := range []string{
		"chat-continuous-usage", "chat-max_completion_tokens", "chat-max_tokens1", "chat-nonstream", "chat-return_token_ids", "chat-stream", "chat-stream-usage",
		"completions-continuous-usage", "completions-default-max_tokens", "completions-echo", "completions-max_tokens1", "completions-multi-tokenids", "completions-n2",
		"completions-nonstream", "completions-return_token_ids", "completions-stream", "completions-stream-usage", "completions-tokenids", "unknown-field", "length-exact-64",
		"eos-forced", "eos-forced-min_tokens", "eos-forced-ignore_eos", "stop-token-id", "request-id-header", "request-id-chat",
		"err-404", "err-bigtoken", "err-emptyprompt", "err-json", "err-min-gt-max", "err-model", "err-wrongtype",
		"get-health", "get-ping", "get-load", "get-v1-models", "tokenize-chat", "detokenize", "reset_prefix_cache",
	} {
		t.Run(name, func(t *testing.T) {
			request, want := readTranscript(t, filepath.Join(folder, name+".txt"))
			isText := !strings.Contains(request, `"prompt":[`)
			got, want := shape(exchange(t, url, request), isText), shape(want, isText)
			if strings.Contains(want, `"index":1`) {
				// vLLM's second output may start a step after the first.
				got, want = sortedLines(got), sortedLines(want)
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	rust := realConfig()
	rust.RustFrontend = true
	_, url = serve(t, rust)
	for _, name := range []string{"rust-chat-stream-usage", "rust-completions-stream-usage", "rust-completions-return_token_ids"} {
		t.Run(name, func(t *testing.T) {
			request, want := readTranscript(t, filepath.Join(folder, name+".txt"))
			got, want := shape(exchange(t, url, request), true), shape(want, true)
			if got, want := sortedHeaders(got), sortedHeaders(want); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// realConfig is the server that the transcripts were taken from.
func realConfig() Config {
	c := small()
	c.Model, c.BlockSize, c.KVBlocks = "tiny-random", 128, 512
	c.RequestIDHeaders, c.PerRequestMetrics = true, true
	return c
}

var noteHeader = regexp.MustCompile(`"([^"]+)": "([^"]+)"`)

func readTranscript(t *testing.T, name string) (request, answer string) {
	t.Helper()
	raw := must.Get(os.ReadFile(name))(t)
	var body, line, headers string
	rest := string(raw)
	for strings.HasPrefix(rest, "###") {
		var note string
		note, rest, _ = strings.Cut(rest, "\n")
		note = strings.TrimPrefix(note, "### ")
		switch {
		case strings.HasPrefix(note, "body: "):
			body = strings.TrimPrefix(note, "body: ")
		case strings.HasPrefix(note, "headers: "):
			for _, h := range noteHeader.FindAllStringSubmatch(note, -1) {
				headers += "\n" + h[1] + ": " + h[2]
			}
		case strings.HasPrefix(note, "POST") || strings.HasPrefix(note, "GET"):
			line = note
		}
	}
	answer, _, _ = strings.Cut(rest, "### header after")
	return line + headers + "\n\n" + body, strings.TrimRight(answer, "\n")
}

var shapes = []struct {
	find *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`"(text|content|prompt|id|root)":"(\\.|[^"\\])*"`), `"$1":"..."`},
	{regexp.MustCompile(`"content":""`), `"content":"..."`},
	{regexp.MustCompile(`_ids":\[[0-9,]*\]`), `_ids":[...]`},
	{regexp.MustCompile(`"tokens":\[[0-9,]*\]`), `"tokens":[...]`},
	{regexp.MustCompile(`"system_fingerprint":"[^"]*"`), `"system_fingerprint":"..."`},
	{regexp.MustCompile(`content-length: \d\d+`), `content-length: MANY`},
	{regexp.MustCompile(`"count":\d+`), `"count":0`},
}

var promptCounts = regexp.MustCompile(`"(prompt_tokens|total_tokens)":\d+`)

func shape(answer string, isText bool) string {
	answer = masked(answer)
	for _, s := range shapes {
		answer = s.find.ReplaceAllString(answer, s.with)
	}
	if isText {
		answer = promptCounts.ReplaceAllString(answer, `"$1":0`)
	}
	return strings.TrimRight(answer, "\n")
}

// sortedHeaders leaves the order of events alone.
func sortedHeaders(s string) string {
	headers, body, _ := strings.Cut(s, "\n\n")
	return sortedLines(headers) + "\n\n" + body
}

func sortedLines(s string) string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
