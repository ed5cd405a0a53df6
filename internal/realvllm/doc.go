// Package realvllm holds the real path against a real vLLM: a trace goes in, is
// replayed over HTTP, and what tidemark says of it is set against what the
// server itself counted. It is the oracle behind internal/vllmsim, too: what the
// simulator answers must have the shape of what vLLM answers.
//
// setup.sh makes a venv with vLLM's CPU build and a tiny random model outside
// the tree, serve.py starts it, the tests (build tag vllm, `make test-vllm`) use
// it; with VLLM_BASE_URL set they use that server instead, which must be idle
// otherwise, because its counters are compared to the last token.
//
// A CPU's speed says nothing about a GPU: nothing here asserts how fast anything
// is. Durations are only ever compared with the server's own.
package realvllm
