//go:build duckdb_arrow

package workload_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/analysis/workload"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/replay/plan"
)

func collect(t *testing.T, w *warehouse.Warehouse, source string, window workload.Window) ([]plan.Request, workload.SourceStats) {
	t.Helper()
	requests, stats, err := workload.Arrivals(context.Background(), w, source, window, workload.Starts{})
	if err != nil {
		t.Fatalf("Arrivals(%s, %v): %v", source, window, err)
	}
	all := must.All(requests)(t)
	return all, stats
}

// brief is what a window changes of its requests: inputs at their due times.
func brief(requests []plan.Request) string {
	var parts []string
	for _, r := range requests {
		parts = append(parts, fmt.Sprintf("%d@%v", r.InputTokens, r.Due))
	}
	return strings.Join(parts, " ")
}

func TestArrivalsOfAWindow(t *testing.T) {
	w := open(t, traces)
	for _, test := range []struct {
		why    string
		source string
		window workload.Window
		want   string
	}{
		{"the whole trace begins at its first arrival, equal instants in the file's order", "day", workload.Window{},
			"100@0s 200@1m0s 400@2m0s 300@2m0s"},
		{"times of day", "day", workload.Window{From: "18:01:30", Until: "18:02:30"}, "200@30s"},
		{"from is in, until is out", "day", workload.Window{From: "18:02", Until: "18:03"}, "200@0s"},
		{"offsets since the first arrival", "day", workload.Window{From: "+30s", Until: "+2m"}, "200@30s"},
		{"full instants with a zone", "day", workload.Window{From: "2023-11-16T19:02:00+01:00"}, "200@0s 400@1m0s 300@1m0s"},
		{"a window that begins before the trace begins with it", "day", workload.Window{From: "09:00", Until: "18:01:30"}, "100@0s"},
		{"relative times take offsets", "relative", workload.Window{Until: "+1ns"}, "6955@0s"},
		{"nanoseconds are kept", "relative", workload.Window{}, "6955@0s 10@1ns"},
		{"two days take a full instant", "days", workload.Window{From: "2023-11-17 00:00"}, "1@18h0m0s"},
	} {
		got, _ := collect(t, w, test.source, test.window)
		if brief(got) != test.want {
			t.Errorf("%s: Arrivals(%s, %v): got %s, want %s", test.why, test.source, test.window, brief(got), test.want)
		}
	}
}

func TestArrivalsCarryEverything(t *testing.T) {
	w := open(t, traces)
	got, _ := collect(t, w, "relative", workload.Window{})
	want := plan.Request{InputTokens: 6955, OutputTokens: 52, Blocks: []uint64{46, 47, 1<<64 - 1}, BlockTokens: 512}
	if fmt.Sprint(got[0]) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
	got, _ = collect(t, w, "day", workload.Window{})
	want = plan.Request{Seq: 1, Due: time.Minute, InputTokens: 200, OutputTokens: 20, Session: "s", Turn: 1, Class: "chat"}
	if fmt.Sprint(got[1]) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got[1], want)
	}
}

func TestArrivalsStats(t *testing.T) {
	w := open(t, traces)
	_, stats := collect(t, w, "day", workload.Window{})
	// 4 requests of 3 sessions in the 120 s from the first arrival to the last.
	if stats.SHA256 != "aa" || stats.Requests != 4 || stats.Sessions != 3 || stats.DurationS != 120 ||
		stats.MeanRatePerS != 4.0/120 || stats.FromS != nil || stats.UntilS != nil {
		t.Errorf("whole trace: got %+v", stats)
	}
	_, stats = collect(t, w, "day", workload.Window{From: "+60s", Until: "+100s"})
	if stats.Requests != 1 || stats.DurationS != 40 || *stats.FromS != 60 || *stats.UntilS != 100 {
		t.Errorf("part: got %+v", stats)
	}
}

func TestArrivalsErrors(t *testing.T) {
	w := open(t, traces)
	for _, test := range []struct {
		source     string
		window     workload.Window
		text, hint string
	}{
		{"azure", workload.Window{}, `no source named "azure"`, `known sources are day, days, relative; add one with "tidemark ingest"`},
		{"relative", workload.Window{From: "09:00"}, `source relative: --from "09:00": its times are relative`, "+10m"},
		{"days", workload.Window{Until: "09:00"}, "more than one day", "2023-11-16T09:00:00Z"},
		{"day", workload.Window{From: "18:20+01:00"}, `--from "18:20+01:00": not a time`, "with its zone (Z or +01:00)"},
		{"day", workload.Window{From: "nine"}, `--from "nine": not a time`, "09:00"},
		{"day", workload.Window{From: "+ten"}, "not an offset", "+10m"},
		{"day", workload.Window{From: "18:02", Until: "18:01"}, "--until 18:01 is not after --from 18:02", "swap"},
		{"day", workload.Window{From: "09:00", Until: "10:00"}, "source day: no arrivals between 09:00 and 10:00", "from 2023-11-16 18:01:00 +00:00 to 2023-11-16 18:03:00 +00:00"},
		{"day", workload.Window{From: "20:00"}, "source day: no arrivals between 20:00 and its end", "from 2023-11-16 18:01:00 +00:00 to 2023-11-16 18:03:00 +00:00"},
	} {
		_, _, err := workload.Arrivals(context.Background(), w, test.source, test.window, workload.Starts{})
		must.Fail(t, err, test.text, test.hint)
	}
}

// More rows than one part, most of them at one instant, in no order in the file.
func TestArrivalsInParts(t *testing.T) {
	const rows = 300_000
	w := open(t, fmt.Sprintf(`
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, time_unit, zone_assumption, block_tokens, reader_version, ingested_at) values
    (1, 'large', 'arrivals', 'azure', 'l.csv', 'aa', 10, %d, %[1]d, 0, null, false, 's', null, null, 1, now());
insert into raw.arrivals
select 1, line, case when line %% 2 = 0 then 500000 else (line * 7919) %% %[1]d end, line, 1, null, null, null, null
from range(%[1]d) as lines (line)`, rows))
	got, stats := collect(t, w, "large", workload.Window{})
	if len(got) != rows || stats.Requests != rows {
		t.Fatalf("got %d requests and a count of %d, want %d", len(got), stats.Requests, rows)
	}
	for i := range got {
		got[i].Seq -= int64(i)
	}
	if !slices.IsSortedFunc(got, func(a, b plan.Request) int {
		if a.Due != b.Due {
			return int(a.Due - b.Due)
		}
		return a.InputTokens - b.InputTokens // the line
	}) {
		t.Error("not in order of arrival and line")
	}
	if slices.ContainsFunc(got, func(r plan.Request) bool { return r.Seq != 0 }) {
		t.Error("seq does not count from 0 without a hole")
	}
}

func TestArrivalsCanBeLeftEarly(t *testing.T) {
	w := open(t, traces)
	requests, _, err := workload.Arrivals(context.Background(), w, "day", workload.Window{}, workload.Starts{})
	must.Do(t, err)
	for request := range requests {
		if request.InputTokens == 200 {
			break
		}
	}
	if got, _ := collect(t, w, "day", workload.Window{}); len(got) != 4 {
		t.Errorf("after leaving early: got %d requests, want 4", len(got))
	}
}
