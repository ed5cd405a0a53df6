//go:build peers

package peers

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"tidemark/internal/vllmsim"
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

// serveAt is the server process: every token at a known instant. It ends with its
// standard input.
func serveAt(address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
	s, err := vllmsim.New(vllmsim.Config{
		Model: modelName, Vocab: vocabulary, MaxModelLen: 1 << 20, MaxNumSeqs: 1 << 14, MaxNumBatchedTokens: 1 << 14,
		EndOfText: -1, IdleTimeout: time.Minute, RecordTruth: true,
		Fixed: &vllmsim.Fixed{TTFT: trueTTFT, TPOT: trueTPOT},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go s.Serve(l)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0) // at once: streams of a client that was stopped are nobody's
}

// server is a running server process. Each measurement has one of its own.
type server struct {
	base  string // URL
	pid   int
	ended func()
}

func startServer(t *testing.T) server {
	t.Helper()
	cmd := exec.Command("taskset", "-c", serverCore, os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"=127.0.0.1:0", "GOGC=400")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	return server{base: "http://" + line[:len(line)-1], pid: cmd.Process.Pid, ended: func() {
		stdin.Close()
		cmd.Wait()
	}}
}

// truth is what the server knows of one request.
type truth struct {
	ID      string  `json:"id"`
	Arrived float64 `json:"arrived_unix_s"` // its first bytes
	Body    float64 `json:"body_s"`         // from there to its last byte
	First   float64 `json:"first_token_s"`  // from the last byte on
	Last    float64 `json:"last_token_s"`
	Tokens  int     `json:"tokens"`
	IsWhole bool    `json:"is_whole"`
}

// truths are the server's records of requests whose answer is over.
func (s server) truths(t *testing.T) []truth {
	t.Helper()
	answer, err := http.Get(s.base + "/sim/truth")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var all []truth
	for lines := json.NewDecoder(answer.Body); ; {
		var one truth
		if err := lines.Decode(&one); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
}

// isAsked says whether any request for text has come.
func (s server) isAsked(t *testing.T) bool {
	t.Helper()
	return s.load(t) > 0 || len(s.truths(t)) > 0
}

// load is how many answers are under way.
func (s server) load(t *testing.T) (n int) {
	t.Helper()
	answer, err := http.Get(s.base + "/load")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var load struct {
		Answering int `json:"server_load"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&load); err != nil {
		t.Fatal(err)
	}
	return load.Answering
}

// settle waits until no answer is under way: those of a client that was stopped end when its connections do.
func (s server) settle(t *testing.T) {
	t.Helper()
	for range 200 {
		if s.load(t) == 0 {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
