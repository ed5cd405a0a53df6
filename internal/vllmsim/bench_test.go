package vllmsim

func runBenchClient() bool { return false }
