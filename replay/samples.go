package replay

import (
	"bytes"
	"context"
	"net/http"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// sampler keeps, each second, the server's /metrics as it stands and the client's own state.
type sampler struct {
	asker  *asker
	url    string // "none": the server is not sampled
	log    *lineLog
	meter  *meter
	beat   Sleep
	heart  heartbeat
	begin  time.Time
	missed atomic.Int64 // scrapes without an answer
	loops  sync.WaitGroup
}

// baseline is the server before the first request. It bears the run's zero, although it is taken a moment before: in
// between this run has sent nothing.
func (p *sampler) baseline(ctx context.Context) {
	if text := p.scrape(ctx); text != nil {
		p.keep(text, 0)
	}
}

func (p *sampler) start(ctx context.Context) {
	p.loops.Go(func() { p.each(ctx, p.client) })
	p.loops.Go(func() { p.each(ctx, p.server) })
	p.loops.Go(func() { p.heart.beat(ctx, p.beat) })
}

// each calls sample every whole second of the run; a slow answer skips seconds and moves none.
func (p *sampler) each(ctx context.Context, sample func(context.Context)) {
	for {
		next := max(time.Since(p.begin), 0).Truncate(time.Second) + time.Second
		if !timerSleep(ctx, time.Until(p.begin.Add(next))) {
			return
		}
		sample(ctx)
	}
}

func (p *sampler) server(ctx context.Context) {
	if text := p.scrape(ctx); text != nil {
		p.keep(text, time.Since(p.begin))
	}
}

// last waits for the loops, which the caller has ended, and takes a sample after the drain: a server counts a request a
// moment after its last byte, so it is asked until it says that nothing runs, for two seconds at most.
func (p *sampler) last(ctx context.Context) {
	p.loops.Wait()
	p.client(ctx)
	for tries := 0; ; tries++ {
		text := p.scrape(ctx)
		if text == nil {
			return
		}
		if running, known := gauge(text, "vllm:num_requests_running"); !known || running == 0 || tries == 10 ||
			!timerSleep(ctx, 200*time.Millisecond) {
			p.keep(text, time.Since(p.begin))
			return
		}
	}
}

func (p *sampler) scrape(ctx context.Context) []byte {
	if p.url == noMetrics {
		return nil
	}
	status, text, err := p.asker.get(ctx, p.url)
	if err != nil || status != http.StatusOK {
		p.missed.Add(1)
		return nil
	}
	return text
}

func (p *sampler) keep(text []byte, at time.Duration) {
	exposition := p.asker.scrub.text(string(text))
	p.log.add(func(dst []byte) []byte {
		dst = appendSeconds(append(dst, `{"at_s":`...), at)
		dst = appendString(append(dst, `,"origin":"server","url":`...), shownURL(p.url))
		return append(appendString(append(dst, `,"exposition":`...), exposition), '}', '\n')
	})
}

func (p *sampler) client(context.Context) {
	at := time.Since(p.begin)
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	values := []value{
		{"in_flight", float64(p.meter.inFlight())},
		{"goroutines", float64(runtime.NumGoroutine())},
		{"gc_pause_s", gc.PauseTotal.Seconds()},
		{"scrapes_missed", float64(p.missed.Load())},
		{"stall_s", p.heart.sinceLast().Seconds()},
	}
	values = append(values, processState()...)
	p.log.add(func(dst []byte) []byte {
		dst = append(appendSeconds(append(dst, `{"at_s":`...), at), `,"origin":"client","values":{`...)
		for i, v := range values {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, v.name), ':')
			dst = strconv.AppendFloat(dst, v.value, 'f', -1, 64)
		}
		return append(dst, "}}\n"...)
	})
}

// value is one figure of the client's state; cpu_s and gc_pause_s count from the process's start, stall_s is the
// longest time since the last sample that the client itself stood still.
type value struct {
	name  string
	value float64
}

// gauge is the sum of a gauge's series in an exposition.
func gauge(text []byte, name string) (sum float64, known bool) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, _ := parser.TextToMetricFamilies(bytes.NewReader(text)) // what was read before an error counts
	family := families[name]
	if family == nil {
		return 0, false
	}
	for _, m := range family.GetMetric() {
		sum += m.GetGauge().GetValue()
	}
	return sum, true
}
