//go:build duckdb_arrow && (python || spark)

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"tidemark/fixtures/seeded"
	"tidemark/internal/cli/commandline"
	"tidemark/internal/cli/kit"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse/warehousetest"
)

// Every figure of the Monday page is worked out anew by another engine: pip's DuckDB reads the published lake, and plain Python adds up, sorts and
// divides (testdata/recompute.py, which says what each figure is). Of estimates it takes the stored capacity of an hour and does the rest.
// Two services of five weeks hold what is easily counted wrong. `make test-python` runs it; RECOMPUTE_DIR keeps the folder.

// recomputed is a service with what the Python needs to know of it.
type recomputed struct {
	Service  string           `json:"service"`
	Zone     string           `json:"zone"`
	Weeks    []string         `json:"weeks"`
	Traffic  []map[string]any `json:"traffic"` // source, class, covers
	Replicas []map[string]any `json:"replicas"`
	GPUs     int              `json:"gpus_per_replica"`
	Price    float64          `json:"usd_per_gpu_hour"`
	Allowed  float64          `json:"allowed"` // share of requests that the SLO lets miss
	file     string
}

var recomputedWeeks = []string{"2026-W40", "2026-W41", "2026-W42", "2026-W43", "2026-W44"}

const recomputedSLO = `schema: tidemark.slo/2
name: prompt
objectives:
  - {metric: ttft_from_due, percentile: 99, at_most: 60s}
`

// Clocks of Berlin go back on 25 October, in the fourth week; a list of replicas changes in the middle of it.
const berlinFile = `service: chat
time_zone: Europe/Berlin
traffic: [berlin-*]
deployment: {gpu: H20-3e, model: llama-3.1-405b, tensor_parallel_size: 8, engine: vllm}
replicas: [{from: 2026-01-01, replicas: 2}, {from: 2026-10-21, replicas: 4}]
slo: slo.yaml
price: {usd_per_gpu_hour: 1.75, source: "contract"}
growth: {weeks: 5}
`

const kolkataFile = `service: assist
time_zone: Asia/Kolkata
traffic: [{source: kolkata, class: chat, covers: day}]
deployment: {gpu: H20-3e, model: llama-3.1-405b, tensor_parallel_size: 8, engine: vllm}
replicas: 4
slo: slo.yaml
price: {usd_per_gpu_hour: 3.10}
growth: {weeks: 8}
`

func TestTheMondayPageInPython(t *testing.T) {
	python := os.Getenv("DUCKDB_PYTHON")
	if python == "" {
		t.Fatal("DUCKDB_PYTHON names no python: run make test-python")
	}
	script := must.Get(filepath.Abs("testdata/recompute.py"))(t)
	dir := t.TempDir()
	if kept := os.Getenv("RECOMPUTE_DIR"); kept != "" {
		dir = kept
	}
	services := recomputedServices()
	recordTraffic(t, dir)
	reportWeeks(t, dir, services)

	asked := must.Get(json.Marshal(services))(t)
	command := exec.Command(python, script, dir)
	command.Stdin = bytes.NewReader(asked)
	out, err := command.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// recomputedServices are those of which every week is reported.
func recomputedServices() []recomputed {
	return []recomputed{
		{
			Service: "chat", Zone: "Europe/Berlin", Weeks: recomputedWeeks, GPUs: 8, Price: 1.75, Allowed: 0.01, file: berlinFile,
			Traffic:  []map[string]any{{"source": "berlin-a", "covers": "rows"}, {"source": "berlin-b", "covers": "rows"}, {"source": "berlin-c", "covers": "rows"}},
			Replicas: []map[string]any{{"from": "2026-01-01", "replicas": 2}, {"from": "2026-10-21", "replicas": 4}},
		},
		{
			Service: "assist", Zone: "Asia/Kolkata", Weeks: recomputedWeeks, GPUs: 8, Price: 3.10, Allowed: 0.01, file: kolkataFile,
			Traffic:  []map[string]any{{"source": "kolkata", "class": "chat", "covers": "day"}},
			Replicas: []map[string]any{{"from": "2026-01-01", "replicas": 4}},
		},
	}
}

// reportWeeks ingests the traffic and makes the page of every week, as a user would.
func reportWeeks(t *testing.T, dir string, services []recomputed) {
	t.Chdir(dir)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // rehearsals make much garbage, and this test is to be cheap
	must.Do(t, warehousetest.Template(filepath.Join(dir, "tidemark.duckdb")))
	typed(t, "ingest", "berlin-a.csv", "berlin-b.csv", "berlin-c.csv", "kolkata.csv", "--quiet")
	for _, s := range services {
		put(t, dir, s.Service+".yaml", s.file)
		for _, week := range s.Weeks {
			name := s.Service + "-" + week
			typed(t, "report", "--service", s.Service+".yaml", "--week", week, "--output", name+".html", "--summary", name)
		}
	}
}

// typed runs the program as a user types it.
func typed(t *testing.T, args ...string) {
	t.Helper()
	var out bytes.Buffer
	app := newApp(strings.NewReader(""), &out, &out)
	stop := kit.WatchSignals()
	defer stop.Release()
	if err := app.RunContext(kit.WithStop(t.Context(), stop), commandline.FlagsFirst(app, append([]string{"tidemark"}, args...))); err != nil {
		t.Fatalf("tidemark %s: %v\n%s", strings.Join(args, " "), err, &out)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
}

// All classes have the same lengths, so that one rehearsal holds for all hours, and a prompt fits one step of the engine.
var (
	prompt = seeded.Lengths{Median: 6_000, Sigma: 0.3, Most: 8_000}
	answer = seeded.Lengths{Median: 2.5, Sigma: 0.6, Most: 12}
)

// recordTraffic writes the three traces and the SLO.
func recordTraffic(t *testing.T, dir string) {
	put(t, dir, "slo.yaml", recomputedSLO)
	berlin, kolkata := zoneOf(t, "Europe/Berlin"), zoneOf(t, "Asia/Kolkata")

	begin := time.Date(2026, time.September, 28, 0, 0, 0, 0, berlin)
	at := func(day, hour, minute int) time.Time {
		return time.Date(2026, time.October, day, hour, minute, 0, 0, berlin)
	}
	end := at(33, 0, 0)
	chat := seeded.Service{
		Seed: 3, Zone: berlin, Begin: begin, RatePerS: 1.0 / 3600, Shape: peaky(4, 30, 80, 9), Growth: 0.04, Noise: 0.05,
		Gaps: []seeded.Gap{
			{From: at(29, 13, 20), Until: at(29, 17, 40)}, // of the last week: three hours are missing, two are cut short
			{From: at(28, 3, 0), Until: at(28, 4, 0)},     // an hour that has a failed request and an empty one alone
			{From: at(14, 3, 0), Until: at(14, 4, 0)},     // and one with a failed one alone
		},
		Classes: []seeded.Class{
			{Name: "chat", Model: "large", Share: 6, Input: prompt, Output: answer},
			{Name: "batch", Share: 2, Input: prompt, Output: answer},
			{Model: "large", Share: 1, Input: prompt, Output: answer},
			{Share: 1, Input: prompt, Output: answer},
		},
	}
	odd := []request{
		{at(28, 3, 12), 41_000, 0, "chat", "large", true}, {at(28, 3, 44), 700, 0, "chat", "large", false}, {at(14, 3, 30), 5_000, 0, "", "large", true},
		{at(20, 10, 7), 33_000, 0, "chat", "large", true}, {at(20, 10, 8), 900, 0, "batch", "", false}, // both sources have these
		{at(6, 11, 59), 52_000, 17, "chat", "large", true},
	}
	odd = append(odd, everyTuesday(t, &chat, 1200, 1200, 1200, 1400, 1400)...)
	record(t, dir, "berlin-a", chat, odd, begin, at(20, 18, 0))
	record(t, dir, "berlin-b", chat, odd, at(20, 6, 0), end)
	record(t, dir, "berlin-c", chat, odd, at(26, 9, 0), at(27, 12, 0)) // berlin-b has all of it

	begin = time.Date(2026, time.September, 28, 0, 0, 0, 0, kolkata)
	assist := seeded.Service{
		Seed: 8, Zone: kolkata, Begin: begin, RatePerS: 1.0 / 3600, Shape: peaky(0, 25, 90, 5), Growth: -0.02, Noise: 0.1,
		Holidays: []seeded.Holiday{{Day: "2026-10-20", Factor: 0}},
		Classes: []seeded.Class{
			{Name: "chat", Share: 7, Input: prompt, Output: answer},
			{Name: "bulk", Share: 2, Input: prompt, Output: answer},
			{Model: "chat", Share: 1, Input: prompt, Output: answer}, // of no class
		},
	}
	local := func(day, hour, minute int) time.Time {
		return time.Date(2026, time.October, day, hour, minute, 0, 0, kolkata)
	}
	odd = []request{{local(22, 2, 10), 9_000, 0, "chat", "", true}, {local(23, 12, 1), 100, 0, "chat", "", false}}
	odd = append(odd, everyTuesday(t, &assist, 1200, 1200, 1200, 1200, 1200)...)
	record(t, dir, "kolkata", assist, odd, begin, local(33, 0, 0))
}

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone := must.Get(time.LoadLocation(name))(t)
	return zone
}

// peaky are requests an hour: at night, from 8 to 20 on working days, in the hour from 10 on, and at the weekend.
func peaky(night, day, peak, weekend float64) (shape [168]float64) {
	for i := range shape {
		switch hour := i % 24; {
		case i >= 5*24:
			shape[i] = weekend
		case hour == 10:
			shape[i] = peak
		case hour >= 8 && hour < 20:
			shape[i] = day
		default:
			shape[i] = night
		}
	}
	shape[6*24+2] = 4 * weekend // Sunday from 2 on, which comes twice on 25 October
	return shape
}

// everyTuesday takes three hours out of each week and puts the same requests there, in the first one so many as are said. It is the busiest, and what
// a replica takes of it is rehearsed once for all weeks: rehearsals are most of this test's time. All other hours have less than 100 requests, and
// share one.
func everyTuesday(t *testing.T, s *seeded.Service, requests ...float64) (all []request) {
	t.Helper()
	for week, busiest := range requests {
		for hour, share := range map[int]float64{10: 1, 11: 0.6, 15: 0.35} {
			from := time.Date(2026, time.September, 29+7*week, hour, 0, 0, 0, s.Zone)
			s.Gaps = append(s.Gaps, seeded.Gap{From: from, Until: from.Add(time.Hour)})
			all = append(all, hourOf(t, from, share*busiest)...)
		}
	}
	return all
}

// hourOf draws the requests of an hour, always the same.
func hourOf(t *testing.T, from time.Time, requests float64) (all []request) {
	t.Helper()
	begin := time.Date(2026, time.October, 1, 0, 0, 0, 0, time.UTC)
	s := seeded.Service{
		Seed: 5, Zone: time.UTC, Begin: begin, RatePerS: requests / 3600, Shape: seeded.Even(),
		Classes: []seeded.Class{{Share: 1, Input: prompt, Output: answer}},
	}
	var out bytes.Buffer
	must.Do(t, s.Write(&out, begin, begin.Add(time.Hour)))
	for line := range strings.Lines(out.String()) {
		instant, tokens, _ := strings.Cut(strings.TrimSpace(line), ",")
		at, err := time.Parse("2006-01-02 15:04:05.000000-07:00", instant)
		if err != nil {
			continue // the header
		}
		r := request{at: from.Add(at.Sub(begin)), class: "chat"}
		must.Get(fmt.Sscanf(tokens, "%d,%d", &r.input, &r.output))(t)
		all = append(all, r)
	}
	return all
}

// request is one beside those that are drawn.
type request struct {
	at            time.Time
	input, output int
	class, model  string
	isFailed      bool
}

// record writes what a service's gateway kept of a stretch, with the odd requests in it.
func record(t *testing.T, dir, name string, s seeded.Service, odd []request, from, until time.Time) {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, s.Write(&out, from, until))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i := range lines {
		lines[i] += map[bool]string{true: ",is_failed", false: ",false"}[i == 0]
	}
	for _, o := range odd {
		if !o.at.Before(from) && o.at.Before(until) {
			lines = append(lines, fmt.Sprintf("%s,%d,%d,%s,%s,%t", o.at.UTC().Format("2006-01-02 15:04:05.000000+00:00"), o.input, o.output, o.class, o.model, o.isFailed))
		}
	}
	put(t, dir, name+".csv", strings.Join(lines, "\n")+"\n")
}
