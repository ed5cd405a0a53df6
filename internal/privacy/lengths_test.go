//go:build duckdb_arrow

package privacy

import "testing"

// 16 tokens up to 800, where 2 % are as much; then 2 %: 816 + 16, 10 000 + 200.
func TestLadderByHand(t *testing.T) {
	for _, c := range []struct{ tokens, down, middle int64 }{
		{0, 0, 0}, {1, 1, 8}, {15, 1, 8}, {16, 16, 24}, {31, 16, 24}, {32, 32, 40}, {800, 800, 808}, {815, 800, 808}, {816, 816, 824}, {831, 816, 824},
	} {
		if down, mid := roundedDown(c.tokens), middle(c.tokens); down != c.down || mid != c.middle {
			t.Errorf("%d: got %d and %d, want %d and %d", c.tokens, down, mid, c.down, c.middle)
		}
	}
	for i := 3; i+1 < len(rungs); i++ {
		if step := rungs[i+1] - rungs[i]; step < 16 || step < rungs[i]/50 || step > 16 && step > rungs[i]/50 {
			t.Fatalf("from %d to %d: neither 16 tokens nor 2 %%", rungs[i], rungs[i+1])
		}
	}
}

// Of 2,000 prompts of 1,000 tokens and 3 longer ones, the 99.9th percentile is 1,000;
// with k = 10 a class of 20 has nobody beyond its tenth longest.
func TestRareLengthsAreCutAtTheTop(t *testing.T) {
	trace := &Trace{Sessions: []string{""}, Tenants: []string{""}, Classes: []string{"", "x"}, BlockTokens: 512}
	for i := range int64(2000) {
		trace.Rows = append(trace.Rows, Row{Input: 1000, Output: 100, Blocks: []uint64{1, 2}})
		if i < 2 {
			trace.Rows = append(trace.Rows, Row{Input: 50_000, Output: 100, Blocks: make([]uint64, 98)})
		}
		if i < 20 {
			trace.Rows = append(trace.Rows, Row{Class: 1, Input: 1600 + 160*i, Output: 100 + 16*i})
		}
	}
	inputs, outputs := trace.roundLengths(10, false)
	// 2 of the first class; of the second, 9 prompts and 9 answers above the tenth
	// longest: of 1600 + 160 * 10 = 3200 and 100 + 16 * 10 = 260, which are told as
	// the rungs below.
	if inputs != 11 || outputs != 9 {
		t.Errorf("%d prompts and %d answers cut, want 11 and 9", inputs, outputs)
	}
	longest := map[int32]int64{}
	for _, row := range trace.Rows {
		longest[row.Class] = max(longest[row.Class], row.Input)
		if row.Class == 0 && (row.Input != roundedDown(1000) || len(row.Blocks) != 2) {
			t.Fatalf("got %d tokens in %d blocks, want %d in 2", row.Input, len(row.Blocks), roundedDown(1000))
		}
	}
	if longest[1] != roundedDown(3200) {
		t.Errorf("the longest of the second class is %d, want %d", longest[1], roundedDown(3200))
	}
}

// Answers by the middle of their rung: 1 to 15 tokens are 8.
func TestAnswersAtTheMiddle(t *testing.T) {
	w := holding(t, azureFile(t, 1500))
	o := optionsOf(4)
	o.AnswersAtMiddle = true
	result, _ := exported(t, w, "out.jsonl", o)
	if shift := result.Loss.OutputShift["mean"]; shift < -0.01 || shift > 0.01 {
		t.Errorf("the mean of the answers shifts by %v, want less than 1 %%", shift)
	}
}
