//go:build prometheus

package realprometheus

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/ingest/collect"
	"tidemark/internal/proof/must"
)

// The eight days: two replicas, each of which finishes a request a second, and is looked at once a minute.
const days = 8

var (
	began   = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -days-1) // a midnight
	restart = began.Add(2*24*time.Hour + 12*time.Hour + 7*time.Minute)       // of a: it has counted from zero since
	renamed = began.Add(3 * 24 * time.Hour)                                  // whole bounds are written 1.0 from then on
	gapFrom = began.Add(4*24*time.Hour + 10*time.Hour + 20*time.Minute)      // nobody looks for three hours; the replicas go on
	gapEnd  = gapFrom.Add(3 * time.Hour)
	joined  = began.Add(24*time.Hour + 6*time.Hour) // b is looked at from then on; it has counted for long
	ended   = began.AddDate(0, 0, days)
)

var histograms = map[string][]float64{ // bounds in the order of vLLM's, of which the first two thirds hold all values
	"vllm:time_to_first_token_seconds":           {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560},
	"vllm:request_time_per_output_token_seconds": {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80},
	"vllm:inter_token_latency_seconds":           {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80},
	"vllm:e2e_request_latency_seconds":           {0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680},
	"vllm:request_queue_time_seconds":            {0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680},
	"vllm:request_prompt_tokens":                 {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000},
	"vllm:request_generation_tokens":             {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000},
}

// counted is what a replica has counted at an instant: one a second.
func counted(replica string, at time.Time) float64 {
	if replica == "b" {
		return 1_000_000 + at.Sub(began).Seconds()
	}
	if at.Before(restart) {
		return 5_000 + at.Sub(began).Seconds()
	}
	return at.Sub(restart).Seconds()
}

// eachLook calls back for each instant at which a replica was looked at.
func eachLook(replica string, look func(at time.Time)) {
	for at := began; !at.After(ended); at = at.Add(time.Minute) {
		if replica == "b" && at.Before(joined) || at.After(gapFrom) && at.Before(gapEnd) {
			continue
		}
		look(at)
	}
}

// writeDays writes the eight days as OpenMetrics and makes blocks of them.
func writeDays(t *testing.T) (data string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "days.om")
	file := must.Get(os.Create(path))(t)
	out := bufio.NewWriterSize(file, 1<<20)
	lines := 0
	write := func(name, replica, labels string, value func(at time.Time) float64) {
		eachLook(replica, func(at time.Time) {
			lines++
			out.WriteString(name)
			out.WriteString(`{engine="0",instance="` + replica + `:8000",model_name="llama"` + labels + "} ")
			out.Write(strconv.AppendFloat(nil, value(at), 'f', -1, 64))
			out.WriteByte(' ')
			out.Write(strconv.AppendInt(nil, at.Unix(), 10))
			out.WriteByte('\n')
		})
	}
	for _, name := range []string{"vllm:prompt_tokens", "vllm:generation_tokens", "vllm:num_preemptions", "vllm:prefix_cache_queries", "vllm:prefix_cache_hits"} {
		fmt.Fprintf(out, "# TYPE %s counter\n", name)
		for _, replica := range []string{"a", "b"} {
			write(name+"_total", replica, "", func(at time.Time) float64 { return 100 * counted(replica, at) })
		}
	}
	fmt.Fprintln(out, "# TYPE vllm:request_success counter")
	for _, replica := range []string{"a", "b"} {
		write("vllm:request_success_total", replica, `,finished_reason="stop"`, func(at time.Time) float64 { return counted(replica, at) })
	}
	for _, name := range []string{"vllm:num_requests_running", "vllm:num_requests_waiting"} {
		fmt.Fprintf(out, "# TYPE %s gauge\n", name)
		for _, replica := range []string{"a", "b"} {
			write(name, replica, "", func(time.Time) float64 { return 3 })
		}
	}
	for name, bounds := range histograms {
		fmt.Fprintf(out, "# TYPE %s histogram\n", name)
		for _, replica := range []string{"a", "b"} {
			for i, le := range append(bounds, -1) {
				share := min(1, float64(i+1)/float64(len(bounds)*2/3))
				value := func(at time.Time) float64 { return float64(int64(share * counted(replica, at))) }
				if le < 0 {
					write(name+"_bucket", replica, `,le="+Inf"`, value)
					continue
				}
				plain := strconv.FormatFloat(le, 'f', -1, 64)
				float := plain
				if !strings.Contains(plain, ".") {
					float += ".0"
				}
				// Two series, as of a Prometheus that was upgraded: the first ends where the second begins.
				eachLook(replica, func(at time.Time) {
					lines++
					text := plain
					if !at.Before(renamed) {
						text = float
					}
					fmt.Fprintf(out, "%s_bucket{engine=\"0\",instance=\"%s:8000\",model_name=\"llama\",le=\"%s\"} %.0f %d\n", name, replica, text, value(at), at.Unix())
				})
			}
			write(name+"_count", replica, "", func(at time.Time) float64 { return counted(replica, at) })
			write(name+"_sum", replica, "", func(at time.Time) float64 { return 0.25 * counted(replica, at) })
		}
	}
	out.WriteString("# EOF\n")
	must.Do(t, out.Flush())
	file.Close()
	data = filepath.Join(t.TempDir(), "data")
	start := time.Now()
	// It reads the file once for each block: by the usual two hours that would be a hundred times.
	if text, err := exec.Command(filepath.Join(folder(t), "promtool"), "tsdb", "create-blocks-from", "--max-block-duration=240h", "--quiet", "openmetrics", path, data).CombinedOutput(); err != nil {
		t.Fatalf("promtool: %v\n%s", err, text)
	}
	t.Logf("promtool made blocks of %d samples in %s", lines, time.Since(start).Round(time.Second))
	os.Remove(path)
	return data
}

// TestEightDays collects a week and a day, looks at what the warehouse makes of restart, gap and bounds, and collects again.
func TestEightDays(t *testing.T) {
	p := build(t)
	server := serve(t, writeDays(t), "global: {}\n")
	service := p.service(t, "chat", server.url, `model_name="llama"`)
	half := ended.Add(-36 * time.Hour).Format(time.RFC3339)

	start := time.Now()
	_, said := p.run(t, 0, nil, "collect", "--service", service, "--since", began.Format(time.RFC3339), "--until", half)
	first := server.ranges.Load()
	_, more := p.run(t, 0, nil, "collect", "--service", service, "--until", ended.Format(time.RFC3339))
	took := time.Since(start)
	t.Logf("eight days of two replicas were collected and ingested in %s, by %d requests\n%s%s", took.Round(100*time.Millisecond), server.requests.Load(), said, more)
	if took > time.Minute {
		t.Errorf("it took %s, want less than a minute", took)
	}
	if now := server.ranges.Load(); now-first > 6 || first < 14 {
		t.Errorf("%d ranges at first, %d for the last day and a half: want only what was missing", first, now-first)
	}
	before := server.ranges.Load()
	if _, said := p.run(t, 0, nil, "collect", "--service", service, "--until", ended.Format(time.RFC3339)); !strings.Contains(said, "nothing was missing") || server.ranges.Load() != before {
		t.Errorf("a third time: %d ranges more\n%s", server.ranges.Load()-before, said)
	}
	if got := fmt.Sprint(p.rows(t, "select name, kind, format from raw.sources")); got != "[[chat.prometheus metrics prometheus-collected]]" {
		t.Errorf("got the sources %s", got)
	}

	at := func(day, hour int) string {
		return began.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour).Format(time.RFC3339)
	}
	for _, c := range []struct {
		why       string
		hour      string
		histogram float64 // requests of the hour, by the quarters
		counter   float64 // by the minutes
	}{
		{"one replica", at(1, 3), 3600, 3600},
		{"b came at its begin, with a million behind it", at(1, 6), 7200, 7200},
		{"two replicas", at(2, 9), 7200, 7200},
		// a has counted 53 minutes since; the quarter of the restart lacks the seven before it, and the minutes one.
		{"a began again", at(2, 12), 3600 + 53*60, 3600 + 59*60},
		{"whole bounds are spelled anew from here on", at(3, 0), 7200, 7200},
		{"nobody looked from twenty past on: one quarter is whole", at(4, 10), 2 * 900, 2 * 1200},
		{"nobody looked", at(4, 11), 0, 0},
		{"nor here", at(4, 12), 0, 0},
		{"from twenty past on: two quarters are whole", at(4, 13), 2 * 1800, 2 * 2400},
		{"the last hour", at(7, 23), 7200, 7200},
	} {
		rows := p.rows(t, fmt.Sprintf(`select coalesce(sum(amount) filter (where figure = 'ttft' and part = 'bucket' and isinf(le)), 0),
			coalesce(sum(amount) filter (where figure = 'finished'), 0), count(distinct le) filter (where figure = 'ttft'), coalesce(min(amount) filter (where figure = 'ttft' and part = 'bucket'), 0)
			from macros.felt([(select source_id from raw.sources)], ['%s'::timestamptz])`, c.hour))
		if got := rows[0]; number(t, got[0]) != c.histogram || number(t, got[1]) != c.counter {
			t.Errorf("%s (%s): got %s requests by the histogram and %s by the counter, want %v and %v", c.why, c.hour, got[0], got[1], c.histogram, c.counter)
		} else if c.histogram > 0 && (got[2] != "23" || number(t, got[3]) < 0) {
			t.Errorf("%s: got %s bounds and the least growth %s", c.why, got[2], got[3])
		}
	}
	// What was counted across the gap is one row of its own, and nothing was counted twice: b has a second for each request.
	rows := p.rows(t, `select until_s - from_s, increase from staging.metric_intervals where name = 'vllm:request_success_total' and target like '%b:%' and until_s - from_s > 300`)
	// The server shows the last sample for five minutes more.
	if len(rows) != 1 || number(t, rows[0][1]) != 3*3600 || number(t, rows[0][0]) != 3*3600-300 {
		t.Errorf("across the gap: got %v", rows)
	}
	rows = p.rows(t, `select sum(increase) from staging.metric_intervals where name = 'vllm:request_success_total' and target like '%b:%' and not is_first`)
	if want := ended.Sub(joined).Seconds(); number(t, rows[0][0]) != want {
		t.Errorf("b in all: got %v, want %v", rows, want)
	}
	if rows := p.rows(t, "select count(*) from staging.length_cells where requests < 0"); rows[0][0] != "0" {
		t.Errorf("%v cells of lengths are negative", rows)
	}

	t.Run("limits", func(t *testing.T) { limits(t, server) })
	t.Run("refused", func(t *testing.T) {
		_, said := p.run(t, 4, nil, "collect", "--service", p.service(t, "other", server.url, `model_name="lama"`), "--since", began.Format(time.RFC3339), "--until", ended.Format(time.RFC3339))
		if !strings.Contains(said, "none of them matches") || !strings.Contains(said, "model_name is llama there") {
			t.Errorf("a wrong selector: got %s", said)
		}
	})
}

// limits: Prometheus refuses more than 11,000 points a series; a day by the second is asked for in pieces.
func limits(t *testing.T, server *prometheus) {
	answer := get(t, fmt.Sprintf("%s/api/v1/query_range?query=up&start=%d&end=%d&step=1", server.direct, began.Unix(), began.Unix()+86400))
	must.Say(t, answer, "maximum resolution of 11,000 points")
	result, err := collect.Run(t.Context(), collect.Settings{
		Service: "fine", URL: server.url, Selector: `instance="a:8000"`, Path: filepath.Join(t.TempDir(), "fine.jsonl"), Since: began, Until: began.Add(5 * time.Hour),
		Steps: collect.Steps{Counters: time.Second, GPUs: time.Hour, Histograms: time.Hour},
	})
	if err != nil || result.Series == 0 {
		t.Errorf("by the second: %+v, %v", result, err)
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	value := must.Get(strconv.ParseFloat(text, 64))(t)
	return value
}
