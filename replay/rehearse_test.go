package replay

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim"
	"tidemark/internal/vllmsim/simpipe"
	"tidemark/replay/host"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// manyRequests are bursts with long and short prompts, half of them with prefixes that others have.
func manyRequests(seed uint64, n int, sessions bool) (requests []plan.Request) {
	rnd := rand.New(rand.NewPCG(seed, 9))
	at := time.Duration(0)
	for i := range n {
		r := plan.Request{Due: at, InputTokens: 1 + rnd.IntN(700), OutputTokens: 1 + rnd.IntN(60)}
		if i%2 == 0 {
			family := uint64(rnd.IntN(5))
			r.BlockTokens, r.Blocks = 128, []uint64{family + 1, 100 + family, 1000 + uint64(i)}
			r.Blocks = r.Blocks[:min(3, (r.InputTokens+127)/128)]
		}
		if sessions {
			r.Session, r.Turn = fmt.Sprint(i%17), i/17
			if think := time.Duration(rnd.Int64N(int64(300 * time.Millisecond))); r.Turn > 0 {
				r.Think = &think
			}
		}
		requests = append(requests, r)
		at += time.Duration(rnd.ExpFloat64() * float64(25*time.Millisecond))
	}
	return requests
}

// A rehearsal gives every request the instants that a run against the simulated server gives it, where time is exact.
func TestRehearsalIsARunAgainstTheSimulator(t *testing.T) {
	cfg := engine.Config{
		Model: "tiny", MaxModelLen: 2048, MaxNumSeqs: 24, MaxNumBatchedTokens: 512, KVBlocks: 420, EnablePrefixCaching: true,
		StepTime: func(s engine.Step) time.Duration {
			return 4*time.Millisecond + time.Duration(40*s.DecodeSequences)*time.Microsecond + time.Duration(60*s.ContextTokens) + time.Duration(21*s.PrefillTokens)*time.Microsecond
		},
	}
	for _, mode := range []struct {
		mode  string
		limit int
	}{{schedule.Open, 0}, {schedule.Open, 12}, {schedule.Sessions, 0}, {schedule.Closed, 10}} {
		t.Run(fmt.Sprint(mode.mode, mode.limit), func(t *testing.T) {
			requests := manyRequests(3, 240, mode.mode == schedule.Sessions)
			path := filepath.Join(t.TempDir(), "plan.jsonl.zst")
			choices := plan.Choices{Seed: 7}
			if mode.mode == schedule.Sessions {
				choices.Mode = mode.mode
			}
			must.Get(plan.Write(path, plan.Header{Source: "test"}, choices, plan.Each(requests)))(t)
			planned := must.Get(plan.Open(path))(t)
			s := settingsFor("http://tiny")
			s.Mode, s.MaxConcurrency = mode.mode, mode.limit
			sent := onSimulatedClock(t, planned, s, cfg)

			s.BaseURLs = nil
			folder := filepath.Join(t.TempDir(), "rehearsed")
			result, err := Rehearse(t.Context(), planned, s, rehearsal.Settings{Engine: cfg}, folder)
			if err != nil || result.Completed != 240 || !result.IsValid {
				t.Fatalf("%+v, %v", result, err)
			}
			rows := bySeq(rowsIn(t, folder))
			if mode.mode == schedule.Closed {
				checkAlike(t, rows, sent)
				return
			}
			cached := 0
			for i, r := range rows {
				want := sent[i]
				if !isNear(ttft(r), ttft(want)) || !isNear(*r.Last-*r.First, *want.Last-*want.First) || *r.Cached != *want.Cached || len(r.Offsets) != len(want.Offsets) {
					t.Fatalf("request %d: due %v first %v last %v cached %v; the simulator: due %v first %v last %v cached %v", i,
						r.Due, *r.First, *r.Last, *r.Cached, want.Due, *want.First, *want.Last, *want.Cached)
				}
				cached += int(*r.Cached)
			}
			if cached == 0 {
				t.Error("nothing was ever cached")
			}
		})
	}
}

func ttft(r line) float64 { return *r.First - r.Due }

// checkAlike compares means: requests that a closed loop sends at the same instant arrive in any order.
func checkAlike(t *testing.T, rows, sent []line) {
	t.Helper()
	for name, value := range map[string]func(line) float64{"TTFT": ttft, "decoding": func(r line) float64 { return *r.Last - *r.First }, "end": func(r line) float64 { return *r.Last }} {
		got, want := 0.0, 0.0
		for i := range rows {
			got, want = got+value(rows[i]), want+value(sent[i])
		}
		if ratio := got / want; ratio < 0.95 || ratio > 1.05 {
			t.Errorf("mean %s: %v of the simulator's", name, ratio)
		}
	}
}

// isNear allows 1 % or 1 ms.
func isNear(a, b float64) bool { return max(a-b, b-a) <= max(1e-3, 0.01*b) }

func bySeq(rows []line) []line {
	slices.SortFunc(rows, func(a, b line) int { return int(a.Seq - b.Seq) })
	return rows
}

// onSimulatedClock runs the plan against the simulated server on a fake clock.
func onSimulatedClock(t *testing.T, planned *plan.Plan, s Settings, cfg engine.Config) []line {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	synctest.Test(t, func(t *testing.T) {
		server := must.Get(vllmsim.New(vllmsim.Config{Config: cfg}))(t)
		listener := simpipe.New()
		if s.MaxConcurrency > 0 {
			listener.Far = 100 * time.Microsecond
		}
		var serving sync.WaitGroup
		serving.Go(func() { server.Serve(listener) })
		s.Dial, s.Sleep = listener.Dial, host.TimerSleep
		result, err := Run(t.Context(), planned, s, folder)
		if err != nil || result.Completed != planned.Header().Requests {
			t.Fatalf("%+v, %v", result, err)
		}
		server.Close()
		serving.Wait()
	})
	return bySeq(rowsIn(t, folder))
}

// Offsets beyond 2^31 us began again below 0.
func TestOffsetsOfAnAnswerOfHours(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.jsonl.zst")
	must.Get(plan.Write(path, plan.Header{Source: "test"}, plan.Choices{Seed: 7}, plan.Each([]plan.Request{{InputTokens: 10, OutputTokens: 4}})))(t)
	planned := must.Get(plan.Open(path))(t)
	s := settingsFor("http://tiny")
	s.BaseURLs = nil
	cfg := engine.Config{Model: "tiny", StepTime: func(engine.Step) time.Duration { return 20 * time.Minute }}
	folder := filepath.Join(t.TempDir(), "rehearsed")
	must.Get(Rehearse(t.Context(), planned, s, rehearsal.Settings{Engine: cfg}, folder))(t)
	rows := rowsIn(t, folder)
	if want := []int64{1200e6, 2400e6, 3600e6, 4800e6}; len(rows) != 1 || !slices.Equal(rows[0].Offsets, want) {
		t.Errorf("got %+v, want offsets %v us", rows, want)
	}
}
