package vllmsim

import (
	"fmt"
	"strconv"
)

// apiError is a refusal in vLLM's words. vLLM has three styles, and clients
// match on all of them: its own checks ("BadRequestError"), pydantic's
// validation ("Bad Request" with the field's location), and the Rust frontend's
// words.
type apiError struct {
	code    int
	kind    string // "BadRequestError", "Bad Request", ...: vLLM uses both spellings
	message string
	param   string // empty: null
	word    string // replaces the number of the code in the Rust frontend
	inFrame bool   // found only after the stream's status 200 was sent
}

func (e *apiError) Error() string { return e.message }

// badRequest is one of vLLM's own checks.
func badRequest(param, format string, args ...any) *apiError {
	return &apiError{code: 400, kind: "BadRequestError", param: param, message: fmt.Sprintf(format, args...)}
}

// validationError is what pydantic says of one field, as vLLM prints it.
func validationError(where, kind, msg, input string) *apiError {
	return &apiError{code: 400, kind: "Bad Request", param: where,
		message: fmt.Sprintf("1 validation error:\n  {'type': '%s', 'loc': '%s', 'msg': '%s', 'input': %s}", kind, where, msg, input)}
}

func notJSON(e *jsonError) *apiError {
	where := fmt.Sprintf("body.%d", e.at)
	return &apiError{code: 400, kind: "Bad Request", param: where,
		message: fmt.Sprintf("1 validation error:\n  {'type': 'json_invalid', 'loc': '%s', 'msg': 'JSON decode error', 'input': '<dict of 0 items>', 'ctx': {'error': '%s'}}", where, e.why)}
}

func queueFull() *apiError {
	return &apiError{code: 503, kind: "Service Unavailable",
		message: "The engine is currently busy and cannot accept new requests. Please try again later or on a different instance."}
}

func engineGone() *apiError {
	return &apiError{code: 500, kind: "InternalServerError",
		message: "EngineCore encountered an issue. See stack trace (above) for the root cause."}
}

// body is the error as the answer to a request.
func (e *apiError) body() []byte { return e.append(nil, ":", ",") }

// frame is the error as an event of a stream. Python puts spaces after the
// colons and commas there, the Rust frontend does not.
func (e *apiError) frame() []byte {
	if e.word != "" {
		return e.append([]byte("data: "), ":", ",")
	}
	return e.append([]byte("data: "), ": ", ", ")
}

func (e *apiError) append(out []byte, colon, comma string) []byte {
	out = append(out, `{"error"`+colon+`{"message"`+colon...)
	out = appendJSONString(out, e.message)
	out = append(out, comma+`"type"`+colon...)
	out = appendJSONString(out, e.kind)
	out = append(out, comma+`"param"`+colon...)
	if e.param == "" {
		out = append(out, "null"...)
	} else {
		out = appendJSONString(out, e.param)
	}
	out = append(out, comma+`"code"`+colon...)
	if e.word == "" {
		out = strconv.AppendInt(out, int64(e.code), 10)
	} else {
		out = appendJSONString(out, e.word)
	}
	return append(out, "}}"...)
}
