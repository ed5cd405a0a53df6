// Package hardware reads what predictions are made from: GPUs and their prices
// (gpus.go), models by their config.json (modelconfig.go), measured kernel times
// (kerneltimes.go), and what a profiler saw kernels take (nsys.go, kernelrules.go).
// One file per format.
//
// These files add to what is built in (queries/seeds): a GPU of the same name
// replaces the built-in one. A wrong number here makes every prediction wrong
// without a sign, so every row must be complete, quantities are in bytes, bytes/s
// and FLOP/s, and a value that could only be in GB or TFLOP/s is refused.
package hardware
