package plan

import (
	"path/filepath"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// Prompts of 100, 200 and 601 tokens are 300.33 on average, answers of 10, 10 and 12 10.67; arrivals and the first block stay.
func TestAveragedLengths(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.jsonl.zst")
	source := func(yield func(Request, error) bool) {
		for i, r := range []Request{
			{Due: 0, InputTokens: 100, OutputTokens: 10},
			{Due: time.Second, InputTokens: 200, OutputTokens: 10, Blocks: []uint64{1}, BlockTokens: 512},
			{Due: 3 * time.Second, InputTokens: 601, OutputTokens: 12, Blocks: []uint64{1, 2}, BlockTokens: 512},
		} {
			r.Seq = int64(i)
			if !yield(r, nil) {
				return
			}
		}
	}
	header, err := Write(path, Header{Source: "x"}, Choices{Lengths: LengthsMean}, source)
	if err != nil || header.InputTokens != 900 || header.OutputTokens != 33 || header.Scaling.Lengths != LengthsMean || header.DurationS != 3 {
		t.Fatalf("%+v, %v", header, err)
	}
	p := must.Get(Open(path))(t)
	for r, err := range p.Requests() {
		if err != nil || r.InputTokens != 300 || r.OutputTokens != 11 || len(r.Blocks) > 1 {
			t.Errorf("%+v, %v", r, err)
		}
	}
	must.Refuse(Write(filepath.Join(t.TempDir(), "p"), Header{}, Choices{Lengths: "median"}, source))(t)
}
