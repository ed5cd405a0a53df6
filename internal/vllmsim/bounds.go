package vllmsim

import (
	"encoding/json"
	"fmt"
)

// The bounds that vLLM 0.32 sets on one request, under its names for them. What
// goes beyond is refused before anything is made from it.
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

// maxAnswerTokens and maxAnswerOutputs are bounds of our own. vLLM bounds n and
// the prompts, but not their product: 1024 prompts with 16384 outputs each would
// be 17 million sequences. A prompt that the answer repeats counts each time.

// checkBounds refuses a request whose parts are too many, by counting them.
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

// checkLogprobs holds the three fields that ask for logprobs to vLLM's bound; -1 asks for the whole vocabulary.
func checkLogprobs(f *fields) *apiError {
	for _, one := range []struct{ name, kind string }{{"logprobs", "sample"}, {"top_logprobs", "sample"}, {"prompt_logprobs", "prompt"}} {
		n := f.integer(one.name, 0)
		if n > maxLogprobs || n == -1 {
			return badRequest(one.name, "Requested %s logprobs of %d, which is greater than max allowed: %d (parameter=%s, value=%d)", one.kind, n, maxLogprobs, one.name, n)
		}
	}
	return f.bad
}

// checkOutputs refuses more outputs than vLLM lets one prompt have.
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

// prompts counts the prompts of a list. A list of numbers is one prompt of token ids.
func (f *fields) prompts() int {
	s := scanner{body: f.get("prompt"), at: 1}
	s.blanks()
	if s.peek() >= '0' && s.peek() <= '9' {
		return 1
	}
	return f.count("prompt")
}

// count is how many members a list or an object has; 0 for anything else.
func (f *fields) count(name string) int {
	n, _ := eachItem(f.get(name), func([]byte) bool { return true })
	return n
}

// eachItem goes through the items of a list, or the members of an object, without decoding them. It ends when do
// returns false. ok is false where raw is neither, or where its items are not apart from each other.
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

// pythonRepr is a JSON value as Python prints it in a validation error, cut where it is long.
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
