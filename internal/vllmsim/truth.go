package vllmsim

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// truth records when one request arrived and when its tokens were handed to the
// socket. A client's measurements can be compared with it. All instants count
// from the server's start.
type truth struct {
	id          string
	arrived     time.Duration // of its first bytes
	began       time.Duration // of its last byte
	first, last time.Duration // of its tokens
	tokens      int
	chunks      int
	isWhole     bool // the answer was sent to its end
}

// truthsKept bounds the memory of a long run; the older half is dropped then.
const truthsKept = 200_000

// noteChunk counts tokens that were put into a chunk. noteWrite will say when
// they left.
func (t *truth) noteChunk(tokens int) {
	if tokens > 0 {
		t.tokens += tokens
		t.chunks++
	}
}

// noteWrite records that the tokens counted so far leave now.
func (t *truth) noteWrite(now time.Duration, tokens int) {
	if tokens == 0 {
		return
	}
	t.last = now
	t.first = cmp.Or(t.first, now)
}

func (s *Server) keepTruth(st *stream, isWhole bool) {
	if !s.cfg.RecordTruth {
		return
	}
	t := st.truth
	t.isWhole = isWhole
	s.truthMu.Lock()
	defer s.truthMu.Unlock()
	if len(s.truths) == truthsKept {
		s.truths = append(s.truths[:0], s.truths[truthsKept/2:]...)
	}
	s.truths = append(s.truths, t)
}

// truthOf is the newest record with that id, as JSON.
func (s *Server) truthOf(id string) ([]byte, bool) {
	s.truthMu.Lock()
	defer s.truthMu.Unlock()
	for i := len(s.truths) - 1; i >= 0; i-- {
		if s.truths[i].id == id {
			return s.appendTruth(nil, s.truths[i]), true
		}
	}
	return nil, false
}

// allTruths are all records kept, one per line, in the order in which the
// answers ended.
func (s *Server) allTruths() []byte {
	s.truthMu.Lock()
	defer s.truthMu.Unlock()
	var out []byte
	for _, t := range s.truths {
		out = append(s.appendTruth(out, t), '\n')
	}
	return out
}

// appendTruth writes token instants in seconds since the last byte of the
// request, and the arrival as Unix seconds.
func (s *Server) appendTruth(out []byte, t truth) []byte {
	out = append(out, `{"id":`...)
	out = appendJSONString(out, t.id)
	return fmt.Appendf(out, `,"arrived_unix_s":%s,"body_s":%s,"first_token_s":%s,"last_token_s":%s,"tokens":%d,"chunks":%d,"is_whole":%t}`,
		seconds(time.Duration(s.begin.UnixNano())+t.arrived), seconds(t.began-t.arrived),
		seconds(t.first-t.began), seconds(t.last-t.began), t.tokens, t.chunks, t.isWhole)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 9, 64) }
