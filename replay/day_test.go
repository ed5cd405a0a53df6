//go:build soak

package replay

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim"
	"tidemark/internal/vllmsim/simpipe"
	"tidemark/replay/host"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

const (
	hoursOfTheDay  = 24
	requestsPerS   = 1
	warmHours      = 2   // after them nothing may grow
	mostGrowth     = 1.5 // between the mean of the first four hours after that and of the last four; each session costs about 80 bytes
	answeredTokens = 16
)

// A nightly replay goes on for a day: what the client holds at its end is what it held in the morning. Time is fake, so that the day takes
// minutes; client, server and the files of the run are real.
func TestADayOfReplay(t *testing.T) {
	cfg := engine.Config{
		Model: "tiny", MaxModelLen: 2048, MaxNumSeqs: 24, MaxNumBatchedTokens: 512, KVBlocks: 2000, EnablePrefixCaching: true,
		StepTime: func(engine.Step) time.Duration { return 8 * time.Millisecond },
	}
	path := filepath.Join(t.TempDir(), "plan.jsonl.zst")
	must.Get(plan.Write(path, plan.Header{Source: "test"}, plan.Choices{Seed: 7, Mode: schedule.Sessions}, plan.Each(requestsOfADay())))(t)
	planned := must.Get(plan.Open(path))(t)
	s := settingsFor("http://tiny")
	s.Mode = schedule.Sessions
	folder := filepath.Join(t.TempDir(), "run")
	var looks []heldThings
	synctest.Test(t, func(t *testing.T) {
		server := must.Get(vllmsim.New(vllmsim.Config{Config: cfg}))(t)
		listener := simpipe.New()
		var serving sync.WaitGroup
		serving.Go(func() { server.Serve(listener) })
		s.Dial, s.Sleep = listener.Dial, host.TimerSleep
		serving.Go(func() {
			for range hoursOfTheDay - 1 {
				time.Sleep(time.Hour)
				looks = append(looks, held(t, folder))
			}
		})
		result, err := Run(t.Context(), planned, s, folder)
		if err != nil || result.Completed != planned.Header().Requests || !result.IsValid {
			t.Errorf("%d of %d requests completed, valid: %v, %v", result.Completed, planned.Header().Requests, result.IsValid, err)
		}
		server.Close()
		serving.Wait()
	})
	for hour, look := range looks {
		t.Logf("hour %2d: %s", hour+1, look)
	}
	isFlat(t, looks[warmHours:])
}

// requestsOfADay are short talks of three turns, half of them with a beginning that others share.
func requestsOfADay() (requests []plan.Request) {
	rnd := rand.New(rand.NewPCG(5, 9))
	think := 20 * time.Second
	at := time.Duration(0)
	for talk := range hoursOfTheDay * 3600 * requestsPerS / 3 {
		for turn := range 3 {
			r := plan.Request{Due: at, InputTokens: 100 + 150*turn + rnd.IntN(100), OutputTokens: answeredTokens, Session: fmt.Sprint(talk), Turn: turn}
			if turn > 0 {
				r.Think = &think
			}
			requests = append(requests, r)
		}
		at += time.Duration(rnd.ExpFloat64() * 3 / requestsPerS * float64(time.Second))
	}
	return requests
}

// heldThings are what a process must not collect.
type heldThings struct {
	heapBytes, residentBytes       float64
	goroutines, descriptors, files int
}

func (h heldThings) String() string {
	return fmt.Sprintf("heap %.1f MB, resident %.1f MB, %d goroutines, %d descriptors, %d files", h.heapBytes/1e6, h.residentBytes/1e6, h.goroutines, h.descriptors, h.files)
}

func held(t *testing.T, folder string) heldThings {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h := heldThings{heapBytes: float64(m.HeapAlloc), goroutines: runtime.NumGoroutine()}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		h.descriptors = len(open)
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		var kilobytes float64
		_, _ = fmt.Sscan(rest, &kilobytes)
		h.residentBytes = kilobytes * 1024
	}
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			h.files++
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return h
}

// isFlat compares the first four looks with the last four.
func isFlat(t *testing.T, looks []heldThings) {
	t.Helper()
	const n = 4
	mean := func(of []heldThings, what func(heldThings) float64) float64 {
		sum := 0.0
		for _, h := range of {
			sum += what(h)
		}
		return sum / float64(len(of))
	}
	for name, what := range map[string]func(heldThings) float64{
		"heap":        func(h heldThings) float64 { return h.heapBytes },
		"resident":    func(h heldThings) float64 { return h.residentBytes },
		"goroutines":  func(h heldThings) float64 { return float64(h.goroutines) },
		"descriptors": func(h heldThings) float64 { return float64(h.descriptors) },
		"files":       func(h heldThings) float64 { return float64(h.files) },
	} {
		first, last := mean(looks[:n], what), mean(looks[len(looks)-n:], what)
		if last > mostGrowth*first {
			t.Errorf("%s grew from %.4g to %.4g", name, first, last)
		}
	}
}
