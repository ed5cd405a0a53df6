//go:build duckdb_arrow

package workload_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tidemark/analysis/workload"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

// Two files of a collection: client a has rates and joint lengths, b has rates of
// its own and takes the lengths of its class; a third file has marginals alone.
const shapes = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, collection, reader_version, ingested_at) values
    (11, 'rates', 'lengths', 'lengths', 'r.csv', 'r1', 1, 3, 3, 0, false, 'cluster', 3, now()),
    (12, 'cells', 'lengths', 'lengths', 'c.csv', 'c1', 1, 3, 3, 0, false, 'cluster', 3, now()),
    (13, 'marginals', 'lengths', 'lengths', 'm.csv', 'm1', 1, 4, 4, 0, false, null, 3, now()),
    (14, 'prompts', 'lengths', 'lengths', 'p.csv', 'p1', 1, 1, 1, 0, false, null, 3, now());
insert into raw.rate_windows by name
    select * from (values
        (11, 600.0, 1200.0, 'chat', 'a', 600.0, null, null, null),
        (11, 1200.0, 1800.0, 'chat', 'a', 1200.0, null, null, null),
        (11, 600.0, 1200.0, 'chat', 'b', 300.0, 2.0, 'gamma', 0.25))
    as windows (source_id, window_from_s, window_until_s, class, client, requests, gap_cv, gap_family, gap_shape);
insert into raw.length_cells by name
    select * from (values
        (12, 'chat', 'a', 0, 100, 0, 10, 3.0),
        (12, 'chat', 'a', 1000, 1000 + 1, 500, 501, 1.0),
        (13, null, null, 100, 200, null, null, 3.0),
        (13, null, null, 200, null, null, null, 1.0),
        (13, null, null, null, null, 0, 7, 4.0),
        (13, null, null, null, null, 7, 9, 0.0),
        (14, null, null, 0, 9, null, null, 5.0))
    as cells (source_id, class, client, input_above, input_up_to, output_above, output_up_to, requests)`

func drawn(t *testing.T, w *warehouse.Warehouse, name string, window workload.Window, o workload.SampleOptions) ([]plan.Request, workload.Sampled) {
	t.Helper()
	sequence, d, err := workload.Sample(context.Background(), w.DB(), name, window, o)
	must.Do(t, err)
	var requests []plan.Request
	for req, err := range sequence {
		must.Do(t, err)
		if requests = append(requests, req); len(requests) == 100_000 {
			break
		}
	}
	return requests, d
}

// 600 + 1,200 + 300 requests in 20 minutes, a quarter of them long.
func TestSamplesWhatHistogramsAndRatesSay(t *testing.T) {
	w := open(t, traces, shapes)
	requests, d := drawn(t, w, "cluster", workload.Window{}, workload.SampleOptions{Seed: 4})
	if d.Stats.Requests != 2100 || d.Stats.DurationS != 1200 || d.Stats.MeanRatePerS != 1.75 || !d.HasRate {
		t.Errorf("expected: got %+v, want 2100 requests in 1200 s", d)
	}
	if math.Abs(float64(len(requests))-2100) > 3*math.Sqrt(2100) {
		t.Errorf("got %d requests, want about 2100", len(requests))
	}
	long, second := 0, 0
	for _, req := range requests {
		if req.Due >= 10*time.Minute {
			second++
		}
		switch {
		case req.Class != "chat" || req.Due < 0 || req.Due >= 20*time.Minute:
			t.Fatalf("got %+v", req)
		case req.InputTokens == 1001 && req.OutputTokens == 501:
			long++
		case req.InputTokens > 100 || req.OutputTokens > 10 || req.InputTokens < 1:
			t.Fatalf("lengths of no cell: %+v", req)
		}
	}
	if share := float64(long) / float64(len(requests)); math.Abs(share-0.25) > 0.03 {
		t.Errorf("got a share of %.3f long ones, want 0.25", share)
	}
	if math.Abs(float64(second)-1200) > 3*math.Sqrt(1200) {
		t.Errorf("got %d requests in the second window, want about 1200", second)
	}
}

// Marginals alone: a rate must be said, prompts and answers are independent, and an
// open bucket ends at twice its lower bound; each of them is told.
func TestSamplesMarginalsAtARate(t *testing.T) {
	w := open(t, traces, shapes)
	requests, d := drawn(t, w, "marginals", workload.Window{}, workload.SampleOptions{Seed: 4, RatePerS: 5, Duration: 1000 * time.Second})
	notes := strings.Join(d.Notes, "\n")
	if d.HasRate || !strings.Contains(notes, "independently") || !strings.Contains(notes, "twice") {
		t.Errorf("got %+v", d)
	}
	open := 0
	for _, req := range requests {
		if req.InputTokens > 200 {
			open++
		}
		if req.InputTokens <= 100 || req.InputTokens > 400 || req.OutputTokens < 1 || req.OutputTokens > 7 {
			t.Fatalf("got %+v", req)
		}
	}
	if n := float64(len(requests)); math.Abs(n-5000) > 3*math.Sqrt(5000) || math.Abs(float64(open)/n-0.25) > 0.03 {
		t.Errorf("got %v requests, %d in the open bucket; want about 5000 and a quarter", n, open)
	}
	endless, _ := drawn(t, w, "marginals", workload.Window{}, workload.SampleOptions{RatePerS: 5})
	if len(endless) != 100_000 {
		t.Errorf("without an end: got %d requests", len(endless))
	}
}

// Rates take the lengths of another source where they have none of their own; a
// window is a part of them.
func TestSamplesRatesWithTheLengthsOfAnother(t *testing.T) {
	w := open(t, traces, shapes)
	requests, d := drawn(t, w, "rates", workload.Window{From: "+10m"}, workload.SampleOptions{Seed: 1, LengthsOf: "cells"})
	if d.Stats.Requests != 1200 || *d.Stats.FromS != 600 {
		t.Errorf("got %+v, want the 1200 of the second ten minutes", d.Stats)
	}
	for _, req := range requests {
		if req.Due < 0 || req.Due >= 10*time.Minute {
			t.Fatalf("due at %s", req.Due)
		}
	}
	for name, o := range map[string]workload.SampleOptions{
		"rates": {}, "cells": {}, "nothing": {}, "day": {}, "prompts": {RatePerS: 1},
	} {
		_, _, err := workload.Sample(context.Background(), w.DB(), name, workload.Window{}, o)
		want := map[string][2]string{"rates": {"rates and no lengths", "--lengths-of"}, "cells": {"lengths and no rates", "--request-rate"},
			"nothing": {"no source named", "known sources"}, "prompts": {"not both", "--lengths-of"}, "day": {"neither arrivals", "sources"}}[name]
		must.Fail(t, err, want[0], want[1])
	}
}

func TestIsShape(t *testing.T) {
	w := open(t, traces, shapes)
	for name, want := range map[string]bool{"cluster": true, "cells": true, "day": false, "nothing": false} {
		if got, err := workload.IsHistogram(context.Background(), w.DB(), name); got != want || err != nil {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

// Prompts of 1,024 tokens lie in a bucket from 1,000 to 2,000: drawn evenly, their mean was 1,500.
func TestLengthsOfAServerHaveTheMeanThatItCounted(t *testing.T) {
	metric := func(name, labels string, before, after float64) string {
		return fmt.Sprintf("(21, 0, 'vllm:%[1]s', '%[2]s', %[3]v), (22, 0, 'vllm:%[1]s', '%[2]s', %[4]v)", name, labels, before, after)
	}
	w := open(t, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, reader_version, ingested_at) values
    (21, 'pre', 'metrics', 'prometheus', 'pre', 'm21', 1, 1, 1, 0, false, 3, now()),
    (22, 'post', 'metrics', 'prometheus', 'post', 'm22', 1, 1, 1, 0, false, 3, now());
insert into raw.metrics (source_id, scrape, name, labels, value) values
    (21, 0, 'process_start_time_seconds', '', 10), (22, 0, 'process_start_time_seconds', '', 10),
    `+strings.Join([]string{
		metric("request_prompt_tokens_bucket", `le="1000"`, 1, 1), metric("request_prompt_tokens_bucket", `le="2000"`, 1, 101), metric("request_prompt_tokens_bucket", `le="+Inf"`, 1, 101),
		metric("request_prompt_tokens_sum", "", 7, 7+100*1024), metric("request_prompt_tokens_count", "", 1, 101),
		metric("request_generation_tokens_bucket", `le="100"`, 0, 50), metric("request_generation_tokens_bucket", `le="500"`, 1, 101), metric("request_generation_tokens_bucket", `le="+Inf"`, 1, 101),
		metric("request_generation_tokens_sum", "", 7, 7+100*256), metric("request_generation_tokens_count", "", 1, 101),
	}, ",\n    "))
	requests, d := drawn(t, w, "post", workload.Window{}, workload.SampleOptions{Seed: 1, RatePerS: 10, Duration: time.Hour})
	var input, output float64
	for _, r := range requests {
		input, output = input+float64(r.InputTokens), output+float64(r.OutputTokens)
		if r.InputTokens <= 1000 || r.InputTokens > 2000 || r.OutputTokens > 500 {
			t.Fatalf("%+v lies in no bucket", r)
		}
	}
	n := float64(len(requests))
	if math.Abs(input/n/1024-1) > 0.01 || math.Abs(output/n/256-1) > 0.02 {
		t.Errorf("got prompts of %.1f tokens and answers of %.1f in the mean, want 1024 and 256", input/n, output/n)
	}
	must.NotSay(t, strings.Join(d.Notes, "\n"), "cannot have the mean")
}
