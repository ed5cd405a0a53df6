package vllmsim

import (
	"slices"

	"tidemark/internal/splitmix"
)

// finishReason is why an output ended, in vLLM's words; empty while it
// continues.
type finishReason string

const (
	finishStop   finishReason = "stop"
	finishLength finishReason = "length"
	finishAbort  finishReason = "abort"
)

// sampling makes an output a pure function of a seed. Token i is known without
// the tokens before it, which has three uses: nothing of an output is stored, a
// preempted sequence yields the same tokens again, and the length is known in
// advance.
type sampling struct {
	seed      uint64
	vocab     int
	maxTokens int
	minTokens int // neither end-of-text nor a stop id comes before so many tokens
	ignoreEOS bool
	eosBelow  uint64 // a random 64-bit number below it is an end-of-text
	stopIDs   []int32
	forced    []int32 // ids that logit_bias raises by 100 or more: only these can come
}

// token is the i-th token of the output, from 0. The number is splitmix64's for the seed and
// the place alone: an answer does not depend on what else the server does meanwhile. Below
// minTokens the ids that would end it are replaced, as vLLM masks them.
func (s *sampling) token(i int) int32 {
	draw := splitmix.Finish(s.seed + uint64(i+1)*splitmix.Gamma)
	if len(s.forced) > 0 {
		id := s.forced[draw%uint64(len(s.forced))]
		if i >= s.minTokens || !s.ends(id) {
			return id
		}
	} else if draw < s.eosBelow && !s.ignoreEOS && i >= s.minTokens {
		return endOfText
	}
	words := uint64(s.vocab - firstWord)
	n := splitmix.Finish(draw) % words
	for i < s.minTokens && slices.Contains(s.stopIDs, firstWord+int32(n)) {
		n = (n + 1) % words
	}
	return firstWord + int32(n)
}

// ends reports whether the output is over after id.
func (s *sampling) ends(id int32) bool {
	return id == endOfText && !s.ignoreEOS || slices.Contains(s.stopIDs, id)
}

// length is how many tokens the output has, why it ends there, and the stop id
// that ended it (-1: none).
func (s *sampling) length() (tokens int, why finishReason, stopID int32) {
	if s.ignoreEOS && len(s.stopIDs) == 0 {
		return s.maxTokens, finishLength, -1
	}
	for i := range s.maxTokens {
		id := s.token(i)
		if !s.ends(id) {
			continue
		}
		if id == endOfText && !s.ignoreEOS {
			return i + 1, finishStop, -1
		}
		return i + 1, finishStop, id
	}
	return s.maxTokens, finishLength, -1
}
