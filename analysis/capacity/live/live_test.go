package live

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/analysis/metric"
	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim"
	"tidemark/internal/vllmsim/simpipe"
	"tidemark/replay"
	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// The tests speak HTTP with the simulated server on a fake clock: minutes of load cost moments, and a busy machine changes no figure.

// known is the step time of the simulated server.
var known = Steps{Base: 10e-3, Sequence: 0.4e-3, Context: 0.5e-6, Prompt: 40e-6}

func engineOf(steps Steps) engine.Config {
	return engine.Config{Model: "tiny", MaxModelLen: 8192, MaxNumSeqs: 32, MaxNumBatchedTokens: 2048, KVBlocks: 8192, EnablePrefixCaching: true, StepTime: steps.Time}
}

// onServer runs a test on a fake clock with a search's server that is there; crash takes it away.
func onServer(t *testing.T, c engine.Config, test func(t *testing.T, s *Server, crash func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		simulated := must.Get(vllmsim.New(vllmsim.Config{Config: c}))(t)
		listener := simpipe.New()
		var serving sync.WaitGroup
		serving.Go(func() { simulated.Serve(listener) })
		crash := func() { listener.Close(); simulated.Close() }
		defer serving.Wait()
		defer crash()
		runs := 0
		test(t, &Server{
			Settings: replay.Settings{BaseURLs: []string{"http://tiny"}, Model: "tiny", Version: "test", MetricsURLs: []string{"none"},
				Abort: t.Context(), Dial: listener.Dial, Sleep: host.TimerSleep},
			Runs: t.TempDir(), Source: plan.Header{Source: "test", Seed: 7},
			NewID: func() string { runs++; return fmt.Sprintf("run-%d", runs) },
			Seed:  func(string) uint64 { return uint64(runs) },
		}, crash)
	})
}

// evenly are requests at a constant rate.
func evenly(n int, every time.Duration, input, output int) []plan.Request {
	requests := make([]plan.Request, n)
	for i := range requests {
		requests[i] = plan.Request{Seq: int64(i), Due: time.Duration(i) * every, InputTokens: input, OutputTokens: output}
	}
	return requests
}

// isWithin compares with room for a share.
func isWithin(got, want, share float64) bool { return math.Abs(got-want) <= share*want }

func TestAProbeTellsWhatBecameOfItsRequests(t *testing.T) {
	onServer(t, engineOf(known), func(t *testing.T, s *Server, _ func()) {
		// The second to fourth request begin with 512 of the first one's 1,024 tokens: 3 * 512 of 4 * 1,024 come from the cache.
		requests := evenly(4, time.Second, 1024, 11)
		for i := range requests {
			requests[i].BlockTokens, requests[i].Blocks = 512, []uint64{1, uint64(10 + i)}
		}
		ended := ""
		s.Ended = func(_ context.Context, folder, runID string) error { ended = runID; return nil }
		m := must.Get(s.Measure(t.Context(), capacity.Probe{Number: 1, Scale: 1, Requests: requests, Mode: "open", Length: 4 * time.Second}))(t)
		if m.RunID != "run-1" || ended != "run-1" || m.CutAt != 0 || m.Said.IsDead || m.Said.IsRestarted {
			t.Errorf("run %s, ended %s, cut at %v, %+v", m.RunID, ended, m.CutAt, m.Said)
		}
		if !m.Said.HasCachedShare || m.Said.CachedShare != 0.375 {
			t.Errorf("cached share %v (told: %v), want 0.375", m.Said.CachedShare, m.Said.HasCachedShare)
		}
		if c := m.Said.Settings; c.MaxNumSeqs != 32 || c.MaxNumBatchedTokens != 2048 || c.KVBlocks != 8192 || c.PrefixCaching == nil || !*c.PrefixCaching {
			t.Errorf("settings %+v", c)
		}
		// Alone: a step with 32 tokens of prompt, 11.3 ms, and 31 with one sequence of some 48 tokens, 10.4 ms each.
		if want := 11.3e-3 + 31*10.42e-3; !isWithin(m.Said.UnloadedS, want, 0.05) {
			t.Errorf("unloaded latency %.4f s, want %.4f s", m.Said.UnloadedS, want)
		}
		if m.LoadS != 3 {
			t.Errorf("load was sent for %v s, want 3: from the first request to the last", m.LoadS)
		}
		for i, r := range m.Replies {
			// The first step has the whole prompt or what is not cached of it; ten more tokens follow.
			ttft := []float64{10e-3 + 1024*40e-6, 10e-3 + 512*40e-6}[min(i, 1)]
			if !r.IsSent || r.IsFailed || r.Tokens != 11 || r.Due != requests[i].Due || !isWithin((r.First-r.Sent).Seconds(), ttft, 0.05) ||
				!isWithin((r.Last-r.First).Seconds(), 10*10.9e-3, 0.05) {
				t.Errorf("request %d: %+v, want the first token after %.4f s and ten more in 0.109 s", i, r, ttft)
			}
		}
	})
}

func TestAHopelessRunIsStoppedAndItsRequestsDidNotFail(t *testing.T) {
	onServer(t, engineOf(Steps{Base: 5}), func(t *testing.T, s *Server, _ func()) { // a token each five seconds
		var looks []time.Duration
		requests := evenly(120, 500*time.Millisecond, 100, 8)
		m := must.Get(s.Measure(t.Context(), capacity.Probe{Number: 1, Scale: 1, Requests: requests, Mode: "open", Length: time.Minute,
			Hopeless: func(at time.Duration, replies []capacity.Reply) bool {
				looks = append(looks, at.Truncate(time.Second))
				return len(looks) == 3
			}}))(t)
		if fmt.Sprint(looks) != "[20s 25s 30s]" || m.CutAt.Truncate(time.Second) != 30*time.Second || m.LoadS != m.CutAt.Seconds() {
			t.Errorf("looked at %v, cut at %v, %v s of load; want looks at 20, 25 and 30 s, and the cut at the third", looks, m.CutAt, m.LoadS)
		}
		sent, ended, begun := 0, 0, 0
		for i, r := range m.Replies {
			if r.IsFailed {
				t.Errorf("request %d counts as failed: %+v", i, r)
			}
			if r.IsSent && r.Sent > 0 || i == 0 {
				sent++
			}
			if r.Last > 0 {
				ended++
			} else if r.First > 0 {
				begun++
			}
		}
		if sent < 58 || sent > 62 || ended > 0 || begun == 0 {
			t.Errorf("%d sent, %d ended, %d had begun: want about 60 sent in 30 s, none ended after 8 tokens of 5 s, and some begun", sent, ended, begun)
		}
	})
}

func TestAServerThatDiesIsToldAndIsNoError(t *testing.T) {
	onServer(t, engineOf(known), func(t *testing.T, s *Server, crash func()) {
		s.Begins = func(capacity.Probe, string) { time.AfterFunc(10*time.Second, crash) }
		m, err := s.Measure(t.Context(), capacity.Probe{Number: 1, Scale: 1, Requests: evenly(120, 500*time.Millisecond, 100, 20), Mode: "open", Length: time.Minute})
		if err != nil || !m.Said.IsDead {
			t.Errorf("%+v, error %v: want a server that is dead, and no error", m.Said, err)
		}
		if len(m.Replies) != 120 || m.Replies[3].Last == 0 || m.Replies[119].Last > 0 {
			t.Errorf("%d replies, the fourth %+v, the last %+v: want what was measured before it died", len(m.Replies), m.Replies[3], m.Replies[119])
		}
		// A search is over then.
		must.Refuse(s.Measure(t.Context(), capacity.Probe{Number: 2, Scale: 1, Requests: evenly(2, time.Second, 100, 2), Mode: "open", Length: time.Minute}))(t)
	})
}

func TestSmallRequestsShowTheSteps(t *testing.T) {
	onServer(t, engineOf(known), func(t *testing.T, s *Server, _ func()) {
		// Asked twice: the second time must not find its prompts in the prefix cache. A seed follows from a run's name, as the verb has it.
		s.Seed = func(name string) uint64 { h := fnv.New64a(); h.Write([]byte(name)); return h.Sum64() }
		_, _, err := s.MeasureSteps(t.Context(), 2000)
		must.Do(t, err)
		got, said, err := s.MeasureSteps(t.Context(), 2000)
		must.Do(t, err)
		for _, c := range []struct {
			name      string
			got, want float64
		}{{"base", got.Base, known.Base}, {"sequence", got.Sequence, known.Sequence}, {"context", got.Context, known.Context}, {"prompt", got.Prompt, known.Prompt}} {
			if !isWithin(c.got, c.want, 0.2) {
				t.Errorf("%s: %.3g s, want %.3g s within 20 %%", c.name, c.got, c.want)
			}
		}
		if e := Engine(said, 4096); e.MaxNumSeqs != 32 || e.MaxNumBatchedTokens != 2048 || e.KVBlocks != 8192 || !e.EnablePrefixCaching {
			t.Errorf("engine %+v, want what the server says of itself", e)
		}
	})
}

// TestASearchByReplay takes a whole search over HTTP: its twin knows nothing but what small requests told.
func TestASearchByReplay(t *testing.T) {
	config := engineOf(known)
	onServer(t, config, func(t *testing.T, s *Server, _ func()) {
		steps, said, err := s.MeasureSteps(t.Context(), 800)
		must.Do(t, err)
		q := capacity.Question{
			Window: evenly(60, time.Second, 800, 20), Length: time.Minute, Seed: 3, Precision: 0.1, Budget: 6 * time.Minute,
			Objectives: []capacity.Objective{{Metric: metric.TTFTFromDue, Quantile: 0.9, AtMost: 0.25}, {Metric: metric.TPOT, Quantile: 0.9, AtMost: 0.035}},
			Twin:       capacity.Twin{Engine: Engine(said, 820), StepTime: capacity.ShiftedSteps(steps.Time)},
		}
		found := must.Get(capacity.Search(t.Context(), q, s, nil, func(e capacity.Event) error {
			if e.Kind == "run" {
				t.Logf("run %d, %s, at %.3g: %s in %.0f s", e.Run.Number, e.Run.Why, e.Run.Scale, e.Run.Verdict, e.Run.LoadS)
			}
			return nil
		}))(t)
		q.Twin.Engine, q.Twin.StepTime, q.Twin.AreSettingsCertain = config, capacity.ShiftedSteps(known.Time), true
		truth := must.Get(capacity.Rehearse(t.Context(), q))(t)
		if found.Outcome != capacity.Found || !isWithin(*found.Scale, *truth.Scale, 0.1) {
			t.Errorf("%+v; want %.3g within 10 %%", found, *truth.Scale)
		}
		t.Logf("found %v, truth %v", *found.Scale, *truth.Scale)
	})
}

// A search that another process has is not gone on with; what a dead server or a late client spoilt is not its answer; garbage is no state.
func TestStateOfASearch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs", "x.capacity.jsonl")
	header := map[string]string{"schema": "tidemark.capacity/1"}
	s, events, err := OpenState(path, &header, false)
	if err != nil || len(events) != 0 {
		t.Fatal(events, err)
	}
	if _, _, err := OpenState(path, &header, false); err == nil {
		t.Error("two processes have one state")
	}
	dead := capacity.Event{Kind: "run", Run: &capacity.Run{Number: 2, Said: capacity.Said{IsDead: true}}}
	for _, e := range []capacity.Event{{Kind: "run", Run: &capacity.Run{Number: 1}}, {Kind: "start", Run: &capacity.Run{Number: 2}}, dead, {Kind: "answer", Answer: &capacity.Answer{Outcome: capacity.Invalid}}} {
		must.Do(t, s.Write(e))
	}
	s.Close()
	s, events, err = OpenState(path, &header, false)
	if err != nil || len(events) != 4 || Answered(events) != nil {
		t.Fatalf("%d events, %v, %v", len(events), Answered(events), err)
	}
	if kept := Resumable(events, 0.01); len(kept) != 2 || kept[0].Run.Number != 1 {
		t.Errorf("%+v", kept)
	}
	must.Do(t, s.Write(capacity.Event{Kind: "answer", Answer: &capacity.Answer{Outcome: capacity.Found}}))
	s.Close()
	if _, events, err = OpenState(path, &header, false); err != nil || Answered(events) == nil {
		t.Errorf("no answer, %v", err)
	}
	garbage := filepath.Join(t.TempDir(), "g.capacity.jsonl")
	must.Do(t, os.WriteFile(garbage, []byte("not a state"), 0o600))
	if _, _, err := OpenState(garbage, &header, false); err == nil {
		t.Error("garbage is a state")
	}
}

// The file of another search was gone on with under its header, and a rehearsal replaced it.
func TestOnlyTheSearchesOwnFileIsGoneOnWithOrReplaced(t *testing.T) {
	type asked map[string]string
	path := filepath.Join(t.TempDir(), "x.capacity.jsonl")
	own, other := asked{"schema": "tidemark.capacity/1", "search_id": "x"}, asked{"schema": "tidemark.capacity/1", "search_id": "y"}
	s, _, err := OpenState(path, &own, false)
	must.Do(t, err)
	must.Do(t, s.Write(capacity.Event{Kind: "run", Question: "first"}))
	must.Do(t, s.Write(capacity.Event{Kind: "answer", Question: "first"}))
	s.Close()
	was := must.Get(os.ReadFile(path))(t)
	if _, _, err := OpenState(path, &other, false); err == nil || !strings.Contains(err.Error(), `line 1: another search, "x"`) {
		t.Errorf("a file of another search: %v", err)
	}
	if is := must.Get(os.ReadFile(path))(t); !bytes.Equal(is, was) || other["search_id"] != "y" {
		t.Errorf("the file is %s, the header %v", is, other)
	}
	s, _, err = OpenState(path, &own, false)
	must.Do(t, err)
	s.Replace()
	must.Do(t, s.Write(capacity.Event{Kind: "answer", Question: "second"}))
	s.Close()
	s, events, err := OpenState(path, &own, false)
	must.Do(t, err)
	s.Close()
	if len(events) != 1 || events[0].Question != "second" {
		t.Errorf("%+v", events)
	}
}

func TestRunsThatAKillEndedAreCounted(t *testing.T) {
	run := func(kind string, lengthS float64) capacity.Event {
		return capacity.Event{Kind: kind, Run: &capacity.Run{LengthS: lengthS, Said: capacity.Said{Settings: capacity.Settings{KVBlocks: 7, MaxNumSeqs: 8}}}}
	}
	events := []capacity.Event{run("start", 10), run("start", 20), run("run", 20), {Kind: "answer", Answer: &capacity.Answer{}}, run("start", 30)}
	if got := BrokenOff(events); got != 40*time.Second {
		t.Errorf("%v of load was broken off, want the first and the last: 40s", got)
	}
	if got := len(Answers(events)); got != 1 {
		t.Errorf("%d answers", got)
	}
	later := OnNewStart(events)
	if s := later[2].Run.Said.Settings; s.KVBlocks != 0 || s.MaxNumSeqs != 8 || events[2].Run.Said.Settings.KVBlocks != 7 {
		t.Errorf("settings of a run of an earlier start: %+v", s)
	}
}
