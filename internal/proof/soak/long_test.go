//go:build soak

package soak

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// long is one replay through every mischief and freezes of the server, from begin to end of the soak. Its client must
// not grow.
func (w *shop) long(t *testing.T, sum *summary, seed uint64, end time.Time) {
	rnd := rand.New(rand.NewPCG(seed, 1<<40))
	dir := filepath.Join(w.scratch, "long")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Error(err)
		return
	}
	s, err := startServer("127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Stop()
	p, err := startProxy(s.Address, drawn(rnd, func(r *rand.Rand) mischief {
		if r.IntN(3) > 0 {
			return none
		}
		return []mischief{refuse429, refuse503, cut, reset, dribble}[r.IntN(5)]
	}))
	if err != nil {
		t.Error(err)
		return
	}
	defer p.close()
	var output bytes.Buffer
	client := exec.Command(w.tidemark, "replay", w.longPlan, "--base-url", "http://"+p.address(), "--model", modelName,
		"--runs", filepath.Join(dir, "runs"), "--warehouse", filepath.Join(dir, "w.duckdb"), "--max-lateness", "1m", "--max-stall", "1m")
	client.Dir, client.Stdout, client.Stderr = dir, &output, &output
	if err := client.Start(); err != nil {
		t.Error(err)
		return
	}
	for time.Now().Before(end) {
		time.Sleep(min(time.Duration(5+rnd.IntN(10))*time.Second, max(time.Until(end), 0)))
		s.Signal(syscall.SIGSTOP)
		time.Sleep(time.Duration(rnd.IntN(1000)) * time.Millisecond) // a freeze
		s.Signal(syscall.SIGCONT)
	}
	client.Process.Signal(syscall.SIGINT)
	client.Wait()
	f, err := readFolder(filepath.Join(dir, "runs"))
	if err != nil {
		t.Errorf("long: %v: %s", err, output.Bytes())
		return
	}
	wrongs := append(f.wrongs(), f.growth(sum)...)
	if code := client.ProcessState.ExitCode(); code != 130 {
		wrongs = append(wrongs, fmt.Sprintf("exit code %d, want 130", code))
	}
	sum.add("long replay through all of it", f, len(wrongs) > 0)
	for _, wrong := range wrongs {
		t.Errorf("long: %s", wrong)
	}
	if len(wrongs) > 0 {
		t.Logf("long said: %s", output.Bytes())
		if w.keep != "" {
			os.CopyFS(filepath.Join(w.keep, "long"), os.DirFS(dir))
		}
	}
}

// growth compares the client's second third with its last: goroutines and descriptors may differ by the requests in
// flight, memory by a fifth.
func (f folder) growth(sum *summary) (wrongs []string) {
	var values []map[string]float64
	for _, s := range f.samples {
		if s.Origin == "client" {
			values = append(values, s.Values)
		}
	}
	if len(values) < 9 {
		return []string{fmt.Sprintf("only %d samples of the client", len(values))}
	}
	third := len(values) / 3
	for _, of := range []struct {
		name        string
		most        float64 // growth in its unit
		share       float64 // and beyond that in parts of the whole
		perInFlight float64
	}{{"goroutines", 10, 0, 4}, {"open_files", 10, 0, 2}, {"rss_bytes", 8e6, 0.2, 0}} {
		middle, last := f.median(values[third:2*third], of.name), f.median(values[2*third:], of.name)
		flying := max(f.median(values[2*third:], "in_flight")-f.median(values[third:2*third], "in_flight"), 0)
		sum.say("long replay: %s %.4g in the second third, %.4g in the last", of.name, middle, last)
		if last > middle+of.most+of.share*middle+of.perInFlight*flying {
			wrongs = append(wrongs, fmt.Sprintf("%s grew from %.0f to %.0f", of.name, middle, last))
		}
	}
	return wrongs
}

func (f folder) median(values []map[string]float64, name string) float64 {
	var all []float64
	for _, v := range values {
		all = append(all, v[name])
	}
	return quantile(all, 0.5)
}
