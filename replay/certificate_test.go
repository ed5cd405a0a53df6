package replay

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLagsAreKeptWithinThreePercent(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var h lagHistogram
	var all []float64
	for range 20_000 {
		d := time.Duration(math.Exp(rnd.Float64()*15) * 20e3) // 20 us to a minute
		h.add(d)
		all = append(all, d.Seconds())
	}
	slices.Sort(all)
	got := h.quantiles()
	for _, c := range []struct{ name, got, want any }{{"p50", got.P50, quantile(all, 0.5)}, {"p99", got.P99, quantile(all, 0.99)}} {
		if got, want := c.got.(float64), c.want.(float64); math.Abs(got/want-1) > 0.035 {
			t.Errorf("%s: got %v, want %v", c.name, got, want)
		}
	}
	if got.Max != all[len(all)-1] {
		t.Errorf("max: got %v, want %v", got.Max, all[len(all)-1])
	}
	for _, d := range []time.Duration{-1, 0, 1, 1 << 14, 1 << 15, 1<<63 - 1} {
		if step := lagStep(max(d, 0)); step < 0 || step >= lagSteps {
			t.Errorf("%v is step %d", d, step)
		}
	}
}

// late is a heartbeat's sleep that always takes so much longer.
func late(d time.Duration) Sleep {
	return func(ctx context.Context, asked time.Duration) bool { return timerSleep(ctx, asked+d) }
}

// A client that comes to run 12 ms late, always, has read every token late; none of it is long enough to be a stall.
func TestALaggingClientMakesTheRunInvalid(t *testing.T) {
	for _, c := range []struct {
		lag     time.Duration
		isValid bool
	}{{12 * time.Millisecond, false}, {3 * time.Millisecond, true}} {
		folder := filepath.Join(t.TempDir(), "run")
		plan := planOf(t, streamed([]Request{{InputTokens: 5, OutputTokens: 400}})) // in flight for 4 s
		var result Result
		synctest.Test(t, func(t *testing.T) {
			server := &pipeServer{began: time.Now().Add(beginAhead)}
			s := settingsFor("http://tiny")
			s.MaxLateness, s.MaxStall = 0, 0
			s.Dial, s.Sleep, s.beat = server.dial, TimerSleep, late(c.lag)
			s.state = func() processState { return processState{} } // whoever else has this machine's cores
			var err error
			if result, err = Run(t.Context(), plan, s, folder); err != nil {
				t.Fatal(err)
			}
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
	plan := planOf(t, streamed([]Request{{InputTokens: 5, OutputTokens: 300}}))
	synctest.Test(t, func(t *testing.T) {
		server := &pipeServer{began: time.Now().Add(beginAhead)}
		began := time.Now()
		s := settingsFor("http://tiny")
		s.Dial, s.Sleep = server.dial, TimerSleep
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
		offsets []int32
		want    int64
	}{{nil, 0}, {[]int32{7}, 0}, {[]int32{1, 2, 3}, 0}, {[]int32{1, 1, 2, 3, 3, 3}, 5}} {
		if got := together(c.offsets); got != c.want {
			t.Errorf("together(%v): got %d, want %d", c.offsets, got, c.want)
		}
	}
}

func TestCPUOfTheBusiestSecond(t *testing.T) {
	var w witness
	w.begin = processState{hasCPU: true, cpu: 10 * time.Second, rss: 1000, openFiles: 7}
	w.last = w.begin
	at, cpu := time.Duration(0), 10*time.Second
	for _, step := range []struct{ wall, cpu time.Duration }{
		{time.Second, 300 * time.Millisecond}, {time.Second, 900 * time.Millisecond}, {100 * time.Millisecond, 100 * time.Millisecond}, // the last is no second
	} {
		at, cpu = at+step.wall, cpu+step.cpu
		w.sample(processState{hasCPU: true, cpu: cpu, rss: 500, openFiles: 9}, at, time.Unix(100, 0).Add(at))
	}
	c := w.certificate()
	if math.Abs(*c.CPUS-1.3) > 1e-9 || math.Abs(*c.BusiestCPURatio-0.9/c.Cores) > 1e-9 || *c.OpenFilesMax != 9 || *c.RSSMaxBytes != 500 ||
		c.Retransmits != nil || c.WallStepS != 0 {
		t.Errorf("%+v", c)
	}
}
