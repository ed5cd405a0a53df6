package vllmsim

import (
	"testing"

	"tidemark/internal/proof/must"
)

// TestRustFrontend holds what sets the Rust frontend apart, in its own words.
func TestRustFrontend(t *testing.T) {
	c := small()
	c.RustFrontend, c.PerRequestMetrics = true, true
	_, url := serve(t, c)
	for _, one := range []struct {
		name, path, body string
		status           int
		has, hasNot      []string
	}{
		{"the prompt's ids come before any token, the end in a chunk of its own", "/v1/completions",
			`{"prompt":[300,301],"max_tokens":2,"ignore_eos":true,"stream":true,"return_token_ids":true,"stream_options":{"include_usage":true}}`, 200,
			[]string{`"text":"","token_ids":[],"prompt_token_ids":[300,301]}]}`, `"text":"","finish_reason":"length","token_ids":[]}]}`,
				`"prompt_tokens_details":null`}, []string{"logprobs", "system_fingerprint", "metrics", "null}]"}},
		{"without ids the first chunk has text", "/v1/completions",
			`{"prompt":[300],"max_tokens":1,"ignore_eos":true,"stream":true}`, 200, []string{`{"index":0,"text":"","finish_reason":"length"}]}`}, []string{"token_ids"}},
		{"chat begins with a role alone", "/v1/chat/completions",
			`{"messages":[{"role":"user","content":"x"}],"max_tokens":1,"ignore_eos":true,"stream":true}`, 200,
			[]string{`"delta":{"role":"assistant"}}]}`, `"delta":{},"finish_reason":"length"}]}`}, nil},
		{"codes are words", "/v1/completions", `{"model":"other","prompt":[300]}`, 404, []string{`"code":"not_found_error"`}, nil},
		{"several outputs are refused", "/v1/completions", `{"prompt":[300],"n":2}`, 400, []string{`"code":"invalid_request_error"`}, nil},
		{"so are several prompts", "/v1/completions", `{"prompt":[[300],[301]]}`, 400, []string{`"type":"invalid_request_error"`}, nil},
		{"an unknown id is an error in the stream", "/v1/completions", `{"prompt":[9000],"stream":true}`, 200,
			[]string{`data: {"error":{"message":"Token id 9000 is out of vocabulary"`, `"code":"invalid_request_error"`, "[DONE]"}, nil},
	} {
		status, answer := postAll(t, url+one.path, one.body)
		if status != one.status {
			t.Errorf("%s: got status %d, want %d", one.name, status, one.status)
		}
		for _, part := range one.has {
			must.Say(t, answer, part)
		}
		for _, part := range one.hasNot {
			must.NotSay(t, answer, part)
		}
	}
}
