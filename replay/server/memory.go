package server

import (
	"context"
	"os/exec"
	"strconv"
	"strings"

	"tidemark/internal/hint"
)

// slackMiB is by how much the memory in use may be larger than before: other programs on the machine use some, too.
const slackMiB = 1024

// gpuMiB is the memory in use on all GPUs of this machine; -1: nvidia-smi is not there, or does not say.
func gpuMiB() (used int) {
	ctx, cancel := context.WithTimeout(context.Background(), afterKill)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits").Output()
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(out)) {
		mib, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return -1
		}
		used += mib
	}
	return used
}

// awaitMemory waits until the GPUs have the memory back that the server took: the next one would run out of it, which would count as a result of
// its settings. Of a server that a killed process started nobody knows what was in use before.
func (p *Process) awaitMemory() error {
	if p.ended == nil || p.beforeMiB < 0 {
		return nil
	}
	used := 0
	if p.within(p.StopWithin, func() bool { used = gpuMiB(); return used <= p.beforeMiB+slackMiB }) {
		return nil
	}
	return hint.Errorf("server: %d MiB of GPU memory are still in use %s after the server was stopped, %d before it was started", used, inWords(p.StopWithin), p.beforeMiB).
		Hint("nvidia-smi says who holds it; a longer stop_within waits longer")
}
