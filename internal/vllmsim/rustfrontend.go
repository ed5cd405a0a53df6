package vllmsim

import "strconv"

// This file is the dialect of vLLM's Rust frontend (VLLM_USE_RUST_FRONTEND=1)
// in streams and errors, after transcripts of vLLM 0.32. Python's frontend
// writes null where this one leaves a key out. The finish reason comes in a
// chunk of its own. Where the request asks for ids or for the prompt, a chunk
// without a token comes before the first token.

// renderRust does what renderChoice does, in this dialect.
func (s *stream) renderRust(out []byte, c *choice) []byte {
	fresh, isFinal := c.delivered-c.written, c.finish != "" && !c.isClosed
	isDue := isFinal || fresh > 0 && (c.written == 0 || fresh >= s.request.interval)
	if s.request.isChat && isDue || !s.request.isChat && (s.request.wantsIDs || s.request.hasEcho) {
		out = s.rustStart(out, c)
	}
	if !isDue {
		return out
	}
	if fresh > 0 {
		from := c.written
		s.textOf(c, isFinal)
		out = s.rustChunk(out, c, s.text, from, "")
		s.truth.noteChunk(fresh)
		s.unsent += fresh
	}
	if isFinal {
		c.isClosed = true
		out = s.rustChunk(out, c, nil, c.written, c.finish)
	}
	return out
}

// rustStart is the chunk before the first token: the role, or the prompt.
func (s *stream) rustStart(out []byte, c *choice) []byte {
	if s.hasRoles {
		return out
	}
	s.hasRoles = true
	s.event = s.chunkStart(s.event[:0])
	if s.request.isChat {
		s.event = append(s.event, `{"index":0,"delta":{"role":"assistant"}}]}`+"\n\n"...)
		return appendChunk(out, s.event)
	}
	s.text = s.text[:0]
	if s.request.hasEcho {
		for _, id := range c.prompt.ids {
			s.text = appendText(s.text, id)
		}
	}
	s.event = appendJSONString(append(s.event, `{"index":0,"text":`...), s.text)
	s.event = appendIDs(append(s.event, `,"token_ids":[],"prompt_token_ids":`...), c.prompt.ids)
	s.event = append(s.event, "}]}\n\n"...)
	return appendChunk(out, s.event)
}

func (s *stream) rustChunk(out []byte, c *choice, text []byte, from int, finish finishReason) []byte {
	e := s.chunkStart(s.event[:0])
	e = append(e, `{"index":0,`...)
	switch {
	case !s.request.isChat:
		e = appendJSONString(append(e, `"text":`...), text)
	case finish != "":
		e = append(e, `"delta":{}`...)
	default:
		e = appendJSONString(append(e, `"delta":{"content":`...), text)
		e = append(e, '}')
	}
	if finish != "" {
		e = append(e, `,"finish_reason":"`+string(finish)+`"`...)
		if finish == finishStop && c.stopID >= 0 {
			e = strconv.AppendInt(append(e, `,"stop_reason":`...), int64(c.stopID), 10)
		}
	}
	if s.request.wantsIDs {
		e = s.tokenIDs(append(e, `,"token_ids":`...), c, from, c.written)
	}
	e = append(e, "}]"...)
	if s.request.wantsUsageSoFar {
		e = append(s.rustUsage(e, c, c.written), '}')
	}
	s.event = append(e, "}\n\n"...)
	return appendChunk(out, s.event)
}

// rustUsageChunk comes last. No cached tokens are written as null, not as 0.
func (s *stream) rustUsageChunk(out []byte) []byte {
	c := &s.choices[0]
	out = s.rustUsage(append(s.chunkStart(out), ']'), c, c.delivered)
	out = append(out, `,"prompt_tokens_details":`...)
	if c.cached > 0 && !s.conn.server.cfg.HidePromptTokensDetails {
		out = append(strconv.AppendInt(append(out, `{"cached_tokens":`...), int64(c.cached), 10), '}')
	} else {
		out = append(out, "null"...)
	}
	s.event = append(out, `,"completion_tokens_details":{"reasoning_tokens":0}}}`+"\n\n"...)
	return s.event
}

// rustUsage leaves the object open for the caller.
func (s *stream) rustUsage(out []byte, c *choice, tokens int) []byte {
	return appendCounts(append(out, `,"usage":{`...), len(c.prompt.ids), tokens)
}

// inRust is a refusal in the Rust frontend's words, whose codes are words too.
func (e *apiError) inRust() *apiError {
	kind := "invalid_request_error"
	switch {
	case e.code == 404:
		kind = "not_found_error"
	case e.code >= 500:
		kind = "internal_error"
	}
	return &apiError{code: e.code, kind: kind, word: kind, message: e.message, inFrame: e.inFrame}
}

// dialect is a refusal in the words of the frontend that this server simulates.
func (s *Server) dialect(e *apiError) *apiError {
	if s.cfg.RustFrontend {
		return e.inRust()
	}
	return e
}

// checkRust refuses what the Rust frontend does not support.
func (s *Server) checkRust(a *textRequest) *apiError {
	switch {
	case !s.cfg.RustFrontend:
		return nil
	case a.n > 1:
		return badRequest("n", "n must be 1, got %d", a.n)
	case len(a.prompts) > 1:
		return badRequest("prompt", "only one prompt is supported, got %d", len(a.prompts))
	}
	return nil
}
