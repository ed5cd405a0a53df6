package capacity

import (
	"context"
	"time"

	"tidemark/internal/engine"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

// Server is what a search measures.
type Server interface {
	// Measure sends the probe's requests and returns when all have ended, or when the probe is hopeless. A server that dies, or a client
	// that was late, is no error: Measured says so. An error ends the search.
	Measure(ctx context.Context, p Probe) (Measured, error)
}

// Probe is one run.
type Probe struct {
	Number         int     // of the run in this search, from 1
	Why            string  // for the log
	Scale          float64 // multiple of the window's traffic; closed: the concurrency
	Length         time.Duration
	Requests       []plan.Request // due from 0
	Mode           string
	MaxConcurrency int // closed: requests in flight; else a cap; 0: none
	// Hopeless is asked every HopelessEvery from HopelessFrom on: whether enough misses are certain already. It has a reply for each
	// request, in order, as far as it is known at that instant.
	Hopeless func(at time.Duration, replies []Reply) bool
}

// RatePerS is the rate at which it sends, requests per second; 0: the concurrency says how fast.
func (p Probe) RatePerS() float64 {
	if p.Mode == schedule.Closed || p.Length <= 0 {
		return 0
	}
	return float64(len(p.Requests)) / p.Length.Seconds()
}

// When a probe is looked at.
const (
	HopelessFrom  = 20 * time.Second
	HopelessEvery = 5 * time.Second
)

// Reply is what became of a request. Instants are since the probe's zero.
type Reply struct {
	IsSent      bool
	Due, Sent   time.Duration
	First, Last time.Duration // 0: not yet
	Tokens      int           // received
	IsFailed    bool
	Gaps        []time.Duration // between its chunks; needed only for an objective on itl
}

// Measured is a run as it went.
type Measured struct {
	RunID        string
	Replies      []Reply
	CutAt        time.Duration // when a hopeless run was stopped; 0: it was not
	LoadS        float64       // seconds in which load was sent
	LatenessP99S float64       // of the client
	Fault        string        // why the client makes the run no measurement, as run.json has it; empty: it does not, or the run was cut
	Said         Said
}

// Said is what the server told, before and after the run. Zero values are unknown.
type Said struct {
	IsDead      bool     `json:"is_dead,omitempty"`
	IsRestarted bool     `json:"is_restarted,omitempty"` // with other settings than before
	IsReplaced  bool     `json:"is_replaced,omitempty"`  // its process was started again in the run
	IsShared    bool     `json:"is_shared,omitempty"`    // clearly more was in flight there than the run had
	Settings    Settings `json:"settings"`
	UnloadedS   float64  `json:"unloaded_s,omitempty"` // latency of a small request without load, before the run
	// CachedShare is the share of prompt tokens that the prefix cache had, and HasCachedShare whether the server told.
	CachedShare    float64 `json:"cached_share,omitempty"`
	HasCachedShare bool    `json:"has_cached_share,omitempty"`
}

// mostDrift of the unloaded latency is what a server that stays the same shows; leastDriftS is what a busy client shows.
const (
	mostDrift   = 1.3
	leastDriftS = 20e-3
)

// HasDrifted says that the server was another one later, or not alone.
func (s Said) HasDrifted(later Said) bool {
	low, high := min(s.UnloadedS, later.UnloadedS), max(s.UnloadedS, later.UnloadedS)
	return low > 0 && high > mostDrift*low && high-low > leastDriftS
}

// IsSpoilt says that a run does not show what the server is worth, because of the server: it died, was another one, or was not alone.
func (s Said) IsSpoilt() bool { return s.IsDead || s.IsRestarted || s.IsReplaced || s.IsShared }

// Settings decide what a step can hold; 0 and nil are unknown.
type Settings struct {
	MaxNumBatchedTokens int   `json:"max_num_batched_tokens,omitempty"`
	MaxNumSeqs          int   `json:"max_num_seqs,omitempty"`
	KVBlocks            int   `json:"kv_blocks,omitempty"`
	PrefixCaching       *bool `json:"prefix_caching,omitempty"`
}

// On is an engine with these settings, where they are known.
func (s Settings) On(c engine.Config) engine.Config {
	if s.MaxNumBatchedTokens > 0 {
		c.MaxNumBatchedTokens = s.MaxNumBatchedTokens
	}
	if s.MaxNumSeqs > 0 {
		c.MaxNumSeqs = s.MaxNumSeqs
	}
	if s.KVBlocks > 0 {
		c.KVBlocks = s.KVBlocks
	}
	if s.PrefixCaching != nil {
		c.EnablePrefixCaching = *s.PrefixCaching
	}
	return c
}

// differsFrom says whether two known settings contradict each other.
func (s Settings) differsFrom(o Settings) bool {
	differ := func(a, b int) bool { return a > 0 && b > 0 && a != b }
	return differ(s.MaxNumBatchedTokens, o.MaxNumBatchedTokens) || differ(s.MaxNumSeqs, o.MaxNumSeqs) || differ(s.KVBlocks, o.KVBlocks) ||
		s.PrefixCaching != nil && o.PrefixCaching != nil && *s.PrefixCaching != *o.PrefixCaching
}
