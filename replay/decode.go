package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// serverError is an error that a server states in a body or in an event. Three shapes are in use:
// {"error":{...}}, {"error":"text"} and {"detail":...}; code is a number or a string.
type serverError struct{ code, kind, message string }

// String is all of it: cut and shown only after a scrubber has seen it whole.
func (e *serverError) String() string {
	parts := make([]string, 0, 3)
	for _, part := range []string{e.code, e.kind, e.message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

type object = map[string]json.RawMessage

var errChunk = errors.New("an event is not a completion chunk")

// decodeChunk reads any legal chunk by encoding/json, with keys in their exact case. It is the meaning of a chunk;
// scanChunk is its fast form.
func decodeChunk(data []byte, ids *[]int32) (chunk, error) {
	c := emptyChunk()
	var top object
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		return c, errChunk
	}
	if raw := top["error"]; !isNull(raw) {
		c.failure = decodeError(top)
	}
	c.hasPromptIDs = listLen(top["prompt_token_ids"]) > 0
	if raw := top["choices"]; !isNull(raw) {
		var list []object
		if err := json.Unmarshal(raw, &list); err != nil {
			return c, errChunk
		}
		c.hasChoices = len(list) > 0
		for _, choice := range list {
			c.choice(choice, ids)
		}
	}
	c.hasUsage = c.decodeUsage(top["usage"])
	c.decodeTiming(top["metrics"])
	return c, nil
}

func (c *chunk) choice(choice object, ids *[]int32) {
	c.texts(choice, "text")
	var list []json.RawMessage
	if json.Unmarshal(choice["token_ids"], &list) == nil && list != nil {
		c.tokens = max(c.tokens, 0) + len(list)
		for _, raw := range list {
			if ids != nil {
				*ids = append(*ids, tokenID(raw))
			}
		}
	}
	c.hasPromptIDs = c.hasPromptIDs || listLen(choice["prompt_token_ids"]) > 0
	if finish := text(choice["finish_reason"]); finish != "" {
		c.finish = finish
	}
	var delta object
	if json.Unmarshal(choice["delta"], &delta) != nil {
		return
	}
	c.texts(delta, "content", "reasoning_content", "reasoning", "refusal")
	c.hasRole = c.hasRole || !isNull(delta["role"])
	c.hasText = c.hasText || listLen(delta["tool_calls"]) > 0
}

func (c *chunk) texts(in object, keys ...string) {
	for _, key := range keys {
		c.hasText = c.hasText || text(in[key]) != ""
	}
}

func (c *chunk) decodeUsage(raw json.RawMessage) bool {
	var in, details object
	if isNull(raw) || json.Unmarshal(raw, &in) != nil {
		return false
	}
	c.usage.prompt, c.usage.completion = countOf(in["prompt_tokens"]), countOf(in["completion_tokens"])
	if json.Unmarshal(in["prompt_tokens_details"], &details) == nil {
		c.usage.cached = countOf(details["cached_tokens"])
	}
	return true
}

func (c *chunk) decodeTiming(raw json.RawMessage) {
	var in object
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return
	}
	c.timing = timing{ttft: secondsOf(in["time_to_first_token_ms"]), generation: secondsOf(in["generation_time_ms"]),
		queue: secondsOf(in["queue_time_ms"]), itl: secondsOf(in["mean_itl_ms"])}
}

// secondsOf reads milliseconds; anything but a plain duration is unknown.
func secondsOf(raw []byte) float64 {
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(ms >= 0 && ms <= 1e12) {
		return unknownTime
	}
	return ms / 1e3
}

// unknownID stands where the server says a token, but not which.
const unknownID = -1

func tokenID(raw []byte) int32 {
	n, err := strconv.ParseInt(string(raw), 10, 32)
	if err != nil || n < 0 {
		return unknownID
	}
	return int32(n)
}

// decodeError finds the message of an error body; it always returns one.
func decodeError(top object) *serverError {
	raw := top["error"]
	if isNull(raw) {
		raw = top["detail"]
	}
	var in object
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return &serverError{message: plainText(raw)}
	}
	return &serverError{code: plainText(in["code"]), kind: plainText(in["type"]), message: plainText(in["message"])}
}

// errorBody is the error of a whole response body, whatever its form.
func errorBody(body []byte) *serverError {
	var top object
	if json.Unmarshal(body, &top) != nil || top == nil {
		return &serverError{message: plainText(body)}
	}
	if isNull(top["error"]) && isNull(top["detail"]) && top["message"] != nil {
		return &serverError{code: plainText(top["code"]), kind: plainText(top["type"]), message: plainText(top["message"])}
	}
	return decodeError(top)
}

func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// plainText is a string as it reads, or any other value as one line.
func plainText(raw []byte) string {
	var s string // stays empty for null
	if isNull(raw) || json.Unmarshal(raw, &s) == nil {
		return oneLine(s)
	}
	return oneLine(string(raw))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// listLen is -1 for what is no list.
func listLen(raw json.RawMessage) int {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return -1
	}
	return len(list)
}

// countOf reads a count, which some servers write as 16.0; anything else is unknown.
func countOf(raw json.RawMessage) int64 {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n < 0 || n > 1e15 || n != float64(int64(n)) {
		return unknownCount
	}
	return int64(n)
}

// chunkOf reads an event's data the fast way where that is sure.
func chunkOf(data []byte, ids *[]int32) (chunk, error) {
	had := 0
	if ids != nil {
		had = len(*ids)
	}
	if c, ok := scanChunk(data, ids); ok {
		return c, nil
	}
	if ids != nil {
		*ids = (*ids)[:had]
	}
	c, err := decodeChunk(data, ids)
	if err != nil {
		err = fmt.Errorf("%w (%d bytes)", err, len(data))
	}
	return c, err
}
