//go:build soak

package soak

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tidemark/fixtures/seeded"
	"tidemark/internal/proof/must"
)

// TestYear puts a year of a service into a warehouse, most of it in the last week, and makes that week's report twice. The second
// page must be the first one, byte for byte, and count each request once; time and memory of both are printed.
//
//	SOAK_WEEK_REQUESTS=10000000  in the last week
//	SOAK_YEAR_REQUESTS=1000000   in each week before
//	SOAK_WEEKS=52                all of them
//	SOAK_TIDEMARK=FILE           the program
//	SOAK_OUTPUT=DIR              keep the page there
//
// At full size it needs about 20 GB on the disk of the test's temporary folder.
func TestYear(t *testing.T) {
	program := os.Getenv("SOAK_TIDEMARK")
	if program == "" {
		t.Skip("SOAK_TIDEMARK names no program: run make soak")
	}
	y := newYear(t, program)
	began := time.Now()
	for n := range y.weeks {
		y.takeIn(n)
		if n%10 == 9 {
			t.Logf("%d of %d weeks, %.0f s", n+1, y.weeks, time.Since(began).Seconds())
		}
	}
	fmt.Printf("\na year of %d requests, %d of them in the last week; taken in within %.0f s\n\n| report | wall | CPU | memory |\n|---|---|---|---|\n",
		y.requests, y.lastWeek, time.Since(began).Seconds())
	first := y.report("first")
	if second := y.report("second"); !bytes.Equal(first, second) {
		t.Errorf("the second page is not the first one: %d and %d bytes", len(first), len(second))
	}
	y.countsAll()
	if keep := os.Getenv("SOAK_OUTPUT"); keep != "" {
		must.Do(t, os.WriteFile(filepath.Join(keep, "year.html"), first, 0o644))
	}
}

// year is the warehouse of one service.
type year struct {
	t        *testing.T
	program  string
	folder   string
	weeks    int
	service  seeded.Service
	requests int // written
	lastWeek int
}

const (
	secondsOfAWeek = 7 * 24 * 3600
	nightShare     = 0.2
	yearFile       = `service: year
time_zone: Europe/Berlin
traffic: [year-*]
deployment: {gpu: H100, model: llama-3.1-8b, engine: vllm}
replicas: 8
slo: slo.yaml
growth: {weeks: 51}
`
	yearSLO = `schema: tidemark.slo/2
name: year
objectives:
  - {metric: ttft_from_due, percentile: 99, at_most: 2s}
  - {metric: tpot, percentile: 99, at_most: 80ms}
`
)

func newYear(t *testing.T, program string) *year {
	y := &year{t: t, program: program, folder: t.TempDir(), weeks: int(number(t, "SOAK_WEEKS", 52))}
	zone := must.Get(time.LoadLocation("Europe/Berlin"))(t)
	shape := seeded.OfficeHours(nightShare)
	mean := 0.0
	for _, share := range shape {
		mean += share / float64(len(shape))
	}
	usual, last := number(t, "SOAK_YEAR_REQUESTS", 1e6), number(t, "SOAK_WEEK_REQUESTS", 10e6)
	begin := time.Date(2026, time.November, 16, 0, 0, 0, 0, zone) // Monday of the last week
	y.service = seeded.Service{
		Seed: uint64(number(t, "SOAK_SEED", 1)), Zone: zone, Begin: begin, RatePerS: usual / secondsOfAWeek / mean, Shape: shape, Noise: 0.05,
		Steps:   []seeded.Step{{At: begin, Factor: last / usual}},
		Classes: []seeded.Class{{Share: 1, Input: seeded.Lengths{Median: 900, Sigma: 0.8, Most: 16_000}, Output: seeded.Lengths{Median: 180, Sigma: 0.7, Most: 2_000}}},
	}
	for name, content := range map[string]string{"year.yaml": yearFile, "slo.yaml": yearSLO} {
		must.Do(t, os.WriteFile(filepath.Join(y.folder, name), []byte(content), 0o600))
	}
	return y
}

// takeIn writes the n-th week, ingests it and removes its file.
func (y *year) takeIn(n int) {
	from := y.service.Begin.AddDate(0, 0, 7*(n+1-y.weeks))
	name := fmt.Sprintf("year-%02d.csv", n+1)
	path := filepath.Join(y.folder, name)
	file, err := os.Create(path)
	if err != nil {
		y.t.Fatal(err)
	}
	counted := &lines{file: file}
	if err := y.service.Write(counted, from, from.AddDate(0, 0, 7)); err != nil {
		y.t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		y.t.Fatal(err)
	}
	y.lastWeek = counted.n - 1 // the header
	y.requests += y.lastWeek
	y.run("ingest", name, "--quiet")
	if err := os.Remove(path); err != nil {
		y.t.Fatal(err)
	}
}

// lines counts the lines that go into a file.
type lines struct {
	file *os.File
	n    int
}

func (l *lines) Write(p []byte) (int, error) {
	l.n += bytes.Count(p, []byte{'\n'})
	return l.file.Write(p)
}

// report makes the page of the last week and says what it took.
func (y *year) report(which string) []byte {
	page := filepath.Join(y.folder, which+".html")
	began := time.Now()
	state := y.run("report", "--service", "year.yaml", "--week", "2026-W47", "--output", page)
	usage := state.ProcessState.SysUsage().(*syscall.Rusage)
	fmt.Printf("| %s | %.1f s | %.1f s | %.0f MB |\n", which, time.Since(began).Seconds(), seconds(usage.Utime)+seconds(usage.Stime), float64(usage.Maxrss)*1024/1e6)
	content, err := os.ReadFile(page)
	if err != nil {
		y.t.Fatal(err)
	}
	return content
}

// countsAll compares the requests of the week in the mart with those that were written.
func (y *year) countsAll() {
	out, err := y.command("sql", "--csv", "select requests, missing_hours from marts.service_weeks where service = 'year' and week = '2026-W47'").Output()
	if err != nil {
		y.t.Errorf("sql: %v", err)
	}
	if want := strconv.Itoa(y.lastWeek) + ",0"; !strings.HasSuffix(strings.TrimSpace(string(out)), want) {
		y.t.Errorf("marts.service_weeks has %q, want %s", out, want)
	}
}

func (y *year) command(args ...string) *exec.Cmd {
	command := exec.Command(y.program, args...)
	command.Dir = y.folder
	command.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1795392000") // else the two pages have two dates
	return command
}

func (y *year) run(args ...string) *exec.Cmd {
	command := y.command(args...)
	if out, err := command.CombinedOutput(); err != nil {
		y.t.Fatalf("tidemark %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return command
}

func seconds(v syscall.Timeval) float64 { return float64(v.Sec) + float64(v.Usec)/1e6 }
