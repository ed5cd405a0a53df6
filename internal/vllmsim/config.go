package vllmsim

import (
	"cmp"
	"fmt"
	"time"

	"tidemark/internal/engine"
)

// Config is what a server simulates. Zero values take the defaults named here.
type Config struct {
	engine.Config // StepTime is needed unless Fixed is set

	// Simulates says what is simulated (gpu, catalog_model, ...). /version and
	// /server_info repeat it word for word.
	Simulates map[string]any

	Vocab int // token ids are below it; default 128256, at least 512

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

// Fixed asks for exact times. TTFT runs from the instant at which the last byte
// of the request had reached the socket (the kernel's own stamp where there is
// one, otherwise the read) to the write of the first token's chunk. Every
// further token is due one TPOT after the one before. Deadlines are absolute: a
// late token does not postpone the next.
type Fixed struct{ TTFT, TPOT time.Duration }

// withDefaults fills in vLLM's defaults, and refuses what no server could run with.
func (c Config) withDefaults() (Config, error) {
	var err error
	if c.Config, err = c.Config.WithDefaults(); err != nil {
		return c, err
	}
	c.Vocab = cmp.Or(c.Vocab, 128256)
	c.StreamInterval = cmp.Or(c.StreamInterval, 1)
	c.EndOfText = cmp.Or(c.EndOfText, 0.001)
	c.MaxBodyBytes = cmp.Or(c.MaxBodyBytes, max(16<<20, 16*int64(c.MaxModelLen)))
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 5*time.Second)
	return c, c.check()
}

func (c Config) check() error {
	for _, f := range []struct {
		name       string
		value, min int
	}{{"Vocab", c.Vocab, 512}, {"StreamInterval", c.StreamInterval, 1}, {"MaxQueuedReqs", c.MaxQueuedReqs, 0}} {
		if f.value < f.min {
			return fmt.Errorf("simulator: %s is %d, must be at least %d", f.name, f.value, f.min)
		}
	}
	switch {
	case c.MaxBodyBytes < 0 || c.IdleTimeout < 0:
		return fmt.Errorf("simulator: MaxBodyBytes and IdleTimeout must not be negative")
	case c.Fixed == nil && c.StepTime == nil:
		return fmt.Errorf("simulator: neither StepTime nor Fixed is given")
	case c.Fixed != nil && (c.Fixed.TTFT < 0 || c.Fixed.TPOT < 0):
		return fmt.Errorf("simulator: TTFT and TPOT must not be negative")
	}
	return nil
}
