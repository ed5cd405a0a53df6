//go:build duckdb_arrow

package fleet

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

var onH100 = deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", Engine: "vllm", EngineVersion: "0.11.2"}

var chatSLO = analysis.SLO{Schema: "tidemark.slo/2", Name: "chat", Objectives: []analysis.Objective{
	{Metric: "ttft_from_due", Percentile: 99, AtMost: 1}, {Metric: "tpot", Percentile: 99, AtMost: 0.05}, {Metric: "failure_ratio", AtMost: 0.01}}}

// searched is SQL for a search of the window of ten seconds of source aa, at 2 requests/s, that 4 replicas took 5 times of.
func searched(id, origin, day string, change func(header, answer string) (string, string)) string {
	header := `{"source": "day", "source_sha256": "aa", "window": {"from_s": 60, "until_s": 180, "requests": 2, "rate_per_s": 2}, "origin": "` + origin + `",
"deployment": {"gpu": "H100", "catalog_model": "llama-3.1-8b", "quantization": "bf16", "engine": "vllm", "max_num_seqs": 0}, "replicas": 4,
"slo": {"schema": "tidemark.slo/2", "name": "other name", "objectives": [{"metric": "tpot", "percentile": 99, "at_most": 0.05}, {"metric": "ttft_from_due", "percentile": 99, "at_most": 1}]},
"started_at": "2026-11-01T12:00:00Z"}`
	answer := `{"outcome": "found", "scale": 5, "scale_low": 4.5, "scale_high": 5.5, "rate_per_s": 10, "rate_low_per_s": 9, "rate_high_per_s": 11, "binding_objective": "p99 tpot",
"curve": [{"scale": 4, "missed_ratio": 0.005, "missed_low_ratio": 0.004, "missed_high_ratio": 0.006}],
"table": [{"run_id": "r1", "rate_per_s": 8, "missed_ratio": 0.004, "objective": "p99 tpot", "verdict": "met"}]}`
	if change != nil {
		header, answer = change(header, answer)
	}
	return fmt.Sprintf(`insert into raw.capacities (search_id, source_id, header, runs, answer, last_event_at) values ('%s', %d, '%s', '[{"number": 1, "id": "r1", "scale": 4, "load_s": 60}]', '%s', '%s 12:00:00+00');`,
		id, 100+len(id)+int(id[len(id)-1]), header, answer, day)
}

func replacing(old, new string) func(string, string) (string, string) {
	return func(header, answer string) (string, string) {
		return strings.ReplaceAll(header, old, new), strings.ReplaceAll(answer, old, new)
	}
}

// What a week rests on: each line is a warehouse with these searches.
func TestChoose(t *testing.T) {
	w := warehousetest.Open(t)
	warehousetest.Put(t, w, warehousetest.Traces)
	db := w.DB()
	weekEnd := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		what     string
		searches []string
		want     string // id
		why      string
	}{
		{"the newer of two that were measured, before newer ones that were not", []string{searched("old", "measured", "2026-08-02", nil), searched("m", "measured", "2026-09-01", nil),
			searched("s", "simulated", "2026-11-09", nil), searched("r", "rehearsed", "2026-11-10", nil)}, "m", ""},
		{"simulated before rehearsed, and passing over one on other GPUs", []string{searched("g", "measured", "2026-11-02", replacing("H100", "H200")), searched("s", "simulated", "2026-11-01", nil), searched("r", "rehearsed", "2026-11-10", nil)}, "s", ""},
		{"a rehearsed one counts for nothing", []string{searched("r", "rehearsed", "2026-11-10", nil)}, "", "no search for capacity is in the warehouse"},
		{"undecided, not confirmed, in a closed loop, of mean lengths", []string{
			searched("a", "measured", "2026-11-02", replacing(`"found"`, `"undecided"`)), searched("b", "measured", "2026-11-03", replacing(`"scale": 5,`, `"scale": 5, "confirmed": false,`)),
			searched("c", "measured", "2026-11-04", replacing(`"source": "day"`, `"source": "day", "mode": "closed"`)),
			searched("d", "measured", "2026-11-05", replacing(`"source": "day"`, `"source": "day", "lengths": "mean"`))}, "", "no search for capacity is in the warehouse"},
	} {
		for _, statement := range append([]string{"delete from raw.capacities"}, test.searches...) {
			must.Get(db.ExecContext(t.Context(), statement))(t)
		}
		found, why, err := Choose(t.Context(), db, onH100, chatSLO, weekEnd)
		if err != nil {
			t.Fatalf("%s: %v", test.what, err)
		}
		got := ""
		if found != nil {
			got = found.ID
		}
		if got != test.want || why != test.why {
			t.Errorf("%s: search %q because %q, want %q because %q", test.what, got, why, test.want, test.why)
		}
	}
	testServerOf(t, db)
	testTheSearch(t, db, func() *Search {
		found, why, err := Choose(t.Context(), db, onH100, chatSLO, weekEnd)
		if err != nil || found == nil {
			t.Fatal(why, err)
		}
		return found
	})
}

// A search fits where all that both say is the same.
func TestWhatASearchMustHaveInCommon(t *testing.T) {
	resolved := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", TensorParallelSize: 1, Quantization: "bf16", KVCacheDtype: "bf16", Engine: "vllm", MaxNumSeqs: 256, MaxNumBatchedTokens: 2048}
	for _, test := range []struct {
		what   string
		change func(*deployment.Deployment, *analysis.SLO)
		want   string
	}{
		{"nothing differs", func(*deployment.Deployment, *analysis.SLO) {}, ""},
		{"a limit of its own", func(d *deployment.Deployment, _ *analysis.SLO) { d.MaxNumSeqs = 64 }, "the newest has a max_num_seqs of 64"},
		{"another version", func(d *deployment.Deployment, _ *analysis.SLO) { d.EngineVersion = "0.9.0" }, "the newest is of version 0.9.0 of vllm"},
		{"more GPUs", func(d *deployment.Deployment, _ *analysis.SLO) { d.TensorParallelSize = 2 }, "the newest is of another tensor parallel size, 2"},
		{"another format", func(d *deployment.Deployment, _ *analysis.SLO) { d.Quantization = "fp8" }, "the newest is of another format of the weights, fp8"},
		{"another bound", func(_ *deployment.Deployment, slo *analysis.SLO) { slo.Objectives[1].AtMost = 0.06 }, "the newest is for other objectives"},
		{"one objective fewer", func(_ *deployment.Deployment, slo *analysis.SLO) { slo.Objectives = slo.Objectives[1:] }, "the newest is for other objectives"},
		{"no share of failures", func(_ *deployment.Deployment, slo *analysis.SLO) { slo.Objectives = slo.Objectives[:2] }, ""},
		{"the first schema means from due", func(_ *deployment.Deployment, slo *analysis.SLO) {
			slo.Schema, slo.Objectives[0].Metric = "tidemark.slo/1", "ttft"
		}, ""},
	} {
		said := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b"}
		slo := chatSLO
		slo.Objectives = slices.Clone(chatSLO.Objectives)
		test.change(&said, &slo)
		had := resolved
		had.EngineVersion = said.EngineVersion
		had.TensorParallelSize = max(said.TensorParallelSize, 1)
		had.MaxNumSeqs, had.Quantization = cmp.Or(said.MaxNumSeqs, 256), cmp.Or(said.Quantization, "bf16")
		wanted := resolved
		wanted.EngineVersion = "0.11.2"
		s := Search{asked: asked{said, slo}}
		if got := s.differs(had, wanted, chatSLO); got != test.want {
			t.Errorf("%s: got %q, want %q", test.what, got, test.want)
		}
	}
}

// testTheSearch: 10 requests/s of 4 replicas are 2.5 each, of a window at 0.5 each; its requests are those from 60 s to 180 s after the trace's first.
func testTheSearch(t *testing.T, db *sql.DB, choose func() *Search) {
	put := func(statement string) {
		must.Get(db.ExecContext(t.Context(), statement))(t)
	}
	put("delete from raw.capacities")
	put(searched("m", "measured", "2026-10-01", nil))
	s := choose()
	within(t, "rate of a replica", s.PerS, 2.5, 1e-9)
	within(t, "low", s.LowPerS, 2.25, 1e-9)
	within(t, "high", *s.HighPerS, 2.75, 1e-9)
	within(t, "window's rate", s.WindowPerS, 0.5, 1e-9)
	within(t, "allowed", *s.Allowed, 0.01, 1e-9)
	if len(s.Curve) != 1 || s.Curve[0] != (Share{2, 0.005, 0.004, 0.006}) || len(s.Points) != 1 || s.Points[0].PerS != 2 || !s.Points[0].IsValid {
		t.Errorf("curve %+v, points %+v", s.Curve, s.Points)
	}
	if s.Window == nil || len(s.Window.Requests) != 3 || s.Window.Requests[0].InputTokens != 200 || s.Window.Requests[2].Due != time.Minute || s.Window.Span != 2*time.Minute {
		t.Errorf("window %+v", s.Window)
	}

	// The week's lengths are the window's own, or all others: the sentence says which, and that the search is old.
	weekEnd := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	sentence := func(hour Hour) string {
		a := Asked{Server: quick(), Hours: []Hour{hour}, Search: s, WeekEnd: weekEnd}
		answer := Answer{Hours: make([]Need, 1), Busiest: -1}
		must.Do(t, answer.rests(t.Context(), a.rehearser(), nil, nil, true))
		return answer.Basis.Sentence
	}
	want := "Measured on 1 October 2026 with day: one replica handles 2.50 requests/s (2.25 to 2.75), and each hour is rehearsed with a server as fast as that one; it is 52 days old."
	if got := sentence(Hour{Shape: *s.Window}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	other := Shape{Requests: append(s.Window.Requests[:0:0], s.Window.Requests...)}
	for i := range other.Requests {
		other.Requests[i].InputTokens = 5000
	}
	want = "Measured on 1 October 2026 with day: one replica handles 2.50 requests/s (2.25 to 2.75), and each hour is rehearsed with a server as fast as that one; this week's lengths are others (distance 1.00); it is 52 days old."
	if got := sentence(Hour{Shape: other}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	// The trace is no longer there; the search ended at the largest multiple; it was on a simulated server.
	put("delete from raw.capacities")
	put("delete from raw.arrivals where source_id = 1")
	put(searched("x", "simulated", "2026-11-20", func(h, a string) (string, string) {
		return h, `{"outcome": "above_max", "scale_low": 20, "rate_low_per_s": 40}`
	}))
	s = choose()
	if s.Window != nil || s.HighPerS != nil || s.PerS != 10 || s.LowPerS != 10 {
		t.Errorf("above_max: %+v", s)
	}
	want = "Measured on a simulated server on 20 November 2026 with day: one replica handles 10.0 requests/s (at least 10.0), used without a correction for this week's lengths, " +
		"because that traffic is no longer in the warehouse; no real GPU was measured: this interval is of sampling alone, and every need and headroom also holds step times that are wrong by ±15.0 %."
	if got := sentence(Hour{}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// testServerOf: the server of a deployment has its room, its limits and its band; a share of failures is no objective.
func testServerOf(t *testing.T, db *sql.DB) {
	s := must.Get(ServerOf(t.Context(), db, onH100, chatSLO))(t)
	if s.Band < 0.1 || s.Band > 0.4 {
		t.Errorf("band of vLLM: %v", s.Band)
	}
	if len(s.Objectives) != 2 || s.Objectives[0].Quantile != 0.99 || s.Engine.KVBlocks < 10_000 || s.Engine.MaxNumSeqs == 0 || s.Engine.StepTime == nil || s.Engine.MaxModelLen != 131072 {
		t.Errorf("%+v", s)
	}
	must.Refuse(ServerOf(t.Context(), db, onH100, analysis.SLO{Name: "x", Objectives: chatSLO.Objectives[2:]}))(t, "no limit to a rate")
}
