package engine

import (
	"cmp"
	"fmt"
	"time"
)

// Config is what an engine has and how long it takes. Zero values take vLLM's defaults, which are named here.
type Config struct {
	Model   string // served name; default "simulated"
	Version string // of vLLM; default "0.32.0"

	MaxModelLen         int  // prompt + output tokens of one request; default 131072
	MaxNumSeqs          int  // sequences in one step; default 256
	MaxNumBatchedTokens int  // tokens in one step; default 8192
	BlockSize           int  // tokens in one KV block; default 16
	KVBlocks            int  // KV blocks in all; default holds 8 requests of MaxModelLen
	SlidingWindow       int  // tokens a sequence attends to, for Step.WindowTokens; 0: all
	EnablePrefixCaching bool // as vLLM's flag, which is on there by default

	// IsAsync: the next step is put together while one works (vLLM's asynchronous scheduling), Submit after its beginning. Who
	// arrives later than that joins the step after.
	IsAsync bool
	Submit  time.Duration

	// Drafts are tokens that each decoding sequence has guessed ahead in a step; each is kept with a chance of Acceptance, where those before it were.
	// Virtual time knows no drafts: it takes several steps of decoding at once.
	Drafts     int
	Acceptance float64

	Frontend Frontend // between the engine and its clients; none by default

	// StepTime is how long one step lasts. It is called from one goroutine only.
	StepTime func(Step) time.Duration
}

// KVTokens is the size of the KV cache, in tokens.
func (c *Config) KVTokens() int { return c.KVBlocks * c.BlockSize }

// SetBlockSize cuts the KV cache into blocks of so many tokens; it stays as large as it is.
func (c *Config) SetBlockSize(tokens int) { c.KVBlocks, c.BlockSize = c.KVTokens()/tokens, tokens }

// Step is the work of one engine step, in the quantities that its duration
// depends on: weights are read once per step, KV once per context token, and
// prefill adds matrix work per token and attention work per query-key pair.
type Step struct {
	DecodeSequences int     // sequences that decode, one token each
	Drafts          int     // tokens that each of them has guessed ahead, which the step checks
	ContextTokens   int64   // sum of the decoding sequences' contexts, tokens
	WindowTokens    int64   // the same with each context cut at Config.SlidingWindow; equal to ContextTokens without one
	PrefillTokens   int     // uncached prompt tokens computed in this step
	PrefillChunks   int     // sequences that those tokens belong to
	PrefillPairs    float64 // sum over chunks of s*p + s*s/2: s new tokens after p earlier ones (query-key pairs)
}

// WithDefaults fills in the defaults, and refuses what no server could run with, such as a KV cache that cannot hold one
// request of full length.
func (c Config) WithDefaults() (Config, error) {
	c.Model, c.Version = cmp.Or(c.Model, "simulated"), cmp.Or(c.Version, "0.32.0")
	c.MaxModelLen = cmp.Or(c.MaxModelLen, 131072)
	c.MaxNumSeqs = cmp.Or(c.MaxNumSeqs, 256)
	c.MaxNumBatchedTokens = cmp.Or(c.MaxNumBatchedTokens, 8192)
	c.BlockSize = cmp.Or(c.BlockSize, 16)
	if c.BlockSize > 0 {
		c.KVBlocks = cmp.Or(c.KVBlocks, 8*ceilDiv(c.MaxModelLen, c.BlockSize))
	}
	for _, f := range []struct {
		name       string
		value, min int
	}{
		{"MaxModelLen", c.MaxModelLen, 2}, {"MaxNumSeqs", c.MaxNumSeqs, 1}, {"MaxNumBatchedTokens", c.MaxNumBatchedTokens, 1},
		{"BlockSize", c.BlockSize, 1}, {"KVBlocks", c.KVBlocks, 1}, {"SlidingWindow", c.SlidingWindow, 0}, {"Drafts", c.Drafts, 0},
	} {
		if f.value < f.min {
			return c, fmt.Errorf("simulator: %s is %d, must be at least %d", f.name, f.value, f.min)
		}
	}
	switch {
	case c.MaxNumBatchedTokens < c.MaxNumSeqs:
		return c, fmt.Errorf("simulator: MaxNumBatchedTokens %d is below MaxNumSeqs %d", c.MaxNumBatchedTokens, c.MaxNumSeqs)
	case c.MaxNumBatchedTokens <= c.Drafts:
		return c, fmt.Errorf("simulator: MaxNumBatchedTokens %d leaves no room for %d drafts of a sequence", c.MaxNumBatchedTokens, c.Drafts)
	case c.KVBlocks*c.BlockSize < c.MaxModelLen:
		return c, fmt.Errorf("simulator: %d KV blocks of %d tokens cannot hold one request of MaxModelLen %d", c.KVBlocks, c.BlockSize, c.MaxModelLen)
	}
	return c, nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
