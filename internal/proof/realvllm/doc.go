// Package realvllm tests the whole path against a real vLLM: a trace is ingested and replayed over HTTP, and what
// tidemark reports is compared with what the server itself counted. It also checks internal/vllmsim: the simulator's
// answers must have the shape of vLLM's.
//
// setup.sh makes a venv with vLLM's CPU build and a tiny random model outside the tree, serve.py starts it, and the
// tests (build tag vllm, `make test-vllm`) use it. With VLLM_BASE_URL set they use that server instead. It must be
// idle otherwise, because its counters are compared to the last token.
//
// A CPU's speed says nothing about a GPU, so nothing here asserts how fast anything is. Durations are only compared
// with the server's own.
//
// TestCapacityOfARealVLLM searches what the server takes on one core, with the client on another, and holds the interval
// to a run well below it and a run well above it.
package realvllm
