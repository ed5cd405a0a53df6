//go:build duckdb_arrow

package reports_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/proof/golden"
	"tidemark/internal/proof/must"
	"tidemark/reports"
)

var update = flag.Bool("update", false, "write the golden report anew")

var (
	usual = recorded{id: "r1", name: "azure-code at noon", note: "before the upgrade", isSimulated: true, requests: 120, lateness: 0.003, isFull: true}
	late  = recorded{id: "r2", name: "azure-code, late", requests: 120, lateness: 0.03, slowness: 1.5}
	draft = recorded{id: "r3", name: "a draft", requests: 60, lateness: 0.003, isDraft: true}
)

// The three on one page, and the last alone, written once: a report takes seconds.
var (
	database = sync.OnceValue(func() *sql.DB {
		db := record(keeper{}, usual, late, draft)
		insert(keeper{}, db, fmt.Sprintf(decided, usual.id, late.id))
		return db
	})
	together = sync.OnceValue(func() string {
		return write(keeper{}, database(), reports.Options{GeneratedAt: time.Unix(1_800_000_000, 0), Version: "test"})
	})
	alone = sync.OnceValue(func() string { return write(keeper{}, database(), reports.Options{RunIDs: []string{"r3"}}) })
)

// keeper lets what was made for one test live for all; it ends with the process.
type keeper struct{ testing.TB }

func (keeper) Helper()           {}
func (keeper) Cleanup(func())    {}
func (keeper) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// TempDir lasts as long as the process.
func (k keeper) TempDir() string {
	folder := must.Get(os.MkdirTemp("", "tidemark-reports"))(k)
	kept = append(kept, folder)
	return folder
}

// kept are the folders that TestMain removes.
var kept []string

func TestMain(m *testing.M) {
	code := m.Run()
	for _, folder := range kept {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

var drawing = regexp.MustCompile(`<svg [\s\S]*?</svg>`)

// Drawings have tests of their own in reports/plot; here the page around them is held.
func TestReportIsAsItsGoldenFile(t *testing.T) {
	got := drawing.ReplaceAllString(together(), "<svg/>")
	golden.Check(t, "report.html", got, together(), *update)
}

func TestTheSameDataIsTheSameBytes(t *testing.T) {
	if again := write(t, record(t, usual, late, draft), reports.Options{RunIDs: []string{"r3"}}); alone() != again {
		t.Errorf("two reports of the same data differ %s", golden.Difference(alone(), again))
	}
}

func TestAReportIsOneSafeFile(t *testing.T) {
	html := together()
	const policy = `content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"`
	must.Say(t, html, policy)
	if found := regexp.MustCompile(`<script|<iframe|<img|<link|\son[a-z]+=|@import|src=|href="[^#]|url\([^#]`).FindString(html); found != "" {
		t.Errorf("the page has %q, which could load or run something", found)
	}
	if found := regexp.MustCompile(`NaN|\bInf\b|&lt;nil&gt;|%!|could not be drawn`).FindString(html); found != "" {
		t.Errorf("the page says %q", found)
	}
	// Five runs are to fit into 1.5 MB.
	if len(html) > 900_000 {
		t.Errorf("the page of three runs is %d bytes, want less than 900 kB", len(html))
	}
	seen := map[string]bool{}
	for _, id := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if seen[id[1]] {
			t.Errorf("id %s is there twice", id[1])
		}
		seen[id[1]] = true
	}
	figures, captions, tables := strings.Count(html, "<figure "), strings.Count(html, "<figcaption>"), strings.Count(html, "<summary>The numbers and the query</summary>")
	if figures < 9 || figures != captions || figures != tables {
		t.Errorf("got %d figures, %d captions and %d tables behind them, want one of each", figures, captions, tables)
	}
	checkHeadings(t, html)
}

func checkHeadings(t *testing.T, html string) {
	t.Helper()
	before := byte('0')
	for _, heading := range regexp.MustCompile(`<h([1-6])`).FindAllStringSubmatch(html, -1) {
		level := heading[1][0]
		if level > before+1 || level == '1' && before != '0' {
			t.Errorf("a heading of level %c follows one of level %c", level, before)
		}
		before = level
	}
}

func TestWhatAReportSays(t *testing.T) {
	for _, c := range []struct {
		what       string
		html       string
		says, nots []string
	}{
		{"simulated runs are named at the top", together(),
			[]string{"<strong>SIMULATED.</strong>\nOf these runs, the following were served by Tidemark’s simulated vLLM and not by a GPU: <bdi>azure-code at noon</bdi>.\n" +
				"The simulator takes its times from the macros of the prediction, so that their agreement proves nothing about a GPU.</aside>"}, nil},
		{"a late client makes a run invalid", together(), []string{"Not valid: p99 lateness was 29.6\u202fms, limit 10\u202fms"}, nil},
		{"a prediction where the deployment is known", together(), []string{"The terms of the prediction add up to", "weights from HBM"}, nil},
		{"an SLO is the first thing said", together(),
			[]string{"Undecided: p99 ITL was 7.04\u202fms, limit 7\u202fms", "undecided, about 192 more requests", "too few independent bursts to tell, about 519 more requests", "share of failures</th>", "p95 TTFT from due</th>"}, nil},
		{"the certificate says what is not as it should be", together(),
			[]string{"40.0\u202f% cached, this row is warm", "TTFT here 4.00\u202fms longer", "had each gone out when due"}, nil},
		{"a server's settings that are not as asked", together(), []string{"1 setting is not as asked or assumed", "Asked or assumed</th>", "<bdi>1024</bdi></td>"}, nil},
		{"a run that says little of its server", alone(), nil, []string{"What the server says", "By class, turn and server", "Objectives</h2>"}},
		{"a draft is not compared, and 60 requests have no p99", alone(),
			[]string{"not compared", "withheld", "so it is a draft"}, []string{"Bandwidth</h2>", "SIMULATED"}},
	} {
		golden.Says(t, c.what, c.html, c.says, c.nots)
	}
}

// The headline is a decision of at most sixty characters.
func TestARunBeginsWithItsDecision(t *testing.T) {
	met := recorded{id: "met", name: "met", requests: 400, lateness: 0.003}
	missed, failed, adapted := met, met, met
	missed.id, failed.id, adapted.id = "missed", "failed", "adapted"
	db := record(t, met, missed, failed, adapted, recorded{id: "none", name: "no SLO", requests: 120, lateness: 0.003})
	insert(t, db, `update raw.runs set document = json_merge_patch(document, '{"slo": {"name": "chat", "objectives": [{"metric": "ttft", "percentile": 99, "at_most": 1}]}}') where run_id <> 'none'`)
	insert(t, db, `update raw.runs set document = json_merge_patch(document, '{"effective": {"unmodelled": "LoRA"}}') where run_id = 'adapted'`)
	insert(t, db, `update raw.requests set first_token_s = first_token_s + 2, last_token_s = last_token_s + 2, done_s = done_s + 2 where run_id = 'missed' and seq between 200 and 239 and failure is null`)
	insert(t, db, `update raw.requests set failure = 'http_503', http_status = 503, first_token_s = null, last_token_s = null, chunk_offsets_us = null, chunk_tokens = null where run_id = 'failed' and seq % 2 = 0`)
	for run, says := range map[string][]string{
		"met":     {"<h1>Met: p99 TTFT from due was 80.0\u202fms, limit 1\u202fs</h1>", `<span class="mark ok">✓</span> limit 1`, "find out how much more it takes:"},
		"missed":  {"<h1>Not met: p99 TTFT from due was 2.08\u202fs, limit 1\u202fs</h1>", "The limit broke in one stretch: ", "<strong>40 of 396 requests</strong> were beyond 1\u202fs of TTFT from due (", "40 of them between 1:40 and 2:00"},
		"failed":  {"<h1>Failed: ", "requests did not come back whole</h1>"},
		"adapted": {"<h1>Met: p99 TTFT", "not compared", "LoRA: not modelled", "its server runs with LoRA, which is not modelled: the time per token stands beside nothing"},
		"none":    {"<h1>No SLO: time per token ", "as predicted</h1>", "tidemark report none --slo FILE --output judged.html --warehouse w.duckdb"},
	} {
		html := write(t, db, reports.Options{RunIDs: []string{run}, Warehouse: " --warehouse w.duckdb"})
		if len(html) > 400e3 {
			t.Errorf("%s: the page has %d bytes, want at most 400 kB", run, len(html))
		}
		for _, text := range says {
			must.Say(t, html, text)
		}
		if title := regexp.MustCompile(`<h1>(.*?)</h1>`).FindStringSubmatch(html)[1]; len([]rune(title)) > 60 {
			t.Errorf("%s: the headline has %d characters: %s", run, len([]rune(title)), title)
		}
		if first, _, _ := strings.Cut(html, "<nav"); strings.Count(first, "<figure ") != 1 {
			t.Errorf("%s: the first screen has %d charts, want one", run, strings.Count(first, "<figure "))
		}
		if shown, _, _ := strings.Cut(html[strings.Index(html, `class="stack cert"`):], "</table>"); strings.Count(shown, `<th role="rowheader"`) != 5 {
			t.Errorf("%s: %d lines of the certificate are not folded, want 5", run, strings.Count(shown, `<th role="rowheader"`))
		}
	}
}

// The headline said that p99 lateness broke, and the tile that it was withheld: of forty requests the latest one is told. What is late is
// compared with nothing.
func TestALateRunOfFewRequests(t *testing.T) {
	db := record(t, recorded{id: "few", name: "few", requests: 40, lateness: 0.5}, recorded{id: "again", name: "again", requests: 40, lateness: 0.5})
	for _, c := range []struct {
		runs       []string
		says, nots []string
	}{
		{[]string{"few"}, []string{"Not valid: a request went out 500 ms late, limit 10 ms</h1>", `class="broke"><dt>Client’s lateness, latest</dt><dd class="v">500`}, []string{"Client’s lateness, p99"}},
		{[]string{"few", "again"}, []string{"Fewer than two of these runs are valid and no drafts: nothing is compared"}, []string{"×, no interval", "~ 1"}},
	} {
		html := write(t, db, reports.Options{RunIDs: c.runs})
		for _, text := range c.says {
			must.Say(t, html, text)
		}
		for _, text := range c.nots {
			must.NotSay(t, html, text)
		}
	}
}

// Of prompts that were cached but for their last tokens, a line was drawn through 1 to 16 tokens and read at a thousand.
func TestWhatAPromptTakesNeedsPrompts(t *testing.T) {
	db := record(t, recorded{id: "long", name: "long", requests: 120, lateness: 0.003, isFull: true}, recorded{id: "cached", name: "cached", requests: 120, lateness: 0.003, isFull: true})
	insert(t, db, `update raw.requests set cached_tokens_reported = case run_id when 'cached' then input_tokens - 1 - seq % 16 else 0 end`)
	const few = "too few to tell what a token takes"
	if html := write(t, db, reports.Options{RunIDs: []string{"long"}}); !strings.Contains(html, "low_predicted_ttft_s") || strings.Contains(html, few) {
		t.Errorf("of long prompts the page has no band of the predicted TTFT, or says %q", few)
	}
	if html := write(t, db, reports.Options{RunIDs: []string{"cached"}}); !strings.Contains(html, few) || strings.Contains(html, "for every thousand tokens") {
		t.Errorf("of at most 16 computed tokens the page does not say %q", few)
	}
}

// A run with steps of its engine shows them over the batch and where the time went; one without has no such section.
func TestARunShowsItsEngineSteps(t *testing.T) {
	db := record(t, recorded{id: "s", name: "with steps", requests: 120, lateness: 0.003}, recorded{id: "n", name: "without", requests: 120, lateness: 0.003})
	insert(t, db, "insert into raw.step_sources (source_id, zero_of_year_s, is_by_api_server, is_async, is_sampled, lost_steps) values (97, 0, true, true, false, 0)")
	insert(t, db, "insert into raw.step_joins (run_id, source_id, offset_s, begin_s, end_s, missing_ratio, foreign_ratio) values ('s', 97, 10, 0, 20, 0, 0)")
	// 40 steps a second, each fourth with a prompt.
	insert(t, db, `
insert into raw.steps by name
select
    97 as source_id, '' as engine, 0 as rank, seq, (seq // 40 * 1e9)::bigint as at_ns, 1e-3 as elapsed_s, (seq % 4 = 0)::integer as prefill_requests,
    100 * (seq % 4 = 0)::integer as prefill_tokens, 8 + seq // 200 as decode_requests, 8 + seq // 200 as decode_tokens, false as is_dummy
from range(440, 1160) as steps (seq)`)
	html := write(t, db, reports.Options{})
	must.Say(t, tightless(html), "The engine made 720 steps, one each ", "the GPU waited ", "requests that decode in a step", "predicted for the same seconds", "decoding and prompts", "the engine may be ahead")
	if n := strings.Count(html, ">Engine steps</h"); n != 1 {
		t.Errorf("%d sections of steps, want that of one run", n)
	}
}

// tightless has plain blanks in place of those that keep a number and its unit together.
func tightless(html string) string {
	return strings.NewReplacer("\u00a0", " ", "\u202f", " ", "&nbsp;", " ").Replace(html)
}

// What the GPUs' exporter says is on the run's own axis of time, a line a GPU, and power gives tokens per joule: 78.1/s over 2 x 400 W in the steady part,
// which ends with the load. The half minute in which the GPUs idle after it counted too.
func TestARunShowsItsGPUs(t *testing.T) {
	db := record(t, recorded{id: "g", name: "with GPUs", requests: 120, lateness: 0.003, isFull: true})
	insert(t, db, `
insert into raw.samples (run_id, at_s, origin, url, name, labels, value)
select 'g', at_s, 'server', 'http://127.0.0.1:9400/metrics', name, 'gpu="' || gpu || '"', value
from (
    unpivot (
        select at_s, gpu, 0.75 as "DCGM_FI_PROF_SM_ACTIVE", 0.5 as "DCGM_FI_PROF_DRAM_ACTIVE", case when at_s <= 60 then 400 else 70 end as "DCGM_FI_DEV_POWER_USAGE", 1980 as "DCGM_FI_DEV_SM_CLOCK", 61 as "DCGM_FI_DEV_GPU_TEMP"
        from range(91) as seconds (at_s), range(2) as gpus (gpu)
    )
    on columns(* exclude (at_s, gpu)) into name name value value
)`)
	// Three profiles; one is named after the run, and ingest --run gave it one.
	insert(t, db, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, is_dated, reader_version, ingested_at)
select source_id, name, 'kernels', 'nsys', name || '.csv', name, 1, 1, 1, 0, false, 1, '2026-11-20 12:20:00+00'
from (values (98, 'another'), (99, 'with-gpus-cuda-gpu-kern-sum'), (100, 'g_kernels')) as profiles (source_id, name)`)
	insert(t, db, `
insert into raw.kernels (source_id, seq, name, instances, total_s)
values (98, 0, 'ncclDevKernel_AllReduce', 10, 9), (99, 0, 'flash_fwd_kernel', 10, 3), (99, 1, 'nvjet_gemm', 10, 1), (100, 0, 'flash_fwd_kernel', 10, 3), (100, 1, 'nvjet_gemm', 10, 1)`)
	html := write(t, db, reports.Options{})
	must.Say(t, html, "2 GPUs drew up to 400", "SM active, %", "DRAM active, %", "power, W", "SM clock, MHz", "temperature, °C", ">GPU 1</text>", "<p>0.0982 output tokens per joule (0.0937 to 0.103, 90 % interval of batch means), 10.2 J a token: 78.6/s at 800 W of all GPUs, from 437",
		"A request takes ", "prompt tokens that were computed",
		"attention took 75.0\u202f% of the GPU’s kernel time", "By profile g_kernels, the first of 2 profiles of this run",
		"Kernels of with-gpus-cuda-gpu-kern-sum: attention 75.0 % (predicted ", "Kernels of g_kernels: attention 75.0 % (predicted ", "so that the steady part of the run (from ",
		"What fits, and how long prompts wait by a formula", "One replica has room for ", "By the formula of Pollaczek and Khinchine (prompts at random instants, computed one after the other) a prompt waits ")
}

// decided accepts one run and rejects another.
const decided = `insert into raw.decisions (decision_id, run_id, place, status, document) values
    ('d', '%s', 0, 'accepted', '{"reason": "least <b>cost</b>", "by": "ann", "at": "2026-11-21T12:00:00Z", "contract": {"name": "chat", "shape": {"distance_at_most": 0.1}, "cost": {"usd_per_million_at_most": 2}},
        "rule": "met: stop tuning", "why": "met: stop tuning", "path": [{"question": "is the run valid?", "answer": "yes"}], "distance": 0.04, "cost_per_million_accepted_tokens": 1.25, "tpot_s": 0.011, "predicted_tpot_s": 0.01, "slowdown_ratio": 1.1}'),
    ('d', '%s', 1, 'rejected', '{"reason": "least cost", "by": "ann", "at": "2026-11-21T12:00:00Z", "rule": "not met: TTFT binds", "why": "not met: TTFT binds", "measured_on": "vllm on H100"}')`

// Only a run that was decided on has the section.
func TestARunShowsWhatWasDecidedOnIt(t *testing.T) {
	wide, narrow := recorded{id: "wide", name: "wide", requests: 60, lateness: 0.003}, recorded{id: "narrow", name: "narrow", requests: 60, lateness: 0.003}
	db := record(t, wide, narrow)
	before := write(t, db, reports.Options{RunIDs: []string{"wide"}})
	insert(t, db, fmt.Sprintf(decided, "wide", "narrow"))
	golden.Says(t, "the run that was accepted", write(t, db, reports.Options{RunIDs: []string{"wide"}}),
		[]string{"Decision</h2>", "least &lt;b&gt;cost&lt;/b&gt;", "under the contract <bdi>chat</bdi>", "cost $1.25 of at most $2.00", "Path: is the run valid? yes. <strong>met: stop tuning</strong>", "1 run rejected instead", "not met: TTFT binds"}, nil)
	golden.Says(t, "the run that was rejected", write(t, db, reports.Options{RunIDs: []string{"narrow"}}), []string{"<strong>rejected</strong> by <bdi>ann</bdi>"}, []string{"rejected instead"})
	golden.Says(t, "a run before it was decided on", before, nil, []string{"Decision</h2>"})
}

func TestAnExperimentShowsItsSteps(t *testing.T) {
	var runs []recorded
	for _, level := range []string{"1", "2", "4"} {
		runs = append(runs, recorded{id: "e" + level, name: level + " in flight", requests: 40, lateness: 0.003, level: level})
	}
	runs = append(runs, recorded{id: "e4b", name: "4 in flight, stopped", requests: 40, lateness: 0.003, level: "4"},
		recorded{id: "e8", name: "8 in flight, late", requests: 40, lateness: 0.5, level: "8"})
	db := record(t, runs...)
	insert(t, db, "update raw.runs set document = replace(document::varchar, '\"done\"', '\"interrupted\"') where run_id = 'e4b'")
	insert(t, db, byLateness+" where run_id = 'e8'")
	insert(t, db, "update raw.requests set cached_tokens_reported = case when run_id = 'e4' then input_tokens // 2 else 0 end")
	all := write(t, db, reports.Options{})
	must.Say(t, all, "<h1>The knee is at max concurrency 2: beyond it load waits</h1>", "Hypothesis: <bdi>two are as fast as one</bdi>", "so it is for the reader to judge")
	html := write(t, db, reports.Options{RunIDs: []string{"e1"}})
	must.Say(t, html,
		"Steps of how many at once", "To be shown: <bdi>two are as fast as one</bdi>",
		"1 run stopped before the end counts for nothing here",
		"of their prompt tokens the server had between 0 % and 50.0 % cached",
		"with its knee at 2: from there added load brings less than half",
		"what is hollow is of invalid, failed or stopped runs and counts for nothing", ">invalid</text>",
	)
}

const byLateness = `update raw.runs set document = json_merge_patch(document, '{"settings": {"mode": "open"}}')`

// All levels of an experiment were invalid, and its chart said that "No level is past the knee".
func TestWhatIsInvalidClaimsNothing(t *testing.T) {
	experiment := func(lateness ...float64) string {
		var runs []recorded
		for i, late := range lateness {
			level := fmt.Sprint(i + 1)
			runs = append(runs, recorded{id: "e" + level, name: level + " in flight", requests: 40, lateness: late, level: level})
		}
		db := record(t, runs...)
		insert(t, db, byLateness) // a closed loop is judged by the concurrency that it kept
		return write(t, db, reports.Options{RunIDs: []string{"e1"}})
	}
	const fine, tooLate = 0.003, 0.5
	for _, c := range []struct {
		what       string
		html       string
		says, nots []string
	}{
		{"all levels are invalid", experiment(tooLate, tooLate),
			[]string{"No level has a valid run: nothing is known of its throughput", "what is hollow is of invalid, failed or stopped runs and counts for nothing",
				"No level has a valid run: nothing is known of its TTFT", "n = 0 requests of 0 valid levels", "n = 40 requests; of an invalid run"},
			[]string{"no level is past the knee", "Throughput reached", "with its knee", "Median TTFT from due lies"}},
		{"one of two levels is invalid", experiment(fine, tooLate),
			[]string{"with 1 valid level nothing is known of a knee", "Median TTFT from due was", "n = 40 requests of 1 valid level", ">invalid</text>"},
			[]string{"no level is past the knee", "with its knee", "Median TTFT from due lies"}},
	} {
		golden.Says(t, c.what, c.html, c.says, c.nots)
	}
}

// A run of which nothing came back has no distribution, and two requests are none.
func TestChartsOfFewRequestsClaimNothing(t *testing.T) {
	db := record(t, recorded{id: "none", requests: 40, lateness: 0.003}, recorded{id: "one", requests: 40, lateness: 0.003})
	insert(t, db, `
update raw.requests
set first_token_s = null, last_token_s = null, chunk_offsets_us = null, chunk_tokens = null, failure = 'http_503', http_status = 503, output_tokens_reported = null
where run_id = 'none' or seq <> 7`)
	none := drawing.ReplaceAllString(write(t, db, reports.Options{RunIDs: []string{"none"}}), "")
	must.Say(t, none,
		"A TTFT is known of 0 completed requests: no distribution</strong>",
		"A TPOT is known of 0 completed requests: no distribution</strong>", "<p>0 answers came whole: no distribution.",
	)
	one := drawing.ReplaceAllString(write(t, db, reports.Options{RunIDs: []string{"one"}}), "")
	must.Say(t, one,
		"p90 of TTFT lay at 49.2\u202fms", "A TPOT is known of 1 completed request: no distribution</strong>", "<p>1 answer came whole: no distribution.",
		"Only 1 request can be compared with a prediction: too few for a finding</strong>",
	)
	for _, html := range []string{none, one} {
		if found := regexp.MustCompile(`<figcaption>[^<]*(between|Half of|median request|–)[^<]*`).FindString(html); found != "" {
			t.Errorf("the page says %q", found)
		}
	}
}

func TestAKilledRunIsNotCalledValid(t *testing.T) {
	html := write(t, record(t, recorded{id: "k1", name: "killed", requests: 40, lateness: 0.003, isKilled: true}), reports.Options{})
	must.Say(t, html,
		"invalid, neither pass nor fail: the run never ended (killed?): 20 requests have no row",
		"20 not sent or not ended",
		"40 requests, speed 1",
	)
}

// One that says 2 ms a token where an H100 needs 4.48 ms for the weights alone is no reason to doubt the H100.
func TestARequestBelowTheFloorIsAnErrorOfTheData(t *testing.T) {
	const text = "decoded faster than the floor. Nothing does: this is an error in the data."
	must.NotSay(t, together(), text)
	db := record(t, recorded{id: "f1", name: "fast", requests: 40, lateness: 0.003})
	insert(t, db, `update raw.requests set last_token_s = first_token_s + 2e-3 * (output_tokens - 1) where seq in (7, 8)`)
	html := drawing.ReplaceAllString(write(t, db, reports.Options{}), "")
	must.Say(t, html,
		"2 requests "+text,
		"2 requests of 40 decoded faster than memory allows",
		"2 of 40 requests were faster than H100 memory allows: check GPU, model, format, tensor parallel size; invalid, neither pass nor fail",
	)
}

// "688 sent" and "697 were due" stood on one page, and what differed was the warm-up.
func TestAPageNamesItsWarmUp(t *testing.T) {
	db := record(t, recorded{id: "w1", name: "warm", requests: 60, lateness: 0.003, isFull: true})
	insert(t, db, `update raw.requests set is_warm_up = due_s < 5`)
	insert(t, db, `update raw.runs set document = json_merge_patch(document, '{"settings": {"warm_up_s": 5}, "environment": {"engine_version": ""}, "server": {"version": "0.32.0"}}')`)
	html := drawing.ReplaceAllString(write(t, db, reports.Options{}), "")
	for text, times := range map[string]int{
		"<dt>Warm-up</dt><dd>10 further requests, due in the first 5 s:": 1,
		"done: 50 sent": 1,
		"<figcaption><strong>60 requests were due and 60 were sent":    1,
		"This is the whole run: 10 requests of warm-up are in it.":     2,
		"<bdi>vllm</bdi> <bdi>0.32.0</bdi>, max-num-seqs":              1,
		"<figcaption><strong>At most 5 ran and 2 waited in the engine": 1,
	} {
		if got := strings.Count(html, text); got != times {
			t.Errorf("the page says %q %d times, want %d", text, got, times)
		}
	}
}

// A median of 11.2 ms lay "between 11.2 ms and 11.2 ms", two runs were both "demo", and a name with U+202E turned round
// what followed it.
func TestRunsOfOneNameAreToldApart(t *testing.T) {
	const turning = "demo \u202e odd"
	one := recorded{id: "d1", name: turning, requests: 40, lateness: 0.003}
	two := one
	two.id = "d2"
	html := write(t, record(t, one, two), reports.Options{})
	for _, name := range []string{turning + " (d1)", turning + " (d2)"} {
		bare, isolated := strings.Count(drawing.ReplaceAllString(html, ""), name), strings.Count(html, "<bdi>"+name+"</bdi>")
		if isolated == 0 || bare != isolated {
			t.Errorf("%q stands %d times on the page and %d times for itself", name, bare, isolated)
		}
	}
	must.Say(t, html, "TPOT lies at ")
	alone := write(t, record(t, one), reports.Options{})
	must.Say(t, alone, `<header class="mast"><span><b><bdi>`+turning+"</bdi></b>")
	must.Say(t, alone, "40 requests over 20.0 s, speed 1")
}

// Two runs whose p99 has no interval were "0 of 1 runs differ" below a headline of 2x: what the intervals of the medians tell counts.
func TestTheTableOfRunsSaysWhatTheHeadlineSays(t *testing.T) {
	one := recorded{id: "tp1", name: "tp1", requests: 200, lateness: 0.003}
	same, slow := one, one
	same.id, same.name = "same", "same"
	slow.id, slow.name, slow.slowness = "tp2", "tp2", 2
	html := write(t, record(t, one, slow), reports.Options{})
	must.Say(t, html, "The second run differs from the first by more than chance", "median 2.00× (", "median TPOT 2.00")
	html = write(t, record(t, one, same), reports.Options{})
	must.Say(t, html, "Nothing shows that the second run differs from the first", "~ median 1.00× (1.00 to 1.00)")
	html = write(t, record(t, one, same, slow), reports.Options{})
	must.Say(t, html, "<h1>2 of 3 pairs of runs differ by more than chance</h1>", "1 of 2 runs differ from the first by more than chance",
		"Of all 3 pairs 3 have an interval, and 2 differ by more than chance; one interval in ten misses. Not told apart: same and tp1.")
	// As fast on twice the GPUs: of one GPU it is half.
	slow.slowness, slow.gpus = 1, 2
	html = write(t, record(t, one, slow), reports.Options{})
	must.Say(t, html, "throughput a GPU 0.500×", "Output tokens<small>/s a GPU", "The numbers of GPUs differ", "0.500× (0.500 to 0.500)")
}

func TestRunsThatAreNotThere(t *testing.T) {
	for what, c := range map[string]struct {
		db         *sql.DB
		ids        []string
		text, hint string
	}{
		"an unknown run":     {database(), []string{"r9"}, `report: no run "r9"`, "known runs are r1, r2, r3"},
		"an empty warehouse": {record(t), nil, "report: the warehouse holds no run", `make one with "tidemark replay", or ingest one with "tidemark ingest runs/<id>"`},
	} {
		err := reports.Write(context.Background(), c.db, reports.Options{RunIDs: c.ids}, nothing{t})
		if err == nil || err.Error() != c.text || hint.Of(err) != c.hint {
			t.Errorf("%s: got %v, want %q with hint %q", what, err, c.text, c.hint)
		}
	}
}

// nothing is where a failed report must write nothing.
type nothing struct{ t *testing.T }

func (n nothing) Write(p []byte) (int, error) {
	n.t.Errorf("%.40q was written", p)
	return len(p), nil
}

func TestNothingIsWrittenAfterCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := reports.Write(ctx, database(), reports.Options{}, nothing{t}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
}
