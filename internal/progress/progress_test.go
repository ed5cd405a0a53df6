package progress

import (
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/internal/terminal"
	"tidemark/replay"
)

// Rows a second and the time left, worked out by hand: 2 M rows in 4 s are
// 500,000/s; a quarter of the bytes in 4 s leaves 12 s.
// At 80 columns, "1" was left of a throughput of 1,230 tok/s.
func TestAProgressLineCutsNoNumber(t *testing.T) {
	p := replay.Progress{
		Elapsed: 65 * time.Second, PlanDuration: 10 * time.Minute, Sent: 1300, Planned: 12000, InFlight: 12, LateP99: 1200 * time.Microsecond,
		TPOT: 9060 * time.Microsecond, PredictedTPOT: 7510 * time.Microsecond, OutputTokensPer: 1230,
	}
	for _, c := range []struct {
		columns int
		want    string
	}{
		{100, "1m5s/10m0s  sent 1300/12000  failed 0  late 1.20 ms  TPOT 9.06 of 7.51 ms  open 12  1,230 tok/s"},
		{80, "1m5s/10m0s  sent 1300/12000  failed 0  late 1.20 ms  TPOT 9.06 of 7.51 ms"},
		{60, "1m5s/10m0s  sent 1300/12000  failed 0  late 1.20 ms"},
		{40, "1m5s/10m0s  sent 1300/12000  failed 0"},
		{10, ""},
	} {
		if got := terminal.Fitting(replayFields(p), c.columns-1); got != c.want {
			t.Errorf("%d columns: got %q, want %q", c.columns, got, c.want)
		}
	}
}

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
		if got := terminal.Fitting(ingestFields(c.p, c.elapsed), 79); got != c.want {
			t.Errorf("%s: got %q, want %q", c.why, got, c.want)
		}
	}
}
