// Package simprocess runs a simulated server in a process of its own, for tests that measure a client: in one process the
// two would share a scheduler, a garbage collector and the CPU time that is being measured.
//
// The server process is the test binary itself, started again with an environment variable set. A TestMain calls Serve
// when it finds the variable; a test calls Start with a command of the same binary, and Truths afterwards.
//
// It refuses nothing: it is for tests, and a failed start ends them.
package simprocess

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"tidemark/internal/vllmsim"
)

// Serve is the server process. It prints the address it listens on and exits when its standard input ends, so that it
// cannot outlive the test, however that ends.
func Serve(address string, cfg vllmsim.Config) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		var s *vllmsim.Server
		if s, err = vllmsim.New(cfg); err == nil {
			fmt.Println(l.Addr())
			go s.Serve(l)
			io.Copy(io.Discard, os.Stdin)
			os.Exit(0) // without waiting: the streams of a client that was stopped have no reader
		}
	}
	fmt.Fprintln(os.Stderr, "server:", err)
	os.Exit(1)
}

// Process is a running server process.
type Process struct {
	Address string // host:port
	*os.Process
	stop func()
}

// Start starts a command that calls Serve, and returns once it listens.
func Start(cmd *exec.Cmd) (*Process, error) {
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		cmd.Wait()
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	return &Process{strings.TrimSpace(line), cmd.Process, func() { stdin.Close(); cmd.Wait() }}, nil
}

// Stop ends the process by closing its standard input, and waits for it. It may follow a Kill.
func (p *Process) Stop() { p.stop() }

// Truth is what the server knows of one request. Arrived is Unix seconds; Body runs from the request's first byte to its
// last, and the tokens' times count from that last byte.
type Truth struct {
	ID      string  `json:"id"`
	Arrived float64 `json:"arrived_unix_s"`
	Body    float64 `json:"body_s"`
	First   float64 `json:"first_token_s"`
	Last    float64 `json:"last_token_s"`
	Tokens  int     `json:"tokens"`
	IsWhole bool    `json:"is_whole"`
}

// Truths are the server's records of the requests whose answers are over. A frozen server fails after ten seconds.
func (p *Process) Truths() ([]Truth, error) {
	client := http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + p.Address + "/sim/truth")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var all []Truth
	for lines := json.NewDecoder(answer.Body); ; {
		var one Truth
		if err := lines.Decode(&one); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}
