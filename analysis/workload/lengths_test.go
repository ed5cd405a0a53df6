//go:build duckdb_arrow

package workload_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"tidemark/analysis/workload"
	"tidemark/internal/proof/must"
	"tidemark/replay/profile"
)

func TestLengthsOfATrace(t *testing.T) {
	w := open(t, traces, `
insert into raw.arrivals values
    (1, 6, 3780000000000, 100, 10, null, null, null, null),
    (1, 7, 3780000000001, 100, 0, null, null, null, null)`)
	// Four requests about 18:01, one of 19:03 with the lengths of the first, and one that failed.
	got := must.Get(workload.Lengths(context.Background(), w.DB(), "day", workload.Window{}))(t)
	if want := []profile.Pair{{Input: 100, Output: 10, Count: 2}, {Input: 200, Output: 20, Count: 1}, {Input: 300, Output: 30, Count: 1}, {Input: 400, Output: 40, Count: 1}}; !slices.Equal(got.Pairs, want) {
		t.Errorf("pairs: %v, want %v", got.Pairs, want)
	}
	if len(got.Hours[18]) != 4 || !slices.Equal(got.Hours[19], []profile.Pair{{Input: 100, Output: 10, Count: 1}}) || len(got.Hours[0]) != 0 {
		t.Errorf("by the hour: %v", got.Hours)
	}
	if want := []float64{60, 60, 0, 3600}; !slices.Equal(got.GapsS, want) {
		t.Errorf("gaps: %v, want %v", got.GapsS, want)
	}
	part, err := workload.Lengths(context.Background(), w.DB(), "day", workload.Window{From: "18:02", Until: "18:03"})
	if err != nil || !slices.Equal(part.Pairs, []profile.Pair{{Input: 200, Output: 20, Count: 1}}) {
		t.Errorf("one minute of it: %v, %v", part.Pairs, err)
	}
	relative, err := workload.Lengths(context.Background(), w.DB(), "relative", workload.Window{})
	if err != nil || len(relative.Hours[0]) != 2 {
		t.Errorf("without a clock: %v, %v", relative, err)
	}
	must.Refuse(workload.Lengths(context.Background(), w.DB(), "azure", workload.Window{}))(t, `no source named "azure"`, "known sources are")
	must.Refuse(workload.Lengths(context.Background(), w.DB(), "day", workload.Window{From: "20:00", Until: "21:00"}))(t, "no request with prompt and output", "it lasts from")
}

func TestLengthsOfARun(t *testing.T) {
	w := open(t, `
insert into raw.runs values ('r', 1, '{"status": "done", "result": {"is_valid": true}}');
insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, output_tokens_reported)
select 'r', seq, false, 100, 11, seq, seq, seq + 0.05, seq + 0.15, seq + 0.15, 11
from range(20) as numbers (seq);
update raw.requests set is_warm_up = true where seq < 5;
update raw.requests set failure = 'cut_stream' where seq = 5;
update raw.requests set input_tokens_reported = 104, output_tokens_reported = 7 where seq = 6`,
		`insert into raw.runs values ('empty', 1, '{"status": "running"}')`)
	got, isRun, err := workload.LengthsOfRun(context.Background(), w.DB(), "r")
	want := []profile.Pair{{Input: 100, Output: 11, Count: 13}, {Input: 104, Output: 7, Count: 1}}
	if err != nil || !isRun || !slices.Equal(got.Pairs, want) {
		t.Errorf("got %v, %v, %v; want %v", got.Pairs, isRun, err, want)
	}
	if _, isRun, err := workload.LengthsOfRun(context.Background(), w.DB(), "nothing"); isRun || err != nil {
		t.Errorf("no run: %v, %v", isRun, err)
	}
	if _, _, err := workload.LengthsOfRun(context.Background(), w.DB(), "empty"); err == nil {
		t.Error("a run without success has lengths")
	}
}

// Too many different pairs come down to buckets of a hundredth, whose sums stay what they were.
func TestLengthsOfALargeTraceAreBounded(t *testing.T) {
	const rows = 400_000
	w := open(t, fmt.Sprintf(`
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at) values
    (1, 'large', 'arrivals', 'azure', 'l.csv', 'aa', 10, %d, %[1]d, 0, null, false, 's', null, null, 1, now());
insert into raw.arrivals
select 1, line, line * 1000000, 1 + (line * 7919) %% 100003, 1 + (line * 104729) %% 3001, null, null, null, null
from range(%[1]d) as lines (line)`, rows))
	got := must.Get(workload.Lengths(context.Background(), w.DB(), "large", workload.Window{}))(t)
	var requests, input int64
	for _, p := range got.Pairs {
		requests += p.Count
		input += p.Count * int64(p.Input)
	}
	want := 0.0
	for line := range rows {
		want += float64(1 + (line*7919)%100003)
	}
	if requests != rows || math.Abs(float64(input)/want-1) > 1e-3 {
		t.Errorf("%d requests with %d tokens, want %d with %.0f", requests, input, rows, want)
	}
	if len(got.Pairs) > 350_000 || len(got.GapsS) != rows-1 || time.Duration(got.GapsS[7]*1e9) != time.Millisecond {
		t.Errorf("%d pairs, %d gaps", len(got.Pairs), len(got.GapsS))
	}
	t.Logf("%d different pairs stand for %d requests", len(got.Pairs), rows)
}
