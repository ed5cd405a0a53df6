//go:build coverage

package weeks

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/fixtures/seeded"
	"tidemark/internal/proof/must"
)

const slo = "schema: tidemark.slo/2\nname: slo\nobjectives:\n  - {metric: ttft_from_due, percentile: 99, at_most: %s}\n"

// long are questions about documents to a 70B model, short chats with an 8B.
var (
	long  = seeded.Class{Share: 1, Input: seeded.Lengths{Median: 14_000, Sigma: 0.3, Most: 31_000}, Output: seeded.Lengths{Median: 60, Sigma: 0.4, Most: 400}}
	short = seeded.Class{Share: 1, Input: seeded.Lengths{Median: 900, Sigma: 0.8, Most: 16_000}, Output: seeded.Lengths{Median: 250, Sigma: 0.6, Most: 2_000}}
)

// TestTwelveWeeks makes the page of each of twelve weeks, Monday after Monday, as a CronJob would. TIDEMARK is the program, WEEKS_SEED the seed of its traffic.
func TestTwelveWeeks(t *testing.T) {
	seed := must.Get(strconv.ParseUint(cmp.Or(os.Getenv("WEEKS_SEED"), "11"), 10, 64))(t)
	for _, one := range []struct {
		name       string
		deployment string
		replicas   int
		atMost     string
		perS       float64
		growth     float64
		class      seeded.Class
		isCounted  bool // by the servers: no trace
		most       int  // changes of the verdict
		ends       string
	}{
		{name: "one-slot", deployment: "{gpu: H100, model: llama-3.1-8b, max_num_seqs: 1}", replicas: 2, atMost: "3s", perS: 0.07, class: short, most: 1},
		{name: "documents", deployment: "{gpu: H200, model: llama-3.1-70b, quantization: fp8, max_model_len: 32768}", replicas: 3, atMost: "12s", perS: 0.57, class: long, most: 1},
		{name: "counters", deployment: "{gpu: H200, model: llama-3.1-70b, quantization: fp8, max_model_len: 32768}", replicas: 3, atMost: "12s", perS: 0.57, class: long, isCounted: true, most: 1},
		{name: "growing", deployment: "{gpu: H200, model: llama-3.1-70b, quantization: fp8, max_model_len: 32768}", replicas: 3, atMost: "12s", perS: 0.6, growth: 0.03, class: long, most: 3, ends: "buy"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			zone := time.UTC
			begin := time.Date(2026, 8, 3, 0, 0, 0, 0, zone)
			service := seeded.Service{Seed: seed, Zone: zone, Begin: begin, RatePerS: one.perS, Shape: seeded.OfficeHours(0.27), Growth: one.growth, Noise: 0.03, Classes: []seeded.Class{one.class}}
			h := home{t, t.TempDir()}
			traffic := "traffic: [weeks]"
			var csv bytes.Buffer
			must.Do(t, service.Write(&csv, begin.AddDate(0, 0, -21), begin.AddDate(0, 0, 84)))
			if one.isCounted {
				traffic = "metrics: http://prometheus:9090"
				h.write(one.name+".prometheus.jsonl", collected(t, one.name, csv.Bytes()))
				h.run("ingest", one.name+".prometheus.jsonl")
			} else {
				h.write("weeks.csv", csv.Bytes())
				h.run("ingest", "weeks.csv")
			}
			h.write("slo.yaml", fmt.Appendf(nil, slo, one.atMost))
			h.write("service.yaml", fmt.Appendf(nil, "service: %s\ntime_zone: UTC\n%s\ndeployment: %s\nreplicas: %d\nslo: slo.yaml\n", one.name, traffic, one.deployment, one.replicas))
			changes, last := 0, ""
			for n := range 12 {
				_, week := begin.AddDate(0, 0, 7*n).ISOWeek()
				h.run("report", "--service", "service.yaml", "--week", fmt.Sprintf("2026-W%d", week), "--output", "page.html", "--force", "--summary", "summary")
				var said struct {
					Sentence string  `json:"sentence"`
					Peak     float64 `json:"peak_rate_per_s"`
					Verdict  struct {
						Kind     string `json:"kind"`
						Replicas *int   `json:"advised_replicas"`
						Cautious *int   `json:"cautious_advised_replicas"`
						Needed   *int   `json:"needed_replicas"`
					} `json:"verdict"`
				}
				text, err := os.ReadFile(filepath.Join(h.dir, "summary", "summary.json"))
				if err == nil {
					err = json.Unmarshal(text, &said)
				}
				must.Do(t, err)
				v := said.Verdict
				fmt.Printf("%-10s W%d peak %.3f/s needed %s: %s %s (cautious %s): %s\n", one.name, week, said.Peak, number(v.Needed), v.Kind, number(v.Replicas), number(v.Cautious), said.Sentence)
				// The verdict is what to do: the kind, and how many to buy.
				verdict := v.Kind
				if v.Kind == "buy" {
					verdict += number(v.Replicas)
				}
				if last != "" && verdict != last {
					changes++
				}
				last = verdict
			}
			if changes > one.most || !strings.HasPrefix(last, one.ends) {
				t.Errorf("%d changes of the verdict, at the end %s; want %d at most, and at the end %q", changes, last, one.most, one.ends)
			}
		})
	}
}

// TestRealTracesHaveOneAnswer asks the Monday page and what-if how much one and three replicas take of a real trace, and how many it needs. The page judges the
// busiest five minutes by the clock of each hour, what-if the busiest ten minutes of the trace, so that they compare as multiples of these: their intervals
// overlap, and the needs are at most one replica apart. TIDEMARK_SHARED has the traces.
func TestRealTracesHaveOneAnswer(t *testing.T) {
	shared := os.Getenv("TIDEMARK_SHARED")
	if _, err := os.Stat(filepath.Join(shared, "traces")); shared == "" || err != nil {
		t.Skip("TIDEMARK_SHARED has no traces")
	}
	for _, one := range []struct {
		name, file, gpu, model, week string
		ttft, tpot                   string
	}{
		{name: "conversations", file: "azure-2023/AzureLLMInferenceTrace_conv.csv", gpu: "H100", model: "llama-3.1-8b", week: "2023-W46", ttft: "1s", tpot: "60ms"},
		{name: "code", file: "azure-2023/AzureLLMInferenceTrace_code.csv", gpu: "H200", model: "llama-3.1-8b", week: "2023-W46", ttft: "1s", tpot: "60ms"},
		{name: "mooncake", file: "mooncake/conversation_trace.jsonl", gpu: "H200", model: "llama-3.1-8b", week: "2024-W26", ttft: "20s", tpot: "100ms"},
	} {
		t.Run(one.name, func(t *testing.T) {
			h := home{t, t.TempDir()}
			h.run("ingest", h.dated(filepath.Join(shared, "traces", one.file)), "--name", one.name)
			h.write("slo.yaml", fmt.Appendf(nil, slo+"  - {metric: tpot, percentile: 99, at_most: %s}\n", one.ttft, one.tpot))
			for _, replicas := range []int{1, 3} {
				h.write("service.yaml", fmt.Appendf(nil, "service: %s\ntime_zone: UTC\ntraffic: [%s]\ndeployment: {gpu: %s, model: %s}\nreplicas: %d\nslo: slo.yaml\n", one.name, one.name, one.gpu, one.model, replicas))
				h.run("report", "--service", "service.yaml", "--week", one.week, "--output", "page.html", "--force")
				var page []struct {
					Needed         int
					Low, Mid, High float64
				}
				h.ask(&page, "sql", "--json", `select needed_replicas as "Needed", `+
					fmt.Sprintf(`%d * paid_rate_ratio * low_replica_rate_per_s / peak_rate_per_s as "Low", %d * paid_rate_ratio * replica_rate_per_s / peak_rate_per_s as "Mid", %d * paid_rate_ratio * high_replica_rate_per_s / peak_rate_per_s as "High" `, replicas, replicas, replicas)+
					"from marts.service_hours where requests > 0 order by peak_rate_per_s / replica_rate_per_s desc limit 1")
				var whatIf []struct {
					Needed   int     `json:"replicas_needed"`
					Low      float64 `json:"low_capacity_per_s"`
					Mid      float64 `json:"capacity_per_s"`
					High     float64 `json:"high_capacity_per_s"`
					Headroom float64 `json:"headroom_ratio"`
				}
				h.ask(&whatIf, "what-if", one.name, "--json", "--slo", "slo.yaml", "--gpu", one.gpu, "--catalog-model", one.model, "--replicas", strconv.Itoa(replicas))
				p, w := page[0], whatIf[0]
				perS := w.Mid / (1 + w.Headroom)
				low, mid, high := w.Low/perS, w.Mid/perS, w.High/perS
				fmt.Printf("%-14s %d replicas: page %.2f (%.2f to %.2f) times, needs %d; what-if %.2f (%.2f to %.2f), needs %d\n", one.name, replicas, p.Mid, p.Low, p.High, p.Needed, mid, low, high, w.Needed)
				if low <= 0 || w.High <= 0 {
					t.Errorf("%d replicas: an end of what-if's interval is not known", replicas)
				}
				if p.Low > high || low > p.High {
					t.Errorf("%d replicas: the intervals of the page and of what-if have nothing in common", replicas)
				}
				if apart := p.Needed - w.Needed; apart < -1 || apart > 1 {
					t.Errorf("%d replicas: the page needs %d, what-if %d", replicas, p.Needed, w.Needed)
				}
			}
		})
	}
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// home is a folder with a warehouse.
type home struct {
	t   *testing.T
	dir string
}

func (h home) write(name string, text []byte) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), text, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h home) run(args ...string) {
	h.t.Helper()
	command := exec.Command(os.Getenv("TIDEMARK"), args...)
	command.Dir = h.dir
	if out, err := command.CombinedOutput(); err != nil {
		h.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// dated is the file of a trace whose requests have a date: one of Mooncake's begins at 0 ms, and is put at nine on a Monday.
func (h home) dated(file string) string {
	if filepath.Ext(file) != ".jsonl" {
		return file
	}
	h.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	monday := time.Date(2024, 6, 24, 9, 0, 0, 0, time.UTC).UnixMilli()
	dated := regexp.MustCompile(`"timestamp": \d+`).ReplaceAllFunc(text, func(stamp []byte) []byte {
		ms, err := strconv.ParseInt(string(bytes.TrimPrefix(stamp, []byte(`"timestamp": `))), 10, 64)
		if err != nil {
			h.t.Fatal(err)
		}
		return fmt.Appendf(nil, `"timestamp": %d`, monday+ms)
	})
	h.write("dated.jsonl", dated)
	return filepath.Join(h.dir, "dated.jsonl")
}

// ask reads the answer of a command as JSON.
func (h home) ask(into any, args ...string) {
	h.t.Helper()
	command := exec.Command(os.Getenv("TIDEMARK"), args...)
	command.Dir = h.dir
	out, err := command.Output()
	if err != nil && len(out) == 0 {
		h.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		h.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// collected is what a Prometheus that scrapes every two minutes says of one server that takes these requests.
func collected(t *testing.T, service string, csv []byte) []byte {
	t.Helper()
	const every = 120
	bounds := []float64{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000}
	names := []string{"request_success_total", "prompt_tokens_total", "generation_tokens_total"}
	lengths := []string{"request_prompt_tokens", "request_generation_tokens"}
	values := make([]float64, len(names)+len(lengths)*(len(bounds)+1))
	points := make([][]string, len(values))
	var at int64
	look := func() {
		for i, v := range values {
			points[i] = append(points[i], fmt.Sprintf(`[%d,"%g"]`, at, v))
		}
		at += every
	}
	lines := bufio.NewScanner(bytes.NewReader(csv))
	lines.Scan()
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ",")
		arrived := must.Get(time.Parse("2006-01-02 15:04:05.999999-07:00", fields[0]))(t)
		if at == 0 {
			at = arrived.Truncate(24*time.Hour).Unix() + 37 // scrapes are at no round second
		}
		for arrived.Unix() >= at {
			look()
		}
		values[0]++
		for i, field := range fields[1:] {
			n := must.Get(strconv.ParseFloat(field, 64))(t)
			values[1+i] += n
			for b, bound := range bounds {
				if n <= bound {
					values[len(names)+i*(len(bounds)+1)+b]++
				}
			}
			values[len(names)+i*(len(bounds)+1)+len(bounds)]++
		}
	}
	look()
	first, last := points[0][0][1:11], fmt.Sprint(at-every)
	instant := func(unix string) string {
		s, _ := strconv.ParseInt(unix, 10, 64)
		return time.Unix(s, 0).UTC().Format(time.RFC3339)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"schema":"tidemark.collect/1","collect_id":%q,"service":%q,"url":"http://prometheus:9090","selector":"","counter_step_s":60,"gpu_step_s":300,"histogram_step_s":900,"started_at":%q,"tidemark_version":"0.1.0"}`+"\n", service, service, instant(last))
	result := func(group string, step int, name string, series []string) {
		fmt.Fprintf(&out, `{"asked":{"group":%q,"from":%q,"until":%q,"step_s":%d,"query":"{__name__=~\"vllm:%s\"}","series":%d},"status":"success","data":{"resultType":"matrix","result":[%s]}}`+"\n",
			group, instant(first), instant(last), step, name, len(series), strings.Join(series, ","))
	}
	for i, name := range names {
		more := ""
		if i == 0 {
			more = `,"finished_reason":"stop"`
		}
		result("counters", 60, name, []string{fmt.Sprintf(`{"metric":{"__name__":"vllm:%s","instance":"a:8000","model_name":"m"%s},"values":[%s]}`, name, more, strings.Join(points[i], ","))})
	}
	for i, name := range lengths {
		var series []string
		for b := range len(bounds) + 1 {
			le := "+Inf"
			if b < len(bounds) {
				le = fmt.Sprintf("%g", bounds[b])
			}
			every15 := []string{}
			for k, p := range points[len(names)+i*(len(bounds)+1)+b] {
				if k%8 == 0 {
					every15 = append(every15, p)
				}
			}
			series = append(series, fmt.Sprintf(`{"metric":{"__name__":"vllm:%s_bucket","instance":"a:8000","model_name":"m","le":%q},"values":[%s]}`, name, le, strings.Join(every15, ",")))
		}
		result("histograms", 900, name+"_bucket", series)
	}
	return out.Bytes()
}
