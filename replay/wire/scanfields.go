// Which keys of a completion chunk and of a chat chunk matter, and what is read of each. The two kinds share one set of
// fields: a server that mixes them is still read.

package wire

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
	keyMetrics
	keyTTFT
	keyGeneration
	keyQueue
	keyITL
)

// first notes a key of the object being read; false when it was there before.
func (s *scanner) first(bit uint32) bool {
	isFirst := s.seen&bit == 0
	s.seen |= bit
	return isFirst
}

// topField reads a key of the chunk itself. An error is left to decodeChunk: it is rare and has three shapes.
func (s *scanner) topField(key []byte) bool {
	switch string(key) {
	case "choices":
		return s.first(keyChoices) && s.choices()
	case "usage":
		if !s.first(keyUsage) {
			return false
		}
		if s.peek() == 'n' {
			return s.word("null")
		}
		s.chunk.HasUsage = true
		return s.object(usageObject)
	case "metrics":
		if !s.first(keyMetrics) {
			return false
		}
		if s.peek() == 'n' {
			return s.word("null")
		}
		return s.object(metricsObject)
	case "prompt_token_ids":
		return s.first(keyPromptIDs) && s.promptIDs()
	case "error":
		return false
	}
	return s.skip()
}

// choices reads the list; an empty one marks the chunk of the final usage.
func (s *scanner) choices() bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	s.chunk.HasChoices = true
	for {
		if !s.object(choiceObject) {
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

// choiceField reads text and ids of a completion, and the delta of a chat.
func (s *scanner) choiceField(key []byte) bool {
	switch string(key) {
	case "text":
		return s.first(keyText) && s.text()
	case "token_ids":
		return s.first(keyTokenIDs) && s.tokenIDs()
	case "finish_reason":
		return s.first(keyFinish) && s.finish()
	case "prompt_token_ids":
		return s.first(keyPromptIDs) && s.promptIDs()
	case "delta":
		if !s.first(keyDelta) {
			return false
		}
		if s.peek() == 'n' {
			return s.word("null")
		}
		return s.object(deltaObject)
	}
	return s.skip()
}

// deltaField reads what a chat adds. Reasoning and tool calls are tokens like any other; a role is none.
func (s *scanner) deltaField(key []byte) bool {
	switch string(key) {
	case "content":
		return s.first(keyContent) && s.text()
	case "reasoning_content":
		return s.first(keyReasoningContent) && s.text()
	case "reasoning":
		return s.first(keyReasoning) && s.text()
	case "refusal":
		return s.first(keyRefusal) && s.text()
	case "role":
		if !s.first(keyRole) {
			return false
		}
		if s.peek() != 'n' {
			s.chunk.HasRole = true
		}
		return s.skip()
	case "tool_calls":
		if !s.first(keyToolCalls) {
			return false
		}
		if s.peek() == 'n' {
			return s.word("null")
		}
		n, ok := s.list()
		s.chunk.HasText = s.chunk.HasText || n > 0
		return ok
	}
	return s.skip()
}

// text notes whether there is any; the characters themselves are never kept.
func (s *scanner) text() bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	notEmpty, ok := s.skipStr()
	s.chunk.HasText = s.chunk.HasText || notEmpty
	return ok
}

// tokenIDs counts the list and keeps it where later turns need it.
func (s *scanner) tokenIDs() bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	n, ok := 0, false
	if s.ids == nil {
		n, ok = s.list()
	} else {
		n, ok = s.listIDs()
	}
	s.chunk.Tokens = max(s.chunk.Tokens, 0) + n
	return ok
}

// listIDs passes [...] and keeps its entries.
func (s *scanner) listIDs() (n int, ok bool) {
	if !s.take('[') {
		return 0, false
	}
	if s.take(']') {
		return 0, true
	}
	for {
		s.space()
		start := s.at
		if !s.skip() {
			return n, false
		}
		*s.ids = append(*s.ids, tokenID(s.data[start:s.at]))
		n++
		if s.take(']') {
			return n, true
		}
		if !s.take(',') {
			return n, false
		}
	}
}

// promptIDs only notes that the prompt is repeated: such a chunk is an opening and bears no token.
func (s *scanner) promptIDs() bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	n, ok := s.list()
	s.chunk.HasPromptIDs = s.chunk.HasPromptIDs || n > 0
	return ok
}

// finish reads the reason; null, and an empty one, say that the answer goes on.
func (s *scanner) finish() bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	raw, plain := s.str()
	if !plain || len(raw) == 0 {
		return false
	}
	s.chunk.Finish = finishReason(raw)
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

// usageField reads the counts that have columns; others, as total_tokens, are sums of these.
func (s *scanner) usageField(key []byte) (ok bool) {
	switch string(key) {
	case "prompt_tokens":
		if ok = s.first(keyPromptTokens); ok {
			s.chunk.Usage.Prompt, ok = s.count()
		}
		return ok
	case "completion_tokens":
		if ok = s.first(keyCompletionTokens); ok {
			s.chunk.Usage.Completion, ok = s.count()
		}
		return ok
	case "prompt_tokens_details":
		if !s.first(keyPromptDetails) {
			return false
		}
		if s.peek() == 'n' {
			return s.word("null")
		}
		return s.object(detailsObject)
	}
	return s.skip()
}

func (s *scanner) detailsField(key []byte) (ok bool) {
	if string(key) != "cached_tokens" {
		return s.skip()
	}
	if ok = s.first(keyCached); ok {
		s.chunk.Usage.Cached, ok = s.count()
	}
	return ok
}

// metricsField reads the server's own times, which come in milliseconds.
func (s *scanner) metricsField(key []byte) bool {
	switch string(key) {
	case "time_to_first_token_ms":
		return s.first(keyTTFT) && s.milliseconds(&s.chunk.Timing.Ttft)
	case "generation_time_ms":
		return s.first(keyGeneration) && s.milliseconds(&s.chunk.Timing.Generation)
	case "queue_time_ms":
		return s.first(keyQueue) && s.milliseconds(&s.chunk.Timing.Queue)
	case "mean_itl_ms":
		return s.first(keyITL) && s.milliseconds(&s.chunk.Timing.Itl)
	}
	return s.skip()
}

// milliseconds reads a number as seconds.
func (s *scanner) milliseconds(seconds *float64) bool {
	if s.peek() == 'n' {
		return s.word("null")
	}
	start := s.at
	ok := s.number()
	*seconds = secondsOf(s.data[start:s.at])
	return ok
}
