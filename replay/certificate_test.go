package replay

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/proof/must"
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
		folder := filepath.Join(t.TempDir(), "run")
		plan := planOf(t, plan.Each([]plan.Request{{InputTokens: 5, OutputTokens: 400}})) // in flight for 4 s
		var result Result
		synctest.Test(t, func(t *testing.T) {
			server := &pipeServer{began: time.Now().Add(beginAhead)}
			s := settingsFor("http://tiny")
			s.MaxLateness, s.MaxStall = 0, 0
			s.Dial, s.Sleep, s.beat = server.dial, host.TimerSleep, late(c.lag)
			s.state = func() host.State { return host.State{} } // whoever else has this machine's cores
			result = must.Get(Run(t.Context(), plan, s, folder))(t)
			synctest.Wait()
		})
		lag := result.Client.LagS
		if result.IsValid != c.isValid || lag == nil || math.Abs(lag.P50/c.lag.Seconds()-1) > 0.035 || lag.Max != c.lag.Seconds() ||
			!c.isValid && !strings.Contains(result.InvalidReason, "give the client a core of its own") {
			t.Errorf("%v late: %+v, %+v", c.lag, result, lag)
		}
	}
}

func TestAClockThatIsSetIsInTheCertificate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	plan := planOf(t, plan.Each([]plan.Request{{InputTokens: 5, OutputTokens: 300}}))
	synctest.Test(t, func(t *testing.T) {
		server := &pipeServer{began: time.Now().Add(beginAhead)}
		began := time.Now()
		s := settingsFor("http://tiny")
		s.Dial, s.Sleep = server.dial, host.TimerSleep
		s.Wall = func() time.Time {
			if time.Since(began) > 2*time.Second {
				return time.Now().Add(-5 * time.Second)
			}
			return time.Now()
		}
		result, err := Run(t.Context(), plan, s, folder)
		if err != nil || result.Client.WallStepS != 5 || !result.IsValid {
			t.Errorf("%+v, %v", result.Client, err)
		}
		synctest.Wait()
	})
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
