package vllmsim

import (
	"fmt"
	"time"
)

// Config is what a server simulates. Zero values take the defaults named here.
type Config struct {
	Model   string // served name; default "simulated"
	Version string // of vLLM, as /version tells it; default "0.32.0"

	// Simulates says what is simulated (gpu, catalog_model, ...). /version and
	// /server_info repeat it word for word.
	Simulates map[string]any

	Vocab               int  // token ids are below it; default 128256, at least 512
	MaxModelLen         int  // prompt + output tokens of one request; default 131072
	MaxNumSeqs          int  // sequences in one step; default 256
	MaxNumBatchedTokens int  // tokens in one step; default 8192
	BlockSize           int  // tokens in one KV block; default 16
	KVBlocks            int  // KV blocks in all; default holds 8 requests of MaxModelLen
	SlidingWindow       int  // tokens a sequence attends to, for Step.WindowTokens; 0: all
	EnablePrefixCaching bool // as vLLM's flag, which is on there by default

	// StepTime is how long one engine step lasts. It must be set unless Fixed
	// is, and it is called from one goroutine only.
	StepTime func(Step) time.Duration

	// Fixed replaces scheduler and step time by exact instants, to measure
	// clients.
	Fixed *Fixed

	Seed      uint64  // of outputs whose request names no seed
	EndOfText float64 // chance of an end-of-text per token where the request allows it; default 0.001, below 0: never

	APIKey                  string // guards /v1 paths; empty: open
	StreamInterval          int    // tokens between two chunks of a stream; default 1
	ForceIncludeUsage       bool   // usage in every chunk, asked for or not
	HidePromptTokensDetails bool   // no cached_tokens in usage (vLLM's own default)
	PerRequestMetrics       bool   // timings in the final usage chunk
	RequestIDHeaders        bool   // answer with x-request-id
	MaxQueuedReqs           int    // waiting requests before 503; 0: no limit

	// RustFrontend answers streams and errors in the dialect of vLLM's frontend
	// in Rust (VLLM_USE_RUST_FRONTEND=1).
	RustFrontend bool

	MaxBodyBytes int64         // of a request; default 16 MiB, or 16 bytes per token of MaxModelLen if that is more
	IdleTimeout  time.Duration // of a keep-alive connection; default 5 s, as vLLM's

	// RecordTruth keeps for GET /sim/truth when each of the last requests came
	// and when its first and last token were written.
	RecordTruth bool
}

// KVTokens is the size of the KV cache, in tokens.
func (c *Config) KVTokens() int { return c.KVBlocks * c.BlockSize }

// SetBlockSize cuts the KV cache into blocks of so many tokens; it stays as large as it is.
func (c *Config) SetBlockSize(tokens int) { c.KVBlocks, c.BlockSize = c.KVTokens()/tokens, tokens }

// Fixed asks for exact times. TTFT runs from the instant at which the last byte
// of the request had reached the socket (the kernel's own stamp where there is
// one, otherwise the read) to the write of the first token's chunk. Every
// further token is due one TPOT after the one before. Deadlines are absolute: a
// late token does not postpone the next.
type Fixed struct{ TTFT, TPOT time.Duration }

// withDefaults fills in vLLM's defaults.
func (c Config) withDefaults() (Config, error) {
	orInt := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	if c.Model == "" {
		c.Model = "simulated"
	}
	if c.Version == "" {
		c.Version = "0.32.0"
	}
	orInt(&c.Vocab, 128256)
	orInt(&c.MaxModelLen, 131072)
	orInt(&c.MaxNumSeqs, 256)
	orInt(&c.MaxNumBatchedTokens, 8192)
	orInt(&c.BlockSize, 16)
	orInt(&c.StreamInterval, 1)
	if c.BlockSize > 0 {
		orInt(&c.KVBlocks, 8*ceilDiv(c.MaxModelLen, c.BlockSize))
	}
	if c.EndOfText == 0 {
		c.EndOfText = 0.001
	}
	if c.MaxBodyBytes == 0 {
		c.MaxBodyBytes = max(16<<20, 16*int64(c.MaxModelLen))
	}
	if c.IdleTimeout == 0 {
		c.IdleTimeout = 5 * time.Second
	}
	return c, c.check()
}

// check refuses combinations that no server could run with, such as a KV cache
// that cannot hold one request of full length.
func (c Config) check() error {
	for _, f := range []struct {
		name       string
		value, min int
	}{
		{"Vocab", c.Vocab, 512}, {"MaxModelLen", c.MaxModelLen, 2}, {"MaxNumSeqs", c.MaxNumSeqs, 1},
		{"MaxNumBatchedTokens", c.MaxNumBatchedTokens, 1}, {"BlockSize", c.BlockSize, 1}, {"KVBlocks", c.KVBlocks, 1},
		{"StreamInterval", c.StreamInterval, 1}, {"MaxQueuedReqs", c.MaxQueuedReqs, 0}, {"SlidingWindow", c.SlidingWindow, 0},
	} {
		if f.value < f.min {
			return fmt.Errorf("simulator: %s is %d, must be at least %d", f.name, f.value, f.min)
		}
	}
	switch {
	case c.MaxNumBatchedTokens < c.MaxNumSeqs:
		return fmt.Errorf("simulator: MaxNumBatchedTokens %d is below MaxNumSeqs %d", c.MaxNumBatchedTokens, c.MaxNumSeqs)
	case c.KVBlocks*c.BlockSize < c.MaxModelLen:
		return fmt.Errorf("simulator: %d KV blocks of %d tokens cannot hold one request of MaxModelLen %d", c.KVBlocks, c.BlockSize, c.MaxModelLen)
	case c.MaxBodyBytes < 0 || c.IdleTimeout < 0:
		return fmt.Errorf("simulator: MaxBodyBytes and IdleTimeout must not be negative")
	case c.Fixed == nil && c.StepTime == nil:
		return fmt.Errorf("simulator: neither StepTime nor Fixed is given")
	case c.Fixed != nil && (c.Fixed.TTFT < 0 || c.Fixed.TPOT < 0):
		return fmt.Errorf("simulator: TTFT and TPOT must not be negative")
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
