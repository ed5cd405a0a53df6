//go:build duckdb_arrow

package reports_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/hint"
	"tidemark/internal/proof/golden"
	"tidemark/internal/proof/must"
	"tidemark/reports"
)

// searched is a search for capacity as ingest would have left it.
type searched struct {
	id, source, startedAt string
	origin, mode, lengths string
	seqs                  int     // max_num_seqs
	outcome               string  // empty: not ended
	scale                 float64 // its interval is 5 % to each side; 0: none
	text                  string  // stands in why and in the notes
	runs                  []string
}

func insertSearch(t testing.TB, db *sql.DB, source int, s searched) {
	t.Helper()
	header := map[string]any{
		"source": s.source, "source_sha256": "of " + s.source, "window": map[string]any{"from_s": 600, "until_s": 1200, "requests": 3000, "rate_per_s": 5},
		"mode": s.mode, "by": "sessions", "lengths": s.lengths, "origin": s.origin, "replicas": 1,
		"deployment": map[string]any{"gpu": "H100", "catalog_model": "llama-3.1-8b", "quantization": "bf16", "max_num_seqs": s.seqs},
		"slo": map[string]any{"name": "chat", "objectives": []any{
			map[string]any{"metric": "ttft", "percentile": 99, "at_most": 0.5}, map[string]any{"metric": "tpot", "percentile": 99, "at_most": 0.06},
		}},
		"max_scale": 20, "started_at": s.startedAt,
	}
	runs, table := []any{}, []any{}
	for i, id := range s.runs {
		// Around the limit: met, missed by another objective, late.
		scale := s.scale * (0.9 + float64(i)*0.1)
		runs = append(runs, map[string]any{"number": i + 1, "id": id, "why": "at the limit", "scale": scale, "load_s": 120, "verdict": "met"})
		table = append(table, map[string]any{"run_id": id, "rate_per_s": 5 * scale, "missed_ratio": []float64{0, 0.02, 0.05}[i%3],
			"objective": []string{"p99 ttft", "p99 tpot", "p99 ttft"}[i%3], "verdict": []string{"met", "not met", "late"}[i%3]})
	}
	var answer any
	if s.outcome != "" {
		a := map[string]any{"outcome": s.outcome, "why": s.text, "load_s": 120 * len(runs), "table": table, "predicted_scale": 2.5}
		if s.text != "" {
			a["notes"] = []string{s.text}
		}
		switch {
		case s.outcome == "above_max":
			a["scale_low"] = 20
		case s.outcome == "below_min":
			a["scale_high"], a["binding_objective"] = 0.05, "p99 ttft"
		case s.scale > 0:
			a["scale"], a["scale_low"], a["scale_high"], a["binding_objective"] = s.scale, s.scale/1.05, s.scale*1.05, "p99 ttft"
			curve := []any{}
			for part := 0.7; part < 1.35; part += 0.1 {
				missed := 0.01 * math.Pow(part, 9)
				curve = append(curve, map[string]any{"scale": s.scale * part, "missed_ratio": missed, "missed_low_ratio": missed / 1.5, "missed_high_ratio": missed * 1.5})
			}
			a["curve"] = curve
			if s.mode == "closed" {
				a["concurrency"] = int(s.scale)
			} else {
				a["rate_per_s"] = 5 * s.scale
			}
			if s.mode == "sessions" {
				a["users"] = 212
			}
		}
		if s.outcome == "undecided" {
			a["minutes_enough"] = 40
		}
		answer = a
	}
	text := func(v any) any {
		if v == nil {
			return nil
		}
		encoded := must.Get(json.Marshal(v))(t)
		return string(encoded)
	}
	insert(t, db, `insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, reader_version, ingested_at)
values ($1, $2, 'capacity', 'capacity', 's', $2, 1, 1, 1, 0, false, 1, '2026-11-20')`, source, "state of "+s.id)
	insert(t, db, `insert into raw.capacities (search_id, source_id, header, runs, answer, last_event_at) values ($1, $2, $3, $4, $5, '2026-11-21')`,
		s.id, source, text(header), text(runs), text(answer))
}

func TestReportOfSearches(t *testing.T) {
	db := record(t, recorded{id: "r1", name: "one run", requests: 120})
	for i, s := range []searched{
		{id: "old", source: "azure-code", startedAt: "2026-11-18T12:00:00Z", seqs: 128, outcome: "found", scale: 1.5},
		{id: "new", source: "azure-code", startedAt: "2026-11-20T12:00:00Z", seqs: 256, outcome: "found", scale: 1.8, runs: []string{"r1", "x2", "x3"}, text: "the client was late once"},
		{id: "mean", source: "azure-code", startedAt: "2026-11-20T13:00:00Z", seqs: 256, lengths: "mean", outcome: "found", scale: 2.7},
		{id: "users", source: "agents", startedAt: "2026-11-20T12:00:00Z", mode: "sessions", origin: "rehearsed", outcome: "found", scale: 3},
		{id: "closed", source: "closed", startedAt: "2026-11-20T12:00:00Z", mode: "closed", origin: "simulated", outcome: "found", scale: 64},
		{id: "above", source: "above", startedAt: "2026-11-20T12:00:00Z", outcome: "above_max"},
		{id: "below", source: "below", startedAt: "2026-11-20T12:00:00Z", outcome: "below_min"},
		{id: "impossible", source: "impossible", startedAt: "2026-11-20T12:00:00Z", outcome: "not_possible"},
		{id: "unsure", source: "unsure", startedAt: "2026-11-20T12:00:00Z", outcome: "undecided", scale: 2, text: "the share hardly changes with the load"},
		{id: "died", source: "died", startedAt: "2026-11-20T12:00:00Z", outcome: "invalid", text: "the server died"},
		{id: "going", source: "going", startedAt: "2026-11-20T12:00:00Z", runs: []string{"x4"}},
	} {
		insertSearch(t, db, 20+i, s)
	}
	of := func(names ...string) reports.Options { return reports.Options{Sources: names} }
	for _, c := range []struct {
		what string
		o    reports.Options
		says []string
		nots []string
	}{
		{"the answer of a source's newest search, its runs, what was before it, and what averages promise", of("azure-code"),
			[]string{"How much can it take: azure-code, measured", "1.80 times the window’s traffic, 1.71 to 1.89 (90 %), 9.00 requests/s; p99 TTFT binds.",
				"At 1.80 times the window’s traffic, 1 % of requests miss the bound of p99 TTFT", "p99 TTFT at most 500 ms; p99 TPOT at most 60.0 ms",
				"it was 1.50: now 1.20×, 1.12× to 1.29× (90 %). What changed: max_num_seqs 128 to 256.",
				"Average lengths promise 2.70 times the window’s traffic (<bdi>mean</bdi>); the real ones reached 1.80: 1.50× of it was promised.",
				"late, does not count", "Before the first run, 2.50 was predicted", "the client was late once", "1 % may miss",
				"A control: all requests have the average lengths", ">late run<", ">run, of another objective<", ">before<", ">the model’s 90 % band<"},
			[]string{`id="search3-capacity"`, "1.50 times the window’s traffic"}},
		{"an earlier search by its id", of("old"), []string{"Capacity of llama-3.1-8b bf16 on H100 x1 for azure-code", "1.50 times the window’s traffic"}, []string{"1.80 times"}},
		{"a run's page has the search that sent it, and no other", reports.Options{RunIDs: []string{"r1"}},
			[]string{"1.80 times the window’s traffic", `id="search1-capacity"`}, []string{`id="search2-capacity"`}},
		{"every way to send and every outcome", of("agents", "closed", "above", "below", "impossible", "unsure", "died", "going"),
			[]string{"8 searches for capacity", "15.0 requests/s, 212 users at a time", "Rehearsed in virtual time: nothing was sent", "No run on a server has confirmed it",
				"64 requests in flight, 61.0 to 67.2 (90 %); p99 TTFT binds.", "no GPU", "More than 20 times the window’s traffic", "Less than 0.05 times the window’s traffic",
				"not even a request alone", "Undecided: 2.00 times the window’s traffic, 1.90 to 2.10 (90 %) so far; about 40.0 minutes of load", "the share hardly changes",
				"Invalid: there is no answer.", "the server died", "Not ended: 1 run so far."}, nil},
	} {
		html := write(t, db, c.o)
		golden.Says(t, c.what, html, c.says, c.nots)
		if found := regexp.MustCompile(`NaN|\bInf\b|&lt;nil&gt;|%!|could not be drawn`).FindString(html); found != "" {
			t.Errorf("%s: the page says %q", c.what, found)
		}
		checkHeadings(t, html)
	}
	err := reports.Write(context.Background(), db, of("azure"), nil)
	if !hint.IsMisuse(err) || !strings.Contains(fmt.Sprint(hint.Of(err)), "azure-code") {
		t.Errorf("an unknown source: got %v, hint %q; want a misuse that names azure-code", err, hint.Of(err))
	}
}

// The control has average lengths and everything else of the run.
func TestAControlStandsBesideItsRun(t *testing.T) {
	db := record(t, recorded{id: "own", name: "own lengths", requests: 200, isFull: true}, recorded{id: "mean", name: "average lengths", requests: 200, isFull: true})
	insert(t, db, `update raw.runs set document = json_merge_patch(document, '{"plan": {"scaling": {"lengths": "mean"}}}') where run_id = 'mean'`)
	insert(t, db, `update raw.requests set first_token_s = sent_s + 0.02 where run_id = 'mean' and first_token_s is not null`)
	html := write(t, db, reports.Options{RunIDs: []string{"own", "mean"}})
	must.Say(t, html,
		"The control is <bdi>mean</bdi>",
		"This run is the control: the same arrivals, each with the average lengths; the real lengths are those of <bdi>own</bdi>.",
		"Average lengths promise p99 TTFT 20.0 ms; the real ones took 78.0 ms (3.90×).",
	)
}
