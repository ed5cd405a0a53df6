package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// The test's own program is the server, so that no other is needed: it listens at $LISTEN and answers /health.
func TestMain(m *testing.M) {
	address := os.Getenv("LISTEN")
	if address == "" {
		os.Exit(m.Run())
	}
	http.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"owned_by":"vllm"}]}`) })
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "process_start_time_seconds %d\nvllm:cache_config_info{enable_prefix_caching=\"True\",gpu_memory_utilization=\"0.9\"} 1\n", time.Now().Unix())
	})
	fmt.Println(http.ListenAndServe(address, nil))
	os.Exit(1)
}

// command runs a line of shell in which $SERVE is the test's server.
func command(t *testing.T, line string) Command {
	t.Helper()
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := free.Addr().String()
	free.Close()
	return Command{Args: []string{"sh", "-c", strings.ReplaceAll(line, "$SERVE", "LISTEN="+address+" exec "+os.Args[0])}, Dir: t.TempDir(), BaseURL: "http://" + address,
		ReadyWithin: 10 * time.Second, StopWithin: time.Second, Log: filepath.Join(t.TempDir(), "log")}
}

func unknown(Identity) error { return nil }

func TestAServerIsReadyAndStops(t *testing.T) {
	c := command(t, "$SERVE")
	var known Identity
	p, failure, err := c.Start(t.Context(), func(of Identity) error { known = of; return nil })
	if err != nil || failure != nil || !p.IsAlive() || known.PID == 0 || known.Began == "" {
		t.Fatal(p, failure, err, known)
	}
	if said := c.Settings(t.Context()); said["enable_prefix_caching"] != "true" || said["gpu_memory_utilization"] != "0.9" {
		t.Errorf("read back %v", said)
	}
	if _, _, err := c.Start(t.Context(), unknown); err == nil || !strings.Contains(err.Error(), "an old server is on the port") {
		t.Errorf("a second start on its port: %v", err)
	}
	left := Left(c, known) // as one that comes later sees it
	if err := left.Stop(); err != nil || p.IsAlive() || left.IsAlive() || c.isTaken(t.Context()) {
		t.Errorf("after its end: %v, alive %v %v", err, p.IsAlive(), left.IsAlive())
	}
	if left = Left(c, Identity{os.Getpid(), "another"}); left.IsAlive() || left.Stop() != nil {
		t.Error("a process with the same number is another one")
	}
}

func TestAServerThatIgnoresSIGTERMIsKilledWithItsChildren(t *testing.T) {
	c := command(t, "trap '' TERM; sleep 100 & echo $! >child; $SERVE & wait; sleep 100")
	c.StopWithin = 200 * time.Millisecond
	p, failure, err := c.Start(t.Context(), unknown)
	if err != nil || failure != nil {
		t.Fatal(failure, err)
	}
	if err := p.Stop(); err != nil || p.IsAlive() {
		t.Error(err, p.IsAlive())
	}
	child := 0
	text, _ := os.ReadFile(filepath.Join(c.Dir, "child"))
	fmt.Sscan(string(text), &child)
	if child == 0 || identify(child).Began != "" {
		t.Errorf("its child %d lives", child)
	}
}

// As docker does: the container outlives the program that started it.
func TestWhatOutlivesItsProcessIsStopped(t *testing.T) {
	c := command(t, "LISTEN= setsid sh -c 'echo $$ >container; $SERVE' & sleep 100")
	c.StopWithin = 200 * time.Millisecond
	c.StopArgs = []string{"sh", "-c", "kill -KILL $(cat container)"}
	p, failure, err := c.Start(t.Context(), unknown)
	if err != nil || failure != nil {
		t.Fatal(failure, err)
	}
	syscall.Kill(-p.PID, syscall.SIGKILL)
	p.within(time.Second, func() bool { return !p.IsAlive() })
	if !c.isTaken(t.Context()) {
		t.Fatal("the container has ended with its client")
	}
	without := Left(c, p.Identity)
	without.StopArgs = []string{"sh", "-c", "echo no such container; exit 1"}
	must.Fail(t, without.Stop(), "no such container")
	if err := Left(c, p.Identity).Stop(); err != nil || c.isTaken(t.Context()) {
		t.Errorf("it listens: %v", err)
	}
}

// nvidia-smi is a script here, of two GPUs: its first one says what the file "used" has.
func TestTheNextStartWaitsForTheMemory(t *testing.T) {
	bin := t.TempDir()
	used := func(mib string) { must.Do(t, os.WriteFile(filepath.Join(bin, "used"), []byte(mib), 0o600)) }
	must.Do(t, os.WriteFile(filepath.Join(bin, "nvidia-smi"), []byte("#!/bin/sh\ncat "+bin+"/used; echo 4\n"), 0o700))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	used("300\n")
	c := command(t, "$SERVE")
	p, failure, err := c.Start(t.Context(), unknown)
	if err != nil || failure != nil {
		t.Fatal(failure, err)
	}
	used("70000\n")
	must.Fail(t, p.Stop(), "70004 MiB of GPU memory are still in use 1s after the server was stopped, 304 before")
	time.AfterFunc(300*time.Millisecond, func() { os.WriteFile(filepath.Join(bin, "used"), []byte("1300\n"), 0o600) })
	if err := p.Stop(); err != nil {
		t.Errorf("it was given back in time: %v", err)
	}
	used("[N/A]\n")
	if got := gpuMiB(); got != -1 {
		t.Errorf("%d MiB of a GPU that does not say", got)
	}
}

func TestAStartThatFailsIsAResult(t *testing.T) {
	for _, c := range []struct{ line, why string }{
		{"echo loading; echo no such model; exit 3", "ended before it was ready, exit status 3: no such model"},
		{"exit 0", "ended before it was ready, without an error"},
		{"echo 'ValueError: No available memory for the cache blocks. Try more.'; echo 'RuntimeError: Engine core initialization failed.'; exit 1", "ran out of memory: ValueError: No available memory for the cache blocks. Try more."},
		{"echo 'ValueError: 7 heads'; echo 'RuntimeError: Engine core initialization failed.'; exit 1", "ended before it was ready, exit status 1: ValueError: 7 heads"},
		{"echo loading; sleep 100", "was not ready within 300ms: loading"},
	} {
		start := command(t, c.line)
		if strings.Contains(c.line, "sleep") {
			start.ReadyWithin = 300 * time.Millisecond
		}
		p, failure, err := start.Start(t.Context(), unknown)
		if err != nil || p != nil || failure == nil || failure.Why != c.why {
			t.Errorf("%s: %+v, %v; want %s", c.line, failure, err, c.why)
		}
	}
}

// A server that was there in time, on a port that was free a moment before.
func TestAnAnswerOfAnotherProcessIsNotReady(t *testing.T) {
	c := command(t, "sleep 100")
	old := http.Server{Addr: strings.TrimPrefix(c.BaseURL, "http://"), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "process_start_time_seconds 1.7e+09") })}
	defer old.Close()
	p, failure, err := c.Start(t.Context(), func(Identity) error {
		go old.ListenAndServe()
		return nil
	})
	if p != nil || failure == nil || !strings.Contains(failure.Why, "does not answer itself") {
		t.Error(p, failure, err)
	}
	must.Fail(t, err, "is still taken")
}

// A start that could not be written down must not happen: nobody would stop it after a kill.
func TestNothingRunsThatNobodyKnowsOf(t *testing.T) {
	c := command(t, "touch ran")
	full := errors.New("disk full")
	if _, _, err := c.Start(t.Context(), func(Identity) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestAnInterruptStopsWhatWasStarted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var of Identity
	c := command(t, "sleep 100")
	_, _, err := c.Start(ctx, func(started Identity) error { of = started; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || syscall.Kill(of.PID, 0) == nil {
		t.Errorf("%v, and %d lives", err, of.PID)
	}
}

func TestIgnoredSettingsAreNamed(t *testing.T) {
	asked := map[string]string{"max_num_seqs": "64", "gpu_memory_utilization": "0.90", "quantization": "fp8", "enable_prefix_caching": "false", "mode": "a"}
	said := map[string]string{"max_num_seqs": "256", "gpu_memory_utilization": "0.9", "quantization": "compressed-tensors", "enable_prefix_caching": "true"}
	want := []string{"enable_prefix_caching is true, and false was asked", "max_num_seqs is 256, and 64 was asked"}
	if got := Ignored(asked, said); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
