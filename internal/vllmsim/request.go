package vllmsim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"tidemark/internal/engine"
	"tidemark/internal/splitmix"
)

// textRequest is a checked request for generated text: what to generate, and in
// which form to send it.
type textRequest struct {
	id       string // with the prefix cmpl- or chatcmpl-
	isChat   bool
	isStream bool
	prompts  []prompt
	n        int // outputs per prompt
	sampling sampling
	hasEcho  bool
	interval int // tokens between two chunks
	choices  []choice

	wantsIDs        bool // return_token_ids
	wantsUsage      bool // a usage chunk at the end
	wantsUsageSoFar bool // usage in every chunk
}

type prompt struct {
	ids    []int32
	start  uint64 // of its hash chain
	hashes []uint64
}

// readTextRequest turns a body into a request or into vLLM's refusal. The
// checks come in vLLM's order, so that a body with two mistakes gets the same
// answer.
func (s *Server) readTextRequest(body []byte, isChat bool, requestID string) (*textRequest, *apiError) {
	f, refusal := readFields(body)
	if refusal != nil {
		return nil, refusal
	}
	if refusal := s.checkModel(f); refusal != nil {
		return nil, refusal
	}
	if refusal := checkBounds(f); refusal != nil {
		return nil, refusal
	}
	a := &textRequest{isChat: isChat, isStream: f.boolean("stream"), n: f.integer("n", 1), hasEcho: f.boolean("echo") && !isChat, wantsIDs: f.boolean("return_token_ids")}
	a.interval = max(s.cfg.StreamInterval, f.integer("stream_interval", 1))
	a.id = s.responseID(isChat, requestID, f.text("request_id"))
	a.readUsage(f, s.cfg.ForceIncludeUsage)
	if refusal := s.readPrompts(a, f); refusal != nil {
		return nil, refusal
	}
	s.readSampling(a, f)
	if f.bad != nil {
		return nil, f.bad
	}
	if refusal := a.checkOutputs(); refusal != nil {
		return nil, refusal
	}
	if refusal := s.checkRust(a); refusal != nil {
		return nil, refusal
	}
	if refusal := s.checkLength(a, f); refusal != nil {
		return nil, refusal
	}
	for i := range a.prompts {
		p := &a.prompts[i]
		p.hashes = engine.HashBlocks(p.ids, p.start, s.cfg.BlockSize)
	}
	if refusal := s.checkIDs(a); refusal != nil {
		return a, refusal
	}
	return a, a.planOutputs()
}

// planOutputs determines the length and the end of each output, and refuses an
// answer that is too long to hold.
func (a *textRequest) planOutputs() *apiError {
	a.choices = make([]choice, 0, len(a.prompts)*a.n)
	tokens := 0
	for i := range a.prompts {
		for j := range a.n {
			c := choice{index: len(a.choices), prompt: &a.prompts[i], sampling: a.sampling}
			c.sampling.seed += uint64(j)
			c.tokens, c.why, c.stopID = c.sampling.length()
			a.choices = append(a.choices, c)
			tokens += c.tokens
			if a.hasEcho || a.wantsIDs {
				tokens += len(c.prompt.ids)
			}
			if tokens > maxAnswerTokens {
				return badRequest("n", "The answer would have more than %d tokens, the most that this simulator sends for one request. Ask for fewer outputs or fewer tokens. (parameter=n, value=%d)", maxAnswerTokens, a.n)
			}
		}
	}
	return nil
}

func readFields(body []byte) (*fields, *apiError) {
	f, err := scanFields(body)
	var broken *jsonError
	switch {
	case errors.As(err, &broken):
		return nil, notJSON(broken)
	case err != nil:
		return nil, validationError("body", "model_attributes_type", "Input should be a valid dictionary or object to extract fields from", pythonRepr(body))
	}
	return f, nil
}

func (s *Server) checkModel(f *fields) *apiError {
	name := f.text("model")
	if name == "" || name == s.cfg.Model {
		return nil
	}
	return &apiError{code: 404, kind: "NotFoundError", param: "model",
		message: fmt.Sprintf("The model `%s` does not exist. Valid aliases: %s.", name, s.cfg.Model)}
}

func (s *Server) responseID(isChat bool, header, field string) string {
	id := header
	id = cmp.Or(id, field)
	if id == "" {
		id = fmt.Sprintf("%016x", rand.Uint64())
	}
	if isChat {
		return "chatcmpl-" + id
	}
	return "cmpl-" + id
}

// readUsage reads stream_options, or asks for everything where the server
// forces usage.
func (a *textRequest) readUsage(f *fields, isForced bool) {
	var options struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	}
	f.decode("stream_options", &options)
	a.wantsUsage = options.IncludeUsage || isForced
	a.wantsUsageSoFar = options.IncludeUsage && options.ContinuousUsageStats || isForced
}

// readPrompts reads one prompt or several, as text or as token ids. A cache
// salt starts the hash chain elsewhere, so that only requests with the same
// salt share blocks.
func (s *Server) readPrompts(a *textRequest, f *fields) *apiError {
	start := engine.ChainStart
	if salt := f.text("cache_salt"); salt != "" {
		start = splitmix.Finish(start) // otherwise a salt of one block's length would equal that block
		for _, b := range []byte(salt) {
			start = engine.Chain(start, int32(b))
		}
	}
	defer func() {
		for i := range a.prompts {
			a.prompts[i].start = start
		}
	}()
	if a.isChat {
		ids, refusal := s.chatIDs(f)
		a.prompts = []prompt{{ids: ids}}
		return refusal
	}
	raw := f.get("prompt")
	missing := badRequest("prompt", "Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)")
	if len(raw) == 0 || string(raw) == `""` {
		return missing
	}
	switch {
	case raw[0] == '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return wrongPrompt(raw)
		}
		a.prompts = []prompt{{ids: tokenize(nil, text, s.cfg.Vocab)}}
		return nil
	case raw[0] == '[':
		if ids, ok := parseIDs(raw); ok {
			if len(ids) == 0 {
				return badRequest("", "You must pass at least one prompt")
			}
			a.prompts = []prompt{{ids: ids}}
			return nil
		}
		return s.promptList(a, raw)
	}
	return wrongPrompt(raw)
}

// promptList reads several prompts, as texts or as lists of ids.
func (s *Server) promptList(a *textRequest, raw []byte) *apiError {
	_, ok := eachItem(raw, func(item []byte) bool {
		var text string
		if ids, ok := parseIDs(item); ok {
			a.prompts = append(a.prompts, prompt{ids: ids})
		} else if json.Unmarshal(item, &text) == nil && item[0] == '"' {
			a.prompts = append(a.prompts, prompt{ids: tokenize(nil, text, s.cfg.Vocab)})
		} else {
			a.prompts = nil
		}
		return a.prompts != nil
	})
	if !ok || a.prompts == nil {
		return wrongPrompt(raw)
	}
	return nil
}

func wrongPrompt(raw []byte) *apiError {
	return validationError("body.prompt", "list_type", "Input should be a valid list", pythonRepr(raw))
}

// chatIDs renders messages by the ChatML template:
// <|im_start|>role\ncontent<|im_end|>\n ... <|im_start|>assistant\n.
func (s *Server) chatIDs(f *fields) ([]int32, *apiError) {
	raw := f.get("messages")
	if raw == nil {
		return nil, validationError("body.messages", "missing", "Field required", "<dict of "+strconv.Itoa(f.members)+" items>")
	}
	var ids []int32
	var refusal *apiError
	_, ok := eachItem(raw, func(item []byte) bool {
		ids, refusal = s.messageIDs(ids, item)
		return refusal == nil
	})
	if refusal != nil {
		return nil, refusal
	}
	if !ok || raw[0] != '[' {
		return nil, wrongMessages(raw)
	}
	ids = append(ids, imStart)
	return tokenize(ids, "assistant\n", s.cfg.Vocab), nil
}

func wrongMessages(raw []byte) *apiError {
	return validationError("body.messages", "model_type", "Input should be a valid dictionary or list", pythonRepr(raw))
}

// messageIDs appends one message.
func (s *Server) messageIDs(ids []int32, raw []byte) ([]int32, *apiError) {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return nil, wrongMessages(raw)
	}
	text, ok := contentText(m.Content)
	if !ok {
		return nil, validationError("body.messages", "string_type", "Input should be a valid string", pythonRepr(m.Content))
	}
	ids = append(ids, imStart)
	ids = tokenize(ids, m.Role+"\n"+text, s.cfg.Vocab)
	return append(ids, imEnd, firstByte+'\n'), nil
}

// contentText is a message's text: a string, null, or a list of text parts.
func contentText(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", true
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, true
	}
	var all strings.Builder
	areTexts := true
	_, ok := eachItem(raw, func(item []byte) bool {
		var part struct {
			Text string `json:"text"`
		}
		areTexts = json.Unmarshal(item, &part) == nil
		all.WriteString(part.Text)
		all.WriteByte('\n')
		return areTexts
	})
	if !ok || !areTexts || raw[0] != '[' {
		return "", false
	}
	return strings.TrimSuffix(all.String(), "\n"), true
}

// readSampling derives the seed of the outputs. The same prompt at temperature
// 0 gives the same output; otherwise each request gets another one,
// reproducible with the server's own seed.
func (s *Server) readSampling(a *textRequest, f *fields) {
	p := &a.sampling
	p.vocab = s.cfg.Vocab
	p.ignoreEOS = f.boolean("ignore_eos")
	p.minTokens = f.integer("min_tokens", 0)
	if s.cfg.EndOfText > 0 {
		p.eosBelow = uint64(min(s.cfg.EndOfText, 1) * (1<<64 - 1<<11))
	}
	f.decode("stop_token_ids", &p.stopIDs)
	var bias map[string]float64
	f.decode("logit_bias", &bias)
	for key, weight := range bias {
		if id, err := strconv.Atoi(key); err == nil && weight >= 100 && id >= 0 && id < s.cfg.Vocab {
			p.forced = append(p.forced, int32(id))
		}
	}
	switch {
	case f.get("seed") != nil:
		p.seed = splitmix.Finish(uint64(f.integer("seed", 0)) + 1)
	case string(f.get("temperature")) == "0" || string(f.get("temperature")) == "0.0":
		for _, q := range a.prompts {
			for _, id := range q.ids {
				p.seed = engine.Chain(p.seed, id)
			}
		}
	default:
		p.seed = splitmix.Finish(s.cfg.Seed ^ s.textRequests.Add(1)<<20)
	}
}

// checkLength determines max_tokens. It is cut to what fits after the prompt; a
// prompt that leaves no room is refused.
func (s *Server) checkLength(a *textRequest, f *fields) *apiError {
	limit, longest := s.cfg.MaxModelLen, 0
	for _, p := range a.prompts {
		longest = max(longest, len(p.ids))
	}
	if longest >= limit && s.cfg.RustFrontend {
		return badRequest("", "this model's maximum context length is %d tokens, but the prompt contains %d input tokens", limit, longest)
	}
	if longest >= limit {
		return badRequest("input_tokens", "This model's maximum context length is %d tokens. However, your prompt contains %d input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=%d)", limit, longest, longest)
	}
	asked := 16
	if a.isChat {
		asked = f.integer("max_completion_tokens", f.integer("max_tokens", limit-longest))
	} else {
		asked = f.integer("max_tokens", asked)
	}
	if f.bad != nil {
		return f.bad
	}
	if asked < 1 {
		return badRequest("max_tokens", "max_tokens must be at least 1, got %d. (parameter=max_tokens, value=%d)", asked, asked)
	}
	p := &a.sampling
	p.maxTokens = min(asked, limit-longest)
	if p.minTokens < 0 {
		return badRequest("", "min_tokens must be greater than or equal to 0, got %d.", p.minTokens)
	}
	if p.minTokens > p.maxTokens {
		return badRequest("", "min_tokens must be less than or equal to max_tokens=%d, got %d.", p.maxTokens, p.minTokens)
	}
	return nil
}

// checkIDs refuses what vLLM refuses only in its engine, when a stream's status
// 200 has already been sent.
func (s *Server) checkIDs(a *textRequest) *apiError {
	refuse := func(format string, args ...any) *apiError {
		refusal := badRequest("", format, args...)
		refusal.inFrame = true
		return refusal
	}
	for _, p := range a.prompts {
		if len(p.ids) == 0 {
			return refuse("The decoder prompt cannot be empty")
		}
		for _, id := range p.ids {
			if int(id) >= s.cfg.Vocab {
				return refuse("Token id %d is out of vocabulary", id)
			}
		}
	}
	return nil
}
