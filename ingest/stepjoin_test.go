//go:build duckdb_arrow

package ingest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/read"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
)

const h100 = "../fixtures/vllm-h100/"

// runIn takes a run folder of the H100 in, and says its id and when it began.
func runIn(t *testing.T, w *warehouse.Warehouse, folder string) (id string, startedAt time.Time) {
	t.Helper()
	load(t, w, folder, ingest.Options{})
	text := must.Get(os.ReadFile(folder + "/run.json"))(t)
	var document struct {
		ID        string    `json:"run_id"`
		StartedAt time.Time `json:"started_at"`
	}
	must.Do(t, json.Unmarshal(text, &document))
	return document.ID, document.StartedAt
}

func logText(t *testing.T, name string) []byte {
	t.Helper()
	file := must.Get(read.Open(t.Context(), h100+name, nil))(t)
	defer file.Close()
	text := must.Get(io.ReadAll(file))(t)
	return text
}

// The client was on the server's machine, so that both clocks are one: the log's first line is of 18:04:11. Every step and every prompt token of the
// log, which was cut to the run, is the run's. A clock five hours ahead changes nothing.
func TestStepsAreJoinedToTheirRun(t *testing.T) {
	w := open(t)
	id, startedAt := runIn(t, w, h100+"runs/L8-steady-0.9")
	wantS := startedAt.Sub(time.Date(2026, 11, 26, 18, 4, 11, 0, time.UTC)).Seconds()
	text := logText(t, "L8-steady-0.9.log.zst")
	join := func(t *testing.T, names ...string) (ingest.StepJoin, error) {
		t.Helper()
		joins, err := ingest.JoinSteps(t.Context(), w, names, []string{id})
		if err != nil {
			return ingest.StepJoin{}, err
		}
		return joins[0], nil
	}

	t.Run("of another run, or none", func(t *testing.T) {
		for _, c := range []struct{ file, run, want, hint string }{
			{h100 + "L8-calib-a.log.zst", id, "they are not those of run " + id + ": where they fit best, ", "with the time of the run in it"},
			{h100 + "F8-calib.log.zst", id, "of the run's prompt tokens are in no step of their time", "name the log of the server"},
			{"../fixtures/logs/vllm-v1.log", id, "it has none", "--enable-logging-iteration-details"},
			{"../fixtures/metrics/fpm-bare.jsonl", id, "they have no instants", "envelopes"},
			{"../fixtures/logs/vllm-steps.log", "nobody", "no run nobody", "take its folder in"},
		} {
			result := load(t, w, c.file, ingest.Options{MaxRejectedRatio: 0.2})
			must.Refuse(ingest.JoinSteps(t.Context(), w, []string{result.Name}, []string{c.run}))(t, c.want, c.hint)
		}
		answers(t, w, "select count(*) from raw.step_joins", "0")
	})

	t.Run("of its own", func(t *testing.T) {
		j := must.Get(join(t, load(t, w, h100+"L8-steady-0.9.log.zst", ingest.Options{}).Name))(t)
		if math.Abs(j.OffsetS-wantS) > 0.3 || j.Steps != int64(bytes.Count(text, []byte("Iteration("))) || j.MissingRatio > 1e-9 || j.ForeignRatio > 1e-9 {
			t.Errorf("got %+v, want an offset of %.2f s", j, wantS)
		}
		got := fmt.Sprint(table(t, w, `
select
    sum(steps.prefill_tokens) = (select sum(input_tokens_reported - coalesce(cached_tokens, 0)) from staging.requests),
    sum(steps.decode_tokens) = (select sum(received_tokens - 1) from staging.requests),
    count(distinct steps.clock),
    any_value(steps.clock),
    bool_and(steps.is_kv_from_requests)
from staging.steps
where run_id is not null`))
		if got != "[[true true 1 submit true]]" {
			t.Errorf("got %s", got)
		}
	})

	t.Run("of a clock five hours ahead", func(t *testing.T) {
		ahead := bytes.ReplaceAll(text, []byte(" 11-26 18:"), []byte(" 11-26 23:"))
		j, err := join(t, load(t, w, write(t, "ahead.log", ahead), ingest.Options{}).Name)
		if err != nil || math.Abs(j.OffsetS-wantS) > 0.3 {
			t.Errorf("got %+v, %v, want an offset of %.2f s", j, err, wantS)
		}
	})

	// The log is dealt out by the line, a step here and a step there, and the second one begins later.
	t.Run("of two servers", func(t *testing.T) {
		var parts [2][]byte
		for i, line := range bytes.SplitAfter(text, []byte("\n")) {
			if i > 30 || i == 10 {
				parts[i%2] = append(parts[i%2], line...)
			}
		}
		var names []string
		for i, part := range parts {
			names = append(names, load(t, w, write(t, fmt.Sprintf("server%d.log", i), part), ingest.Options{}).Name)
		}
		must.Refuse(join(t, names[0]))(t, "in no step of their time")
		j, err := join(t, names...)
		if err != nil || j.Steps < 3370 || j.MissingRatio > 0.01 {
			t.Fatalf("got %+v, %v", j, err)
		}
		if got := fmt.Sprint(table(t, w, "select count(distinct source_id), sum(steps) from marts.step_gap inner join raw.sources using (source_id) where name like 'server%'")); got != fmt.Sprintf("[[2 %d]]", j.Steps) {
			t.Errorf("got %s of %d steps", got, j.Steps)
		}
	})
}

// What a second's lines give by hand: seconds of equal steps between seconds with steps.
func TestStepTimesAreThoseOfCounting(t *testing.T) {
	w := open(t)
	id, _ := runIn(t, w, h100+"runs/L8-calib-a")
	result := load(t, w, h100+"L8-calib-a.log.zst", ingest.Options{})
	must.Get(ingest.JoinSteps(t.Context(), w, []string{result.Name}, []string{id}))(t)
	stepsIn, batches := map[string]int{}, map[string]map[string]bool{}
	line := regexp.MustCompile(`11-26 (\d\d:\d\d:\d\d) .*: (\d+) context requests, \d+ context tokens, (\d+) generation requests`)
	for lines := bufio.NewScanner(bytes.NewReader(logText(t, "L8-calib-a.log.zst"))); lines.Scan(); {
		found := line.FindStringSubmatch(lines.Text())
		if found == nil {
			continue
		}
		if stepsIn[found[1]]++; batches[found[1]] == nil {
			batches[found[1]] = map[string]bool{}
		}
		batches[found[1]][found[2]+" "+found[3]] = true
	}
	counts := map[int64][]int{}
	for second, kinds := range batches {
		at, _ := time.Parse(time.TimeOnly, second)
		isInside := stepsIn[at.Add(-time.Second).Format(time.TimeOnly)] > 0 && stepsIn[at.Add(time.Second).Format(time.TimeOnly)] > 0
		for kind := range kinds {
			if batch, err := strconv.ParseInt(strings.TrimPrefix(kind, "0 "), 10, 64); err == nil && len(kinds) == 1 && isInside {
				counts[batch] = append(counts[batch], stepsIn[second])
			}
		}
	}
	// A batch may have long contexts in one second and short ones in another.
	measured := map[int64]bool{}
	for _, row := range table(t, w, "select decode_requests, step_s from marts.step_gap where kind = 'decode' and step_s is not null") {
		batch, _ := strconv.ParseInt(row[0], 10, 64)
		stepS, _ := strconv.ParseFloat(row[1], 64)
		if !slices.ContainsFunc(counts[batch], func(n int) bool { return math.Abs(stepS*float64(n)-1) < 0.02 }) {
			t.Errorf("batch %d: got %.3g s, of seconds with %v steps", batch, stepS, counts[batch])
		}
		measured[batch] = true
	}
	if len(measured) < 8 {
		t.Errorf("batches %v were measured", measured)
	}
	terms := fmt.Sprint(table(t, w, "select list(term order by term_seq) from marts.step_terms where ratio between 0.2 and 2"))
	if terms != "[[[fixed, sequence, context, prompt]]]" {
		t.Errorf("terms: got %s", terms)
	}
}

// A server that waited for its host half of the time, and one that did not.
func TestARealServerIsFoundLimitedByItsAPIServer(t *testing.T) {
	w := open(t)
	runs := shared(t, "traces/vllm-h100/runs")
	limited, _ := runIn(t, w, runs+"/20261126-144922-s128-9fc8")
	other, _ := runIn(t, w, runs+"/20261126-145109-s1000-2acd")
	result := load(t, w, shared(t, "traces/vllm-h100/llama-3.1-8b.log.xz"), ingest.Options{})
	joins := must.Get(ingest.JoinSteps(t.Context(), w, []string{result.Name}, []string{limited, other}))(t)
	// Counted in the log between the first and the last second of each.
	if joins[0].Steps != 786 || joins[1].Steps != 791 {
		t.Errorf("got %+v", joins)
	}
	got := fmt.Sprint(table(t, w, "select subject, symptom from marts.symptoms where symptom in ('api_server_bound', 'host_bound', 'graph_misses', 'kv_slope', 'slow_rank')"))
	if want := fmt.Sprintf("[[%s api_server_bound]]", limited); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
