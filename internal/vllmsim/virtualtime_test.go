package vllmsim

import (
	"slices"
	"testing"
	"time"
)

// Steps of 10 ms: the first job's prompt takes one, which yields a token, and
// two more follow; the second comes during the second step, shares the third,
// and goes on alone. The third finds nobody.
func TestWalkPlaysInVirtualTime(t *testing.T) {
	cfg := Config{StepTime: func(Step) time.Duration { return 10 * time.Millisecond }}
	ms := time.Millisecond
	got, err := Walk(cfg, []Job{{At: 0, Prompt: 100, Output: 3}, {At: 15 * ms, Prompt: 50, Output: 2}, {At: time.Hour, Prompt: 7, Output: 1}})
	want := []Timing{{First: 10 * ms, Last: 30 * ms}, {First: 30 * ms, Last: 40 * ms}, {First: time.Hour + 10*ms, Last: time.Hour + 10*ms}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if _, err := Walk(cfg, []Job{{Prompt: 0, Output: 1}}); err == nil {
		t.Error("a job without a prompt: no error")
	}
}
