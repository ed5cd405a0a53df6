package vllmsim

import (
	"fmt"
	"strconv"
	"time"
)

// truth is when the tokens of one answer were handed to the socket.
type truth struct {
	id          string
	began       time.Duration // all three since the server began
	first, last time.Duration
	tokens      int
	chunks      int
}

const truthsKept = 200_000

func (t *truth) note(s *Server, tokens int) {
	if !s.cfg.RecordTruth || tokens == 0 {
		return
	}
	t.last = s.sinceBegin()
	if t.tokens == 0 {
		t.first = t.last
	}
	t.tokens += tokens
	t.chunks++
}

func (s *Server) keepTruth(st *stream) {
	if !s.cfg.RecordTruth {
		return
	}
	st.truth.began = st.began
	s.truthMu.Lock()
	defer s.truthMu.Unlock()
	if len(s.truthOrder) == truthsKept {
		delete(s.truths, s.truthOrder[0])
		s.truthOrder = s.truthOrder[1:]
	}
	if _, ok := s.truths[st.truth.id]; !ok {
		s.truthOrder = append(s.truthOrder, st.truth.id)
	}
	s.truths[st.truth.id] = st.truth
}

// truthOf is one answer's record as JSON: seconds since the last byte of the
// request was read.
func (s *Server) truthOf(id string) ([]byte, bool) {
	s.truthMu.Lock()
	defer s.truthMu.Unlock()
	t, ok := s.truths[id]
	return t.json(nil), ok
}

// allTruths is every record kept, one a line, oldest first.
func (s *Server) allTruths() []byte {
	s.truthMu.Lock()
	defer s.truthMu.Unlock()
	var out []byte
	for _, id := range s.truthOrder {
		t := s.truths[id]
		out = append(t.json(out), '\n')
	}
	return out
}

func (t *truth) json(out []byte) []byte {
	out = append(out, `{"id":`...)
	out = appendJSONString(out, t.id)
	return fmt.Appendf(out, `,"first_token_s":%s,"last_token_s":%s,"tokens":%d,"chunks":%d}`,
		seconds(t.first-t.began), seconds(t.last-t.began), t.tokens, t.chunks)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 9, 64) }
