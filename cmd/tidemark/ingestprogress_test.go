package main

import (
	"testing"
	"time"

	"tidemark/ingest"
)

// Rows a second and the time left, worked out by hand: 2 M rows in 4 s are
// 500,000/s; a quarter of the bytes in 4 s leaves 12 s.
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
		if got := ingestText(c.p, c.elapsed); got != c.want {
			t.Errorf("%s: got %q, want %q", c.why, got, c.want)
		}
	}
}
