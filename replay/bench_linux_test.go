package replay

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// ctxOfStdin ends when the parent process closes the pipe.
func ctxOfStdin() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx
}

// BenchmarkFidelity sends an open loop of 200 requests/s for some seconds from a process on core 0 to a fixed server on
// core 1, and compares what was reported with what the server did. One iteration is the whole run.
func BenchmarkFidelity(b *testing.B) {
	for _, c := range []struct {
		name   string
		rate   int
		tokens int
		tpot   time.Duration
	}{
		{"200 per s, 20 tokens of 10 ms", 200, 20, 10 * time.Millisecond},
		{"200 per s, 50 tokens of 20 ms", 200, 50, 20 * time.Millisecond},
		{"500 per s, 20 tokens of 20 ms", 500, 20, 20 * time.Millisecond},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				report, said := measured(b, 50*time.Millisecond, c.tpot, atRandom(c.rate, c.rate*8, 500, c.tokens), 0)
				b.ReportMetric(report.CPUSeconds/float64(c.rate*8*c.tokens)*1e6, "cpu-us/token")
				said.report(b, report)
			}
		})
	}
}

// atRandom makes n requests at a mean rate per second. Evenly spaced ones would fall into step with the server's tokens.
func atRandom(rate, n, input, output int) iter.Seq2[plan.Request, error] {
	rnd := rand.New(rand.NewPCG(1, 1))
	return func(yield func(plan.Request, error) bool) {
		at := time.Duration(0)
		for i := range n {
			if !yield(plan.Request{Seq: int64(i), Due: at, InputTokens: input, OutputTokens: output}, nil) {
				return
			}
			at += time.Duration(rnd.ExpFloat64() / float64(rate) * 1e9)
		}
	}
}

func truthsOf(b testing.TB, base string) map[string]truth {
	b.Helper()
	resp := must.Get(http.Get(base + "/truths"))(b)
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	var list []truth
	must.Do(b, json.NewDecoder(resp.Body).Decode(&list))
	byID := map[string]truth{}
	for _, t := range list {
		byID[t.ID] = t
	}
	return byID
}

// BenchmarkMemory replays 100,000 planned requests and reports the peak of the client's resident memory.
func BenchmarkMemory(b *testing.B) {
	for range b.N {
		base := startFixed(b, 1, 5*time.Millisecond, time.Millisecond)
		plan := planOf(b, every(time.Second/2500, 100_000, 100, 2))
		report := clientOn(b, 0, clientOrder{BaseURL: base, Plan: plan.Path(), Folder: filepath.Join(b.TempDir(), "run")})
		if report.Result.Completed != 100_000 {
			b.Errorf("%+v", report.Result)
		}
		b.ReportMetric(float64(report.PeakRSS)/1e6, "peak-rss-MB")
		b.ReportMetric(report.Result.LatenessS.P99*1e6, "late-p99-us")
		b.ReportMetric(report.CPUSeconds/1e5*1e6, "cpu-us/request")
		b.ReportMetric(0, "ns/op")
	}
}
