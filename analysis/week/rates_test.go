//go:build duckdb_arrow

package week

import (
	"database/sql"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/week/service"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

// twoDays are rates of Monday and Tuesday by the clock of Berlin, in windows of five minutes of 12 requests each, but: from ten to eleven 120
// requests come in one window; one window reaches from 11:55 to 12:05 and has 40; from one to two there are none; and from 14:20 to 16:30
// is one window with 500. Half of the prompts have up to 100 tokens, the others up to 200; answers have up to 50.
const twoDays = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'rates', 'lengths', 'lengths', 'p', 'a', 1, 1, 1, 0, timestamptz '2026-11-16 00:00:00+01', true, 4, now());
insert into raw.rate_windows (source_id, window_from_s, window_until_s, requests)
select 1, 300 * i, 300 * (i + 1), case when i = 126 then 120 when i between 120 and 131 or i between 156 and 167 then 0 else 12 end
from range(48 * 12) as windows (i)
where i not in (143, 144) and i not between 172 and 197
union all
select 1, 143 * 300, 145 * 300, 40
union all
select 1, 172 * 300, 198 * 300, 500;
insert into raw.length_cells (source_id, input_above, input_up_to, output_above, output_up_to, requests) values
    (1, null, 100, null, null, 7), (1, 100, 200, null, null, 7), (1, null, null, null, 50, 1);
`

// aService is a service file. No server meets its SLO, so that a rehearsal ends at once: the tests are about demand.
func aService(t *testing.T, lines string) service.File {
	t.Helper()
	folder := t.TempDir()
	path := filepath.Join(folder, "chat.yaml")
	for name, text := range map[string]string{
		path:                              lines + "\nservice: chat\ndeployment: {gpu: H100, model: llama-3.1-8b, max_num_seqs: 16}\nreplicas: 1\nslo: slo.yaml\ncapacity: rehearsed\n",
		filepath.Join(folder, "slo.yaml"): "schema: tidemark.slo/2\nname: chat\nobjectives:\n  - {metric: ttft_from_due, percentile: 90, at_most: 1ms}\n",
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o600))
	}
	f := must.Get(service.Read(path))(t)
	return f
}

func make47(t *testing.T, w *warehouse.Warehouse, f service.File) *Report {
	t.Helper()
	r, _, err := Make(t.Context(), w.DB(), f, Options{Week: "2026-W47"})
	must.Do(t, err)
	return r
}

// needed makes a report as far as what its hours need, without what is concluded from that.
func needed(t *testing.T, w *warehouse.Warehouse, f service.File, week string) (*Report, *Kept) {
	t.Helper()
	slo := must.Get(analysis.ReadSLO(f.SLO))(t)
	m := &maker{ctx: t.Context(), db: w.DB(), conn: conn(t, w), file: f, slo: slo, kept: &Kept{}, report: &Report{Service: f.Service}}
	for _, step := range []func() error{m.readParts, func() error { return m.chooseWeek(week) }, m.describe, m.addUpWeeks, m.fillNeeds} {
		must.Do(t, step())
	}
	return m.report, m.kept
}

// said writes the hour's figures; ~ is not known.
func said(h Hour) string {
	if h.IsMissing {
		return "missing"
	}
	text := fmt.Sprintf("%d in %s out %s peak %s burst %s", *h.Requests, figureOf(h.InputTokens), figureOf(h.OutputTokens), figureOf(h.PeakRatePerS), figureOf(h.BurstRatio))
	for _, q := range []*float64{h.P50InputTokens, h.P99InputTokens, h.P50OutputTokens, h.P99OutputTokens} {
		text += " " + figureOf(q)
	}
	return text
}

func figureOf[N int64 | float64](n *N) string {
	if n == nil {
		return "~"
	}
	return fmt.Sprint(math.Round(float64(*n)*1e4) / 1e4)
}

func wantHours(t *testing.T, hours []Hour, want map[int]string) {
	t.Helper()
	for _, place := range slices.Sorted(maps.Keys(want)) {
		if got := said(hours[place]); got != want[place] {
			t.Errorf("hour %d: got %s, want %s", place, got, want[place])
		}
	}
}

func wantNotes(t *testing.T, r *Report, notes ...string) {
	t.Helper()
	for _, note := range notes {
		if n := slices.Index(r.Notes, note); n < 0 {
			t.Errorf("no note %q in\n%s", note, strings.Join(r.Notes, "\n"))
		}
	}
}

// wantRehearsed wants that the lengths of the hours were drawn and rehearsed.
func wantRehearsed(t *testing.T, r *Report) {
	t.Helper()
	if r.Basis.Rehearsals == 0 || !strings.Contains(r.Basis.Sentence, "at the busiest hour's lengths") {
		t.Errorf("%d rehearsals: %s", r.Basis.Rehearsals, r.Basis.Sentence)
	}
}

func TestAWeekOfRates(t *testing.T) {
	w := warehousetest.Open(t, twoDays)
	r := make47(t, w, aService(t, "time_zone: Europe/Berlin\ntraffic: [rates]"))
	wantHours(t, r.Hours, map[int]string{
		// 72 x 50.5 + 72 x 150.5 tokens of prompts, 144 x 25.5 of answers; 49 of 50 in the upper half of the prompts lie below 198.
		0:  "144 in 14472 out 3672 peak 0.04 burst 0 100 198 25 49.5",
		10: "120 in 12060 out 3060 peak 0.4 burst 120 100 198 25 49.5",  // (120² - 120²/12) / 11 / 10
		11: "152 in 15276 out 3876 peak 0.0667 burst 0 100 198 25 49.5", // the long window's half is 20 requests, in no burst
		12: "152 in 15276 out 3876 peak 0.0667 burst 0 100 198 25 49.5",
		13: "0 in 0 out 0 peak 0 burst ~ ~ ~ ~ ~",
		14: "missing", // covered for 20 minutes
		15: "missing",
		16: "72 in 7236 out 1836 peak 0.04 burst 0 100 ~ 25 ~", // half of it
		47: "144 in 14472 out 3672 peak 0.04 burst 0 100 198 25 49.5",
		48: "missing",
	})
	if r.Sums.Requests != 6400 || r.Sums.MissingHours != 122 {
		t.Errorf("%d requests, %d hours missing", r.Sums.Requests, r.Sums.MissingHours)
	}
	wantNotes(t, r, "500 requests were counted across gaps; they belong to no hour.",
		"48 requests were counted in hours that are covered by less than half; they belong to no hour.",
		"Some windows of rates are longer than five minutes: each has its mean rate throughout, so that a shorter peak within it is not seen.",
		"Tokens of rates are estimated from the middles of their histograms' buckets.",
		"Lengths of rates come from histograms: quantiles are interpolated inside a bucket. The bucket of the median prompt reaches from 0 to 100 tokens, that of the median answer from 0 to 50.",
		"Prompts and answers of rates are counted apart, and nobody knows which go together: there is no map of both, and a rehearsal draws them independently.")
	if len(r.Shape.Cells) != 0 || len(r.Classes) != 0 || r.Fullest != nil {
		t.Errorf("cells %v, classes %v, fullest %v", r.Shape.Cells, r.Classes, r.Fullest)
	}
	if q := r.Shape.Quantiles; figureOf(q[0].This) != "100" || figureOf(q[1].This) != "180" || figureOf(q[5].This) != "49.5" {
		t.Errorf("quantiles of the week: %+v", q)
	}
	wantRehearsed(t, r)
	if s := r.Sources; len(s) != 1 || s[0].Role != "traffic" || s[0].Name != "rates" {
		t.Errorf("sources %+v", s)
	}
}

// collected are two servers from eight to twelve on Monday, UTC. Each minute a ends two requests and b one, of 100 prompt tokens each; in
// the minute to 8:06 a ends ten more. Nobody looks between 10:20 and 10:55, and a begins again at 9:30. Sums and buckets of lengths are looked at
// by the quarter of an hour: half of the prompts have up to 50 tokens, the others up to 200; answers have more than 10 and up to 40. How long all
// answers are together only a counter says: 20 tokens a request.
const collected = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (5, 'chat.prometheus', 'metrics', 'prometheus-collected', 'q', 'b', 1, 1, 1, 0, timestamptz '2026-11-16 08:00:00+00', true, 4, now());
create temp table ended as
select server, minute, since(minute) - case when server = 'a' and minute > 90 then since(90) else 0 end as requests, minute % 15 = 0 as is_quarter
from range(241) as minutes (minute)
cross join (values ('a', 2), ('b', 1)) as servers (server, per_minute)
where minute <= 140 or minute >= 175;
insert into raw.metrics (source_id, scrape, at_ns, name, labels, value)
select 5, 0, minute * 60_000_000_000, name, concat('instance="', server, '"', labels), requests * each
from ended
inner join (values
    ('vllm:request_prompt_tokens_count', '', 1, false), ('vllm:generation_tokens_total', '', 20, false), ('vllm:request_prompt_tokens_sum', '', 100, true),
    ('vllm:request_prompt_tokens_bucket', ',le="50"', 0.5, true), ('vllm:request_prompt_tokens_bucket', ',le="200"', 1, true),
    ('vllm:request_prompt_tokens_bucket', ',le="+Inf"', 1, true), ('vllm:request_generation_tokens_bucket', ',le="10"', 0, true),
    ('vllm:request_generation_tokens_bucket', ',le="40"', 1, true), ('vllm:request_generation_tokens_bucket', ',le="+Inf"', 1, true)
) as names (name, labels, each, is_by_quarter) on is_quarter or not is_by_quarter;
`

// sinceEight counts what a server has ended since eight.
var sinceEight = strings.NewReplacer("since(minute)", "(per_minute * minute + case when server = 'a' and minute >= 6 then 10 else 0 end)", "since(90)", "(per_minute * 90 + 10)")

func TestAWeekOfCollectedMetrics(t *testing.T) {
	w := warehousetest.Open(t, sinceEight.Replace(collected))
	f := aService(t, "time_zone: UTC\nmetrics: http://prometheus:9090")
	r := make47(t, w, f)
	wantHours(t, r.Hours, map[int]string{
		7: "missing",
		// 190 requests, of 15 in five minutes and once 25: burst (11 x 15² + 25² - 190²/12) / 11 / (190/12).
		// For a mean of 100 prompts lie above 24 in the bucket up to 50, and above 124 in that up to 200: (37.5 + 162.5) / 2. p99: 124 + 0.98 x 76.
		8:  "190 in 19000 out 3800 peak 0.0833 burst ~ 50 198.48 25 39.7",
		9:  "180 in 18000 out 3600 peak 0.05 burst ~ 50 198.48 25 39.7",
		10: "missing", // 25 minutes were looked at
		11: "180 in 18000 out 3600 peak 0.05 burst ~ 50 198.48 25 39.7",
		12: "missing",
	})
	if s := figureOf(r.Shape.Quantiles[0].This); s != "50" {
		t.Errorf("the week's median prompt is %s", s)
	}
	wantNotes(t, r, "Lengths of chat.prometheus come from histograms: quantiles are interpolated inside a bucket. The bucket of the median prompt reaches from 0 to 50 tokens, that of the median answer from 10 to 40.")
	if r.Sums.Requests != 550 || r.Sums.MissingHours != 165 {
		t.Errorf("%d requests, %d hours missing", r.Sums.Requests, r.Sums.MissingHours)
	}
	wantNotes(t, r, "105 requests were counted across gaps; they belong to no hour.",
		"75 requests were counted in hours that are covered by less than half; they belong to no hour.",
		"Requests of chat.prometheus are counted when they end; those that the engine refused are not among them.")
	if s := r.Sources; len(s) != 1 || s[0].Role != "metrics" || s[0].Name != "chat.prometheus" {
		t.Errorf("sources %+v", s)
	}
	wantRehearsed(t, r)
	m := &maker{ctx: t.Context(), db: w.DB(), conn: conn(t, w), file: f, kept: &Kept{}}
	must.Do(t, m.readParts())
	week := must.Get(service.ParseWeek("2026-W47", f.Zone))(t)
	m.file.Traffic, m.report, m.weeks = []service.Traffic{{Source: "log"}}, &Report{}, []weekOf{{week: week}}
	if err := m.describeMetrics(); err != nil || len(m.report.Sources) != 1 || m.report.Sources[0].Role != "metrics" {
		t.Errorf("beside traffic: sources %+v, %v", m.report.Sources, err)
	}
}

// What was collected is another source each time that it grows. Only the weeks that it grew in are added up again.
func TestAWeekThatNothingNewWasCollectedOf(t *testing.T) {
	w := warehousetest.Open(t, sinceEight.Replace(collected))
	f := aService(t, "time_zone: UTC\nmetrics: http://prometheus:9090")
	grown := func(id int, day string) {
		warehousetest.Put(t, w, fmt.Sprintf(`update raw.sources set source_id = %[1]d, sha256 = 'grown %[1]d', rows_kept = rows_kept + 1;
update raw.metrics set source_id = %[1]d;
insert into raw.metrics (source_id, scrape, at_ns, name, labels, value)
select %[1]d, 0, epoch_ns(timestamptz '%[2]s 11:59:30+00') - epoch_ns(timestamptz '2026-11-16 08:00:00+00'), name, labels, value
from raw.metrics where at_ns = 238 * 60_000_000_000`, id, day))
	}
	requests := func() int64 {
		t.Helper()
		r, kept := needed(t, w, f, "2026-W47")
		must.Do(t, Keep(t.Context(), w, f, r, kept))
		return *r.Hours[8].Requests
	}
	if got := requests(); got != 190 {
		t.Errorf("%d requests, want 190", got)
	}
	// A number that only who reads what was kept can know.
	warehousetest.Put(t, w, `update raw.service_demands set document = replace(document::varchar, '"requests":190', '"requests":191')::json`)
	grown(6, "2026-11-24")
	if got := requests(); got != 191 {
		t.Errorf("grown in the next week: %d requests, want the 191 that were kept", got)
	}
	var ids, samples bool
	if err := w.DB().QueryRow("select source_ids = [6] and document::varchar not like '%\"source_ids\":[5]%', samples is not null from raw.service_demands where week = '2026-W47'").Scan(&ids, &samples); err != nil || !ids || !samples {
		t.Errorf("kept as the new source's: %v, with its samples: %v, %v", ids, samples, err)
	}
	grown(7, "2026-11-16")
	if got := requests(); got != 190 {
		t.Errorf("grown in the week: %d requests, want 190 anew", got)
	}
}

func conn(t *testing.T, w *warehouse.Warehouse) *sql.Conn {
	t.Helper()
	c := must.Get(w.DB().Conn(t.Context()))(t)
	t.Cleanup(func() {
		must.Do(t, c.Close())
	})
	return c
}

func TestNothingWasCollected(t *testing.T) {
	w := warehousetest.Open(t)
	f := aService(t, "time_zone: UTC\nmetrics: http://prometheus:9090")
	_, _, err := Make(t.Context(), w.DB(), f, Options{})
	if err == nil || hint.IsMisuse(err) || hint.Of(err) != "tidemark collect --service "+f.Path {
		t.Errorf("got %v, hint %q", err, hint.Of(err))
	}
}

// besides are ten single requests in the second minute of Monday, and a source of three requests an hour whose prompts and answers are counted
// together; in the third hour it says nothing.
const besides = `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (2, 'log', 'arrivals', 'jsonl', 'l', 'l', 1, 10, 10, 0, timestamptz '2026-11-16 00:01:00+01', true, 4, now()),
    (3, 'joint', 'lengths', 'lengths', 'j', 'j', 1, 1, 1, 0, timestamptz '2026-11-16 00:00:00+01', true, 4, now());
insert into raw.arrivals (source_id, line, arrival_ns, input_tokens, output_tokens)
select 2, i + 1, i * 1_000_000_000, 1000, 64 from range(10) as requests (i);
insert into raw.rate_windows (source_id, window_from_s, window_until_s, class, requests)
select 3, 300 * i, 300 * (i + 1), class, case when i % 12 = 0 then requests else 0 end
from range(24) as windows (i)
cross join (values ('code', 3), ('other', 1)) as classes (class, requests);
insert into raw.length_cells (source_id, input_above, input_up_to, output_above, output_up_to, requests) values
    (3, 3, 4, 15, 16, 2), (3, 7, 8, 31, 32, 1);
`

// Single requests and both kinds of histograms are one demand.
func TestBothKindsAddUp(t *testing.T) {
	w := warehousetest.Open(t, twoDays, besides)
	f := aService(t, "time_zone: Europe/Berlin\ntraffic: [rates, log, {source: joint, class: code}]")
	m := &maker{ctx: t.Context(), db: w.DB(), conn: conn(t, w), file: f, kept: &Kept{}}
	must.Do(t, m.readParts())
	week := must.Get(service.ParseWeek("2026-W47", f.Zone))(t)
	d := must.Get(addUp(t.Context(), m.conn, week, m.parts))(t)
	hours := hoursOf(f, week, d, m.parts)
	for place, want := range map[int]string{
		// 12 + 10 + 3 requests in the first five minutes: (25² + 11 x 12² - 157²/12) / 11 / (157/12). Tokens: 14472 + 10 x 1000 + 2 x 4 + 8.
		0: "157 in 24488 out 4376 peak 0.0833 burst 1.0764 ",
		1: "147 in 14488 out 3736 peak 0.05 burst 0.0612 ", // (15² + 11 x 12² - 147²/12) / 11 / (147/12)
		2: "144 in 14472 out 3672 peak 0.04 burst 0 100 198 25 49.5",
	} {
		if got := said(hours[place]); !strings.HasPrefix(got, want) {
			t.Errorf("hour %d: got %s, want %s", place, got, want)
		}
	}
	var cells []string
	for _, c := range d.Cells {
		cells = append(cells, fmt.Sprintf("%.0f %.0f: %d, %d", c.InputFrom, c.OutputFrom, c.Requests, c.Tokens))
	}
	if got := strings.Join(cells, "; "); got != "4 16: 4, 80; 8 32: 2, 80; 724 64: 10, 10640" {
		t.Errorf("cells %s", got)
	}
	if got := fmt.Sprint(d.Input.Counts, " ", d.Classes[len(d.Classes)-1].Name); got != "6416 code" {
		t.Errorf("lengths and last class: %s of %v", got, d.Classes)
	}
	samples := must.Get(m.samplesOf(week, d))(t)
	all := must.Get(m.sampled(&weekOf{week: week, demand: d, hours: hours, samples: samples}))(t)
	for place, want := range map[int]int{0: 157, 1: 147, 13: 0, 14: 0} {
		if got := len(all[place].Shape.Requests); got != want {
			t.Errorf("hour %d: %d requests to rehearse, want %d", place, got, want)
		}
	}
}

// A file may say what its rates cover: then hours without windows are empty, but for those that a gap touches. A source that says no lengths has no
// tokens.
func TestRatesWithSaidCoverage(t *testing.T) {
	w := warehousetest.Open(t, twoDays, besides, "delete from raw.length_cells where source_id = 3")
	want := map[string]map[int]string{
		"joint": {0: "4 in ~ out ~ peak 0.0133 burst 4 ~ ~ ~ ~", 5: "0 in 0 out 0 peak 0 burst ~ ~ ~ ~ ~", 23: "0 in 0 out 0 peak 0 burst ~ ~ ~ ~ ~", 24: "missing"},
		"rates": {14: "missing", 15: "missing", 16: "72 in 7236 out 1836 peak 0.04 burst 0 100 ~ 25 ~", 48: "missing"},
	}
	for _, source := range []string{"joint", "rates"} {
		f := aService(t, "time_zone: Europe/Berlin\ntraffic: [{source: "+source+", covers: day}]")
		m := &maker{ctx: t.Context(), db: w.DB(), conn: conn(t, w), file: f, kept: &Kept{}}
		must.Do(t, m.readParts())
		week := lastWhole(m.parts, f.Zone).Add(1)
		d := must.Get(addUp(t.Context(), m.conn, week, m.parts))(t)
		if week.String() != "2026-W47" {
			t.Errorf("%s: last whole week before %s", source, week)
		}
		wantHours(t, hoursOf(f, week, d, m.parts), want[source])
	}
}

// Server a refuses a request a minute: 60 an hour and five in five minutes arrive beside those that end. How long they are nobody knows.
func TestRefusedRequestsArrive(t *testing.T) {
	w := warehousetest.Open(t, sinceEight.Replace(collected), `
insert into raw.metrics (source_id, scrape, at_ns, name, labels, value)
select 5, 0, minute * 60_000_000_000, 'vllm:admission_rejections_total', 'instance="a"', minute from ended where server = 'a';
`)
	f := aService(t, "time_zone: UTC\nmetrics: http://prometheus:9090")
	m := &maker{ctx: t.Context(), db: w.DB(), conn: conn(t, w), file: f, report: &Report{}}
	must.Do(t, m.readParts())
	week := must.Get(service.ParseWeek("2026-W47", f.Zone))(t)
	d := must.Get(addUp(t.Context(), m.conn, week, m.parts))(t)
	wantHours(t, hoursOf(f, week, d, m.parts), map[int]string{
		// 250 requests, of 20 in five minutes and once 30: burst (11 x 20² + 30² - 250²/12) / 11 / (250/12).
		8:  "250 in 19000 out 3800 peak 0.1 burst ~ 50 198.48 25 39.7",
		10: "missing",
		11: "240 in 18000 out 3600 peak 0.0667 burst ~ 50 198.48 25 39.7",
	})
	m.weeks = []weekOf{{week: week, demand: d}}
	m.noteCounts(d)
	wantNotes(t, m.report, "Requests of chat.prometheus are counted when they end, or when the engine refuses them: it refused 180, whose tokens are not known.")
}

// Lengths that are drawn for a rehearsal had the mean of the buckets' middles: 47 % too long where the bucket is as wide as it is high.
func TestDrawnLengthsHaveTheMeanThatWasCounted(t *testing.T) {
	mean := 1024.0
	d := demand{Counted: &weekCounts{}, Hours: []demandHour{{Peak: 1, Rates: &ratesHour{Requests: 5000, MeanInput: &mean,
		Input: []lengthCell{{1000, 2000, 5000}}, Output: []lengthCell{{100, 200, 5000}}}}}}
	d.mixLengths()
	requests := newDrawer(d).draw(d.Hours[0].Rates, 5000, time.Unix(0, 0))
	input, output := 0, 0
	for _, r := range requests {
		input, output = input+r.InputTokens, output+r.OutputTokens
	}
	if got := float64(input) / 5000; math.Abs(got-1024) > 1 {
		t.Errorf("prompts have %.1f tokens in the mean, want 1024", got)
	}
	if got := float64(output) / 5000; math.Abs(got-150.5) > 0.1 { // nobody counted the sum: evenly
		t.Errorf("answers have %.1f tokens in the mean, want 150.5", got)
	}
	if *d.Hours[0].P50Input != 1000+0.5*47 || d.Counted.Middle[0] != (lengthCell{1000, 2000, 5000}) {
		t.Errorf("median %v in the bucket %v", *d.Hours[0].P50Input, d.Counted.Middle[0])
	}
}

// 2,000 requests that were drawn each by itself were 3 % shorter than their hour, so that the page's replica took 5 % more than that of capacity.
func TestAFewDrawnRequestsAreAsLongAsTheirHour(t *testing.T) {
	input := []lengthCell{{0, 100, 300}, {100, 1000, 500}, {1000, 10_000, 200}}
	r := &ratesHour{Requests: 1000, Input: input, Output: []lengthCell{{0, 50, 100}, {50, 500, 900}}}
	want := sumOf(input, func(c lengthCell) float64 { return c.Requests * (c.Above + c.UpTo + 1) / 2 }) / 1000
	for hour := range 20 {
		sum, products := 0.0, 0.0
		requests := newDrawer(demand{}).draw(r, 2000, time.Unix(int64(hour)*3600, 0))
		for _, one := range requests {
			sum += float64(one.InputTokens)
			products += (float64(one.InputTokens) - want) * (float64(one.OutputTokens) - 255) / 2000
		}
		if got := sum / 2000; math.Abs(got/want-1) > 0.002 {
			t.Errorf("hour %d: prompts have %.1f tokens in the mean, want %.1f", hour, got, want)
		}
		if correlation := products / (2400 * 150); math.Abs(correlation) > 0.1 { // of their standard deviations
			t.Errorf("hour %d: long prompts have long answers: %.3f", hour, correlation)
		}
	}
}

// A week without a request after a busy one needs nothing, and is compared with nothing.
func TestAWeekWithoutARequest(t *testing.T) {
	w := warehousetest.Open(t, `
insert into raw.sources (source_id, name, kind, format, path, sha256, size_bytes, rows_read, rows_kept, rows_rejected, origin_at, is_dated, reader_version, ingested_at) values
    (1, 'rates', 'lengths', 'lengths', 'p', 'a', 1, 1, 1, 0, timestamptz '2026-11-09 00:00:00+01', true, 4, now());
insert into raw.rate_windows (source_id, window_from_s, window_until_s, requests)
select 1, 300 * i, 300 * (i + 1), case when i < 288 then 12 else 0 end
from range(14 * 288) as windows (i);
insert into raw.length_cells (source_id, input_above, input_up_to, output_above, output_up_to, requests) values (1, null, 100, null, null, 1), (1, null, null, null, 50, 1);
`)
	r := make47(t, w, aService(t, "time_zone: Europe/Berlin\ntraffic: [{source: rates, covers: 2026-11-09/2026-11-23}]"))
	if v := r.Verdict; r.Sums.Requests != 0 || v.Kind != Hold || v.Replicas == nil || *v.Replicas != 0 || len(v.Since) > 0 {
		t.Errorf("%d requests, verdict %+v, want none and to keep what is there", r.Sums.Requests, v)
	}
}
