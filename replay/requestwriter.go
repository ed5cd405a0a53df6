// The bytes of a request, head and body in one piece, so that it leaves in one write where the socket takes it. All that
// requests to a server have in common is made once; per request only the number, the prompt and two lengths are appended,
// without an allocation per token. The head needs the body's length, so the body is written first, behind room that is left
// for the head.

package replay

import (
	"encoding/json"
	"maps"
	"net/textproto"
	"slices"
	"strconv"

	"tidemark/replay/engines"
	"tidemark/replay/plan"
)

// requestWriter makes the bytes of requests, head and body in one piece.
type requestWriter struct {
	head      []byte            // request line and fixed headers
	opening   []byte            // of the body behind the model, up to the prompt
	model     []byte            // the body up to and with the model
	models    map[string][]byte // the same by class, where a class has a model of its own
	ending    []byte            // of the prompt and what is around it, up to the lengths
	closing   []byte            // of the body, after the lengths
	minTokens []byte            // in front of the least length; nil where the server has none
	idStem    string            // in front of the request's number
	prompts   plan.Prompts
}

// The two endpoints, and the path of each behind the base url.
const (
	completionsPath = "/v1/completions"
	chatPath        = "/v1/chat/completions"
)

// newRequestWriter fixes everything that all requests to one server have in common; path ends in that of the endpoint.
func newRequestWriter(path, host string, s Settings, takes engines.Fields, prompts plan.Prompts) *requestWriter {
	w := &requestWriter{idStem: s.RunID + "-", prompts: prompts}
	w.head = append(w.head, "POST "+path+" HTTP/1.1\r\nHost: "+host+"\r\n"...)
	headers := s.headers()
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		for _, value := range headers[name] {
			w.head = append(w.head, textproto.CanonicalMIMEHeaderKey(name)+": "+value+"\r\n"...)
		}
	}
	w.head = append(w.head, "Content-Type: application/json\r\nAccept: text/event-stream\r\nX-Request-Id: "...)
	w.model, w.models = withModel(s.Model), map[string][]byte{}
	for class, model := range s.Models {
		w.models[class] = withModel(model)
	}
	if prompts.Text == nil {
		w.opening, w.ending = append(w.opening, `,"prompt":`...), []byte(`,"max_tokens":`)
	} else {
		w.opening = append(append(w.opening, `,"messages":[{"role":"user","content":"`...), prompts.Text.Lead...)
		w.ending = []byte(`"}],"max_tokens":`)
	}
	if takes.MinTokens && !s.mayEndEarly() {
		w.minTokens = []byte(`,"min_tokens":`)
	}
	w.closing = w.fields(s, takes)
	if prompts.Salt.Stem != "" {
		w.closing = append(w.closing, `,"cache_salt":"`+prompts.Salt.Stem...)
		if !prompts.Salt.IsEach {
			w.closing = append(w.closing, '"')
		}
	}
	if !prompts.Salt.IsEach {
		w.closing = append(w.closing, '}')
	}
	return w
}

// fields are those behind the lengths, the user's own included. A running usage in every chunk counts as exactly as token
// ids do, does not repeat the prompt in the first chunk, and costs the server more. No seed: it changes nothing at
// temperature 0, and kills some engines. No stop: it holds text back.
func (w *requestWriter) fields(s Settings, takes engines.Fields) []byte {
	all := map[string]json.RawMessage{"ignore_eos": []byte("true"), "temperature": []byte("0")}
	options := `{"include_usage":true}`
	switch {
	case s.CountByUsage && takes.RunningUsage:
		options = `{"include_usage":true,"continuous_usage_stats":true}`
	case takes.TokenIDs || s.History == historyAnswered:
		all["return_token_ids"] = []byte("true")
	}
	for name, value := range bodyFields(s.Body) {
		if slices.Contains(optionalFields, name) && string(value) == "null" {
			delete(all, name)
			continue
		}
		all[name] = value
	}
	dst := []byte(`,"stream":true,"stream_options":` + options)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		dst = append(append(plan.AppendString(append(dst, ','), name), ':'), all[name]...)
	}
	return dst
}

// withModel is the body's beginning.
func withModel(name string) []byte {
	quoted, _ := json.Marshal(name) // a string always marshals
	return append([]byte(`{"model":`), quoted...)
}

// size is about how many bytes a request will take.
func (w *requestWriter) size(req plan.Request) int {
	perToken := 6
	if w.prompts.Text != nil {
		perToken = w.prompts.Text.Longest
	}
	return len(w.head) + len(w.model) + len(w.opening) + len(w.closing) + perToken*req.InputTokens + 100
}

// request writes one request over buf and returns what is to be sent, which is the end of buf. What was said in earlier
// turns, in order of its place, takes the place of planned token ids; text has no place for it.
func (w *requestWriter) request(buf []byte, req plan.Request, said ...plan.Answer) (whole, out []byte) {
	room := len(w.head) + len(w.idStem) + 80 // the head needs the body's length, so it is put in last
	buf = append(buf[:0], make([]byte, room)...)
	model, isItsOwn := w.models[req.Class]
	if !isItsOwn {
		model = w.model
	}
	buf = append(append(buf, model...), w.opening...)
	if w.prompts.Text == nil {
		buf = w.prompts.AppendJSON(buf, req, said...)
	} else {
		buf = w.prompts.AppendText(buf, req)
	}
	buf = strconv.AppendInt(append(buf, w.ending...), int64(req.OutputTokens), 10)
	if w.minTokens != nil {
		buf = strconv.AppendInt(append(buf, w.minTokens...), int64(req.OutputTokens), 10)
	}
	buf = append(buf, w.closing...)
	if w.prompts.Salt.IsEach {
		buf = append(appendHex(buf, uint64(req.Seq)), `"}`...)
	}

	head := append(make([]byte, 0, room), w.head...)
	head = strconv.AppendInt(append(head, w.idStem...), req.Seq, 10)
	head = strconv.AppendInt(append(head, "\r\nContent-Length: "...), int64(len(buf)-room), 10)
	head = append(head, "\r\n\r\n"...)
	start := room - len(head)
	copy(buf[start:], head)
	return buf, buf[start:]
}

// appendHex writes all sixteen digits.
func appendHex(dst []byte, n uint64) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, "0123456789abcdef"[n>>shift&15])
	}
	return dst
}
