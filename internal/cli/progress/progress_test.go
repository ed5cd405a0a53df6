package progress

import (
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/internal/cli/terminal"
	"tidemark/replay"
)

// At 80 columns, "1" was left of a throughput of 1,230 tok/s. At 40 there was no time left, no lateness and no TPOT.
func TestAProgressLineHasWholeFieldsAtAnyWidth(t *testing.T) {
	p := replay.Progress{
		Elapsed: 65 * time.Second, PlanDuration: 10 * time.Minute, Sent: 1300, Planned: 12000, InFlight: 12, LateP99: 1200 * time.Microsecond,
		TPOT: 9060 * time.Microsecond, PredictedTPOT: 7510 * time.Microsecond, OutputTokensPer: 1230, SentPerS: 20, TTFTP99: 85 * time.Millisecond,
	}
	failing, unpredicted, sent, hot, two := p, p, p, p, p
	two.Model = "small"
	hot.Throttled = "GPU 3 by heat since 40s"
	failing.Failed = 7
	unpredicted.PredictedTPOT = 0
	sent.Sent, sent.Elapsed = 12000, 10*time.Minute
	for _, c := range []struct {
		columns   int
		mode, slo string
		p         replay.Progress
		want      string
	}{
		{200, "open", "SLO missed: p99 TTFT", p, "1m5s passed  8m55s left  failed 0  SLO missed: p99 TTFT  TPOT 9.06 ms (predicted 7.51 ms)  p99 TTFT 85.0 ms  1,300/12,000 sent  20.0/s  p99 late 1.20 ms  12 in flight  1,230 tokens/s"},
		{130, "open", "", p, "8m55s left  20.0/s  12 in flight  p99 TTFT 85.0 ms  TPOT 9.06 ms (predicted 7.51 ms)  p99 late 1.20 ms  1,300/12,000 sent"},
		{120, "open", "", p, "8m55s left  20.0/s  12 in flight  p99 TTFT 85.0 ms  TPOT 9.06 (predicted 7.51 ms)  p99 late 1.20 ms"},
		{80, "open", "", p, "8m55s left  20/s  12 open  TTFT 85 ms  TPOT 9.06 (pred. 7.51 ms)  late 1.2 ms"},
		{80, "open", "SLO met so far", p, "8m55s left  SLO met  20/s  TTFT 85 ms  TPOT 9.06 (pred. 7.51 ms)  late 1.2 ms"},
		{80, "open", "", failing, "8m55s left  failed 7  20/s  TTFT 85 ms  TPOT 9.06 (pred. 7.51 ms)  late 1.2 ms"},
		{80, "open", "SLO met so far", unpredicted, "8m55s left  SLO met  20/s  12 open  TTFT 85 ms  TPOT 9.06 ms  late 1.2 ms"},
		{80, "closed", "", p, "8m55s left  20/s  12 open  TTFT 85 ms  TPOT 9.06 (pred. 7.51 ms)  late 1.2 ms"}, // 65 s * 10,700 / 1,300
		{80, "open", "", sent, "all sent  20/s  12 open  TTFT 85 ms  TPOT 9.06 (pred. 7.51 ms)  late 1.2 ms"},
		{230, "open", "", hot, "1m5s passed  8m55s left  failed 0  clocks held down: GPU 3 by heat since 40s  TPOT 9.06 ms (predicted 7.51 ms)  p99 TTFT 85.0 ms  1,300/12,000 sent  20.0/s  p99 late 1.20 ms  12 in flight  1,230 tokens/s"},
		{80, "open", "", hot, "8m55s left  clocks held down  TPOT 9.06 (pred. 7.51 ms)  11 % sent"},
		{80, "open", "", two, "8m55s left  20/s  TTFT 85 ms  TPOT of small 9.06 (pred. 7.51 ms)  late 1.2 ms"},
		{60, "open", "", p, "8m55s left  TPOT 9.06 (pred. 7.51 ms)  11 % sent"},
		{40, "open", "", p, "8m55s left  TPOT 9.06 (pred. 7.51 ms)"},
		{10, "open", "", p, ""},
	} {
		if got := terminal.Fitting(c.columns-1, replayForms(c.p, c.mode, c.slo)...); got != c.want {
			t.Errorf("%d columns, %s: got %q, want %q", c.columns, c.mode, got, c.want)
		}
	}
}

// A log had nothing from the first request to the verdict, an hour later.
func TestALogGetsALineEveryTenSeconds(t *testing.T) {
	var log strings.Builder
	shown, end := Replay(&log, "open", &Judge{})
	for second := range 35 {
		shown(replay.Progress{Elapsed: time.Duration(second) * time.Second, PlanDuration: 40 * time.Second, Sent: int64(second), Planned: 40})
	}
	end()
	want := "10s passed  30s left  failed 0  10/40 sent  0/s  p99 late 0 ms  0 in flight  0 tokens/s\n" +
		"20s passed  20s left  failed 0  20/40 sent  0/s  p99 late 0 ms  0 in flight  0 tokens/s\n" +
		"30s passed  10s left  failed 0  30/40 sent  0/s  p99 late 0 ms  0 in flight  0 tokens/s\n"
	if log.String() != want {
		t.Errorf("got\n%swant\n%s", log.String(), want)
	}
}

// "left" of sessions rose while they waited: 10 of 30 requests in 60 s are two minutes more, but think times alone take 8 more.
func TestSessionsLeaveTheirThinkTimes(t *testing.T) {
	p := replay.Progress{Planned: 30, Sent: 10, Elapsed: time.Minute, PlanDuration: 9 * time.Minute}
	for want, elapsed := range map[string]time.Duration{"8m0s left": time.Minute, "3m0s left": 6 * time.Minute, "20m0s left": 10 * time.Minute} {
		p.Elapsed = elapsed
		if got := timeLeft(p, "sessions"); got != want {
			t.Errorf("after %s: got %s, want %s", elapsed, got, want)
		}
	}
}

// Rows a second and the time left, worked out by hand: 2 M rows in 4 s are 500,000/s; a quarter of the bytes in 4 s leaves 12 s.
func TestIngestProgress(t *testing.T) {
	cases := []struct {
		why     string
		p       ingest.Progress
		elapsed time.Duration
		want    string
	}{
		{"one file", ingest.Progress{Files: 1, Bytes: 250e6, Size: 1e9, Rows: 2_000_000}, 4 * time.Second,
			"2000000 rows  500 k/s  25 % of 1.00 GB  12s left"},
		{"several", ingest.Progress{Files: 9, FilesDone: 3, Bytes: 1e6, Size: 2e6, Rows: 500}, 500 * time.Millisecond,
			"500 rows  1.00 k/s  3 of 9 files  50 % of 2.00 MB"},
		{"a stream, of which nobody knows the end", ingest.Progress{Files: 1, Bytes: 1e6, Rows: 100}, time.Second, "100 rows  100/s"},
	}
	for _, c := range cases {
		if got := terminal.Fitting(79, ingestFields(c.p, c.elapsed)); got != c.want {
			t.Errorf("%s: got %q, want %q", c.why, got, c.want)
		}
	}
}
