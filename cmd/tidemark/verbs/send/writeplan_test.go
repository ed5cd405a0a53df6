package send

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/replay/plan"
)

// A plan without an end stops when the user stops the program, and leaves no file.
func TestAPlanStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	endless := func(yield func(plan.Request, error) bool) {
		for seq := int64(0); yield(plan.Request{Seq: seq, Due: time.Duration(seq) * time.Second, InputTokens: 1, OutputTokens: 1}, nil); seq++ {
			if seq == 10_000 {
				cancel()
			}
		}
	}
	folder := t.TempDir()
	_, err := plan.Write(filepath.Join(folder, "p.jsonl.zst"), plan.Header{}, plan.Choices{}, untilDone(ctx, endless))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
