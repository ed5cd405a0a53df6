package replay

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
	"tidemark/replay/schedule"
)

func init() { roles["client"] = runClient }

// clientOrder is what a client process is to do.
type clientOrder struct {
	BaseURL, Plan, Folder string
	Files                 uint64 // that it may have open; 0: as it is
	Slots                 int    // of a closed loop; 0: an open one
}

// clientReport is what it cost.
type clientReport struct {
	Result     Result
	CPUSeconds float64
	PeakRSS    int64 // bytes
	WallS      float64
}

func runClient() {
	var order clientOrder
	if err := json.Unmarshal([]byte(os.Getenv("CLIENT_ORDER")), &order); err != nil {
		panic(err)
	}
	if order.Files > 0 {
		unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: order.Files, Max: order.Files})
	}
	plan, err := plan.Open(order.Plan)
	if err != nil {
		panic(err)
	}
	began := time.Now()
	var before, after unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &before)
	s := settingsFor(order.BaseURL)
	if order.Slots > 0 {
		s.Mode, s.MaxConcurrency = schedule.Closed, order.Slots
	}
	result, err := Run(ctxOfStdin(), plan, s, order.Folder)
	if err != nil {
		panic(err)
	}
	unix.Getrusage(unix.RUSAGE_SELF, &after)
	cpu := func(u unix.Rusage) int64 { return u.Utime.Nano() + u.Stime.Nano() }
	json.NewEncoder(os.Stdout).Encode(clientReport{result, float64(cpu(after)-cpu(before)) * 1e-9, after.Maxrss * 1024,
		time.Since(began).Seconds()})
}

// startOn starts this test binary in a role, on one core; it ends when its stdin is closed at the test's end.
func startOn(t testing.TB, core int, role string, env ...string) (cmd *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "REPLAY_TEST_ROLE="+role), env...)
	cmd.Stderr = os.Stderr
	stdin := must.Get(cmd.StdinPipe())(t)
	stdout := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, onCore(core, cmd.Start))
	t.Cleanup(func() {
		stdin.Close()
		io.Copy(io.Discard, stdout)
		cmd.Wait()
	})
	return cmd, bufio.NewReader(stdout)
}

// onCore calls start on a thread that may only run on the core; a process started there inherits that. A core that is
// not there is ignored.
func onCore(core int, start func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var old, one unix.CPUSet
	if unix.SchedGetaffinity(0, &old) == nil && old.IsSet(core) {
		one.Set(core)
		unix.SchedSetaffinity(0, &one)
		defer unix.SchedSetaffinity(0, &old)
	}
	return start()
}

func startFixed(t testing.TB, core int, ttft, tpot time.Duration) (base string) {
	t.Helper()
	_, out := startOn(t, core, "fixed", "FIXED_TTFT="+ttft.String(), "FIXED_TPOT="+tpot.String())
	address := must.Get(out.ReadString('\n'))(t)
	return "http://" + strings.TrimSpace(address)
}

func clientOn(t testing.TB, core int, order clientOrder) (report clientReport) {
	t.Helper()
	text, _ := json.Marshal(order)
	_, out := startOn(t, core, "client", "CLIENT_ORDER="+string(text))
	if err := json.NewDecoder(out).Decode(&report); err != nil {
		t.Fatal(fmt.Errorf("client: %w", err))
	}
	return report
}
