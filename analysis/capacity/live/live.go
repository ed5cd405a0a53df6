// Package live is the server of a capacity search that is really there: each probe is a run of replay, with a folder of its
// own, and what became of its requests is watched while it goes, so that a hopeless run is stopped.
//
// Before each probe it runs what the user named, sends a few small requests one after the other (the unloaded latency, by
// which drift shows), and afterwards reads from the run's folder what the server says of its settings.
// The run's samples say whether others used the server and whether it was started again (samples.go).
//
// Of a server on a GPU that nobody named, steps.go finds a first step time by a few dozen small requests.
//
// It refuses to judge: package capacity decides what a probe is worth.
package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/replay"
	"tidemark/replay/plan"
)

// Server sends probes by replay.
type Server struct {
	Settings replay.Settings // mode, concurrency, seed, run id and name are the probe's
	Runs     string          // folder of runs
	Source   plan.Header     // of what is sent: its name and fingerprint stand in each run's plan
	NewID    func() string
	Before   func(ctx context.Context, scale float64) error // nil: nothing is to be done before a run
	Seed     func(runID string) uint64                      // of the tokens that belong to no block: another one for each run
	Ended    func(ctx context.Context, folder, runID string) error
	Begins   func(p capacity.Probe, runID string)
}

// Measure implements capacity.Server.
func (s *Server) Measure(ctx context.Context, p capacity.Probe) (m capacity.Measured, err error) {
	if s.Before != nil {
		if err := s.Before(ctx, p.Scale); err != nil {
			return m, err
		}
	}
	work, err := os.MkdirTemp("", "tidemark-probe-")
	if err != nil {
		return m, err
	}
	defer os.RemoveAll(work)
	unloaded, err := s.unloaded(ctx, work)
	if err != nil {
		return m, err
	}
	planned, err := s.plan(filepath.Join(work, "plan.jsonl.zst"), p.Requests, p.Mode)
	if err != nil {
		return m, err
	}
	m, err = s.send(ctx, p, planned)
	m.Said.UnloadedS = unloaded
	return m, err
}

// plan writes requests as a plan file. They are in order, and their due times are as they are to be sent.
func (s *Server) plan(path string, requests []plan.Request, mode string) (*plan.Plan, error) {
	choices := plan.Choices{Seed: s.Source.Seed, IsBounded: true}
	if mode == "sessions" {
		choices.Mode = mode
	}
	header := plan.Header{Source: s.Source.Source, SourceSHA256: s.Source.SourceSHA256}
	_, err := plan.Write(path, header, choices, plan.Each(requests))
	if err != nil {
		return nil, err
	}
	return plan.Open(path)
}

// unloaded is the median time of a small request that has the server to itself. A server that is not there is an error.
func (s *Server) unloaded(ctx context.Context, work string) (float64, error) {
	l, err := s.lookAt(ctx, filepath.Join(work, "unloaded"), 1, unloadedRequests, fewTokens)
	return l.e2e, err
}

func (s *Server) settings(runID string) replay.Settings {
	settings := s.Settings
	settings.RunID = runID
	settings.Seed = s.Seed(runID)
	return settings
}

// smallSettings are those of small requests. Their prompts are new each time: a server that still has those of an earlier search in its
// prefix cache would answer long ones at once.
func (s *Server) smallSettings(name string) replay.Settings {
	settings := s.settings(name)
	settings.Seed = s.Seed(fmt.Sprint(name, " ", time.Now().UnixNano()))
	settings.Progress, settings.Watch, settings.SLO, settings.MetricsURLs = nil, nil, nil, []string{"none"}
	return settings
}

// send is the run itself.
func (s *Server) send(ctx context.Context, p capacity.Probe, planned *plan.Plan) (m capacity.Measured, err error) {
	m.RunID = s.NewID()
	if s.Begins != nil {
		s.Begins(p, m.RunID)
	}
	settings := s.settings(m.RunID)
	settings.Mode, settings.MaxConcurrency = p.Mode, p.MaxConcurrency
	settings.Note = fmt.Sprintf("run %d of a capacity search: %s, at %.4g", p.Number, p.Why, p.Scale)
	w := newWatcher(len(p.Requests))
	also := settings.Watch
	settings.Watch = func(r replay.Watched) {
		w.see(r)
		if also != nil {
			also(r)
		}
	}
	abort, stop := context.WithCancel(settings.Abort)
	defer stop()
	settings.Abort = abort
	ended := make(chan struct{})
	var looking sync.WaitGroup
	looking.Go(func() { m.CutAt = w.look(ended, p, stop) })
	folder := filepath.Join(s.Runs, m.RunID)
	result, runErr := replay.Run(ctx, planned, settings, folder)
	close(ended)
	looking.Wait()
	if ctx.Err() != nil {
		return m, ctx.Err()
	}
	record, err := readRecord(folder)
	if err != nil {
		return m, errors.Join(runErr, err)
	}
	m.Said = record.said()
	if runErr != nil && m.CutAt == 0 && !m.Said.IsDead {
		return m, runErr
	}
	m.Replies, m.LoadS = w.outcome(m.CutAt)
	m.Said.IsShared, m.Said.IsReplaced = observed(folder, m.Replies)
	if m.LatenessP99S = result.LatenessS.P99; m.CutAt == 0 && !m.Said.IsDead {
		m.Fault = result.InvalidReason
	}
	if n := result.InputTokensReported; n > 0 && result.CachedTokensReported > 0 {
		m.Said.CachedShare, m.Said.HasCachedShare = float64(result.CachedTokensReported)/float64(n), true
	}
	if s.Ended != nil {
		return m, s.Ended(ctx, folder, m.RunID)
	}
	return m, nil
}

// Send sends requests that are no probe to the first of the servers, on their due times and past its prefix cache: a run of its own, whose
// folder it names.
func (s *Server) Send(ctx context.Context, runID, note string, requests []plan.Request) (folder string, err error) {
	work, err := os.MkdirTemp("", "tidemark-send-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	planned, err := s.plan(filepath.Join(work, "plan.jsonl.zst"), requests, "open")
	if err != nil {
		return "", err
	}
	settings := s.settings(runID)
	settings.BaseURLs, settings.Routes, settings.Models = settings.BaseURLs[:1], nil, nil // those are for classes of the traffic
	settings.Mode, settings.MaxConcurrency, settings.History, settings.Cache = "open", 0, "", "cold"
	settings.SLO, settings.Note = nil, note
	folder = filepath.Join(s.Runs, runID)
	_, err = replay.Run(ctx, planned, settings, folder)
	return folder, err
}

// watcher keeps how each request stands.
type watcher struct {
	mu      sync.Mutex
	began   time.Time // about the run's zero: the first request was sent
	replies []capacity.Reply
}

func newWatcher(n int) *watcher { return &watcher{replies: make([]capacity.Reply, n)} }

func (w *watcher) see(r replay.Watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = time.Now().Add(-max(r.Sent, 0))
	}
	w.replies[r.Seq] = ReplyOf(r)
}

// ReplyOf is a request as it stands, as objectives read it.
func ReplyOf(r replay.Watched) capacity.Reply {
	at := func(d time.Duration) time.Duration { return max(d, 0) }
	reply := capacity.Reply{IsSent: r.Sent >= 0 || r.IsOver, Due: r.Due, Sent: at(r.Sent), First: at(r.First)}
	if !r.IsOver {
		return reply
	}
	reply.Last, reply.Tokens = at(r.Last), int(r.Tokens)
	if r.Gaps != nil {
		reply.Gaps = r.Gaps()
	}
	reply.IsFailed = r.Failure != ""
	if r.Failure == "cancelled" { // it was cut: what was seen of it counts, and it did not fail
		reply.IsFailed, reply.Last = false, 0
	}
	return reply
}

// look asks now and then whether the run is hopeless, and stops it then.
func (w *watcher) look(ended <-chan struct{}, p capacity.Probe, stop context.CancelFunc) (cutAt time.Duration) {
	if p.Hopeless == nil {
		return 0
	}
	tick := time.NewTicker(capacity.HopelessEvery / 5)
	defer tick.Stop()
	for next := capacity.HopelessFrom; ; {
		select {
		case <-ended:
			return 0
		case <-tick.C:
		}
		w.mu.Lock()
		at := time.Duration(0)
		if !w.began.IsZero() {
			at = time.Since(w.began)
		}
		isHopeless := false
		if at >= next {
			next = at.Truncate(capacity.HopelessEvery) + capacity.HopelessEvery
			isHopeless = p.Hopeless(at, slices.Clone(w.replies))
		}
		w.mu.Unlock()
		if isHopeless {
			stop()
			return at
		}
	}
}

// outcome is the replies, and the seconds in which load was sent.
func (w *watcher) outcome(cutAt time.Duration) ([]capacity.Reply, float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := cutAt
	for _, r := range w.replies {
		if cutAt == 0 && r.IsSent {
			last = max(last, r.Sent)
		}
	}
	return w.replies, last.Seconds()
}

// IsSimulated asks the server, by a request, whether it is a simulator.
func (s *Server) IsSimulated(ctx context.Context) (bool, error) {
	work, err := os.MkdirTemp("", "tidemark-look-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	if _, err := s.lookAt(ctx, filepath.Join(work, "look"), 1, 1, fewTokens); err != nil {
		return false, err
	}
	r, err := readRecord(filepath.Join(work, "look"))
	return r.Server.IsSimulated, err
}

// record is what a run's folder says of its server.
type record struct {
	StoppedBy string `json:"stopped_by"`
	Gone      []any  `json:"gone"`
	Server    struct {
		IsSimulated bool `json:"is_simulated"`
	} `json:"server"`
	Effective struct {
		MaxNumSeqs          int   `json:"max_num_seqs"`
		MaxNumBatchedTokens int   `json:"max_num_batched_tokens"`
		NumGPUBlocks        int   `json:"num_gpu_blocks"`
		BlockSize           int   `json:"block_size"`
		EnablePrefixCaching *bool `json:"enable_prefix_caching"`
	} `json:"effective"`
}

func readRecord(folder string) (r record, err error) {
	text, err := os.ReadFile(filepath.Join(folder, "run.json"))
	if err != nil {
		return r, fmt.Errorf("capacity: %w", err)
	}
	return r, json.Unmarshal(text, &r)
}

func (r record) said() capacity.Said {
	e := r.Effective
	return capacity.Said{
		IsDead: r.StoppedBy == "server" || len(r.Gone) > 0, IsRestarted: r.StoppedBy == "set-up",
		Settings: capacity.Settings{MaxNumBatchedTokens: e.MaxNumBatchedTokens, MaxNumSeqs: e.MaxNumSeqs, KVBlocks: e.NumGPUBlocks * max(e.BlockSize, 16) / 16, PrefixCaching: e.EnablePrefixCaching},
	}
}
