//go:build vllm

package realvllm

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRealVLLM takes one server through everything, because its start is the
// dearest part.
func TestRealVLLM(t *testing.T) {
	s := theServer(t, "")
	program := build(t)
	s.warmUp(t)
	t.Run("AzureSlice", func(t *testing.T) { azureSlice(t, s, program) })
	t.Run("SharedBlocks", func(t *testing.T) { sharedBlocks(t, s, program) })
	t.Run("Sessions", func(t *testing.T) { answeredSessions(t, s, program) })
	t.Run("Cold", func(t *testing.T) { coldRow(t, s, program) })
	t.Run("Chat", func(t *testing.T) { chatOfRightLength(t, s, program) })
	t.Run("OwnTimes", func(t *testing.T) { serversOwnTimes(t, program, "real-sessions") })
	t.Run("Simulator", func(t *testing.T) { simulatorAnswersAlike(t, s) })
}

// azureSlice: two minutes of independent requests with a trace's own lengths.
func azureSlice(t *testing.T, s *server, program *tidemark) {
	trace, choices := azureTrace(t)
	program.must(t, "ingest", trace, "--name", "azure")
	s.resetPrefixCache(t)
	r := replayed(t, s, program, "azure", choices...)
	r.requestsAsPlanned(t)
	r.countersEqual(t)
	r.lengthsEqualBucketByBucket(t)
	r.durationsContainTheServers(t)
	for _, q := range r.requests {
		if q.Cached == nil || *q.Cached != 0 {
			t.Errorf("seq %d: cached tokens %s, want 0: no two prompts have a beginning in common", q.Seq, show(q.Cached))
		}
	}
	// After a long prompt the first token waits in the server's HTTP process for
	// some ms more than the others. Over outputs of ten tokens that is a visible
	// part of TPOT: it is shown here, and compared where outputs are long.
	r.showTPOT(t)
}

// azureTrace is Azure's real code trace where the shared data is at hand, else
// rows of the same shape; and the two minutes of it that two cores can serve.
func azureTrace(t *testing.T) (path string, choices []string) {
	shared := os.Getenv("TIDEMARK_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "..", "shared")
	}
	real := filepath.Join(shared, "traces", "azure-2023", "AzureLLMInferenceTrace_code.csv")
	if _, err := os.Stat(real); err == nil {
		t.Logf("trace: Azure's code trace of 2023, %s; its minutes 2 to 4, thinned to 0.15 of 531 requests", real)
		return absolute(t, real), []string{"--from", "+2m", "--until", "+4m", "--thin", "0.15"}
	}
	t.Logf("trace: testdata/azure-like.csv, written by hand in Azure's shape; %s is not there", real)
	return absolute(t, "testdata/azure-like.csv"), []string{"--from", "+0m", "--until", "+2m"}
}

// sharedBlocks: prompts that begin alike, far enough apart that the first has
// been computed when the next arrives.
func sharedBlocks(t *testing.T, s *server, program *tidemark) {
	program.must(t, "ingest", absolute(t, "testdata/shared-blocks.jsonl"), "--name", "blocks")
	if !s.resetPrefixCache(t) {
		t.Skip("the server has no /reset_prefix_cache (VLLM_SERVER_DEV_MODE=1): what its cache holds is not known")
	}
	r := replayed(t, s, program, "blocks")
	r.requestsAsPlanned(t)
	r.countersEqual(t)
	r.lengthsEqualBucketByBucket(t)
	r.durationsContainTheServers(t)
	r.cachedAsPlanned(t, sharedLeading(t, "testdata/shared-blocks.jsonl"))
	if off := r.showTPOT(t); off > 0.01 || off < -0.01 {
		t.Errorf("sum of TPOT: off the server's by %+.2f %%, want within 1 %%", off*100)
	}
}

// replay is one run, as tidemark reports it, and what the server counted
// meanwhile.
type replay struct {
	requests []request
	server   span
}

func replayed(t *testing.T, s *server, program *tidemark, source string, choices ...string) replay {
	t.Helper()
	before := scrape(t, s.baseURL)
	name := "real-" + source
	if i := slices.Index(choices, "--name"); i >= 0 {
		name = choices[i+1]
	}
	_, exit := program.run(t, append([]string{"replay", source, "--base-url", s.baseURL, "--model", s.model,
		"--max-model-len", fmt.Sprint(s.maxModelLen), "--overlong", "drop", "--runs", "runs", "--name", name}, choices...)...)
	switch exit {
	case 0:
	case exitInvalid:
		t.Log("the run is invalid by its lateness: server and client share these cores. What is compared here does not depend on it")
	default:
		t.Fatalf("tidemark replay: exit %d", exit)
	}
	requests := sql[request](t, program, fmt.Sprintf(askRequests, name))
	if len(requests) == 0 {
		t.Fatalf("run %s: no requests in the warehouse", name)
	}
	return replay{requests, settled(t, s, before, len(requests))}
}

// requestsAsPlanned: every request was sent, succeeded, and had its exact
// lengths by the server's own count.
func (r replay) requestsAsPlanned(t *testing.T) {
	t.Helper()
	var merged, chunks, tokens int
	for _, q := range r.requests {
		if !q.IsSuccess {
			t.Errorf("seq %d: sent %v, failure %s", q.Seq, q.IsSent, show(q.Failure))
			continue
		}
		if q.InputReport == nil || *q.InputReport != q.Input {
			t.Errorf("seq %d: prompt tokens: server %s, planned %d", q.Seq, show(q.InputReport), q.Input)
		}
		if q.OutputReport == nil || *q.OutputReport != q.Output {
			t.Errorf("seq %d: output tokens: server %s, planned %d", q.Seq, show(q.OutputReport), q.Output)
		}
		if q.CountedTokens == nil || *q.CountedTokens != q.Output {
			t.Errorf("seq %d: token ids in the stream: %s, planned %d", q.Seq, show(q.CountedTokens), q.Output)
		}
		if q.Chunks != nil && *q.Chunks < q.Output {
			merged++
		}
		if q.Chunks != nil {
			chunks += *q.Chunks
		}
		tokens += q.Output
	}
	t.Logf("%d requests; %d of them had merged chunks (%d chunks for %d tokens)", len(r.requests), merged, chunks, tokens)
}

// countersEqual: over the run the server's counters grew by exactly our sums.
func (r replay) countersEqual(t *testing.T) {
	t.Helper()
	requests := float64(len(r.requests))
	prompt := r.sum(func(q request) float64 { return float64(q.Input) })
	output := r.sum(func(q request) float64 { return float64(q.Output) })
	cached := r.sum(func(q request) float64 { return number(q.Cached) })
	table := newTable("server's counter", "server", "tidemark")
	for _, c := range []struct {
		name   string
		server float64
		ours   float64
	}{
		{"vllm:prompt_tokens_total", r.server.counter("vllm:prompt_tokens_total"), prompt},
		{"vllm:generation_tokens_total", r.server.counter("vllm:generation_tokens_total"), output},
		{"vllm:prompt_tokens_cached_total", r.server.counter("vllm:prompt_tokens_cached_total"), cached},
		{"vllm:prefix_cache_queries_total", r.server.counter("vllm:prefix_cache_queries_total"), prompt},
		{"vllm:prefix_cache_hits_total", r.server.counter("vllm:prefix_cache_hits_total"), cached},
		{"vllm:request_prefill_kv_computed_tokens sum", r.server.histogram("vllm:request_prefill_kv_computed_tokens").sum, prompt - cached},
		{"vllm:num_preemptions_total", r.server.counter("vllm:num_preemptions_total"), 0},
		{"vllm:request_success_total", r.server.counter("vllm:request_success_total"), requests},
		{"   finished_reason length", r.server.counter("vllm:request_success_total", "finished_reason", "length"), requests},
		{"vllm:time_to_first_token_seconds count", r.count("vllm:time_to_first_token_seconds"), requests},
		// A request of one token has no TPOT; vLLM counts it, with 0.
		{"vllm:request_time_per_output_token_seconds count", r.count("vllm:request_time_per_output_token_seconds"), requests},
		{"vllm:e2e_request_latency_seconds count", r.count("vllm:e2e_request_latency_seconds"), requests},
		{"vllm:request_prompt_tokens count", r.count("vllm:request_prompt_tokens"), requests},
		{"vllm:inter_token_latency_seconds count", r.count("vllm:inter_token_latency_seconds"), output - requests},
	} {
		if !r.server.has(strings.Fields(c.name)[0]) && strings.HasPrefix(c.name, "vllm:") {
			t.Logf("the server has no %s: not compared", c.name)
			continue
		}
		table.row(c.name, c.server, c.ours)
		if c.server != c.ours {
			t.Errorf("%s: the server counted %v, tidemark %v", c.name, c.server, c.ours)
		}
	}
	t.Log(table)
}

// lengthsEqualBucketByBucket sorts our lengths into the server's buckets.
func (r replay) lengthsEqualBucketByBucket(t *testing.T) {
	t.Helper()
	input := func(q request) float64 { return float64(q.Input) }
	output := func(q request) float64 { return float64(q.Output) }
	for _, h := range []struct {
		name  string
		value func(request) float64
	}{
		{"vllm:request_prompt_tokens", input},
		{"vllm:request_generation_tokens", output},
		{"vllm:request_params_max_tokens", output}, // what was asked for
	} {
		theirs := r.server.histogram(h.name)
		ours := theirs.likeThis(r.values(h.value))
		table := newTable(h.name+" up to", "server", "tidemark")
		for _, bound := range theirs.bounds() {
			table.row(fmt.Sprint(bound), float64(theirs.buckets[bound]), float64(ours.buckets[bound]))
			if theirs.buckets[bound] != ours.buckets[bound] {
				t.Errorf("%s: up to %v: server %d, tidemark %d", h.name, bound, theirs.buckets[bound], ours.buckets[bound])
			}
		}
		if len(theirs.buckets) == 0 {
			t.Errorf("%s: the server has no such histogram", h.name)
		}
		t.Log(table)
	}
}

// durationsContainTheServers: the client sees connection and HTTP work that the
// server's own clocks do not.
func (r replay) durationsContainTheServers(t *testing.T) {
	t.Helper()
	n := float64(len(r.requests))
	table := newTable("mean, ms", "server", "tidemark")
	for _, d := range []struct {
		name, family string
		value        func(request) float64
	}{
		{"TTFT", "vllm:time_to_first_token_seconds", func(q request) float64 { return number(q.TTFT) }},
		{"end to end", "vllm:e2e_request_latency_seconds", func(q request) float64 { return number(q.E2E) }},
	} {
		ours, theirs := r.sum(d.value), r.server.histogram(d.family).sum
		table.row(d.name, 1e3*theirs/n, 1e3*ours/n)
		if ours < theirs {
			t.Errorf("%s: the client's sum %.4f s is below the server's %.4f s", d.name, ours, theirs)
		}
	}
	table.row("lateness", 0, 1e3*r.sum(func(q request) float64 { return number(q.LatenessS) })/n)
	t.Log(table)
}

// showTPOT reports how far our sum of TPOT is off the server's, as a ratio.
func (r replay) showTPOT(t *testing.T) float64 {
	t.Helper()
	theirs := r.server.histogram("vllm:request_time_per_output_token_seconds").sum
	ours := r.sum(func(q request) float64 { return number(q.TPOT) })
	off := differsBy(ours, theirs)
	t.Logf("sum of TPOT over requests: server %.4f s, tidemark %.4f s: %+.2f %%", theirs, ours, off*100)
	return off
}

func (r replay) count(name string) float64 { return float64(r.server.histogram(name).count) }

func (r replay) values(of func(request) float64) []float64 {
	values := make([]float64, len(r.requests))
	for i, q := range r.requests {
		values[i] = of(q)
	}
	return values
}

func (r replay) sum(of func(request) float64) float64 {
	sum := 0.0
	for _, value := range r.values(of) {
		sum += value
	}
	return sum
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
