package replay

import (
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// BenchmarkStreams has all streams start together, as when a batch begins: what one core takes in, and how true it is.
// The client is a process of its own on core 0, the server on core 1; one iteration is the whole run.
func BenchmarkStreams(b *testing.B) {
	for _, c := range []struct {
		streams, tokens int
		tpot            time.Duration
	}{
		{64, 500, 10 * time.Millisecond},
		{512, 500, 10 * time.Millisecond},
		{512, 700, 6400 * time.Microsecond}, // 80,000 a second, if the server can
	} {
		b.Run(fmt.Sprintf("%d streams of %.0f per s", c.streams, 1/c.tpot.Seconds()), func(b *testing.B) {
			for range b.N {
				report, said := measured(b, 50*time.Millisecond, c.tpot, every(0, c.streams, 100, c.tokens), 0)
				tokens := float64(c.streams * c.tokens)
				streaming := 0.05 + float64(c.tokens-1)*c.tpot.Seconds()
				b.ReportMetric(report.CPUSeconds/tokens*1e6, "cpu-us/token")
				b.ReportMetric(tokens/said.lasted, "tokens/s")
				b.ReportMetric(tokens/streaming, "offered-tokens/s")
				b.ReportMetric(report.CPUSeconds/streaming*100, "core-%")
				said.report(b, report)
			}
		})
	}
}

// BenchmarkClosedLoop has 512 slots become free in one instant, again and again: all answers of a round end together.
func BenchmarkClosedLoop(b *testing.B) {
	const slots, rounds, tokens = 512, 4, 300
	for range b.N {
		report, said := measured(b, 50*time.Millisecond, 10*time.Millisecond, every(0, slots*rounds, 100, tokens), slots)
		said.report(b, report)
		b.Logf("%+v", report.Result)
	}
}

// BenchmarkLateness sends at a steady mean rate, 16 tokens a request.
func BenchmarkLateness(b *testing.B) {
	for _, rate := range []int{500, 2000} {
		b.Run(fmt.Sprintf("%d per s", rate), func(b *testing.B) {
			for range b.N {
				report, said := measured(b, 50*time.Millisecond, 10*time.Millisecond, atRandom(rate, rate*5, 100, 16), 0)
				b.ReportMetric(report.CPUSeconds/float64(rate*5)*1e6, "cpu-us/request")
				said.report(b, report)
			}
		})
	}
}

// BenchmarkBursts sends what a conversation trace at ten times its speed comes to: thirty prompts of 7,000 tokens at
// one instant, again and again.
func BenchmarkBursts(b *testing.B) {
	bursts := func(yield func(plan.Request, error) bool) {
		for i := range 600 {
			due := time.Duration(i/30) * 300 * time.Millisecond
			if !yield(plan.Request{Seq: int64(i), Due: due, InputTokens: 7000, OutputTokens: 16}, nil) {
				return
			}
		}
	}
	for range b.N {
		report, said := measured(b, 50*time.Millisecond, 10*time.Millisecond, bursts, 0)
		said.report(b, report)
	}
}

// BenchmarkMillion has 5,000 requests in flight out of a long plan, which streams: 200,000 planned requests, or a million
// with -benchtime 5x, each iteration being as many.
func BenchmarkMillion(b *testing.B) {
	const inFlight, rate = 5000, 2000
	n := 200_000 * b.N
	base := startFixed(b, 1, inFlight*time.Second/rate, time.Millisecond)
	plan := planOf(b, every(time.Second/rate, n, 20, 2))
	report := clientOn(b, 0, clientOrder{BaseURL: base, Plan: plan.Path(), Folder: filepath.Join(b.TempDir(), "run")})
	if report.Result.Completed != int64(n) {
		b.Errorf("%+v", report.Result)
	}
	b.ReportMetric(float64(n), "requests")
	b.ReportMetric(float64(report.PeakRSS)/1e6, "peak-rss-MB")
	b.ReportMetric(report.Result.LatenessS.P99*1e6, "late-p99-us")
	b.ReportMetric(report.CPUSeconds/float64(n)*1e6, "cpu-us/request")
	b.ReportMetric(0, "ns/op")
}

// account is what a run says, against what was true.
type account struct {
	late, ttft, tpot []float64
	lasted           float64 // from the first token of all to the last
}

// measured runs a plan from a process on core 0 against a fixed server on core 1; slots: of a closed loop, 0 for an open one.
func measured(b *testing.B, ttft, tpot time.Duration, requests iter.Seq2[plan.Request, error], slots int) (clientReport, account) {
	b.Helper()
	base := startFixed(b, 1, ttft, tpot)
	plan := planOf(b, requests)
	folder := filepath.Join(b.TempDir(), "run")
	report := clientOn(b, 0, clientOrder{BaseURL: base, Plan: plan.Path(), Folder: folder, Slots: slots})
	truths := truthsOf(b, base)
	var a account
	first, last := math.Inf(1), 0.0
	for _, r := range rowsIn(b, folder) {
		if r.Failure != "" {
			b.Fatalf("row %d: %s %s", r.Seq, r.Failure, r.Detail)
		}
		was := truths[fmt.Sprintf("r1-%d", r.Seq)]
		a.late = append(a.late, *r.Sent-r.Due)
		a.ttft = append(a.ttft, *r.First-*r.Sent-was.TTFT)
		a.tpot = append(a.tpot, math.Abs((*r.Last-*r.First)/float64(r.OutputTokens-1)/was.TPOT-1))
		first, last = min(first, *r.First), max(last, *r.Last)
	}
	a.lasted = last - first
	slices.Sort(a.late)
	slices.Sort(a.ttft)
	slices.Sort(a.tpot)
	return report, a
}

func (a account) report(b *testing.B, client clientReport) {
	late, ttft, tpot := host.QuantilesOf(a.late), host.QuantilesOf(a.ttft), host.QuantilesOf(a.tpot)
	b.ReportMetric(late.P50*1e6, "late-p50-us")
	b.ReportMetric(late.P99*1e6, "late-p99-us")
	b.ReportMetric(late.Max*1e6, "late-max-us")
	b.ReportMetric(ttft.P50*1e6, "ttft-error-p50-us")
	b.ReportMetric(ttft.P99*1e6, "ttft-error-p99-us")
	b.ReportMetric(tpot.P50*100, "tpot-error-p50-%")
	b.ReportMetric(tpot.P99*100, "tpot-error-p99-%")
	b.ReportMetric(float64(client.PeakRSS)/1e6, "peak-rss-MB")
	b.ReportMetric(0, "ns/op")
}
