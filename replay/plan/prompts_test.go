package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tidemark/internal/proof/must"
)

func TestPromptsHaveThePlannedLengthAndRange(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		low := rnd.IntN(2000)
		high := low + idTokens + rnd.IntN(9000)
		p := must.Get(NewPrompts(low, high, rnd.Uint64()))(t)
		req := Request{Seq: rnd.Int64(), InputTokens: 1 + rnd.IntN(3000), BlockTokens: 1 + rnd.IntN(600)}
		for range rnd.IntN(6) {
			req.Blocks = append(req.Blocks, rnd.Uint64())
		}
		ids := p.TokenIDs(req)
		if len(ids) != req.InputTokens {
			t.Fatalf("%d tokens, planned %d", len(ids), req.InputTokens)
		}
		if slices.Min(ids) < low || slices.Max(ids) >= high {
			t.Fatalf("ids from %d to %d, range [%d, %d)", slices.Min(ids), slices.Max(ids), low, high)
		}
		var back []int
		if err := json.Unmarshal(p.AppendJSON(nil, req), &back); err != nil || !slices.Equal(back, ids) {
			t.Fatalf("as JSON: %v", err)
		}
	}
}

func TestABlockDependsOnItsIdAlone(t *testing.T) {
	a, _ := NewPrompts(DefaultVocabLow, DefaultVocabHigh, 1)
	b, _ := NewPrompts(DefaultVocabLow, DefaultVocabHigh, 99)
	one := a.TokenIDs(Request{Seq: 1, InputTokens: 1200, Blocks: []uint64{5, 77}, BlockTokens: 512})
	two := b.TokenIDs(Request{Seq: 8, Session: "x", InputTokens: 1024, Blocks: []uint64{5, 77}, BlockTokens: 512})
	if !slices.Equal(one[:1024], two) {
		t.Error("the same blocks gave other tokens")
	}
	short := a.TokenIDs(Request{InputTokens: 600, Blocks: []uint64{5, 77}, BlockTokens: 512})
	if !slices.Equal(short, one[:600]) {
		t.Error("a cut last block is not the head of the whole one")
	}
}

func TestIdsDifferAtOnce(t *testing.T) {
	p, _ := NewPrompts(DefaultVocabLow, DefaultVocabHigh, 1)
	rnd := rand.New(rand.NewPCG(3, 4))
	tokens := func(id uint64, n int) string {
		return fmt.Sprint(p.TokenIDs(Request{InputTokens: n, Blocks: []uint64{id}, BlockTokens: 512}))
	}
	three, sixteen := map[string]uint64{}, map[string]uint64{}
	for i := range uint64(20_000) {
		small, large := i*15_000_001, rnd.Uint64() // small: below 7192^3 = 3.7e11
		if other, had := three[tokens(small, 3)]; had {
			t.Fatalf("ids %d and %d agree in three tokens", small, other)
		}
		three[tokens(small, 3)] = small
		for _, id := range []uint64{large, large ^ 1, large ^ 1<<63} {
			if other, had := sixteen[tokens(id, idTokens)]; had && other != id {
				t.Fatalf("ids %d and %d agree in sixteen tokens", id, other)
			}
			sixteen[tokens(id, idTokens)] = id
		}
	}
	tiny, _ := NewPrompts(0, idTokens, 1) // the smallest range: 16^16 = 2^64
	first := tiny.TokenIDs(Request{InputTokens: 16, Blocks: []uint64{1 << 60}, BlockTokens: 16})
	if slices.Equal(first, tiny.TokenIDs(Request{InputTokens: 16, Blocks: []uint64{1 << 61}, BlockTokens: 16})) {
		t.Error("with 16 ids, two ids agree in sixteen tokens")
	}
}

func TestPrivateTokensAreSharedWithNobody(t *testing.T) {
	p, _ := NewPrompts(DefaultVocabLow, DefaultVocabHigh, 1)
	q, _ := NewPrompts(DefaultVocabLow, DefaultVocabHigh, 2)
	seen := map[string]string{}
	for seq := range int64(2000) {
		for name, ids := range map[string][]int{
			"alone":           p.TokenIDs(Request{Seq: seq, InputTokens: 16}),
			"another seed":    q.TokenIDs(Request{Seq: seq, InputTokens: 16}),
			"another session": p.TokenIDs(Request{Seq: seq, Session: "s", InputTokens: 16}),
			"after a block":   p.TokenIDs(Request{Seq: seq, Session: "b", Blocks: []uint64{1}, BlockTokens: 64, InputTokens: 80})[64:],
		} {
			if other, had := seen[fmt.Sprint(ids)]; had {
				t.Fatalf("%s %d has the tokens of %s", name, seq, other)
			}
			seen[fmt.Sprint(ids)] = fmt.Sprint(name, seq)
		}
	}
}

func TestTooFewTokenIdsAreRefused(t *testing.T) {
	for _, r := range [][2]int{{1000, 1015}, {8000, 100}, {-5, 100}} {
		must.Refuse(NewPrompts(r[0], r[1], 1))(t)
	}
}

func BenchmarkPrompt(b *testing.B) {
	p, _ := NewPrompts(DefaultVocabLow, DefaultVocabHigh, 1)
	req := Request{InputTokens: 10_000, Blocks: []uint64{1, 2, 3}, BlockTokens: 512}
	var buf []byte
	for b.Loop() {
		buf = p.AppendJSON(buf[:0], req)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e4, "ns/token")
}

// What was said stands where its turn's answer was planned, and nowhere else.
func TestWhatWasSaidTakesThePlaceOfPlannedTokens(t *testing.T) {
	p, _ := NewPrompts(DefaultVocabLow, DefaultVocabHigh, 1)
	req := Request{InputTokens: 30, Blocks: []uint64{4}, BlockTokens: 16}
	want := p.TokenIDs(req)
	copy(want[5:], []int{1, 2, 3})
	copy(want[15:], []int{4, 5})
	copy(want[29:], []int{6})
	var got []int
	text := p.AppendJSON(nil, req, Answer{5, []int32{1, 2, 3}}, Answer{15, []int32{4, 5}}, Answer{29, []int32{6, 7}})
	if err := json.Unmarshal(text, &got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
