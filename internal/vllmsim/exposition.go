package vllmsim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/engine"
)

// page writes Prometheus' text format as Python's client library does: labels
// in alphabetical order, and a _created gauge after every counter and
// histogram. Readers of real vLLM servers meet exactly these bytes, so a test
// of such a reader needs them too.
type page struct {
	out    []byte
	labels string // engine and model
	model  string
	begun  float64 // Unix seconds
}

// series is one line of a metric family.
type series struct {
	labels string // what stands between the braces
	value  float64
}

func (p *page) family(name, kind, help string) {
	p.out = fmt.Appendf(p.out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *page) sample(name, labels string, value float64) {
	p.out = append(p.out, name...)
	if labels != "" {
		p.out = append(p.out, '{')
		p.out = append(p.out, labels...)
		p.out = append(p.out, '}')
	}
	p.out = append(p.out, ' ')
	p.out = append(p.out, prometheusFloat(value)...)
	p.out = append(p.out, '\n')
}

func (p *page) gauge(name, help string, all ...series) {
	p.family(name, "gauge", help)
	for _, s := range all {
		p.sample(name, s.labels, s.value)
	}
}

func (p *page) counter(name, help string, all ...series) {
	p.family(name+"_total", "counter", help)
	for _, s := range all {
		p.sample(name+"_total", s.labels, s.value)
	}
	p.family(name+"_created", "gauge", help)
	for _, s := range all {
		p.sample(name+"_created", s.labels, p.begun)
	}
}

// histogram writes cumulative buckets, as the format wants them; h counts each
// bucket by itself.
func (p *page) histogram(name, help string, h *histogram) {
	p.family(name, "histogram", help)
	total := uint64(0)
	for i, n := range h.counts {
		total += n
		bound := "+Inf"
		if i < len(h.bounds) {
			bound = pythonFloat(h.bounds[i])
		}
		p.sample(name+"_bucket", `engine="0",le="`+bound+`",model_name="`+p.model+`"`, float64(total))
	}
	p.sample(name+"_count", p.labels, float64(total))
	p.sample(name+"_sum", p.labels, h.sum)
	p.family(name+"_created", "gauge", help)
	p.sample(name+"_created", p.labels, p.begun)
}

// one is a series without labels of its own. with adds a label after model_name
// and between adds one before it: a line's labels are in alphabetical order.
func (p *page) one(value float64) series { return series{p.labels, value} }

func (p *page) with(name, label string, value float64) series {
	return series{p.labels + `,` + name + `="` + label + `"`, value}
}

func (p *page) between(name, label string, value float64) series {
	return series{`engine="0",` + name + `="` + label + `",model_name="` + p.model + `"`, value}
}

func labelValue(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}

// exposition is the body of /metrics.
func (s *Server) exposition() []byte {
	model := labelValue(s.cfg.Model)
	p := &page{model: model, labels: `engine="0",model_name="` + model + `"`, begun: float64(s.begin.UnixNano()) / 1e9}
	p.process(s.begin)
	s.metrics.mu.Lock()
	defer s.metrics.mu.Unlock()
	p.state(s.metrics)
	p.counts(s.metrics)
	p.drafts(s.metrics, s.cfg.Drafts)
	p.histograms(s.metrics)
	p.cacheConfig(s.cfg.Config)
	p.requests(s.metrics)
	return p.out
}

// Exposition is what /metrics would say, as far as an engine in virtual time counts it: gauges, counters and settings.
func Exposition(c engine.Counts, cfg engine.Config) []byte {
	cfg, _ = cfg.WithDefaults()
	model := labelValue(cfg.Model)
	p := &page{model: model, labels: `engine="0",model_name="` + model + `"`}
	m := &metrics{
		running: c.Running, waiting: c.Waiting, kvUsage: c.KVUsage,
		prefixQueries: uint64(c.PrefixQueries), prefixHits: uint64(c.PrefixHits), preemptions: uint64(c.Preemptions),
		promptTokens: uint64(c.PromptTokens), cachedTokens: uint64(c.CachedTokens), generationTokens: uint64(c.GenerationTokens),
		success: map[finishReason]uint64{finishLength: uint64(c.Finished)},
	}
	p.state(m)
	p.counts(m)
	p.cacheConfig(cfg)
	return p.out
}

// state writes the gauges of the scheduler.
func (p *page) state(m *metrics) {
	p.gauge("vllm:num_requests_running", "Number of requests in model execution batches.", p.one(float64(m.running)))
	p.gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", p.one(float64(m.waiting)))
	p.gauge("vllm:num_requests_waiting_by_reason", "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting.",
		p.with("reason", "capacity", float64(m.waiting)), p.with("reason", "deferred", 0))
	p.gauge("vllm:engine_sleep_state", "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
		p.with("sleep_state", "awake", 1), p.with("sleep_state", "weights_offloaded", 0), p.with("sleep_state", "discard_all", 0))
	p.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", p.one(m.kvUsage))
}

// counts writes the counters. Those that need hardware or features that a
// simulator lacks are present and 0, as on a server that does not use them.
func (p *page) counts(m *metrics) {
	n := func(v uint64) series { return p.one(float64(v)) }
	p.counter("vllm:prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.", n(m.prefixQueries))
	p.counter("vllm:prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", n(m.prefixHits))
	p.counter("vllm:external_prefix_cache_queries", "External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of queried tokens.", n(0))
	p.counter("vllm:external_prefix_cache_hits", "External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached tokens.", n(0))
	p.counter("vllm:mm_cache_queries", "Multi-modal cache queries, in terms of number of queried items.", n(0))
	p.counter("vllm:mm_cache_hits", "Multi-modal cache hits, in terms of number of cached items.", n(0))
	p.counter("vllm:num_preemptions", "Cumulative number of preemption from the engine.", n(m.preemptions))
	p.counter("vllm:prompt_tokens", "Number of prefill tokens processed.", n(m.promptTokens))
	p.counter("vllm:prompt_tokens_by_source", "Number of prompt tokens by source.",
		p.with("source", "local_compute", float64(m.promptTokens-m.cachedTokens)), p.with("source", "local_cache_hit", float64(m.cachedTokens)), p.with("source", "external_kv_transfer", 0))
	p.counter("vllm:prompt_tokens_cached", "Number of cached prompt tokens (local + external).", n(m.cachedTokens))
	p.counter("vllm:generation_tokens", "Number of generation tokens processed.", n(m.generationTokens))
	var success []series
	for _, why := range []finishReason{finishStop, finishLength, finishAbort, "error", "repetition"} {
		success = append(success, p.between("finished_reason", string(why), float64(m.success[why])))
	}
	p.counter("vllm:request_success", "Count of successfully processed requests.", success...)
	p.counter("vllm:admission_rejections", "Number of admission attempts rejected by a queue limit, by reason.",
		series{`model_name="` + p.model + `",reason="max_num_queued_reqs"`, float64(m.rejections)},
		series{`model_name="` + p.model + `",reason="max_num_queued_tokens"`, 0})
}

// drafts are counted by a server that speculates alone.
func (p *page) drafts(m *metrics, each int) {
	if each == 0 {
		return
	}
	p.counter("vllm:spec_decode_num_drafts", "Number of spec decoding drafts.", p.one(float64(m.drafts)))
	p.counter("vllm:spec_decode_num_draft_tokens", "Number of draft tokens.", p.one(float64(m.drafts*uint64(each))))
	p.counter("vllm:spec_decode_num_accepted_tokens", "Number of accepted tokens.", p.one(float64(m.acceptedTokens)))
}

func (p *page) histograms(m *metrics) {
	for _, h := range []struct {
		name, help string
		h          *histogram
	}{
		{"request_prompt_tokens", "Number of prefill tokens processed.", m.requestPrompt},
		{"request_generation_tokens", "Number of generation tokens processed.", m.requestGeneration},
		{"iteration_tokens_total", "Histogram of number of tokens per engine_step.", m.iterationTokens},
		{"request_max_num_generation_tokens", "Histogram of maximum number of requested generation tokens.", m.requestMaxGeneration},
		{"request_params_n", "Histogram of the n request parameter.", m.requestN},
		{"request_params_max_tokens", "Histogram of the max_tokens request parameter.", m.requestMaxTokens},
		{"time_to_first_token_seconds", "Histogram of time to first token in seconds.", m.ttft},
		{"inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", m.itl},
		{"request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", m.tpot},
		{"e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", m.e2e},
		{"request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", m.queue},
		{"request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", m.inference},
		{"request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", m.prefill},
		{"request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", m.decode},
		{"request_num_preemptions", "Histogram of the number of times a request was preempted.", m.requestPreemptions},
		{"request_prefill_kv_computed_tokens", "Histogram of new KV tokens computed during prefill (excluding cached tokens).", m.requestComputed},
	} {
		p.histogram("vllm:"+h.name, h.help, h.h)
	}
}

func (p *page) cacheConfig(c engine.Config) {
	isCaching := map[bool]string{true: "True", false: "False"}[c.EnablePrefixCaching]
	window := "None"
	if c.SlidingWindow > 0 {
		window = strconv.Itoa(c.SlidingWindow)
	}
	tokens := c.KVBlocks * c.BlockSize
	labels := fmt.Sprintf(`block_size="%d",cache_dtype="auto",enable_prefix_caching="%s",engine="0",kv_cache_max_concurrency="%s",kv_cache_size_tokens="%d",num_cpu_blocks="None",num_gpu_blocks="%d",num_gpu_blocks_override="None",prefix_caching_hash_algo="splitmix64",sliding_window="%s"`,
		c.BlockSize, isCaching, pythonFloat(float64(tokens)/float64(c.MaxModelLen)), tokens, c.KVBlocks, window)
	p.gauge("vllm:cache_config_info", "Information of the LLMEngine CacheConfig", series{labels, 1})
}

func (p *page) requests(m *metrics) {
	m.requestsMu.Lock()
	defer m.requestsMu.Unlock()
	var all []series
	for h, n := range m.requests {
		all = append(all, series{`handler="` + h.path + `",method="` + h.method + `",status="` + h.status + `"`, float64(n)})
	}
	p.counter("http_requests", "Total number of requests by method, status and handler.", all...)
}

func (p *page) process(begun time.Time) {
	u := processUsage()
	p.gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.", series{"", u.virtualBytes})
	p.gauge("process_resident_memory_bytes", "Resident memory size in bytes.", series{"", u.residentBytes})
	p.gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.", series{"", float64(begun.UnixMilli()) / 1e3})
	p.family("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.")
	p.sample("process_cpu_seconds_total", "", u.cpuSeconds)
	p.gauge("process_open_fds", "Number of open file descriptors.", series{"", u.openFiles})
	p.gauge("process_max_fds", "Maximum number of open file descriptors.", series{"", u.maxFiles})
}

// usage is what the process consumes; NaN where the system does not tell.
type usage struct{ virtualBytes, residentBytes, cpuSeconds, openFiles, maxFiles float64 }

// pythonFloat is Python's repr of a float.
func pythonFloat(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case math.IsNaN(v):
		return "nan"
	}
	if size := math.Abs(v); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(v, 'e', -1, 64)
	}
	out := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(out, ".") {
		out += ".0"
	}
	return out
}

// prometheusFloat is a value as Python's client library prints it: from a
// million on with an exponent that has a zero even in front of two digits
// ("1.68e+010"). Some readers stumble over exactly this.
func prometheusFloat(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case math.IsNaN(v):
		return "NaN"
	}
	out := pythonFloat(v)
	dot := strings.IndexByte(out, '.')
	if v <= 0 || dot <= 6 {
		return out
	}
	mantissa := strings.TrimRight(out[:1]+"."+out[1:dot]+out[dot+1:], "0.")
	return mantissa + "e+0" + strconv.Itoa(dot-1)
}
