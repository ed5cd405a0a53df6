// The meaning of a chunk and of an error body, by encoding/json. The scanner in scan.go must agree with it on everything it
// does not give up on (FuzzScanChunk). Keys are matched in their exact case, which encoding/json alone would not do.

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ServerError is an error that a server states in a body or in an event. Three shapes are in use:
// {"error":{...}}, {"error":"text"} and {"detail":...}; code is a number or a string.
type ServerError struct{ code, kind, message string }

// String is all of it: cut and shown only after a scrubber has seen it whole.
func (e *ServerError) String() string {
	parts := make([]string, 0, 3)
	for _, part := range []string{e.code, e.kind, e.message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, " ")
}

// object is a JSON object whose values are not read yet.
type object = map[string]json.RawMessage

// errChunk is the protocol error of an event with other JSON than a chunk, or none.
var errChunk = errors.New("an event is not a completion chunk")

// decodeChunk reads any legal chunk by encoding/json, with keys in their exact case. It is the meaning of a chunk;
// scanChunk is its fast form.
func decodeChunk(data []byte, ids *[]int32) (Chunk, error) {
	c := EmptyChunk()
	var top object
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		return c, errChunk
	}
	if raw := top["error"]; !isNull(raw) {
		c.Failure = decodeError(top)
	}
	c.HasPromptIDs = listLen(top["prompt_token_ids"]) > 0
	if raw := top["choices"]; !isNull(raw) {
		var list []object
		if err := json.Unmarshal(raw, &list); err != nil {
			return c, errChunk
		}
		c.HasChoices = len(list) > 0
		for _, choice := range list {
			c.choice(choice, ids)
		}
	}
	c.HasUsage = c.decodeUsage(top["usage"])
	c.decodeTiming(top["metrics"])
	return c, nil
}

// choice adds one of the choices; a replay asks for one, but a server may split a chunk.
func (c *Chunk) choice(choice object, ids *[]int32) {
	c.texts(choice, "text")
	var list []json.RawMessage
	if json.Unmarshal(choice["token_ids"], &list) == nil && list != nil {
		c.Tokens = max(c.Tokens, 0) + len(list)
		for _, raw := range list {
			if ids != nil {
				*ids = append(*ids, tokenID(raw))
			}
		}
	}
	c.HasPromptIDs = c.HasPromptIDs || listLen(choice["prompt_token_ids"]) > 0
	if finish := text(choice["finish_reason"]); finish != "" {
		c.Finish = finish
	}
	var delta object
	if json.Unmarshal(choice["delta"], &delta) != nil {
		return
	}
	c.texts(delta, "content", "reasoning_content", "reasoning", "refusal")
	c.HasRole = c.HasRole || !isNull(delta["role"])
	c.HasText = c.HasText || listLen(delta["tool_calls"]) > 0
}

// texts notes whether any of the keys holds text that is not empty.
func (c *Chunk) texts(in object, keys ...string) {
	for _, key := range keys {
		c.HasText = c.HasText || text(in[key]) != ""
	}
}

// decodeUsage is false where there is no usage: null, which older versions of vLLM send with each chunk, is none.
func (c *Chunk) decodeUsage(raw json.RawMessage) bool {
	var in, details object
	if isNull(raw) || json.Unmarshal(raw, &in) != nil {
		return false
	}
	c.Usage.Prompt, c.Usage.Completion = countOf(in["prompt_tokens"]), countOf(in["completion_tokens"])
	if json.Unmarshal(in["prompt_tokens_details"], &details) == nil {
		c.Usage.Cached = countOf(details["cached_tokens"])
	}
	return true
}

// decodeTiming takes the times of vLLM's --enable-per-request-metrics, which come with the final usage.
func (c *Chunk) decodeTiming(raw json.RawMessage) {
	var in object
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return
	}
	c.Timing = Timing{Ttft: secondsOf(in["time_to_first_token_ms"]), Generation: secondsOf(in["generation_time_ms"]),
		Queue: secondsOf(in["queue_time_ms"]), Itl: secondsOf(in["mean_itl_ms"])}
}

// secondsOf reads milliseconds; anything but a plain duration is unknown.
func secondsOf(raw []byte) float64 {
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(ms >= 0 && ms <= 1e12) {
		return unknownTime
	}
	return ms / 1e3
}

// UnknownID stands where the server says a token, but not which.
const UnknownID = -1

// tokenID is UnknownID for what is not a plain id: an id outside 31 bits, a string, null.
func tokenID(raw []byte) int32 {
	n, err := strconv.ParseInt(string(raw), 10, 32)
	if err != nil || n < 0 {
		return UnknownID
	}
	return int32(n)
}

// decodeError finds the message of an error body; it always returns one.
func decodeError(top object) *ServerError {
	raw := top["error"]
	if isNull(raw) {
		raw = top["detail"]
	}
	var in object
	if json.Unmarshal(raw, &in) != nil || in == nil {
		return &ServerError{message: plainText(raw)}
	}
	return &ServerError{code: plainText(in["code"]), kind: plainText(in["type"]), message: plainText(in["message"])}
}

// ErrorBody is the error of a whole response body, whatever its form.
func ErrorBody(body []byte) *ServerError {
	var top object
	if json.Unmarshal(body, &top) != nil || top == nil {
		return &ServerError{message: plainText(body)}
	}
	if isNull(top["error"]) && isNull(top["detail"]) && top["message"] != nil {
		return &ServerError{code: plainText(top["code"]), kind: plainText(top["type"]), message: plainText(top["message"])}
	}
	return decodeError(top)
}

// IsError says that a body names an error. Any other body of a status of 200 may be an answer.
func IsError(body []byte) bool {
	var top object
	return json.Unmarshal(body, &top) == nil && top["choices"] == nil && (!isNull(top["error"]) || !isNull(top["detail"]) || text(top["message"]) != "")
}

// isNull treats an absent key and null alike, as all servers do.
func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }

// plainText is a string as it reads, or any other value as one line.
func plainText(raw []byte) string {
	var s string // stays empty for null
	if isNull(raw) || json.Unmarshal(raw, &s) == nil {
		return oneLine(s)
	}
	return oneLine(string(raw))
}

// oneLine keeps what servers say on one line of a row: runs of white space become one blank.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// listLen is -1 for anything that is not a list.
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
		return UnknownCount
	}
	return int64(n)
}

// ParseChunk reads an event's data the fast way where that is sure.
func ParseChunk(data []byte, ids *[]int32) (Chunk, error) {
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
