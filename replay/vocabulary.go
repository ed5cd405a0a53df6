// The range of token ids. An id that the model does not have is a 400 from some servers and an error frame from others, in
// mid-run, so the end of the vocabulary is found before anything is sent: by what the server says, else by asking its
// tokenizer for text, with a binary search.

package replay

import (
	"context"

	"tidemark/internal/hint"
	"tidemark/replay/engines"
	"tidemark/replay/plan"
)

// settleVocabulary fixes the range of token ids: what was asked for, else the default cut to what the servers' model has.
func (s *Settings) settleVocabulary(ctx context.Context, a *controlClient, servers []Server) error {
	high := s.VocabHigh
	engines.SetDefault(&high, plan.DefaultVocabHigh)
	known, where := 0, servers[0].target
	for _, server := range servers {
		if size := server.vocabSize; size > 0 && (known == 0 || size < known) {
			known, where = size, server.target
		}
	}
	if known == 0 {
		var err error
		if known, err = a.vocabularyEnd(ctx, servers[0], servers[0].card.ID, high); err != nil {
			return err
		}
	}
	switch {
	case known == 0 || known >= high:
		s.VocabHigh = high
	case s.VocabHigh == 0:
		s.VocabHigh = known
	default:
		return hint.Errorf("replay: token ids up to %d, but the vocabulary of %s at %s ends at %d", s.VocabHigh, s.Model, where.shown(), known).
			Hint("give the model's own size with --vocab-size %d, or leave it out", known)
	}
	if s.VocabLow == 0 {
		s.VocabLow = min(plan.DefaultVocabLow, s.VocabHigh/4) // a small vocabulary has its special ids lower
	}
	if s.VocabLow >= s.VocabHigh {
		return hint.Errorf("replay: no token id is left to send").Hint("give the model's vocabulary with --vocab-size")
	}
	return nil
}

// vocabularyEnd is the id from which on the server's tokenizer has no text, if that is well below high; 0: it is not, or
// the server does not say. A model may have some ids more than its tokenizer: that is no end.
func (a *controlClient) vocabularyEnd(ctx context.Context, server Server, served string, high int) (int, error) {
	t := a.tokenizer(server, served)
	has := func(end int) (bool, error) { // text just below end
		ids := make([]int, 0, 16)
		for id := max(0, end-16); id < end; id++ {
			ids = append(ids, id)
		}
		text, err := t.Text(ctx, ids)
		return text != "", err
	}
	margin := max(256, high/50)
	for _, end := range []int{high, high - margin} {
		if is, err := has(end); is || err != nil {
			return 0, err
		}
	}
	low, top := 0, high-margin // text below low, none below top
	if is, err := has(minVocabulary); !is || err != nil {
		return 0, err // it spells nothing at all
	}
	for low = minVocabulary; top-low > 1; {
		middle := (low + top) / 2
		is, err := has(middle)
		if err != nil {
			return 0, err
		}
		if is {
			low = middle
		} else {
			top = middle
		}
	}
	return max(low-15, minVocabulary), nil
}
