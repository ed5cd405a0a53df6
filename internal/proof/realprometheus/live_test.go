//go:build prometheus

package realprometheus

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"tidemark/ingest/collect"
	"tidemark/internal/proof"
	"tidemark/internal/proof/must"
)

// minutes of load. Everything is looked at every second, and collected by five seconds.
const load = 2 * time.Minute

// TestTwoSimulatorsUnderLoad: what was collected is what the servers counted, though one of them was started again.
func TestTwoSimulatorsUnderLoad(t *testing.T) {
	p := build(t)
	ports := []int{proof.FreePort(t), proof.FreePort(t)}
	simulate := func(port int) func() {
		return start(t, fmt.Sprintf("http://127.0.0.1:%d/metrics", port), p.binary, "simulate", "--gpu", "H100", "--catalog-model", "llama-3.1-8b", "--served-model-name", "llama", "--port", fmt.Sprint(port))
	}
	simulate(ports[0])
	stop := simulate(ports[1])
	server := serve(t, filepath.Join(t.TempDir(), "data"), fmt.Sprintf("scrape_configs: [{job_name: vllm, scrape_interval: 1s, static_configs: [{targets: ['127.0.0.1:%d', '127.0.0.1:%d']}]}]\n", ports[0], ports[1]))

	began := time.Now()
	time.Sleep(20 * time.Second) // a first look, at zero, on a busy machine too
	settings := collect.Settings{Service: "sim", URL: server.url, Selector: `model_name="llama"`, Path: filepath.Join(p.folder, "runs", "sim.prometheus.jsonl"),
		Since: began, Steps: collect.Steps{Counters: 5 * time.Second, GPUs: 5 * time.Second, Histograms: 15 * time.Second}}
	finished, beforeRestart := 0, 0.0
	send := func(port int) {
		response := must.Get(http.Post(fmt.Sprintf("http://127.0.0.1:%d/v1/completions", port), "application/json",
			bytes.NewReader([]byte(`{"model":"llama","prompt":"one two three four five six seven","max_tokens":8,"ignore_eos":true}`))))(t)
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			finished++
		}
	}
	half := 0
	for now := time.Now(); time.Since(now) < load; time.Sleep(250 * time.Millisecond) {
		send(ports[0])
		send(ports[1])
		if half == 0 && time.Since(now) > load/2 {
			time.Sleep(7 * time.Second) // the last look before is collected
			half, beforeRestart = finished, counter(t, ports[1])
			stop()
			time.Sleep(2 * time.Second)
			stop = simulate(ports[1])
			time.Sleep(7 * time.Second)
			settings.Until = time.Now().Add(-2 * time.Second)
			must.Get(collect.Run(t.Context(), settings))(t)
		}
	}
	time.Sleep(7 * time.Second)
	after := counter(t, ports[0]) + counter(t, ports[1])
	if got := after + beforeRestart; int(got) != finished {
		t.Fatalf("the servers count %v, %d requests were sent", got, finished)
	}
	before := server.ranges.Load()
	settings.Since, settings.Until = time.Time{}, time.Now()
	result := must.Get(collect.Run(t.Context(), settings))(t)
	if now := server.ranges.Load(); now-before != 4 {
		t.Errorf("the second time: %d ranges, want one for each of the four groups", now-before)
	}
	if text, err := os.ReadFile(result.Path); err != nil || bytes.Count(text, []byte(`{"asked"`)) != 8 {
		t.Errorf("the file has %d answers, %v: want eight", bytes.Count(text, []byte(`{"asked"`)), err)
	}
	p.run(t, 0, nil, "ingest", result.Path)
	rows := p.rows(t, "select target, sum(increase), count(*) filter (where is_reset) from staging.metric_intervals where name = 'vllm:request_success_total' and not is_first group by all order by all")
	sum := 0.0
	for _, row := range rows {
		sum += number(t, row[1])
	}
	if len(rows) != 2 || int(sum) != finished {
		t.Errorf("got %v, in all %v; want two servers and %d requests", rows, sum, finished)
	}
	if rows := p.rows(t, "select count(*) from staging.metric_intervals where is_reset and name = 'vllm:prompt_tokens_total'"); rows[0][0] != "1" {
		t.Errorf("got %s restarts, want one", rows[0][0])
	}
	if rows := p.rows(t, "select count(distinct target), bool_and(quantity is not null) from staging.metric_series where name not in ('tidemark_collected', 'process_start_time_seconds')"); rows[0][0] != "2" || rows[0][1] != "true" {
		t.Errorf("got %v: want two servers, and a quantity of each series", rows)
	}
	// By the minute and by the quarter, as a user has it: two minutes are enough for the counters.
	p.run(t, 0, nil, "collect", "--service", p.service(t, "minutes", server.url, `model_name="llama"`), "--since", "10m", "--until", time.Now().UTC().Format(time.RFC3339))
	if rows := p.rows(t, "select count(*) > 0 from staging.metric_intervals where source_name = 'minutes.prometheus' and quantity = 'finished_requests' and not is_first"); rows[0][0] != "true" {
		t.Error("the verb collected no minute")
	}
}

var success = regexp.MustCompile(`(?m)^vllm:request_success_total\{[^}]*\} (\S+)$`)

// counter are the requests that a server says it has finished.
func counter(t *testing.T, port int) (sum float64) {
	t.Helper()
	for _, found := range success.FindAllStringSubmatch(get(t, fmt.Sprintf("http://127.0.0.1:%d/metrics", port)), -1) {
		value := must.Get(strconv.ParseFloat(found[1], 64))(t)
		sum += value
	}
	return sum
}

// The password of admin is "test", as Prometheus' documentation hashes it.
const webConfig = "basic_auth_users: {admin: $2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay}\n"

func TestAServerThatRefuses(t *testing.T) {
	p := build(t)
	web := filepath.Join(p.folder, "web.yml")
	must.Do(t, os.WriteFile(web, []byte(webConfig), 0o600))
	server := serve(t, filepath.Join(t.TempDir(), "data"), "global: {}\n", "--web.config.file="+web)
	service := p.service(t, "closed", server.url, `model_name="llama"`)
	for _, c := range []struct {
		why         string
		environment []string
		says        string
	}{
		{"no password", nil, "refuses the request without a token or password (401)"},
		{"another password", []string{"TIDEMARK_PROMETHEUS_USER=admin", "TIDEMARK_PROMETHEUS_PASSWORD=guess"}, "with what it was shown (401)"},
		{"the password: it lets in, and has nothing", []string{"TIDEMARK_PROMETHEUS_USER=admin", "TIDEMARK_PROMETHEUS_PASSWORD=test"}, "has no metrics of an engine"},
	} {
		if _, said := p.run(t, 4, c.environment, "collect", "--service", service); !bytes.Contains([]byte(said), []byte(c.says)) {
			t.Errorf("%s: got %s", c.why, said)
		}
	}
}
