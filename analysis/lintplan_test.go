//go:build duckdb_arrow

package analysis

import (
	"context"
	"iter"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"tidemark/internal/store/warehouse/warehousetest"
	"tidemark/replay/plan"
)

// A plan of 400 requests, one each second, with what each case changes of it.
func TestLintLooksAtAPlanBeforeItIsSent(t *testing.T) {
	db := warehousetest.Open(t).DB()
	for what, c := range map[string]struct {
		n       int
		header  plan.Header
		choices plan.Choices
		change  func(i int, r *plan.Request)
		fires   []string
	}{
		"nothing wrong":       {n: 400, change: func(i int, r *plan.Request) { r.Blocks, r.BlockTokens = []uint64{1, uint64(100 + i)}, 16 }},
		"few":                 {n: 298, fires: []string{"few_requests"}},
		"all at once":         {n: 400, change: func(_ int, r *plan.Request) { r.Due = 0 }, fires: []string{"saturation_only"}},
		"at once, in a loop":  {n: 400, header: plan.Header{MaxConcurrency: 40}, change: func(_ int, r *plan.Request) { r.Due = 0 }},
		"a loop that is wide": {n: 400, header: plan.Header{MaxConcurrency: 41}, fires: []string{"no_steady_state"}},
		"average lengths":     {n: 400, choices: plan.Choices{Lengths: plan.LengthsMean}, fires: []string{"average_lengths"}},
		"turns at their own times": {n: 400, change: func(i int, r *plan.Request) {
			r.Session, r.Turn = string(rune('a'+i/20)), i%20
		}, fires: []string{"turns_overlap"}},
		"turns as sessions": {n: 400, choices: plan.Choices{Mode: "sessions"}, change: func(i int, r *plan.Request) {
			think := time.Second
			r.Session, r.Turn, r.Think = string(rune('a'+i/20)), i%20, &think
		}},
		"one prompt": {n: 400, change: func(_ int, r *plan.Request) { r.Blocks, r.BlockTokens = []uint64{1, 2}, 16 }, fires: []string{"identical_prompts"}},
		"prompts that go on": {n: 400, change: func(i int, r *plan.Request) {
			r.Blocks, r.BlockTokens = []uint64{uint64(i / 2), 7, 8}[:1+i%2], 16
		}, fires: []string{"single_turns"}},
	} {
		path := filepath.Join(t.TempDir(), "plan.jsonl.zst")
		if _, err := plan.Write(path, c.header, c.choices, requestsOf(c.n, c.change)); err != nil {
			t.Fatal(what, err)
		}
		l, err := LintOf(context.Background(), db, []string{path})
		if err != nil {
			t.Fatal(what, err)
		}
		var fired []string
		for _, row := range l.Found.Rows {
			fired = append(fired, row[2].(string))
		}
		if !reflect.DeepEqual(fired, c.fires) || l.LookedFor != 7 {
			t.Errorf("%s: %q of %d cases, want %q of 7", what, fired, l.LookedFor, c.fires)
		}
	}
}

func requestsOf(n int, change func(int, *plan.Request)) iter.Seq2[plan.Request, error] {
	return func(yield func(plan.Request, error) bool) {
		for i := range n {
			r := plan.Request{Seq: int64(i), Due: time.Duration(i) * time.Second, InputTokens: 30, OutputTokens: 5}
			if change != nil {
				change(i, &r)
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}
