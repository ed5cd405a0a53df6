package vllmsim

import (
	"sort"
	"sync"
	"time"
)

// metrics is what /metrics reports. As in vLLM, counts of finished requests
// leave out those whose client left, and token counts do not.
type metrics struct {
	mu sync.Mutex

	running, waiting int
	kvUsage          float64

	prefixQueries, prefixHits uint64 // tokens
	preemptions               uint64
	promptTokens              uint64 // of prompts whose first token has come
	cachedTokens              uint64 // of these
	generationTokens          uint64
	rejections                uint64
	drafts, acceptedTokens    uint64 // rounds of guessing, and the guesses that were kept
	success                   map[finishReason]uint64

	requestPrompt, requestGeneration, requestMaxGeneration, requestMaxTokens *histogram
	requestN, requestPreemptions, requestComputed, iterationTokens           *histogram
	ttft, itl, tpot, e2e, queue, inference, prefill, decode                  *histogram

	requestsMu sync.Mutex // separate from mu: a stream counts its end under its own lock, and the engine takes mu first
	requests   map[handled]uint64
}

// handled is a kind of answered HTTP request: the labels of
// http_requests_total.
type handled struct{ path, method, status string }

// histogram counts values per bucket. The buckets' bounds are vLLM's own, so
// that quantiles read from them have the same resolution as on a real server.
type histogram struct {
	bounds []float64
	counts []uint64 // one more than bounds
	sum    float64
}

func newHistogram(bounds ...float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	h.counts[sort.SearchFloat64s(h.bounds, v)]++
	h.sum += v
}

// newMetrics has the histograms' bounds of vLLM (vllm/v1/metrics/loggers.py).
func newMetrics(cfg Config) *metrics {
	lengths := func() *histogram { return newHistogram(lengthBounds(cfg.MaxModelLen)...) }
	gaps := func() *histogram {
		return newHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
	}
	phases := func() *histogram {
		return newHistogram(0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
	}
	return &metrics{
		success:       map[finishReason]uint64{},
		requests:      map[handled]uint64{},
		requestPrompt: lengths(), requestGeneration: lengths(), requestMaxGeneration: lengths(), requestMaxTokens: lengths(), requestComputed: lengths(),
		requestN:           newHistogram(1, 2, 5, 10, 20),
		requestPreemptions: newHistogram(1, 2, 3, 4, 5, 10, 20),
		iterationTokens:    newHistogram(1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384),
		ttft:               newHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560),
		itl:                gaps(), tpot: gaps(),
		e2e: phases(), queue: phases(), inference: phases(), prefill: phases(), decode: phases(),
	}
}

// lengthBounds are 1, 2, 5, 10, 20, ... up to the longest request.
func lengthBounds(longest int) []float64 {
	var bounds []float64
	for decade := 1; ; decade *= 10 {
		for _, digit := range []int{1, 2, 5} {
			if digit*decade > longest {
				return bounds
			}
			bounds = append(bounds, float64(digit*decade))
		}
	}
}

// firstToken counts a prompt whose first token has come; mu is held.
func (m *metrics) firstToken(prompt, cached int, ttft time.Duration) {
	m.promptTokens += uint64(prompt)
	m.cachedTokens += uint64(max(cached, 0))
	m.generationTokens++
	m.ttft.observe(ttft.Seconds())
}

// gap counts any later tokens, which come together; mu is held.
func (m *metrics) gap(d time.Duration, tokens int) {
	m.generationTokens += uint64(tokens)
	m.itl.observe(d.Seconds())
}

// finished counts an output that ended; mu is held.
func (m *metrics) finished(q *output, why finishReason, now time.Duration) {
	t, n := q.times, q.Generated
	m.success[why]++
	m.requestPrompt.observe(float64(q.Prompt))
	m.requestGeneration.observe(float64(n))
	m.requestMaxTokens.observe(float64(q.stream.request.sampling.maxTokens))
	m.requestPreemptions.observe(float64(q.Preemptions))
	m.requestComputed.observe(float64(q.Prompt - max(q.Cached, 0)))
	m.e2e.observe((now - q.stream.began).Seconds())
	m.queue.observe((t.scheduled - t.queued).Seconds())
	m.prefill.observe((t.first - t.scheduled).Seconds())
	m.decode.observe((t.last - t.first).Seconds())
	m.inference.observe((t.last - t.scheduled).Seconds())
	m.tpot.observe((t.last - t.first).Seconds() / float64(max(n-1, 1)))
	if most, isLast := q.stream.siblingDone(q.choice, n); isLast {
		m.requestN.observe(float64(q.stream.request.n))
		m.requestMaxGeneration.observe(float64(most))
	}
}

// siblingDone keeps, for the n outputs of one prompt, how many have ended and
// how long the longest is. Only the driver calls it.
func (s *stream) siblingDone(choice, tokens int) (most int, isLast bool) {
	if s.siblings == nil {
		s.siblings = make([]sibling, len(s.request.prompts))
	}
	b := &s.siblings[choice/s.request.n]
	b.ended++
	b.most = max(b.most, tokens)
	return b.most, b.ended == s.request.n
}

type sibling struct{ ended, most int }

func (m *metrics) reject() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rejections++
}

// answered counts an HTTP request, its status as a class ("2xx").
func (m *metrics) answered(path, method string, status int) {
	m.requestsMu.Lock()
	defer m.requestsMu.Unlock()
	m.requests[handled{path, method, string(rune('0'+status/100)) + "xx"}]++
}
