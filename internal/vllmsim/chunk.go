package vllmsim

import (
	"net/http"
	"strconv"
	"time"
)

// This file turns delivered tokens into the bytes of a streamed answer.
// Rendering appends to one buffer and decodes nothing twice: at 80,000 tokens a
// second, encoding/json and fmt would take more time than the engine.

// render appends everything that can be sent now: the headers first, then a
// chunk for each choice with new tokens, and after the last one the usage and
// the end mark. An answer that is not streamed is rendered whole, once all its
// outputs are finished.
func (s *stream) render(out []byte) []byte {
	if s.isRendered {
		return out
	}
	if !s.request.isStream {
		if s.open > 0 {
			return out
		}
		s.closeRendering()
		if s.refusal != nil {
			return s.conn.answer(out, s.refusal.code, "application/json", s.conn.server.dialect(s.refusal).body())
		}
		return s.conn.answer(out, http.StatusOK, "application/json", s.fullBody(nil))
	}
	if !s.isHeaded {
		s.isHeaded = true
		out = s.conn.head(out, http.StatusOK, -1, "text/event-stream; charset=utf-8")
		out = append(out, "transfer-encoding: chunked\r\n\r\n"...)
	}
	if s.refusal != nil {
		out = appendChunk(out, append(s.conn.server.dialect(s.refusal).frame(), "\n\n"...))
		return s.renderEnd(out)
	}
	out = s.renderChoices(out)
	if s.open > 0 || s.isBehind() {
		return out
	}
	if s.request.wantsUsage {
		out = appendChunk(out, s.usageChunk(s.event[:0]))
	}
	return s.renderEnd(out)
}

// renderLimit is roughly how many bytes are rendered at once. An answer of
// thousands of outputs to a slow reader then holds only what the reader takes
// next.
const renderLimit = 1 << 20

// renderChoices continues with the choice at which the limit stopped it the
// last time. Choices before that one may have new tokens since, so a pass that
// started in the middle is followed by one from the start.
func (s *stream) renderChoices(out []byte) []byte {
	for {
		first := s.next
		for ; s.next < len(s.choices); s.next++ {
			if len(out) >= renderLimit {
				return out
			}
			out = s.renderChoice(out, &s.choices[s.next])
		}
		s.next = 0
		if first == 0 {
			return out
		}
	}
}

// isBehind reports whether the limit left something to render.
func (s *stream) isBehind() bool { return s.next > 0 }

func (s *stream) renderEnd(out []byte) []byte {
	s.closeRendering()
	out = appendChunk(out, []byte("data: [DONE]\n\n"))
	return append(out, "0\r\n\r\n"...)
}

// closeRendering starts the keep-alive clock before the client can see the end
// of the answer. Set later, the deadline could hit the client's next request.
func (s *stream) closeRendering() {
	s.isRendered = true
	s.conn.Conn.SetReadDeadline(time.Now().Add(s.conn.server.cfg.IdleTimeout))
}

// appendChunk frames one event in HTTP's chunked coding.
func appendChunk(out, event []byte) []byte {
	out = strconv.AppendUint(out, uint64(len(event)), 16)
	out = append(out, "\r\n"...)
	out = append(out, event...)
	return append(out, "\r\n"...)
}

// renderChoice appends the chunk with the tokens that came in since the last
// one. Tokens that arrived while the socket was full share a chunk, as in vLLM.
func (s *stream) renderChoice(out []byte, c *choice) []byte {
	if s.conn.server.cfg.RustFrontend {
		return s.renderRust(out, c)
	}
	fresh, isFinal := c.delivered-c.written, c.finish != "" && !c.isClosed
	if !isFinal && (fresh == 0 || c.written > 0 && fresh < s.request.interval) {
		return out
	}
	out = s.renderRoles(out)
	from, isFirst := c.written, c.written == 0
	s.textOf(c, isFinal)
	c.isClosed = c.isClosed || isFinal
	s.truth.noteChunk(fresh)
	s.unsent += fresh
	s.event = s.tokenChunk(s.choiceStart(s.event[:0], c), c, from, isFirst, isFinal)
	return appendChunk(out, s.event)
}

// textOf makes the text of the tokens since the last chunk, preceded by the
// prompt where the request asked for it to be echoed. An incomplete UTF-8
// character waits in c.held for its last byte.
func (s *stream) textOf(c *choice, isFinal bool) {
	s.text = s.text[:0]
	if c.written == 0 && s.request.hasEcho && !s.conn.server.cfg.RustFrontend {
		for _, id := range c.prompt.ids {
			s.text = appendText(s.text, id)
		}
	}
	for i := c.written; i < c.delivered; i++ {
		if id := c.sampling.token(i); len(c.held) > 0 || id < firstWord {
			c.held = appendText(c.held, id)
			s.text, c.held = appendWhole(s.text, c.held, false)
		} else {
			s.text = appendText(s.text, id)
		}
	}
	if isFinal {
		s.text, c.held = appendWhole(s.text, c.held, true)
	}
	c.written = c.delivered
}

func (s *stream) chunkStart(out []byte) []byte {
	object := "text_completion"
	if s.request.isChat {
		object = "chat.completion.chunk"
	}
	return s.bodyStart(append(out, "data: "...), object)
}

// bodyStart is the start of every body, up to the list of choices.
func (s *stream) bodyStart(out []byte, object string) []byte {
	out = append(out, `{"id":`...)
	out = appendJSONString(out, s.request.id)
	out = append(out, `,"object":"`+object+`","created":`...)
	out = strconv.AppendInt(out, s.created, 10)
	out = append(out, `,"model":`...)
	out = appendJSONString(out, s.conn.server.cfg.Model)
	return append(out, `,"choices":[`...)
}

// choiceStart is the start of a chunk of c, up to its text.
func (s *stream) choiceStart(out []byte, c *choice) []byte {
	out = append(out, s.head...)
	out = strconv.AppendInt(out, int64(c.index), 10)
	if s.request.isChat {
		return append(out, `,"delta":{"content":`...)
	}
	return append(out, `,"text":`...)
}

// tokenChunk appends the rest of a chunk after choiceStart. Which keys are null
// and which are left out differs between completions and chat, as in vLLM.
func (s *stream) tokenChunk(out []byte, c *choice, from int, isFirst, isFinal bool) []byte {
	out = appendJSONString(out, s.text)
	if s.request.isChat {
		out = append(out, '}')
	}
	out = append(out, `,"logprobs":null,"finish_reason":`...)
	if isFinal {
		out = append(out, '"')
		out = append(out, c.finish...)
		out = append(out, '"')
	} else {
		out = append(out, "null"...)
	}
	if isFinal || !s.request.isChat {
		out = c.appendStopReason(out, isFinal)
	}
	if !s.request.isChat {
		out = append(out, `,"prompt_token_ids":`...)
		out = s.promptIDs(out, c, isFirst)
	}
	out = append(out, `,"token_ids":`...)
	out = s.tokenIDs(out, c, from, c.written)
	out = append(out, "}]"...)
	out = s.usageSoFar(out, c, c.written)
	if isFinal && s.open == 0 && !s.request.wantsUsage {
		out = append(out, `,"system_fingerprint":`...)
		out = append(out, s.conn.server.fingerprint...)
	}
	return append(out, "}\n\n"...)
}

func (c *choice) appendStopReason(out []byte, isFinal bool) []byte {
	out = append(out, `,"stop_reason":`...)
	if isFinal && c.finish == finishStop && c.stopID >= 0 {
		return strconv.AppendInt(out, int64(c.stopID), 10)
	}
	return append(out, "null"...)
}

func (s *stream) promptIDs(out []byte, c *choice, isFirst bool) []byte {
	if isFirst && (s.request.wantsIDs || s.request.hasEcho) {
		return appendIDs(out, c.prompt.ids)
	}
	return append(out, "null"...)
}

func (s *stream) tokenIDs(out []byte, c *choice, from, to int) []byte {
	if !s.request.wantsIDs {
		return append(out, "null"...)
	}
	out = append(out, '[')
	for i := from; i < to; i++ {
		if i > from {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(c.sampling.token(i)), 10)
	}
	return append(out, ']')
}

// renderRoles sends chat's role chunks, which come with the first output.
func (s *stream) renderRoles(out []byte) []byte {
	if !s.request.isChat || s.hasRoles {
		return out
	}
	s.hasRoles = true
	for i := range s.choices {
		c := &s.choices[i]
		s.event = append(s.chunkStart(s.event[:0]), `{"index":`...)
		s.event = strconv.AppendInt(s.event, int64(i), 10)
		s.event = append(s.event, `,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
		s.event = s.usageSoFar(s.event, c, 0)
		s.event = append(s.event, `,"prompt_token_ids":`...)
		s.event = s.promptIDs(s.event, c, true)
		s.event = append(s.event, `,"prompt_text":null}`+"\n\n"...)
		out = appendChunk(out, s.event)
	}
	return out
}

// usageSoFar is the running usage that every chunk carries where
// continuous_usage_stats asks for it.
func (s *stream) usageSoFar(out []byte, c *choice, tokens int) []byte {
	if !s.request.wantsUsageSoFar {
		return out
	}
	out = appendCounts(append(out, `,"usage":{`...), len(c.prompt.ids), tokens)
	if s.request.isChat {
		out = append(out, `,"completion_tokens_details":null`...)
	}
	return append(out, '}')
}

func appendCounts(out []byte, prompt, completion int) []byte {
	out = append(out, `"prompt_tokens":`...)
	out = strconv.AppendInt(out, int64(prompt), 10)
	out = append(out, `,"total_tokens":`...)
	out = strconv.AppendInt(out, int64(prompt+completion), 10)
	out = append(out, `,"completion_tokens":`...)
	return strconv.AppendInt(out, int64(completion), 10)
}

// totals counts each prompt once and every output.
func (s *stream) totals() (prompt, completion int) {
	for i := range s.request.prompts {
		prompt += len(s.request.prompts[i].ids)
	}
	for i := range s.choices {
		completion += s.choices[i].delivered
	}
	return prompt, completion
}

func (s *stream) usageChunk(out []byte) []byte {
	if s.conn.server.cfg.RustFrontend {
		return s.rustUsageChunk(out)
	}
	out = append(s.chunkStart(out), `],"usage":{`...)
	prompt, completion := s.totals()
	out = appendCounts(out, prompt, completion)
	if !s.conn.server.cfg.HidePromptTokensDetails {
		// With several prompts vLLM reports only the first one's.
		out = append(out, `,"prompt_tokens_details":{"cached_tokens":`...)
		out = strconv.AppendInt(out, int64(s.choices[0].cached), 10)
		if s.request.isChat {
			out = append(out, `,"created_cache_tokens":0`...)
		}
		out = append(out, '}')
	}
	out = append(out, `},"system_fingerprint":`...)
	out = append(out, s.conn.server.fingerprint...)
	if s.hasTimings() {
		out = s.timings(append(out, `,"metrics":{`...))
		out = append(out, '}')
	}
	s.event = append(out, "}\n\n"...)
	return s.event
}

func (s *stream) hasTimings() bool {
	return s.conn.server.cfg.PerRequestMetrics && len(s.choices) == 1 && s.choices[0].delivered > 0
}

// timings are in milliseconds, as in vLLM. Its TTFT counts from when the
// request was scheduled, not from its arrival.
func (s *stream) timings(out []byte) []byte {
	c := &s.choices[0]
	t, n := c.times, c.delivered
	ms := func(name string, d time.Duration) {
		out = append(out, '"')
		out = append(out, name...)
		out = append(out, `":`...)
		out = append(out, pythonFloat(float64(d)/1e6)...)
		out = append(out, ',')
	}
	ms("time_to_first_token_ms", t.first-t.scheduled)
	ms("generation_time_ms", t.last-t.first)
	ms("queue_time_ms", t.scheduled-t.queued)
	if n > 1 {
		ms("mean_itl_ms", (t.last-t.first)/time.Duration(n-1))
	}
	out = append(out, `"tokens_per_second":`...)
	return append(out, pythonFloat(float64(n)/max((t.last-t.scheduled).Seconds(), 1e-9))...)
}
