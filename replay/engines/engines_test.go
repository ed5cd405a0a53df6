package engines

import (
	"encoding/csv"
	"os"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// The load of a server is read from the gauges that SQL reads, of the engine's newest version.
func TestMetricNamesAreThoseOfTheSeed(t *testing.T) {
	file := must.Get(os.Open("../../queries/seeds/metric_names.csv"))(t)
	defer file.Close()
	rows := must.Get(csv.NewReader(file).ReadAll())(t)
	seed := map[string]string{}
	for _, row := range rows[1:] { // metric, label, quantity, kind, factor, priority, source
		seed[row[0]] = strings.Join([]string{row[2], row[3], row[5]}, " ")
	}
	for _, e := range All {
		for name, want := range map[string]string{e.running: "running_requests gauge 1", e.waiting: "waiting_requests gauge 1"} {
			if name != "" && seed[name] != want {
				t.Errorf("%s reads %s; the seed says %q of it, want %q", e.Name, name, seed[name], want)
			}
		}
	}
}

func TestAnEngineIsRecognised(t *testing.T) {
	for _, c := range []struct {
		what, named, owner string
		answers            map[string]string
		want, by           string
	}{
		{"by its models", "", "sglang", nil, "sglang", "owned_by in /v1/models"},
		{"the user decides", "openai", "vllm", nil, "openai", "--engine"},
		{"by its metrics, behind a gateway that renames models", "", "gateway", map[string]string{"/metrics": "# TYPE sglang:num_running_reqs gauge\n"}, "sglang", "/metrics"},
		{"by an older version's settings", "", "", map[string]string{"/get_server_info": `{"tp_size":1,"internal_states":[]}`}, "sglang", "/get_server_info"},
		{"by its version", "", "", map[string]string{"/version": `{"version":"0.32.0"}`}, "vllm", "/version"},
		{"a server of another kind", "", "llamacpp", map[string]string{"/metrics": "llamacpp:requests_processing 0\n"}, "openai", "no sign of another engine"},
	} {
		e, by := Recognise(c.named, c.owner, func(path string) []byte { return []byte(c.answers[path]) })
		if e.Name != c.want || by != c.by {
			t.Errorf("%s: got %s by %s, want %s by %s", c.what, e.Name, by, c.want, c.by)
		}
	}
}

func TestTheLoadOfEachEngine(t *testing.T) {
	for text, want := range map[string]Load{
		"vllm:num_requests_running{engine=\"0\"} 2\nvllm:num_requests_running{engine=\"1\"} 1\nvllm:num_requests_waiting 4\n": {3, 4},
		"sglang:num_running_reqs{dp_rank=\"0\"} 5\nsglang:num_queue_reqs 7\n":                                                 {5, 7},
	} {
		if got, isKnown := LoadIn([]byte(text)); got != want || !isKnown {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
	if _, isKnown := LoadIn([]byte("DCGM_FI_DEV_GPU_UTIL 3\n")); isKnown {
		t.Error("a GPU exporter has a load")
	}
}

// Degrees of parallelism as each engine writes them. SGLang's tp_size counts all GPUs where data-parallel attention is on.
func TestTheDegreesOfParallelism(t *testing.T) {
	for _, c := range []struct {
		what   string
		engine Engine
		answer string
		want   [3]int64 // tensor, expert, data
	}{
		{"vLLM, experts spread over all GPUs", VLLM, `{"vllm_config":{"parallel_config":{"tensor_parallel_size":2,"data_parallel_size":4,"enable_expert_parallel":true}}}`, [3]int64{2, 8, 4}},
		{"vLLM, experts cut", VLLM, `{"vllm_config":{"parallel_config":{"tensor_parallel_size":2,"data_parallel_size":1,"enable_expert_parallel":false}}}`, [3]int64{2, 1, 1}},
		{"vLLM says nothing of experts", VLLM, `{"vllm_config":{"parallel_config":{"tensor_parallel_size":2}}}`, [3]int64{2, 0, 0}},
		{"SGLang, data-parallel attention", SGLang, `{"tp_size":8,"dp_size":8,"ep_size":8,"enable_dp_attention":true}`, [3]int64{1, 8, 8}},
		{"SGLang, whole replicas", SGLang, `{"tp_size":2,"dp_size":4,"ep_size":1,"enable_dp_attention":false}`, [3]int64{2, 1, 4}},
	} {
		got := c.engine.Configuration([]byte(c.answer))
		if degrees := [3]int64{got.TensorParallelSize, got.ExpertParallelSize, got.DataParallelSize}; degrees != c.want {
			t.Errorf("%s: got %v, want %v", c.what, degrees, c.want)
		}
	}
}
