//go:build soak

package soak

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tidemark/internal/vllmsim"
)

const (
	serverEnv = "TIDEMARK_SOAK_SERVER" // address to listen on
	modelName = "tiny"
	ttft      = 50 * time.Millisecond
	tpot      = 5 * time.Millisecond
)

// serveAt is the server process; it ends with its standard input.
func serveAt(address string) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
	s, err := vllmsim.New(vllmsim.Config{Model: modelName, Vocab: 8192, EndOfText: -1, RecordTruth: true, Fixed: &vllmsim.Fixed{TTFT: ttft, TPOT: tpot}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go s.Serve(l)
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// server is a server process that an episode may freeze, kill and start again.
type server struct {
	address string
	cmd     *exec.Cmd
	stdin   io.Closer
}

func startServer(address string) (*server, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverEnv+"="+address)
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
	return &server{address: strings.TrimSpace(line), cmd: cmd, stdin: stdin}, nil
}

func (s *server) signal(sig syscall.Signal) { s.cmd.Process.Signal(sig) }

func (s *server) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

func (s *server) end() {
	s.stdin.Close()
	s.cmd.Wait()
}

// truth is what the server knows of one request.
type truth struct {
	ID      string  `json:"id"`
	Arrived float64 `json:"arrived_unix_s"`
	Body    float64 `json:"body_s"`
	Last    float64 `json:"last_token_s"`
	IsWhole bool    `json:"is_whole"`
}

// end is when its last token was written, Unix seconds.
func (t truth) end() float64 { return t.Arrived + t.Body + t.Last }

// seq is the request's place in the plan: the client's ids end in it.
func (t truth) seq() (int64, bool) {
	_, last, found := strings.Cut(t.ID[strings.LastIndexByte(t.ID, '-'):], "-")
	seq, err := strconv.ParseInt(last, 10, 64)
	return seq, found && err == nil
}

func (s *server) truths() ([]truth, error) {
	client := http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	answer, err := client.Get("http://" + s.address + "/sim/truth")
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	var all []truth
	for lines := json.NewDecoder(answer.Body); ; {
		var one truth
		if err := lines.Decode(&one); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}
