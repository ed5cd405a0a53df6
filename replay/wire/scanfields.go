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
		return s.first(keyChoices) && (s.Word("null") || s.choices())
	case "usage":
		return s.first(keyUsage) && (s.Word("null") || s.usage())
	case "metrics":
		return s.first(keyMetrics) && (s.Word("null") || s.object(metricsObject))
	case "prompt_token_ids":
		return s.first(keyPromptIDs) && s.promptIDs()
	case "error":
		return false
	}
	return s.Skip()
}

// choices reads the list; an empty one marks the chunk of the final usage.
func (s *scanner) choices() bool {
	if !s.Take('[') {
		return false
	}
	if s.Take(']') {
		return true
	}
	s.chunk.HasChoices = true
	for more := true; more; more = s.Take(',') {
		if !s.object(choiceObject) {
			return false
		}
	}
	return s.Take(']')
}

// choiceField reads text and ids of a completion, and the delta of a chat.
func (s *scanner) choiceField(key []byte) bool {
	switch string(key) {
	case "text":
		return s.first(keyText) && s.text()
	case "token_ids":
		return s.first(keyTokenIDs) && (s.Word("null") || s.tokenIDs())
	case "finish_reason":
		return s.first(keyFinish) && (s.Word("null") || s.finish())
	case "prompt_token_ids":
		return s.first(keyPromptIDs) && s.promptIDs()
	case "delta":
		return s.first(keyDelta) && (s.Word("null") || s.object(deltaObject))
	}
	return s.Skip()
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
		raw, ok := s.Raw()
		s.chunk.HasRole = s.chunk.HasRole || !isNull(raw)
		return s.first(keyRole) && ok
	case "tool_calls":
		return s.first(keyToolCalls) && (s.Word("null") || s.toolCalls())
	}
	return s.Skip()
}

// text notes whether there is any; the characters themselves are never kept.
func (s *scanner) text() bool {
	raw, ok := s.Raw()
	s.chunk.HasText = s.chunk.HasText || len(raw) > len(`""`) && raw[0] == '"'
	return ok
}

func (s *scanner) toolCalls() bool {
	n, ok := s.list(nil)
	s.chunk.HasText = s.chunk.HasText || n > 0
	return ok
}

// tokenIDs counts the list and keeps it where later turns need it.
func (s *scanner) tokenIDs() bool {
	n, ok := s.list(s.ids)
	s.chunk.Tokens = max(s.chunk.Tokens, 0) + n
	return ok
}

// promptIDs only notes that the prompt is repeated: such a chunk is an opening and bears no token.
func (s *scanner) promptIDs() bool {
	if s.Word("null") {
		return true
	}
	n, ok := s.list(nil)
	s.chunk.HasPromptIDs = s.chunk.HasPromptIDs || n > 0
	return ok
}

// finish reads the reason; an empty one is left to decodeChunk.
func (s *scanner) finish() bool {
	raw, ok := s.Text()
	s.chunk.Finish = finishReason(raw)
	return ok && len(raw) > 0
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

func (s *scanner) usage() bool {
	s.chunk.HasUsage = true
	return s.object(usageObject)
}

// usageField reads the counts that have columns; others, as total_tokens, are sums of these.
func (s *scanner) usageField(key []byte) bool {
	switch string(key) {
	case "prompt_tokens":
		return s.first(keyPromptTokens) && s.count(&s.chunk.Usage.Prompt)
	case "completion_tokens":
		return s.first(keyCompletionTokens) && s.count(&s.chunk.Usage.Completion)
	case "prompt_tokens_details":
		return s.first(keyPromptDetails) && (s.Word("null") || s.object(detailsObject))
	}
	return s.Skip()
}

func (s *scanner) detailsField(key []byte) bool {
	if string(key) != "cached_tokens" {
		return s.Skip()
	}
	return s.first(keyCached) && s.count(&s.chunk.Usage.Cached)
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
	return s.Skip()
}

// milliseconds reads a number as seconds.
func (s *scanner) milliseconds(seconds *float64) bool {
	raw, ok := s.Raw()
	*seconds = secondsOf(raw)
	return ok
}
