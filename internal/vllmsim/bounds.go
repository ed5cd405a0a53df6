package vllmsim

import (
	"encoding/json"
	"fmt"
)

// The limits that vLLM 0.32 puts on one request, under its names for them. A
// request beyond a limit is refused before anything is made from it, so that a
// few bytes of JSON cannot take gigabytes.
const (
	maxSequences     = 16384 // VLLM_MAX_N_SEQUENCES
	maxPrompts       = 1024  // VLLM_MAX_COMPLETION_PROMPTS
	maxStopStrings   = 4     // VLLM_MAX_STOP_STRINGS
	maxStopIDs       = 128   // VLLM_MAX_STOP_TOKEN_IDS
	maxBiases        = 1024  // MAX_NUM_LOGIT_BIAS_TOKENS
	maxLogprobs      = 20    // --max-logprobs
	maxCacheSalt     = 128   // characters
	maxHeaders       = 256   // --h11-max-header-count
	maxRequestID     = 256   // bytes; a bound of our own, because every chunk repeats the id
	maxMessageBytes  = 1024  // of what an error repeats of a request; a bound of our own
	maxAnswerTokens  = 1 << 22
	maxAnswerOutputs = maxSequences
)

// maxAnswerTokens and maxAnswerOutputs are limits of our own. vLLM limits n and
// the number of prompts but not their product: 1,024 prompts with 16,384
// outputs each would be 17 million sequences. A prompt that the answer repeats
// counts each time it is repeated.

// checkBounds counts the parts of a request and refuses too many.
func checkBounds(f *fields) *apiError {
	if n := f.prompts(); n > maxPrompts {
		return badRequest("prompt", "prompt list length %d exceeds the maximum allowed count of %d. To increase this limit, set the VLLM_MAX_COMPLETION_PROMPTS environment variable. (parameter=prompt)", n, maxPrompts)
	}
	for _, list := range []struct {
		name string
		most int
	}{{"stop", maxStopStrings}, {"stop_token_ids", maxStopIDs}, {"logit_bias", maxBiases}} {
		if n := f.count(list.name); n > list.most {
			return validationError("body."+list.name, "too_long", fmt.Sprintf("List should have at most %d items after validation, not %d", list.most, n), pythonRepr(f.get(list.name)))
		}
	}
	for _, text := range []struct {
		name string
		most int
	}{{"cache_salt", maxCacheSalt}, {"request_id", maxRequestID}} {
		if len(f.get(text.name)) > text.most+len(`""`) {
			return validationError("body."+text.name, "string_too_long", fmt.Sprintf("String should have at most %d characters", text.most), pythonRepr(f.get(text.name)))
		}
	}
	return checkLogprobs(f)
}

// checkLogprobs compares the three fields that ask for logprobs with vLLM's
// limit. -1 asks for the whole vocabulary and is refused as well.
func checkLogprobs(f *fields) *apiError {
	for _, one := range []struct{ name, kind string }{{"logprobs", "sample"}, {"top_logprobs", "sample"}, {"prompt_logprobs", "prompt"}} {
		n := f.integer(one.name, 0)
		if n > maxLogprobs || n == -1 {
			return badRequest(one.name, "Requested %s logprobs of %d, which is greater than max allowed: %d (parameter=%s, value=%d)", one.kind, n, maxLogprobs, one.name, n)
		}
	}
	return f.bad
}

// checkOutputs refuses more outputs than vLLM allows for one prompt, or this
// simulator for one request.
func (a *textRequest) checkOutputs() *apiError {
	switch outputs := a.n * len(a.prompts); {
	case a.n < 1:
		return badRequest("n", "n must be at least 1, got %d. (parameter=n, value=%d)", a.n, a.n)
	case a.n > maxSequences:
		return badRequest("n", "n must be at most %d, got %d. To increase this limit, set the VLLM_MAX_N_SEQUENCES environment variable. (parameter=n, value=%d)", maxSequences, a.n, a.n)
	case outputs > maxAnswerOutputs:
		return badRequest("n", "n times the number of prompts must be at most %d in this simulator, got %d. (parameter=n, value=%d)", maxAnswerOutputs, outputs, a.n)
	}
	return nil
}

// prompts counts the prompts of a list. A list of numbers is one prompt of
// token ids.
func (f *fields) prompts() int {
	s := scanner{body: f.get("prompt"), at: 1}
	s.blanks()
	if s.peek() >= '0' && s.peek() <= '9' {
		return 1
	}
	return f.count("prompt")
}

// count is the number of members of a list or an object; 0 for any other value.
func (f *fields) count(name string) int {
	n, _ := eachItem(f.get(name), func([]byte) bool { return true })
	return n
}

// eachItem visits the items of a list, or the members of an object, without
// decoding them, and stops when do returns false. ok is false where raw is
// neither, or where a comma is missing or left over.
func eachItem(raw []byte, do func(item []byte) bool) (n int, ok bool) {
	if len(raw) < 2 || raw[0] != '[' && raw[0] != '{' {
		return 0, false
	}
	s := scanner{body: raw, at: 1}
	for s.blanks(); s.at < len(raw)-1; s.blanks() {
		start := s.at
		if raw[0] == '{' {
			if _, err := s.key(); err != nil {
				return n, false
			}
		}
		if s.skipValue() != nil {
			return n, false
		}
		n++
		if !do(raw[start:s.at]) {
			return n, true
		}
		s.blanks()
		if s.at == len(raw)-1 {
			break
		}
		if s.peek() != ',' {
			return n, false
		}
		s.at++
		if s.blanks(); s.at == len(raw)-1 {
			return n, false // a comma without an item
		}
	}
	return n, true
}

// pythonRepr is a JSON value as Python prints it in a validation error,
// shortened where it is long.
func pythonRepr(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	switch n, isWhole := eachItem(raw, func([]byte) bool { return true }); {
	case isWhole && raw[0] == '{':
		return fmt.Sprintf("<dict of %d items>", n)
	case isWhole:
		return fmt.Sprintf("<list of %d items>", n)
	}
	if len(raw) > maxMessageBytes {
		return string(raw[:maxMessageBytes]) + "..."
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	switch v := v.(type) {
	case string:
		return "'" + v + "'"
	case bool:
		return map[bool]string{true: "True", false: "False"}[v]
	}
	return string(raw)
}
