package vllmsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// fields are the members of a request body, not yet decoded. A body is scanned
// once. Its largest member is a prompt of up to 100,000 ids, and encoding/json
// would need longer for it than an engine step lasts.
type fields struct {
	raw     map[string][]byte // of the known members; there may be any number of others
	members int               // of the object, known or not
	bad     *apiError         // the first member of a wrong type
}

// known are the members that this simulator understands.
var known = func() map[string]bool {
	names := map[string]bool{}
	for _, name := range []string{
		"model", "prompt", "messages", "tokens", "n", "echo", "stream", "stream_options", "stream_interval",
		"max_tokens", "max_completion_tokens", "min_tokens", "ignore_eos", "stop", "stop_token_ids", "logit_bias",
		"logprobs", "top_logprobs", "prompt_logprobs", "seed", "temperature", "cache_salt", "request_id",
		"return_token_ids", "return_token_strs",
	} {
		names[name] = true
	}
	return names
}()

// jsonError says where a body stops being JSON.
type jsonError struct {
	at  int
	why string // in the words of Python's json
}

func (e *jsonError) Error() string { return fmt.Sprintf("body byte %d: %s", e.at, e.why) }

// scanFields splits an object into its members. Its errors repeat those of
// Python's json module, which vLLM passes on to the client.
func scanFields(body []byte) (*fields, error) {
	s := scanner{body: body}
	f := &fields{raw: map[string][]byte{}}
	s.blanks()
	if s.peek() != '{' {
		if s.at >= len(body) || !json.Valid(body) {
			return nil, &jsonError{s.at, "Expecting value"}
		}
		return nil, errNotObject
	}
	s.at++
	for first := true; ; first = false {
		s.blanks()
		if first && s.peek() == '}' {
			s.at++
			break
		}
		key, err := s.key()
		if err != nil {
			return nil, err
		}
		start := s.at
		if err := s.skipValue(); err != nil {
			return nil, err
		}
		f.members++
		if known[key] {
			f.raw[key] = body[start:s.at]
		}
		s.blanks()
		more := s.peek()
		if more != ',' && more != '}' {
			return nil, &jsonError{s.at, "Expecting ',' delimiter"}
		}
		s.at++
		if more == '}' {
			break
		}
	}
	s.blanks()
	if s.at != len(body) {
		return nil, &jsonError{s.at, "Extra data"}
	}
	return f, nil
}

var errNotObject = errors.New("body is not an object")

// scanner walks over JSON text without decoding it.
type scanner struct {
	body []byte
	at   int
}

func (s *scanner) peek() byte {
	if s.at < len(s.body) {
		return s.body[s.at]
	}
	return 0
}

func (s *scanner) blanks() {
	for s.at < len(s.body) && (s.body[s.at] == ' ' || s.body[s.at] == '\n' || s.body[s.at] == '\t' || s.body[s.at] == '\r') {
		s.at++
	}
}

func (s *scanner) key() (string, error) {
	if s.peek() != '"' {
		return "", &jsonError{s.at, "Expecting property name enclosed in double quotes"}
	}
	start := s.at
	if err := s.skipString(); err != nil {
		return "", err
	}
	var key string
	if json.Unmarshal(s.body[start:s.at], &key) != nil {
		return "", &jsonError{start, "Invalid control character at"}
	}
	s.blanks()
	if s.peek() != ':' {
		return "", &jsonError{s.at, "Expecting ':' delimiter"}
	}
	s.at++
	s.blanks()
	return key, nil
}

func (s *scanner) skipString() error {
	start := s.at
	for s.at++; s.at < len(s.body); s.at++ {
		switch s.body[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return nil
		}
	}
	return &jsonError{start, "Unterminated string starting at"}
}

// skipValue moves past one value. In arrays and objects it only matches the
// brackets: whoever reads the value decodes it, and an unknown member may hold
// anything.
func (s *scanner) skipValue() error {
	start, depth := s.at, 0
	for s.at < len(s.body) {
		switch s.body[s.at] {
		case '"':
			if err := s.skipString(); err != nil {
				return err
			}
		case '[', '{':
			depth++
			s.at++
		case ']', '}':
			if depth == 0 {
				return &jsonError{s.at, "Expecting value"}
			}
			depth--
			s.at++
		case ',', ' ', '\n', '\t', '\r', ':':
			if depth == 0 {
				return &jsonError{s.at, "Expecting value"}
			}
			s.at++
			continue
		default:
			if depth > 0 {
				s.at++
				continue
			}
			word := s.at
			for s.at < len(s.body) && isWordByte(s.body[s.at]) {
				s.at++
			}
			if word == s.at || !isScalar(s.body[word:s.at]) {
				return &jsonError{word, "Expecting value"}
			}
		}
		if depth == 0 {
			return nil
		}
	}
	if depth > 0 {
		return &jsonError{s.at, "Expecting ',' delimiter"}
	}
	return &jsonError{start, "Expecting value"}
}

func isWordByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '-' || b == '+' || b == '.'
}

// isScalar accepts plain digits without asking encoding/json: nearly every
// scalar of a prompt is one.
func isScalar(word []byte) bool {
	for _, b := range word {
		if b < '0' || b > '9' {
			return json.Valid(word)
		}
	}
	return word[0] != '0' || len(word) == 1
}

// get is a member's raw value; nil where it is absent or null. It panics for a
// name that is missing in known, because the scan would have dropped the member
// and the request would silently lose a setting.
func (f *fields) get(name string) []byte {
	if !known[name] {
		panic("simulator: field " + name + " is read but not known")
	}
	if raw := f.raw[name]; string(raw) != "null" {
		return raw
	}
	return nil
}

// wrong keeps the first member of a wrong type. The readers below return a
// default then, so that a caller reads all fields and checks once.
func (f *fields) wrong(name, kind, msg string, raw []byte) {
	if f.bad == nil {
		f.bad = validationError("body."+name, kind, msg, pythonRepr(raw))
	}
}

// integer reads a whole number as pydantic does: 10, 10.0, "10" and true all
// count.
func (f *fields) integer(name string, missing int) int {
	raw := f.get(name)
	if raw == nil {
		return missing
	}
	var text string
	isString := json.Unmarshal(raw, &text) == nil
	if !isString {
		text = string(raw)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return int(n)
	}
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "true" || text == "false":
		return map[string]int{"true": 1}[text]
	case err == nil && x == float64(int64(x)):
		return int(x)
	case isString:
		f.wrong(name, "int_parsing", "Input should be a valid integer, unable to parse string as an integer", raw)
	case err == nil:
		f.wrong(name, "int_from_float", "Input should be a valid integer, got a number with a fractional part", raw)
	default:
		f.wrong(name, "int_type", "Input should be a valid integer", raw)
	}
	return missing
}

// boolean reads what pydantic accepts as true or false.
func (f *fields) boolean(name string) bool {
	switch raw := f.get(name); string(raw) {
	case "", "false", "0", `"false"`:
		return false
	case "true", "1", `"true"`:
		return true
	default:
		f.wrong(name, "bool_parsing", "Input should be a valid boolean, unable to interpret input", raw)
		return false
	}
}

func (f *fields) text(name string) string {
	raw := f.get(name)
	if raw == nil {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		f.wrong(name, "string_type", "Input should be a valid string", raw)
	}
	return s
}

// decode fills into from a member that is an object or a list.
func (f *fields) decode(name string, into any) {
	raw := f.get(name)
	if raw != nil && json.Unmarshal(raw, into) != nil {
		f.wrong(name, "model_type", "Input should be a valid dictionary or list", raw)
	}
}

// parseIDs reads a flat array of whole numbers from 0 on, digit by digit: it is
// the inner loop of every request.
func parseIDs(raw []byte) (ids []int32, ok bool) {
	if len(raw) < 2 || raw[0] != '[' || raw[len(raw)-1] != ']' {
		return nil, false
	}
	ids = make([]int32, 0, len(raw)/5+1)
	n, digits, isSeparated := 0, 0, true
	for _, b := range raw[1:] {
		switch {
		case b >= '0' && b <= '9':
			if digits == 0 && !isSeparated || digits == 9 {
				return nil, false
			}
			n = n*10 + int(b-'0')
			digits++
		case b == ' ' || b == '\n' || b == '\t' || b == '\r':
			if digits > 0 {
				ids, n, digits, isSeparated = append(ids, int32(n)), 0, 0, false
			}
		case b == ',' || b == ']':
			if digits > 0 {
				ids = append(ids, int32(n))
			} else if isSeparated && (b == ',' || len(ids) > 0) {
				return nil, false
			}
			n, digits, isSeparated = 0, 0, true
		default:
			return nil, false
		}
	}
	return ids, true
}
