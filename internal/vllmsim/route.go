package vllmsim

import (
	"net/http"
	"strings"
	"time"
)

// route answers one request. began is when its last byte had arrived.
func (s *Server) route(c *connection, r *http.Request, body []byte, began time.Duration) {
	path := r.URL.Path
	status := s.dispatch(c, r, path, body, began)
	if status == isStreamed {
		return // the end of the stream has counted it
	}
	if path == "/metrics" {
		return
	}
	if !s.isKnown(path) {
		path = "none"
	}
	method := r.Method
	if !isMethod[method] {
		method = "other"
	}
	s.metrics.answered(path, method, status)
}

// isMethod bounds the labels of the metrics: a client may send any word as a
// method, and any path.
var isMethod = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodConnect: true, http.MethodOptions: true, http.MethodTrace: true,
}

func isText(path string) bool { return path == "/v1/completions" || path == "/v1/chat/completions" }

func (s *Server) isKnown(path string) bool { return isText(path) || s.endpointAt(path) != nil }

// isStreamed stands for the status of an answer that a stream has sent.
const isStreamed = 0

// postOnly are the paths that take a body. All others are read with GET.
var postOnly = map[string]bool{"/v1/completions": true, "/v1/chat/completions": true, "/tokenize": true, "/detokenize": true, "/reset_prefix_cache": true}

func (s *Server) dispatch(c *connection, r *http.Request, path string, body []byte, began time.Duration) int {
	if s.cfg.APIKey != "" && strings.HasPrefix(path, "/v1") && r.Header.Get("Authorization") != "Bearer "+s.cfg.APIKey {
		return s.json(c, http.StatusUnauthorized, []byte(`{"error":"Unauthorized"}`))
	}
	answerer := s.endpointAt(path)
	if !s.isKnown(path) {
		return s.json(c, http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
	}
	c.allow = http.MethodGet
	if postOnly[path] || path == "/ping" && r.Method == http.MethodPost {
		c.allow = http.MethodPost
	}
	switch {
	case r.Method != c.allow:
		return s.json(c, http.StatusMethodNotAllowed, []byte(`{"detail":"Method Not Allowed"}`))
	case isText(path):
		return s.text(c, path, body, began)
	}
	status, contentType, answer := answerer(r, body)
	c.reply(status, contentType, answer)
	return status
}

func (s *Server) json(c *connection, status int, body []byte) int {
	c.reply(status, "application/json", body)
	return status
}

func (s *Server) refuse(c *connection, why *apiError) int {
	return s.json(c, why.code, s.dialect(why).body())
}

// text answers a request for generated text and returns when that answer is
// out.
func (s *Server) text(c *connection, path string, body []byte, began time.Duration) int {
	a, refusal := s.readTextRequest(body, path == "/v1/chat/completions", c.requestID)
	if refusal != nil && (a == nil || !refusal.inFrame || !a.isStream) {
		return s.refuse(c, refusal)
	}
	st := newStream(c, a, path, began)
	if !c.attach(st) {
		st.drop()
		c.isLast = true
		return s.refuse(c, engineGone())
	}
	defer c.attach(nil)
	if refusal != nil {
		st.refuse(refusal)
		c.watch(st)
		return isStreamed
	}
	// The headers leave before any token, as vLLM's do. But a refusal needs
	// headers of its own, so the request is submitted before the headers are
	// flushed.
	if refusal := s.driver.submit(st); refusal != nil {
		st.drop()
		return s.refuse(c, refusal)
	}
	st.flush()
	c.watch(st)
	return isStreamed
}
