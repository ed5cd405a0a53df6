//go:build soak

package soak

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/vllmsim"
	"tidemark/internal/vllmsim/simprocess"
)

const (
	serverEnv = "TIDEMARK_SOAK_SERVER" // address to listen on
	modelName = "tiny"
	ttft      = 50 * time.Millisecond
	tpot      = 5 * time.Millisecond
)

func serverConfig() vllmsim.Config {
	return vllmsim.Config{Config: engine.Config{Model: modelName}, Vocab: 8192, EndOfText: -1, RecordTruth: true, Fixed: &vllmsim.Fixed{TTFT: ttft, TPOT: tpot}}
}

// startServer starts a server process that an episode may freeze, kill and start again.
func startServer(address string) (*simprocess.Process, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"="+address)
	return simprocess.Start(cmd)
}

// endOf is when a request's last token was written, Unix seconds.
func endOf(t simprocess.Truth) float64 { return t.Arrived + t.Body + t.Last }

// seqOf is the request's place in the plan: the client's ids end in it.
func seqOf(t simprocess.Truth) (int64, bool) {
	_, last, found := strings.Cut(t.ID[strings.LastIndexByte(t.ID, '-'):], "-")
	seq, err := strconv.ParseInt(last, 10, 64)
	return seq, found && err == nil
}
