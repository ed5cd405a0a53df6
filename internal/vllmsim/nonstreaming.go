package vllmsim

import "strconv"

// fullBody is the body of an answer that is not streamed, with all of vLLM's
// keys: clients with strict schemas fail on a missing one.
func (s *stream) fullBody(out []byte) []byte {
	object := "text_completion"
	if s.request.isChat {
		object = "chat.completion"
	}
	out = s.bodyStart(out, object)
	for i := range s.choices {
		if i > 0 {
			out = append(out, ',')
		}
		out = s.fullChoice(out, i)
	}
	out = append(out, `],"service_tier":null,"system_fingerprint":`...)
	out = append(out, s.conn.server.fingerprint...)
	out = s.fullUsage(append(out, `,"usage":{`...))
	if s.request.isChat {
		out = append(out, `,"prompt_logprobs":null,"prompt_token_ids":`...)
		out = s.promptIDs(out, &s.choices[0], true)
		out = append(out, `,"prompt_text":null`...)
	}
	out = append(out, `,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":`...)
	if !s.hasTimings() {
		return append(out, "null}"...)
	}
	out = s.timings(append(out, '{'))
	return append(out, `,"speculative_decoding":null}}`...)
}

func (s *stream) fullChoice(out []byte, index int) []byte {
	c := &s.choices[index]
	var raw []byte
	if s.request.hasEcho {
		for _, id := range c.prompt.ids {
			raw = appendText(raw, id)
		}
	}
	for i := range c.delivered {
		raw = appendText(raw, c.sampling.token(i))
	}
	text, _ := appendWhole(nil, raw, true)
	c.written = c.delivered
	s.truth.noteChunk(c.delivered)
	s.unsent += c.delivered

	out = append(out, `{"index":`...)
	out = strconv.AppendInt(out, int64(index), 10)
	if s.request.isChat {
		out = append(out, `,"message":{"role":"assistant","content":`...)
		out = appendJSONString(out, text)
		out = append(out, `,"refusal":null,"annotations":null,"audio":null,"function_call":null,"reasoning":null}`...)
	} else {
		out = append(out, `,"text":`...)
		out = appendJSONString(out, text)
	}
	out = append(out, `,"logprobs":null,"finish_reason":"`+string(c.finish)+`"`...)
	out = c.appendStopReason(out, true)
	out = append(out, `,"token_ids":`...)
	out = s.tokenIDs(out, c, 0, c.delivered)
	if !s.request.isChat {
		out = append(out, `,"prompt_logprobs":null,"prompt_token_ids":`...)
		out = s.promptIDs(out, c, true)
	}
	return append(out, `,"routed_experts":null}`...)
}

func (s *stream) fullUsage(out []byte) []byte {
	prompt, completion := s.totals()
	out = appendCounts(out, prompt, completion)
	out = append(out, `,"prompt_tokens_details":`...)
	if s.conn.server.cfg.HidePromptTokensDetails {
		out = append(out, "null"...)
	} else {
		out = append(out, `{"cached_tokens":`...)
		out = strconv.AppendInt(out, int64(s.choices[0].cached), 10)
		if s.request.isChat {
			out = append(out, `,"created_cache_tokens":0`...)
		} else {
			out = append(out, `,"created_cache_tokens":null`...)
		}
		out = append(out, `,"multimodal_tokens":null}`...)
	}
	return append(out, `,"completion_tokens_details":null}`...)
}
