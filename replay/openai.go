package replay

import (
	"encoding/json"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
)

// writer makes the bytes of requests, head and body in one piece.
type writer struct {
	head    []byte // request line and fixed headers
	opening []byte // of the body, up to the prompt
	closing []byte // of the body, after the lengths
	idStem  string // in front of the request's number
	prompts Prompts
}

// newWriter fixes everything that all requests have in common. countByUsage asks for a running usage in every chunk
// instead of token ids: it counts as exactly, does not repeat the prompt in the first chunk, and costs the server more.
func newWriter(path, host string, headers http.Header, model, idStem string, countByUsage bool, prompts Prompts) *writer {
	w := &writer{idStem: idStem, prompts: prompts}
	w.head = append(w.head, "POST "+path+" HTTP/1.1\r\nHost: "+host+"\r\n"...)
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range headers[name] {
			w.head = append(w.head, textproto.CanonicalMIMEHeaderKey(name)+": "+value+"\r\n"...)
		}
	}
	w.head = append(w.head, "Content-Type: application/json\r\nAccept: text/event-stream\r\nX-Request-Id: "...)
	quoted, _ := json.Marshal(model) // a string always marshals
	w.opening = append(append([]byte(`{"model":`), quoted...), `,"prompt":`...)
	// No seed: it changes nothing at temperature 0, and kills some engines. No stop: it holds text back.
	w.closing = []byte(`,"ignore_eos":true,"temperature":0,"stream":true,"stream_options":{"include_usage":true`)
	if countByUsage {
		w.closing = append(w.closing, `,"continuous_usage_stats":true}}`...)
	} else {
		w.closing = append(w.closing, `},"return_token_ids":true}`...)
	}
	return w
}

// size is about how many bytes a request will take.
func (w *writer) size(req Request) int {
	return len(w.head) + len(w.opening) + len(w.closing) + 6*req.InputTokens + 100
}

// request appends one request to the empty buf and returns what is to be written, which is the end of buf.
func (w *writer) request(buf []byte, req Request) (whole, out []byte) {
	room := len(w.head) + len(w.idStem) + 80 // the head needs the body's length, so it is put in last
	buf = append(buf[:0], make([]byte, room)...)
	buf = append(buf, w.opening...)
	buf = w.prompts.appendJSON(buf, req)
	buf = strconv.AppendInt(append(buf, `,"max_tokens":`...), int64(req.OutputTokens), 10)
	buf = strconv.AppendInt(append(buf, `,"min_tokens":`...), int64(req.OutputTokens), 10)
	buf = append(buf, w.closing...)

	head := append(make([]byte, 0, room), w.head...)
	head = strconv.AppendInt(append(head, w.idStem...), req.Seq, 10)
	head = strconv.AppendInt(append(head, "\r\nContent-Length: "...), int64(len(buf)-room), 10)
	head = append(head, "\r\n\r\n"...)
	start := room - len(head)
	copy(buf[start:], head)
	return buf, buf[start:]
}
