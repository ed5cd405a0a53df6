package replay

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// standStill is a heartbeat's sleep that takes longer once, at an instant of the run.
func standStill(at, length time.Duration) host.Sleep {
	began := time.Now().Add(beginAhead)
	var had atomic.Bool
	return func(ctx context.Context, d time.Duration) bool {
		if time.Since(began) >= at && had.CompareAndSwap(false, true) {
			d += length
		}
		return host.TimerSleep(ctx, d)
	}
}

// A client that stood still for two seconds in mid-stream wrote these seconds down as the server's, in a valid run.
func TestAStallOfTheClientMakesTheRunInvalid(t *testing.T) {
	for _, c := range []struct {
		why        string
		at, length time.Duration
		stall      float64
		isValid    bool
	}{
		{"in mid-stream", 200 * time.Millisecond, 400 * time.Millisecond, 0.4, false},
		{"short enough", 200 * time.Millisecond, 250 * time.Millisecond, 0.25, true},
		{"with nothing in flight", 1500 * time.Millisecond, 400 * time.Millisecond, 0, true},
	} {
		folder := filepath.Join(t.TempDir(), "run")
		// 30 ms and 59 times 10 ms: in flight from 0 s to 0.62 s, and again from 3 s on.
		requests := []plan.Request{{InputTokens: 5, OutputTokens: 60}, {Due: 3 * time.Second, InputTokens: 5, OutputTokens: 60}}
		result := inBubble(t, requests, &pipeServer{}, settingsFor("http://tiny"), folder, func(s *Settings) {
			s.MaxStall, s.beat = 0, standStill(c.at, c.length) // 0: the default
		})
		d := documentIn(t, folder)
		if math.Abs(result.ClientStallS-c.stall) > 1e-9 || result.IsValid != c.isValid || d.Result.ClientStallS != result.ClientStallS ||
			d.Settings.MaxStallS != 0.25 || !c.isValid && !strings.Contains(d.Result.InvalidReason, "the client itself stood still for 0.4 s") {
			t.Errorf("%s: %+v", c.why, d.Result)
		}
		if got := sampledStall(t, folder); math.Abs(got-c.length.Seconds()) > 1e-9 {
			t.Errorf("%s: the samples say %v s", c.why, got)
		}
	}
}

// sampledStall is the longest stall in a run's samples.
func sampledStall(t *testing.T, folder string) (most float64) {
	for _, text := range linesIn(t, filepath.Join(folder, "samples.jsonl.zst")) {
		var sample struct {
			Values map[string]float64 `json:"values"`
		}
		must.Do(t, json.Unmarshal([]byte(text), &sample))
		most = max(most, sample.Values["stall_s"])
	}
	return most
}
