// Token ids of a prompt. What matters is length and sharing, not meaning: a block's tokens are a function of its id, so two
// prompts share exactly as many leading tokens as their block ids say. Servers cache prefixes by blocks of their own size
// (16 in vLLM, 1 in SGLang), so prompts that should differ must differ within the first tokens of a block: the id's digits
// come first, filler after.

package plan

import (
	"math/bits"
	"strconv"

	"tidemark/internal/hint"
	"tidemark/internal/splitmix"
)

// Default range of token ids: above the special ids of common tokenizers, and below the smallest vocabulary in use.
const (
	DefaultVocabLow  = 1000
	DefaultVocabHigh = 8192
)

// Prompts turns planned lengths and block ids into token ids. A block's tokens depend on its id and the range alone:
// the id's digits in the base of the range, lowest first, then filler drawn from the id. So equal ids give equal tokens
// in every run, ids below the cube of the range differ within three tokens, and all ids differ within sixteen.
//
// A chat endpoint takes text: its ids are places in a list of words that are one token each, and the template's tokens
// count as the prompt's, so that it is as long and shares as much as planned there too.
type Prompts struct {
	low, base uint64
	digits    int // digits that any 64-bit id needs in this base
	seed      uint64
	Text      *ChatText // nil: token ids are sent
	Salt      CacheSalt
}

// CacheSalt keeps prompts apart in the server's prefix cache; the zero value does not. Hex digits, 128 at most.
type CacheSalt struct {
	Stem   string // of the run
	IsEach bool   // each request has its number behind the stem: nothing is ever shared
}

// Answer has token ids that take the place of planned ones in a prompt: the server's answer in an earlier turn.
type Answer struct {
	At  int // place of the first one in the prompt
	IDs []int32
}

// NewPrompts makes prompts of token ids in [low, high); seed moves the tokens that belong to no block.
func NewPrompts(low, high int, seed uint64) (Prompts, error) {
	if low < 0 || high-low < idTokens {
		return Prompts{}, hint.Errorf("prompts: token ids from %d to %d: at least %d ids are needed", low, high, idTokens).
			Hint("give the model's vocabulary with --vocab-size")
	}
	p := Prompts{low: uint64(low), base: uint64(high - low), seed: seed}
	for rest := ^uint64(0); rest > 0; rest /= p.base {
		p.digits++
	}
	return p, nil
}

// TokenIDs is the prompt of one request: its blocks, the last one cut to the prompt's length, then tokens that no other
// request has.
func (p Prompts) TokenIDs(req Request) []int {
	ids := make([]int, 0, req.InputTokens)
	p.each(req, func(id uint64) { ids = append(ids, int(id)) })
	return ids
}

// AppendJSON writes the prompt as a JSON array. Answers of earlier turns replace the planned ids at their places; they come in
// order of their place, so one pass is enough.
func (p Prompts) AppendJSON(dst []byte, req Request, said ...Answer) []byte {
	at := 0
	dst = append(dst, '[')
	p.each(req, func(id uint64) {
		for len(said) > 0 && at >= said[0].At+len(said[0].IDs) {
			said = said[1:]
		}
		if len(said) > 0 && at >= said[0].At {
			id = uint64(said[0].IDs[at-said[0].At])
		}
		at++
		dst = append(strconv.AppendUint(dst, id, 10), ',')
	})
	dst[len(dst)-1] = ']' // in place of the last comma: a prompt has at least one token
	return dst
}

// AppendText writes the prompt's words, each with a blank in front, inside a JSON string.
func (p Prompts) AppendText(dst []byte, req Request) []byte {
	p.each(req, func(id uint64) { dst = append(dst, p.Text.Words[id]...) })
	return dst
}

// each yields the prompt's tokens. Those that a template puts in front take the place of the last ones of the first
// block, whose first ones tell it from others; those behind take the place of the prompt's last.
func (p Prompts) each(req Request, yield func(uint64)) {
	left, template := req.InputTokens, 0
	if p.Text != nil {
		left, template = max(0, left-p.Text.Back), p.Text.Front
	}
	for _, id := range req.Blocks {
		n := min(left, req.BlockTokens)
		cut := min(n, template)
		p.run(id, n-cut, yield)
		left, template = left-n, template-cut
	}
	p.run(p.privateID(req), left-min(left, template), yield)
}

// run yields the first n tokens of a block.
func (p Prompts) run(id uint64, n int, yield func(uint64)) {
	filler := splitmix.Mix(id ^ 0xb10c)
	for i := range n {
		if i < p.digits {
			yield(p.low + id%p.base)
			id /= p.base
			continue
		}
		filler += splitmix.Gamma
		high, _ := bits.Mul64(splitmix.Mix(filler), p.base)
		yield(p.low + high)
	}
}

// privateID is drawn from 64 bits: two requests of a run that meet are not to be expected within 10^9 requests.
func (p Prompts) privateID(req Request) uint64 {
	return splitmix.Mix(splitmix.Mix(p.seed^0x9a11a7e) ^ splitmix.Mix(splitmix.Hash(req.Session)) ^ splitmix.Mix(uint64(req.Seq)<<1|1))
}
