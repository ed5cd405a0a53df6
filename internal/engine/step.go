package engine

// Step is the work of one engine step, in the quantities that its duration
// depends on: weights are read once per step, KV once per context token, and
// prefill adds matrix work per token and attention work per query-key pair.
type Step struct {
	DecodeSequences int     // sequences that decode, one token each
	ContextTokens   int64   // sum of the decoding sequences' contexts, tokens
	WindowTokens    int64   // the same with each context cut at Config.SlidingWindow; equal to ContextTokens without one
	PrefillTokens   int     // uncached prompt tokens computed in this step
	PrefillChunks   int     // sequences that those tokens belong to
	PrefillPairs    float64 // sum over chunks of s*p + s*s/2: s new tokens after p earlier ones (query-key pairs)
}
