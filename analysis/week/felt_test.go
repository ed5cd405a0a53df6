//go:build duckdb_arrow

package week

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// feltCounters are two hours of two replicas. From nine to ten both are looked at each quarter: 100 requests each in all, whose first tokens
// come within 0.1 s (50), 0.5 s (98 of a, 96 of b), 1 s (all of a, 98 of b). Nobody looks from 10:15 to 11:15: what was counted then is
// in no hour, and from ten on there are the 40 of a's first quarter, which are too few for a p99.
const feltCounters = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'a', 'metrics', 'prometheus-collected', 'p', 'a', 1, 1, 1, 0, timestamptz '2026-11-16 09:00:00+00', true, 4, now());
insert into raw.metrics (source_id, scrape, at_ns, name, labels, value)
select 1, 0, minute * 60_000_000_000, 'vllm:time_to_first_token_seconds_bucket', concat('instance="', replica, '",le="', le, '"'), counted
from (values
    (0, 'a', '0.1', 0), (0, 'a', '0.5', 0), (0, 'a', '1', 0), (0, 'a', '+Inf', 0),
    (15, 'a', '0.1', 20), (15, 'a', '0.5', 40), (15, 'a', '1', 41), (15, 'a', '+Inf', 41),
    (60, 'a', '0.1', 50), (60, 'a', '0.5', 98), (60, 'a', '1', 100), (60, 'a', '+Inf', 100),
    (75, 'a', '0.1', 70), (75, 'a', '0.5', 130), (75, 'a', '1', 138), (75, 'a', '+Inf', 140),
    (135, 'a', '0.1', 7000), (135, 'a', '0.5', 8000), (135, 'a', '1', 9000), (135, 'a', '+Inf', 9999),
    (0, 'b', '0.1', 5), (0, 'b', '0.5', 5), (0, 'b', '1', 5), (0, 'b', '+Inf', 5),
    (60, 'b', '0.1', 55), (60, 'b', '0.5', 101), (60, 'b', '1', 103), (60, 'b', '+Inf', 105)
) as seen (minute, replica, le, counted)
union all
select 1, 0, minute * 60_000_000_000, name, labels, counted
from (values
    (0, 'vllm:time_to_first_token_seconds_sum', 'instance="a"', 0e0), (60, 'vllm:time_to_first_token_seconds_sum', 'instance="a"', 30e0),
    (0, 'vllm:time_to_first_token_seconds_count', 'instance="a"', 0), (60, 'vllm:time_to_first_token_seconds_count', 'instance="a"', 100),
    (0, 'vllm:request_success_total', 'finished_reason="abort",instance="a"', 3), (60, 'vllm:request_success_total', 'finished_reason="abort",instance="a"', 39),
    (0, 'vllm:admission_rejections_total', 'instance="a"', 0), (60, 'vllm:admission_rejections_total', 'instance="a"', 18),
    (0, 'vllm:request_queue_time_seconds_bucket', 'instance="a",le="+Inf"', 0), (60, 'vllm:request_queue_time_seconds_bucket', 'instance="a",le="+Inf"', 7),
    (0, 'vllm:num_preemptions_total', 'instance="a"', 0), (60, 'vllm:num_preemptions_total', 'instance="a"', 360),
    (0, 'vllm:num_requests_waiting', 'instance="a"', 4), (30, 'vllm:num_requests_waiting', 'instance="a"', 8),
    (30, 'vllm:kv_cache_usage_perc', 'instance="a"', 0.5), (30, 'vllm:kv_cache_usage_perc', 'instance="b"', 0.75)
) as seen (minute, name, labels, counted);
`

func TestFeltInHours(t *testing.T) {
	w := warehousetest.Open(t)
	must.Get(w.DB().Exec(feltCounters))(t)
	nine := time.Date(2026, 11, 16, 9, 0, 0, 0, time.UTC)
	hours := []Hour{{Start: nine.Add(-time.Hour)}, {Start: nine}, {Start: nine.Add(time.Hour)}, {Start: nine.Add(2 * time.Hour)}}
	felt := must.Get(FeltIn(t.Context(), w.DB(), []int64{1}, hours, SLO{Objectives: []Objective{
		{Metric: "ttft", Percent: 50, AtMost: 0.2}, {Metric: "ttft_from_due", Percent: 99, AtMost: 0.5}, {Metric: "ttft", Percent: 99, AtMost: 0.01, Class: "chat"}}}))(t)
	var lines []string
	for _, f := range felt {
		text := must.Get(json.Marshal(f))(t)
		lines = append(lines, string(text))
	}
	// In all 200 from nine to ten: 100 up to 0.1 s, 194 up to 0.5 s, 198 up to 1 s. The p99 is the 198th: above 0.5 s for certain. 97 % are
	// within 0.5 s. 36 of a's ended by abort in the hour.
	want := []string{
		`{"hour_start":"2026-11-16T09:00:00Z","metric":"ttft","count":200,"p50":{"low":0,"high":0.1},"p95":{"low":0.1,"high":0.5},"p99":{"low":0.5,"high":1},` +
			`"within_ratio":{"low":0.97,"high":0.97},"errors_per_s":0.01,"rejected_per_s":0.005,"mean_s":0.3,"limit_s":0.5,"is_broken":true,"waiting":null,"kv_usage_ratio":null,"preempted_per_s":null}`,
		`{"hour_start":"2026-11-16T09:00:00Z","metric":"queue","count":7,"p50":{"low":0,"high":null},"p95":{"low":0,"high":null},"p99":null,` +
			`"within_ratio":null,"errors_per_s":null,"rejected_per_s":null,"mean_s":null,"limit_s":null,"is_broken":false,"waiting":6,"kv_usage_ratio":0.625,"preempted_per_s":0.1}`,
		`{"hour_start":"2026-11-16T10:00:00Z","metric":"ttft","count":40,"p50":{"low":0,"high":0.1},"p95":{"low":0.5,"high":1},"p99":null,` +
			`"within_ratio":{"low":0.8,"high":0.8},"errors_per_s":null,"rejected_per_s":null,"mean_s":null,"limit_s":0.5,"is_broken":false,"waiting":null,"kv_usage_ratio":null,"preempted_per_s":null}`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if none, err := FeltIn(t.Context(), w.DB(), nil, hours, SLO{}); err != nil || none != nil {
		t.Errorf("no sources: got %v, %v", none, err)
	}
}

// A limit between two bounds gives a share that is known up to its bucket.
func TestWithinALimit(t *testing.T) {
	buckets := []bucket{{0.1, 50}, {0.5, 90}, {1, 100}}
	for _, c := range []struct {
		limit float64
		want  string
	}{{0.05, "0 0.5"}, {0.1, "0.5 0.5"}, {0.3, "0.5 0.9"}, {1, "1 1"}, {2, "1 1"}} {
		b := withinOf(buckets, c.limit)
		if got := fmt.Sprint(b.Low, " ", *b.High); got != strings.ReplaceAll(c.want, " ", " ") {
			t.Errorf("%v: got %s, want %s", c.limit, got, c.want)
		}
	}
}
