package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/analysis/week/service"
	"tidemark/cmd/tidemark/verbs/send"
	"tidemark/fixtures"
	"tidemark/fixtures/seeded"
	"tidemark/internal/cli/kit"
	"tidemark/internal/engine"
	"tidemark/internal/engine/rehearsal"
	"tidemark/internal/proof/must"
	"tidemark/internal/stat"
	"tidemark/replay/experiment"
	"tidemark/replay/plan"
)

// What the engine says of runs: two were late, one lacked files, one is as it should be.
var triedRuns = map[string]string{
	"late":  `{"status": "done", "result": {"is_valid": false, "invalid_reason": "p99 lateness 0.05 s is above 0.01 s"}}`,
	"later": `{"status": "done", "result": {"is_valid": false, "invalid_reason": "the client itself stood still for 0.4 s, more than 0.25 s"}}`,
	"short": `{"status": "done", "result": {"is_valid": false, "invalid_reason": "no file left", "client_limit": "no file left"}}`,
	"whole": `{"status": "done", "result": {"is_valid": true}}`,
}

// The demo tries a second time where this machine was too busy to send on time, never a third, and reports the last try; the verbs are
// the real ones but for what they do.
func TestTheDemoTriesOnceMoreOnABusyMachine(t *testing.T) {
	dir := t.TempDir()
	for id, document := range triedRuns {
		folder := filepath.Join(dir, "runs", id)
		must.Do(t, errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "run.json"), []byte(document), 0o644)))
	}
	for _, c := range []struct {
		name, tries, reported, busy, err string
	}{
		{"a quiet machine", "whole", "whole", "", ""},
		{"a machine that calms down", "late whole", "whole", "", ""},
		{"a machine that stays busy", "late later", "later", "later is invalid", ""},
		{"a run that is invalid for another reason", "short", "", "", "exit code 3"},
	} {
		var said, told strings.Builder
		app := newApp(strings.NewReader(""), &said, &told)
		tries, reported := strings.Fields(c.tries), ""
		command := func(name string) *cli.Command {
			return app.Commands[slices.IndexFunc(app.Commands, func(c *cli.Command) bool { return c.Name == name })]
		}
		command("ingest").Action = func(*cli.Context) error { return nil }
		publishes := false
		command("report").Action = func(c *cli.Context) error {
			reported, publishes = c.Args().First(), publishes || c.String("publish") != "off"
			return nil
		}
		command("replay").Action = func(c *cli.Context) error {
			publishes = publishes || c.String("publish") != "off"
			id := tries[0]
			tries = tries[1:]
			asked := send.AskedFor(c.Context, 0)
			asked.Result = experiment.Result{RunID: id, Outcome: experiment.Measured, FirstLine: id + " is valid"}
			if id != "whole" {
				asked.Result.Outcome, asked.Result.FirstLine = experiment.Invalid, id+" is invalid"
				return kit.ExitError{Code: kit.ExitInvalid}
			}
			return nil
		}
		var busy string
		d := &demo{dir: dir}
		command("demo").Action = d.Do(func() (err error) {
			busy, err = d.play("http://localhost")
			return err
		})
		kit.WithMaker(app, func(io.Reader, io.Writer, io.Writer) *cli.App { return app })
		err := app.RunContext(t.Context(), []string{"tidemark", "demo"})
		if got := fmt.Sprint(err); len(tries) > 0 || reported != c.reported || busy != c.busy || (err == nil) != (c.err == "") || err != nil && got != c.err {
			t.Errorf("%s: tries left %v, reported %q, busy %q, %v", c.name, tries, reported, busy, err)
		}
		if publishes {
			t.Errorf("%s: a step publishes, which costs seconds", c.name)
		}
		if again := strings.Contains(told.String(), "too busy to measure on; trying once more"); again != (c.reported != "" && strings.Contains(c.tries, " ")) {
			t.Errorf("%s: told %q", c.name, told.String())
		}
	}
}

// The files that the demo writes are those that its steps name.
func TestTheDemosServiceFileIsOfItsWeeks(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string][]byte{"demo-chat.yaml": fixtures.DemoService, "slo.yaml": fixtures.DemoSLO} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
	}
	file := must.Get(service.Read(filepath.Join(dir, "demo-chat.yaml")))(t)
	if _, err := analysis.ReadSLO(file.SLO); err != nil {
		t.Error(err)
	}
	if want := file.Service + ".prometheus.jsonl"; demoMetrics != want {
		t.Errorf("the service's metrics are looked for as %s, and %s is written", want, demoMetrics)
	}
	if zone := seeded.Demo().Zone.String(); file.TimeZone != zone {
		t.Errorf("the file's zone is %s, the traffic's %s", file.TimeZone, zone)
	}
	if file.Replicas[0].Replicas != seeded.DemoServers {
		t.Errorf("the file has %d replicas, the traffic %d", file.Replicas[0].Replicas, seeded.DemoServers)
	}
	if _, err := service.ParseWeek(seeded.DemoWeek, file.Zone); err != nil {
		t.Error(err)
	}
}

func TestWhatTheDemoPrintsCanBeTyped(t *testing.T) {
	if got, want := asTyped([]string{"sql", "select 1", "--json"}), `sql "select 1" --json`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

var update = flag.Bool("update", false, "write what the demo's servers show anew, from the model")

// What the demo's servers show at their loads is what the model says of servers whose steps take 6 % longer.
func TestTheDemosServersAreThoseOfTheModel(t *testing.T) {
	const path = "../../fixtures/demo/served.csv"
	config := must.Get(send.SimulatorOf(t.Context(), send.DemoDeployment))(t)
	steps := config.StepTime
	config.StepTime = func(s engine.Step) time.Duration { return time.Duration(1.06 * float64(steps(s))) }
	config.MaxModelLen = 32768
	var out strings.Builder
	out.WriteString("rate_per_s,name,le,value\n")
	for _, perS := range []float64{1, 2, 4, 6, 8, 9, 10, 11} {
		serveDemo(t, &out, config.Config, perS)
	}
	if *update {
		must.Do(t, os.WriteFile(path, []byte(out.String()), 0o644))
	}
	if is, err := os.ReadFile(path); err != nil || string(is) != out.String() {
		t.Errorf("%s is not what the model says now (%v): go test -tags duckdb_arrow ./cmd/tidemark -run TestTheDemosServersAreThoseOfTheModel -args -update", path, err)
	}
}

// serveDemo plays twenty minutes of the demo's requests at a rate, and writes what a server of vLLM would show.
func serveDemo(t *testing.T, out io.Writer, config engine.Config, perS float64) {
	t.Helper()
	bounds := map[string][]float64{
		"time_to_first_token_seconds":           {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560},
		"request_time_per_output_token_seconds": {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80},
		"inter_token_latency_seconds":           {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80},
		"e2e_request_latency_seconds":           {0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680},
		"request_queue_time_seconds":            {0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680},
	}
	begin := seeded.Demo().Begin
	served := seeded.Demo()
	served.Shape, served.Growth, served.Noise, served.Gaps, served.Holidays, served.RatePerS = seeded.Even(), 0, 0, nil, nil, perS
	var text strings.Builder
	must.Do(t, served.Write(&text, begin, begin.Add(20*time.Minute)))
	var requests []plan.Request
	for _, line := range strings.Split(strings.TrimSpace(text.String()), "\n")[1:] {
		fields := strings.Split(line, ",")
		at, errAt := time.Parse("2006-01-02 15:04:05.999999-07:00", fields[0])
		input, errIn := strconv.Atoi(fields[1])
		output, errOut := strconv.Atoi(fields[2])
		must.Do(t, errors.Join(errAt, errIn, errOut))
		requests = append(requests, plan.Request{Seq: int64(len(requests)), Due: at.Sub(begin), InputTokens: input, OutputTokens: output})
	}
	values := map[string][]float64{}
	var running, waiting, used, samples float64
	settings := rehearsal.Settings{Engine: config, KeepsTokens: true, Sample: func(_ time.Duration, _ int, c engine.Counts) {
		running, waiting, used, samples = running+float64(c.Running), waiting+float64(c.Waiting), used+c.KVUsage, samples+1
	}}
	err := rehearsal.PlayAll(t.Context(), settings, requests, func(r *rehearsal.Request) error {
		put := func(name string, d time.Duration) { values[name] = append(values[name], d.Seconds()) }
		put("time_to_first_token_seconds", r.First-r.Sent)
		put("e2e_request_latency_seconds", r.Last-r.Sent)
		put("request_queue_time_seconds", r.Scheduled-r.Sent)
		if r.OutputTokens > 1 {
			put("request_time_per_output_token_seconds", r.TPOT())
		}
		for i := 1; i < len(r.Tokens); i++ {
			put("inter_token_latency_seconds", r.Tokens[i]-r.Tokens[i-1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(bounds)) {
		fmt.Fprintf(out, "%g,%s,,%.6g\n", perS, name, stat.Mean(values[name]))
		for _, bound := range bounds[name] {
			below := 0
			for _, v := range values[name] {
				if v <= bound {
					below++
				}
			}
			fmt.Fprintf(out, "%g,%s,%g,%.5g\n", perS, name, bound, float64(below)/float64(len(values[name])))
		}
	}
	fmt.Fprintf(out, "%g,num_requests_running,,%.5g\n%g,num_requests_waiting,,%.5g\n%g,kv_cache_usage_perc,,%.5g\n", perS, running/samples, perS, waiting/samples, perS, used/samples)
}

// Requests that are drawn from what a Prometheus counted are as long as counted, though it was asked for sums three times as often as for buckets.
func TestWhatWasCollectedIsPlannedAsLongAsCounted(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	served := must.Get(seeded.ReadServed(bytes.NewReader(fixtures.DemoServed)))(t)
	file := must.Get(os.Create(in("chat.prometheus.jsonl")))(t)
	s := seeded.Demo()
	must.Do(t, errors.Join(s.WriteMetrics(file, "chat", "m", 2, served, s.Begin, s.Begin.AddDate(0, 0, 2)), file.Close()))
	var said bytes.Buffer
	do := func(args ...string) string {
		said.Reset()
		if code := run(append([]string{"tidemark"}, append(args, "--warehouse", in("w.duckdb"))...), strings.NewReader(""), &said, io.Discard); code != 0 {
			t.Fatalf("%v: exit code %d\n%s", args, code, said.String())
		}
		return said.String()
	}
	do("ingest", in("chat.prometheus.jsonl"))
	do("plan", "chat.prometheus", "--from", "+24h", "--until", "+25h", "--output", in("hour.jsonl"))
	planned := must.Get(plan.Open(in("hour.jsonl")))(t)
	h := planned.Header()
	for quantity, tokens := range map[string]int64{"input_tokens": h.InputTokens, "output_tokens": h.OutputTokens} {
		text := do("sql", "--csv", "select sum(mean_tokens * requests) / sum(requests) from staging.length_means where quantity = '"+quantity+"'")
		counted := must.Get(strconv.ParseFloat(strings.TrimSpace(strings.SplitN(text, "\n", 2)[1]), 64))(t)
		if drawn := float64(tokens) / float64(h.Requests); math.Abs(drawn/counted-1) > 0.03 {
			t.Errorf("%s: drawn are %.1f in the mean, counted were %.1f", quantity, drawn, counted)
		}
	}
}
