package replay

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// late is a heartbeat's sleep that always takes so much longer.
func late(d time.Duration) host.Sleep {
	return func(ctx context.Context, asked time.Duration) bool { return host.TimerSleep(ctx, asked+d) }
}

// A client that comes to run 12 ms late, always, has read every token late; none of it is long enough to be a stall.
func TestALaggingClientMakesTheRunInvalid(t *testing.T) {
	for _, c := range []struct {
		lag     time.Duration
		isValid bool
	}{{12 * time.Millisecond, false}, {3 * time.Millisecond, true}} {
		s := settingsFor("http://tiny")
		s.MaxLateness, s.MaxStall, s.beat = 0, 0, late(c.lag)
		s.state = func() host.State { return host.State{} }             // whoever else has this machine's cores
		requests := []plan.Request{{InputTokens: 5, OutputTokens: 400}} // in flight for 4 s
		result, _ := onFakeClockAs(t, requests, &pipeServer{}, s)
		lag := result.Client.LagS
		if result.IsValid != c.isValid || lag == nil || math.Abs(lag.P50/c.lag.Seconds()-1) > 0.035 || lag.Max != c.lag.Seconds() ||
			!c.isValid && !strings.Contains(result.InvalidReason, "give the client a core of its own") {
			t.Errorf("%v late: %+v, %+v", c.lag, result, lag)
		}
	}
}

func TestAClockThatIsSetIsInTheCertificate(t *testing.T) {
	requests := []plan.Request{{InputTokens: 5, OutputTokens: 300}}
	result := inBubble(t, requests, &pipeServer{}, settingsFor("http://tiny"), filepath.Join(t.TempDir(), "run"), func(s *Settings) {
		began := time.Now()
		s.Wall = func() time.Time {
			if time.Since(began) > 2*time.Second {
				return time.Now().Add(-5 * time.Second)
			}
			return time.Now()
		}
	})
	if result.Client.WallStepS != 5 || !result.IsValid {
		t.Errorf("%+v", result.Client)
	}
}

func TestChunksThatShareAReadAreCounted(t *testing.T) {
	for _, c := range []struct {
		offsets []int64
		want    int64
	}{{nil, 0}, {[]int64{7}, 0}, {[]int64{1, 2, 3}, 0}, {[]int64{1, 1, 2, 3, 3, 3}, 5}} {
		if got := sharedReads(c.offsets); got != c.want {
			t.Errorf("together(%v): got %d, want %d", c.offsets, got, c.want)
		}
	}
}
