package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/vllmsim"
)

// The first Ctrl-C stops the sending; what is in flight may finish, and all
// of it is in the warehouse.
func TestFirstInterruptLetsStreamsFinish(t *testing.T) {
	r := startReplay(t, vllmsim.Fixed{TTFT: 10 * time.Millisecond, TPOT: 10 * time.Millisecond})
	r.interruptOnceUnderWay(t, syscall.SIGINT)
	if code := r.exitCode(t); code != 130 {
		t.Errorf("exit code %d, want 130; stderr:\n%s", code, r.stderr.String())
	}
	sent, completed, planned := r.counts(t)
	if sent == 0 || sent == planned || completed != sent {
		t.Errorf("sent %d, completed %d of %d planned; want some sent, all of them completed, not all planned", sent, completed, planned)
	}
}

// The second leaves at once; what was in flight is cancelled, not lost.
func TestSecondInterruptLeavesAtOnce(t *testing.T) {
	r := startReplay(t, vllmsim.Fixed{TTFT: 10 * time.Millisecond, TPOT: time.Hour})
	r.waitFor(t, "a stream under way", r.serverIsBusy)
	r.cmd.Process.Signal(syscall.SIGINT)
	r.waitFor(t, "letting streams finish", func() bool { return strings.Contains(r.stderr.String(), "Ctrl-C again") })
	r.cmd.Process.Signal(syscall.SIGINT)
	if code := r.exitCode(t); code != 130 {
		t.Errorf("exit code %d, want 130; stderr:\n%s", code, r.stderr.String())
	}
	sent, completed, _ := r.counts(t)
	if sent == 0 || completed != 0 {
		t.Errorf("sent %d, completed %d; want some sent and none completed", sent, completed)
	}
}

func TestTerminateExits143(t *testing.T) {
	r := startReplay(t, vllmsim.Fixed{TTFT: 10 * time.Millisecond, TPOT: 10 * time.Millisecond})
	r.interruptOnceUnderWay(t, syscall.SIGTERM)
	if code := r.exitCode(t); code != 143 {
		t.Errorf("exit code %d, want 143; stderr:\n%s", code, r.stderr.String())
	}
}

// Go's runtime ends a crash with 2, which is a mistake in the command here.
func TestACrashIsNoMistakeInTheCommand(t *testing.T) {
	r := startReplay(t, vllmsim.Fixed{TTFT: 10 * time.Millisecond, TPOT: time.Hour})
	r.waitFor(t, "a stream under way", r.serverIsBusy)
	r.cmd.Process.Signal(syscall.SIGQUIT) // the runtime treats it like a crash
	r.exitCode(t)
	if status := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGABRT {
		t.Errorf("ended with %v, want SIGABRT", r.cmd.ProcessState)
	}
}

// A killed run's folder can be taken in later; what was not sent counts.
func TestKilledRunCanBeTakenIn(t *testing.T) {
	r := startReplay(t, vllmsim.Fixed{TTFT: 10 * time.Millisecond, TPOT: 10 * time.Millisecond})
	r.interruptOnceUnderWay(t, syscall.SIGKILL)
	r.exitCode(t)
	r.tidemark(t, "ingest", r.folder(t))
	sent, _, planned := r.counts(t)
	if sent == 0 || planned != plannedRequests {
		t.Errorf("sent %d of %d planned, want some of %d", sent, planned, plannedRequests)
	}
}

const plannedRequests = 400

type running struct {
	dir    string
	url    string
	cmd    *exec.Cmd
	stderr *lockedBuffer
	done   chan error
}

// startReplay replays 400 requests of 10 tokens, 50 a second, against a server
// of fixed times.
func startReplay(t *testing.T, fixed vllmsim.Fixed) *running {
	t.Helper()
	config := must.Get(simulated())(t)
	config.Fixed = &fixed
	server, url, err := startServer(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })

	r := &running{dir: t.TempDir(), url: url, stderr: new(lockedBuffer), done: make(chan error, 1)}
	var trace strings.Builder
	for i := range plannedRequests {
		fmt.Fprintf(&trace, "{\"timestamp\": %d, \"input_length\": 100, \"output_length\": 10, \"hash_ids\": [%d]}\n", 20*i, i)
	}
	must.Do(t, os.WriteFile(filepath.Join(r.dir, "steady.jsonl"), []byte(trace.String()), 0o644))
	r.tidemark(t, "ingest", "steady.jsonl")
	r.cmd = exec.Command("tidemark", "replay", "steady", "--base-url", url, "--model", "llama-3.1-8b", "--max-lateness", "10s", "--max-stall", "10s")
	r.cmd.Dir, r.cmd.Stderr = r.dir, r.stderr
	must.Do(t, r.cmd.Start())
	go func() { r.done <- r.cmd.Wait() }()
	return r
}

// interruptOnceUnderWay waits until some requests are in the journal.
func (r *running) interruptOnceUnderWay(t *testing.T, signal os.Signal) {
	t.Helper()
	r.waitFor(t, "requests in the journal", func() bool {
		files, _ := filepath.Glob(filepath.Join(r.dir, "runs", "*", "requests.jsonl.zst"))
		if len(files) == 0 {
			return false
		}
		info, err := os.Stat(files[0])
		return err == nil && info.Size() > 200 // more than the head of a frame
	})
	r.cmd.Process.Signal(signal)
}

var runningNow = regexp.MustCompile(`(?m)^vllm:num_requests_running\{.*\} ([0-9.]+)`)

func (r *running) serverIsBusy() bool {
	answer, err := http.Get(r.url + "/metrics")
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	found := runningNow.FindSubmatch(text)
	return found != nil && string(found[1]) != "0.0"
}

func (r *running) waitFor(t *testing.T, what string, there func() bool) {
	t.Helper()
	for range 1000 {
		if there() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s: did not come; stderr:\n%s", what, r.stderr.String())
}

func (r *running) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case err := <-r.done:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		return 0
	case <-time.After(30 * time.Second):
		r.cmd.Process.Kill()
		t.Fatalf("did not end; stderr:\n%s", r.stderr.String())
		return -1
	}
}

func (r *running) folder(t *testing.T) string {
	t.Helper()
	folders, _ := filepath.Glob(filepath.Join(r.dir, "runs", "*"))
	if len(folders) != 1 {
		t.Fatalf("%d run folders, want 1", len(folders))
	}
	return folders[0]
}

func (r *running) counts(t *testing.T) (sent, completed, planned int) {
	t.Helper()
	out := r.tidemark(t, "sql", "--csv", "select sent, completed, planned from marts.runs")
	if _, err := fmt.Sscanf(out, "sent,completed,planned\n%d,%d,%d", &sent, &completed, &planned); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return sent, completed, planned
}

func (r *running) tidemark(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("tidemark", args...)
	cmd.Dir = r.dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tidemark %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// fails runs the program and gives its exit code and what it said on stderr.
func (r *running) fails(t *testing.T, args ...string) (int, string) {
	t.Helper()
	cmd := exec.Command("tidemark", args...)
	cmd.Dir = r.dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) {
		t.Fatalf("tidemark %s: got %v, want a failure", strings.Join(args, " "), err)
	}
	return exit.ExitCode(), stderr.String()
}
