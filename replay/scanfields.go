package replay

// The fields of a completion chunk and of a chat chunk. Each key that matters has a bit: one that comes twice is left to
// decodeChunk, which knows that the last one holds.
const (
	keyChoices = 1 << iota
	keyUsage
	keyPromptIDs
	keyText
	keyTokenIDs
	keyFinish
	keyDelta
	keyRole
	keyToolCalls
	keyPromptTokens
	keyCompletionTokens
	keyPromptDetails
	keyCached
	keyContent
	keyReasoning
	keyReasoningContent
	keyRefusal
)

func first(seen *uint32, bit uint32) bool {
	if *seen&bit != 0 {
		return false
	}
	*seen |= bit
	return true
}

func (s *scanner) topField(c *chunk, key []byte, seen *uint32) bool {
	switch string(key) {
	case "choices":
		return first(seen, keyChoices) && s.choices(c)
	case "usage":
		if !first(seen, keyUsage) {
			return false
		}
		if s.peek() == 'n' {
			return s.word("null")
		}
		c.hasUsage = true
		return s.object(c, (*scanner).usageField)
	case "prompt_token_ids":
		return first(seen, keyPromptIDs) && s.promptIDs(c)
	case "error":
		return false
	}
	return s.skip()
}

func (s *scanner) choices(c *chunk) bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	c.hasChoices = true
	for {
		if !s.object(c, (*scanner).choiceField) {
			return false
		}
		if s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) choiceField(c *chunk, key []byte, seen *uint32) bool {
	switch string(key) {
	case "text":
		return first(seen, keyText) && s.text(c)
	case "token_ids":
		return first(seen, keyTokenIDs) && s.tokenIDs(c)
	case "finish_reason":
		return first(seen, keyFinish) && s.finish(c)
	case "prompt_token_ids":
		return first(seen, keyPromptIDs) && s.promptIDs(c)
	case "delta":
		if !first(seen, keyDelta) {
			return false
		}
		if s.peek() == 'n' {
			return s.word("null")
		}
		return s.object(c, (*scanner).deltaField)
	}
	return s.skip()
}

func (s *scanner) deltaField(c *chunk, key []byte, seen *uint32) bool {
	switch string(key) {
	case "content":
		return first(seen, keyContent) && s.text(c)
	case "reasoning_content":
		return first(seen, keyReasoningContent) && s.text(c)
	case "reasoning":
		return first(seen, keyReasoning) && s.text(c)
	case "refusal":
		return first(seen, keyRefusal) && s.text(c)
	case "role":
		if !first(seen, keyRole) {
			return false
		}
		if s.peek() != 'n' {
			c.hasRole = true
		}
		return s.skip()
	case "tool_calls":
		if !first(seen, keyToolCalls) {
			return false
		}
		if s.peek() == 'n' {
			return s.word("null")
		}
		n, ok := s.list((*scanner).skip)
		c.hasText = c.hasText || n > 0
		return ok
	}
	return s.skip()
}

func (s *scanner) text(c *chunk) bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	notEmpty, ok := s.skipStr()
	c.hasText = c.hasText || notEmpty
	return ok
}

func (s *scanner) tokenIDs(c *chunk) bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	n, ok := s.list((*scanner).skip)
	c.tokens = max(c.tokens, 0) + n
	return ok
}

func (s *scanner) promptIDs(c *chunk) bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	n, ok := s.list((*scanner).skip)
	c.hasPromptIDs = c.hasPromptIDs || n > 0
	return ok
}

func (s *scanner) finish(c *chunk) bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	raw, plain := s.str()
	if !plain || len(raw) == 0 {
		return false
	}
	c.finish = finishReason(raw)
	return isASCII(raw)
}

// finishReason spares the common words an allocation.
func finishReason(raw []byte) string {
	switch string(raw) {
	case "length":
		return "length"
	case "stop":
		return "stop"
	case "abort":
		return "abort"
	}
	return string(raw)
}

// isASCII: other bytes may be broken UTF-8, which encoding/json replaces.
func isASCII(raw []byte) bool {
	for _, b := range raw {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

func (s *scanner) usageField(c *chunk, key []byte, seen *uint32) (ok bool) {
	switch string(key) {
	case "prompt_tokens":
		if ok = first(seen, keyPromptTokens); ok {
			c.usage.prompt, ok = s.count()
		}
		return ok
	case "completion_tokens":
		if ok = first(seen, keyCompletionTokens); ok {
			c.usage.completion, ok = s.count()
		}
		return ok
	case "prompt_tokens_details":
		if !first(seen, keyPromptDetails) {
			return false
		}
		if s.peek() == 'n' {
			return s.word("null")
		}
		return s.object(c, (*scanner).detailsField)
	}
	return s.skip()
}

func (s *scanner) detailsField(c *chunk, key []byte, seen *uint32) (ok bool) {
	if string(key) != "cached_tokens" {
		return s.skip()
	}
	if ok = first(seen, keyCached); ok {
		c.usage.cached, ok = s.count()
	}
	return ok
}
