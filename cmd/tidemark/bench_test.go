package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tidemark/fixtures/seeded"
	"tidemark/internal/cli/kit"
	"tidemark/internal/proof/must"
)

// 200 requests/s of 16 tokens against a server of exactly known times, client
// and server on a core each: how late, and how true.
func BenchmarkReplayAtTwoHundredPerSecond(b *testing.B) {
	for b.Loop() {
		bench := newReplayBench(b, 200, 4000, 16)
		bench.replay(b)
		bench.report(b, `select
			quantile_cont(lateness_s, 0.5) * 1e3 as "late-p50-ms",
			quantile_cont(lateness_s, 0.99) * 1e3 as "late-p99-ms",
			max(lateness_s) * 1e3 as "late-max-ms",
			quantile_cont(ttft_s, 0.5) * 1e3 as "ttft-p50-ms",
			quantile_cont(ttft_s, 0.99) * 1e3 as "ttft-p99-ms",
			quantile_cont(tpot_s, 0.5) * 1e3 as "tpot-p50-ms",
			quantile_cont(tpot_s, 0.99) * 1e3 as "tpot-p99-ms",
			count(*) filter (not is_success) as "failed"
		from staging.requests`)
		bench.reportTruth(b)
	}
}

// 100,000 planned requests at 2,000/s: the plan streams, so memory does not grow
// with it while it is sent. The peak is of the analysis behind it.
func BenchmarkHundredThousandPlanned(b *testing.B) {
	for b.Loop() {
		bench := newReplayBench(b, 2000, 100_000, 2)
		usage := bench.replay(b)
		b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MB")
		bench.report(b, `select
			count(*) filter (is_success) as "completed",
			(select max(value) / 1e6 from raw.samples where origin = 'client' and name = 'rss_bytes') as "sending-MB",
			quantile_cont(lateness_s, 0.99) * 1e3 as "late-p99-ms"
		from staging.requests`)
	}
}

// BenchmarkStreamsTakenIn is a replay of streams of 512 tokens that all start at once, on a known deployment, with its ingest and its publication:
// the CPU of the client's process for each token, and its most memory. With few tokens the end is most of it.
func BenchmarkStreamsTakenIn(b *testing.B) {
	const tokens = 512
	for _, streams := range []int{64, 512} {
		b.Run(fmt.Sprint(streams), func(b *testing.B) {
			for b.Loop() {
				bench := newReplayBench(b, 10_000, streams, tokens)
				usage := bench.replay(b, "--gpu", "H100", "--catalog-model", "llama-3.1-8b")
				b.ReportMetric(cpuSeconds(usage)*1e6/float64(streams*tokens), "CPU-us/token")
				b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MB")
			}
		})
	}
}

// BenchmarkRunTakenIn takes a run into a warehouse that holds another, everything that is kept of it and its publication included: of 100,000
// requests, 100 a second on two servers, or of as many as BENCH_REQUESTS says. It is rehearsed, so that it takes no hours to make.
func BenchmarkRunTakenIn(b *testing.B) {
	requests := 100_000
	if asked := os.Getenv("BENCH_REQUESTS"); asked != "" {
		if _, err := fmt.Sscan(asked, &requests); err != nil {
			b.Fatalf("BENCH_REQUESTS: %v", err)
		}
	}
	for b.Loop() {
		r := replayBench{dir: b.TempDir()}
		random := rand.New(rand.NewPCG(7, 7))
		var trace strings.Builder
		trace.WriteString("arrived_at,num_prefill_tokens,num_decode_tokens\n")
		at := 0.0
		for range requests {
			at += random.ExpFloat64() / 100
			fmt.Fprintf(&trace, "%.6f,%d,%d\n", at, 1+int(200*random.ExpFloat64()), 2+int(50*random.ExpFloat64()))
		}
		must.Do(b, os.WriteFile(filepath.Join(r.dir, "steady.csv"), []byte(trace.String()), 0o644))
		rehearse := []string{"rehearse", "steady", "--gpu", "H100", "--catalog-model", "llama-3.1-8b", "--replicas", "2", "--keep"}
		r.run(b, "ingest", "steady.csv", "--name", "steady")
		r.run(b, append(rehearse, "--limit", "1000", "--runs", "small")...)
		other := []string{"--warehouse", "other.duckdb", "--publish", "off"}
		r.run(b, slices.Concat([]string{"ingest", "steady.csv", "--name", "steady"}, other)...)
		r.run(b, slices.Concat(rehearse, []string{"--runs", "large"}, other)...)
		folders, err := filepath.Glob(filepath.Join(r.dir, "large", "*"))
		if err != nil || len(folders) != 1 {
			b.Fatalf("%d folders (%v)", len(folders), err)
		}
		ingest := exec.Command("tidemark", "ingest", folders[0])
		ingest.Dir = r.dir
		began := time.Now()
		if out, err := ingest.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		usage := ingest.ProcessState.SysUsage().(*syscall.Rusage)
		b.ReportMetric(time.Since(began).Seconds(), "wall-s")
		b.ReportMetric(cpuSeconds(usage), "CPU-s")
		b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MB")
		for unit, path := range map[string]string{"warehouse-MB": "tidemark.duckdb", "published-MB": "tidemark.published", "folder-MB": folders[0]} {
			b.ReportMetric(r.onDisk(b, path), unit)
		}
	}
}

func cpuSeconds(usage *syscall.Rusage) float64 {
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// onDisk is the size of a file or of all files of a folder, in MB.
func (r replayBench) onDisk(b *testing.B, path string) float64 {
	b.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, path)
	}
	bytes := int64(0)
	err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		bytes += info.Size()
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return float64(bytes) / 1e6
}

// BenchmarkDemo is the README's first command, warm.
func BenchmarkDemo(b *testing.B) {
	for b.Loop() {
		dir := filepath.Join(b.TempDir(), "demo")
		if out, err := exec.Command("tidemark", "demo", "--output", dir).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		info := must.Get(os.Stat(filepath.Join(dir, "report.html")))(b)
		b.ReportMetric(float64(info.Size())/1e6, "report-MB")
	}
}

// BenchmarkStart is what a verb costs that has little to do: CPU of the program, user and system, the mean of twenty.
func BenchmarkStart(b *testing.B) {
	r := replayBench{dir: b.TempDir()}
	must.Do(b, os.WriteFile(filepath.Join(r.dir, "steady.csv"), []byte("arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n1,100,10\n"), 0o644))
	r.run(b, "ingest", "steady.csv")
	for _, verb := range []string{"version", "help", "runs", "schema"} {
		b.Run(verb, func(b *testing.B) {
			for b.Loop() {
				const times = 20
				var used time.Duration
				for range times {
					command := exec.Command("tidemark", verb)
					command.Dir = r.dir
					if out, err := command.CombinedOutput(); err != nil {
						b.Fatalf("%v\n%s", err, out)
					}
					used += command.ProcessState.UserTime() + command.ProcessState.SystemTime()
				}
				b.ReportMetric(used.Seconds()/times*1e3, "CPU-ms")
			}
		})
	}
}

const (
	benchService = `service: chat
time_zone: Europe/Berlin
traffic: [week]
deployment: {gpu: H100, model: llama-3.1-8b, engine: vllm}
replicas: 8
slo: slo.yaml
`
	benchSLO = `schema: tidemark.slo/2
name: chat
objectives:
  - {metric: ttft_from_due, percentile: 99, at_most: 2s}
  - {metric: tpot, percentile: 99, at_most: 80ms}
`
)

// BenchmarkMondayReport is of a week of a million requests: the first report rehearses its hours, the second one finds them kept.
func BenchmarkMondayReport(b *testing.B) {
	for b.Loop() {
		r := replayBench{dir: b.TempDir()}
		s := seeded.Demo()
		s.RatePerS, s.Gaps = 2.85, nil // a million requests
		s.Classes[0].Input, s.Classes[0].Output = seeded.Lengths{Median: 14_000, Sigma: 0.3, Most: 31_000}, seeded.Lengths{Median: 60, Sigma: 0.4, Most: 400}
		begin := s.Begin.AddDate(0, 0, 7)
		var trace bytes.Buffer
		must.Do(b, s.Write(&trace, begin, begin.AddDate(0, 0, 7)))
		for name, content := range map[string][]byte{"week.csv": trace.Bytes(), "chat.yaml": []byte(benchService), "slo.yaml": []byte(benchSLO)} {
			must.Do(b, os.WriteFile(filepath.Join(r.dir, name), content, 0o644))
		}
		r.run(b, "ingest", "week.csv", "--name", "week")
		b.ReportMetric(float64(bytes.Count(trace.Bytes(), []byte("\n"))-1), "requests")
		for _, which := range []string{"first", "second"} {
			report := exec.Command("tidemark", "report", "--service", "chat.yaml", "--output", which+".html")
			report.Dir = r.dir
			if out, err := report.CombinedOutput(); err != nil {
				b.Fatalf("%v\n%s", err, out)
			}
			usage := report.ProcessState.SysUsage().(*syscall.Rusage)
			b.ReportMetric((report.ProcessState.UserTime() + report.ProcessState.SystemTime()).Seconds(), which+"-CPU-s")
			b.ReportMetric(float64(usage.Maxrss)/1024, which+"-peak-MB")
		}
	}
}

type replayBench struct{ dir, url string }

// newReplayBench plans requests of 100 prompt tokens at a steady rate and
// starts the server on the second core.
func newReplayBench(b *testing.B, perSecond, requests, outputTokens int) replayBench {
	b.Helper()
	r := replayBench{dir: b.TempDir()}
	var trace strings.Builder
	for i := range requests {
		// Seconds since the first row, as Vidur's header says.
		fmt.Fprintf(&trace, "%.6f,100,%d\n", float64(i)/float64(perSecond), outputTokens)
	}
	text := "arrived_at,num_prefill_tokens,num_decode_tokens\n" + trace.String()
	must.Do(b, os.WriteFile(filepath.Join(r.dir, "steady.csv"), []byte(text), 0o644))
	r.run(b, "ingest", "steady.csv", "--name", "steady")
	r.run(b, "plan", "steady", "--output", "plan.jsonl.zst")
	r.url = startPinnedServer(b, 1)
	return r
}

func startPinnedServer(b *testing.B, core int) string {
	b.Helper()
	server := exec.Command("tidemark", "simulate", "--fixed-ttft", "50ms", "--fixed-tpot", "10ms", "--port", "0")
	server.Env = append(os.Environ(), "GOMAXPROCS=1")
	stderr := must.Get(server.StderrPipe())(b)
	must.Do(b, server.Start())
	b.Cleanup(func() { server.Process.Signal(syscall.SIGINT); server.Wait() })
	pin(b, server.Process.Pid, core)
	line, err := bufio.NewReader(stderr).ReadString('\n')
	url := regexp.MustCompile(`http://[0-9.:]+`).FindString(line)
	if err != nil || url == "" {
		b.Fatalf("the server said %q: %v", line, err)
	}
	return url
}

func pin(b *testing.B, pid, core int) {
	b.Helper()
	var cores unix.CPUSet
	cores.Set(core)
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, thread := range threads {
		var id int
		fmt.Sscan(filepath.Base(thread), &id)
		if err := unix.SchedSetaffinity(id, &cores); err != nil {
			b.Fatalf("pin to core %d: %v", core, err)
		}
	}
}

// replay sends the plan from the first core.
func (r replayBench) replay(b *testing.B, flags ...string) *syscall.Rusage {
	b.Helper()
	client := exec.Command("taskset", slices.Concat([]string{"-c", "0", "tidemark", "replay", "plan.jsonl.zst",
		"--base-url", r.url, "--model", "llama-3.1-8b", "--max-lateness", "1h", "--max-stall", "1h", "--quiet"}, flags)...)
	client.Dir = r.dir
	out, err := client.CombinedOutput()
	if client.ProcessState.ExitCode() == kit.ExitInvalid {
		b.Logf("disturbed by other work: %s", out)
	} else if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return client.ProcessState.SysUsage().(*syscall.Rusage)
}

// report prints each column of a query's only row as a metric.
func (r replayBench) report(b *testing.B, query string) {
	b.Helper()
	var rows []map[string]float64
	must.Do(b, json.Unmarshal([]byte(r.run(b, "sql", "--json", query)), &rows))
	for name, value := range rows[0] {
		b.ReportMetric(value, name)
	}
}

// reportTruth prints what the server really did: the instants of its writes.
func (r replayBench) reportTruth(b *testing.B) {
	b.Helper()
	answer := must.Get(http.Get(r.url + "/sim/truth"))(b)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(b)
	must.Do(b, os.WriteFile(filepath.Join(r.dir, "truth.jsonl"), text, 0o644))
	r.report(b, `select
			quantile_cont(first_token_s, 0.5) * 1e3 as "true-ttft-p50-ms",
			quantile_cont(first_token_s, 0.99) * 1e3 as "true-ttft-p99-ms",
			quantile_cont((last_token_s - first_token_s) / (tokens - 1), 0.5) * 1e3 as "true-tpot-p50-ms",
			quantile_cont((last_token_s - first_token_s) / (tokens - 1), 0.99) * 1e3 as "true-tpot-p99-ms"
		from read_json('truth.jsonl')`)
}

func (r replayBench) run(b *testing.B, args ...string) string {
	b.Helper()
	cmd := exec.Command("tidemark", args...)
	cmd.Dir = r.dir
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("tidemark %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
