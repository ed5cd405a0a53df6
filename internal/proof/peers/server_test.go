//go:build peers

package peers

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"tidemark/internal/engine"
	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim"
	"tidemark/internal/vllmsim/simprocess"
)

const (
	serverEnv  = "TIDEMARK_PEERS_SERVER" // address to listen on
	clientCore = "0"
	serverCore = "1"
	modelName  = "tiny"
	vocabulary = 8192 // token ids of the server's words

	trueTTFT = 50 * time.Millisecond
	trueTPOT = 10 * time.Millisecond
)

// serverConfig makes a server that sends every token at a known instant.
func serverConfig() vllmsim.Config {
	return vllmsim.Config{
		Config: engine.Config{Model: modelName, MaxModelLen: 1 << 20, MaxNumSeqs: 1 << 14, MaxNumBatchedTokens: 1 << 14},
		Vocab:  vocabulary, EndOfText: -1, IdleTimeout: time.Minute, RecordTruth: true,
		Fixed: &vllmsim.Fixed{TTFT: trueTTFT, TPOT: trueTPOT},
	}
}

// server is a running server process. Each measurement has one of its own.
type server struct{ *simprocess.Process }

func startServer(t *testing.T) server {
	t.Helper()
	cmd := exec.Command("taskset", "-c", serverCore, os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"=127.0.0.1:0", "GOGC=400")
	cmd.Stderr = os.Stderr
	process := must.Get(simprocess.Start(cmd))(t)
	return server{process}
}

func (s server) base() string { return "http://" + s.Address }

func (s server) truths(t *testing.T) []simprocess.Truth {
	t.Helper()
	all := must.Get(s.Truths())(t)
	return all
}

// wasAsked reports whether any request for text has come.
func (s server) wasAsked(t *testing.T) bool {
	t.Helper()
	return s.load(t) > 0 || len(s.truths(t)) > 0
}

// load is the number of answers in progress.
func (s server) load(t *testing.T) (n int) {
	t.Helper()
	answer := must.Get(http.Get(s.base() + "/load"))(t)
	defer answer.Body.Close()
	var load struct {
		Answering int `json:"server_load"`
	}
	must.Do(t, json.NewDecoder(answer.Body).Decode(&load))
	return load.Answering
}

// settle waits until no answer is in progress. The answers to a client that was stopped end when its connections do.
func (s server) settle(t *testing.T) {
	t.Helper()
	for range 200 {
		if s.load(t) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
