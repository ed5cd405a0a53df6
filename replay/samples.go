// Once a second, at the whole seconds of the run: each address of metrics as it stands, and the client's own state. Each
// address has a goroutine, so that one that hangs delays no other; a slow answer skips seconds and shifts none. The
// exposition is kept as text, scrubbed: what its names mean is decided by SQL (seeds.metric_names), for metrics that nobody
// thought of at the time too.

package replay

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/replay/engines"
	"tidemark/replay/host"
	"tidemark/replay/plan"
	"tidemark/replay/secrets"
)

// sampler keeps, each second, the servers' /metrics as they stand and the client's own state. Each address has a loop of
// its own, so that a slow one delays no other.
type sampler struct {
	control     *controlClient
	urls        []string // "none": nothing is sampled
	servers     []Server // whose models are watched
	log         *lineLog
	meter       *meter
	beat        host.Sleep
	heart       host.Heartbeat
	witness     host.Monitor
	state       func() host.State
	wall        func() time.Time
	watch       time.Duration // between two looks at what a server serves
	alternating alternating
	giveUp      context.CancelCauseFunc
	begin       time.Time
	throttles   throttles
	missed      atomic.Int64 // scrapes without an answer
	loops       sync.WaitGroup
}

func newSampler(r *run, log *lineLog, m *meter, giveUp context.CancelCauseFunc) *sampler {
	s := r.settings
	p := &sampler{control: r.control, servers: r.servers, log: log, meter: m, beat: s.beat, heart: host.Heartbeat{Flight: m.flight},
		wall: s.Wall, watch: s.watch, state: s.state, giveUp: giveUp}
	for _, address := range s.MetricsURLs {
		if address != noMetrics {
			p.urls = append(p.urls, address)
		}
	}
	return p
}

// baseline is the servers before the first request. It bears the run's zero, although it is taken a moment before: in
// between this run has sent nothing.
func (p *sampler) baseline(ctx context.Context) {
	p.eachURL(func(address string) {
		if text := p.scrape(ctx, address); text != nil {
			p.keep(address, text, 0)
		}
	})
}

func (p *sampler) eachURL(do func(address string)) {
	var all sync.WaitGroup
	for _, address := range p.urls {
		all.Go(func() { do(address) })
	}
	all.Wait()
}

// start begins all loops: the client, each address of metrics, each server's model, and the heartbeat.
func (p *sampler) start(ctx context.Context) {
	p.witness.Start(p.state(), time.Since(p.begin), p.wall())
	p.loops.Go(func() { p.each(ctx, p.client) })
	for _, address := range p.urls {
		p.loops.Go(func() { p.each(ctx, func(ctx context.Context) { p.server(ctx, address) }) })
	}
	for _, server := range p.servers {
		p.loops.Go(func() { p.watchModel(ctx, server) })
	}
	p.loops.Go(func() {
		beat := p.beat
		if beat == nil {
			var release func()
			beat, release = host.NewBeat()
			defer release()
		}
		p.heart.Beat(ctx, beat)
	})
}

// each calls sample every whole second of the run; a slow answer skips seconds and moves none.
func (p *sampler) each(ctx context.Context, sample func(context.Context)) {
	for {
		next := max(time.Since(p.begin), 0).Truncate(time.Second) + time.Second
		if !host.TimerSleep(ctx, time.Until(p.begin.Add(next))) {
			return
		}
		sample(ctx)
	}
}

// watchModel ends the run when a server serves something else than it began with. One odd answer does not: a replica that starts may
// show an empty list, and behind one address two replicas may take turns.
func (p *sampler) watchModel(ctx context.Context, server Server) {
	for host.TimerSleep(ctx, p.watch) && p.isSame(ctx, server) {
	}
}

// oddLooks in a row are a change. Of a server that alternates they are many: two replicas that are asked by chance give the same answer 20 times
// in a row about once in a million.
const (
	oddLooks         = 3
	alternatingLooks = 20
)

// isSame looks again where the answer is another one, until it is the old one or has been another for so many looks that the model has changed. A server
// whose answer has come back alternates, which is noted.
func (p *sampler) isSame(ctx context.Context, server Server) bool {
	most := oddLooks
	if p.alternating.has(server) {
		most = alternatingLooks
	}
	for look := 1; ; look++ {
		err := p.control.watchModel(ctx, server)
		switch {
		case err == nil && look > 1 && most == oddLooks:
			p.alternating.add(server)
			return true
		case err == nil:
			return true
		case look == most:
			p.giveUp(stopError{stoppedBySetup, err})
			return false
		case !host.TimerSleep(ctx, p.watch/oddLooks):
			return true
		}
	}
}

// alternating are the servers that showed another model for a moment.
type alternating struct {
	mu    sync.Mutex
	notes map[string]string // by address
}

func (a *alternating) has(server Server) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return server.alternates != "" || a.notes[server.target.shown()] != ""
}

func (a *alternating) add(server Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.notes == nil {
		a.notes = map[string]string{}
	}
	where := server.target.shown()
	a.notes[where] = "/v1/models of " + where + " showed another model for a moment: more than one server answers there, or it was restarted"
}

func (a *alternating) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Values(a.notes))
}

func (p *sampler) server(ctx context.Context, address string) {
	if text := p.scrape(ctx, address); text != nil {
		p.keep(address, text, time.Since(p.begin))
	}
}

// last waits for the loops, which the caller has ended, looks once more at what is served, and takes a sample after the
// drain: a server counts a request a
// moment after its last byte, so it is asked until it says that nothing runs, for two seconds at most.
func (p *sampler) last(ctx context.Context) {
	p.loops.Wait()
	p.client(ctx)
	for _, server := range p.servers {
		p.isSame(ctx, server)
	}
	p.eachURL(func(address string) {
		for tries := 0; ; tries++ {
			text := p.scrape(ctx, address)
			if text == nil {
				return
			}
			if load, isKnown := engines.LoadIn(text); !isKnown || load.Running == 0 || tries == 10 ||
				!host.TimerSleep(ctx, 200*time.Millisecond) {
				p.keep(address, text, time.Since(p.begin))
				return
			}
		}
	})
}

// observed is what the heartbeat and the samples have to say at the end.
func (p *sampler) observed() observed {
	client := p.witness.Certificate()
	client.LagS = p.heart.Lags.Quantiles()
	return observed{p.heart.Longest(), p.heart.Lags.Judged(), client}
}

// scrape is nil for an address that gave no good answer, which is counted.
func (p *sampler) scrape(ctx context.Context, address string) []byte {
	status, text, err := p.control.get(ctx, address)
	if err != nil || status != http.StatusOK {
		p.missed.Add(1)
		return nil
	}
	return text
}

// keep writes the exposition as it came, secrets taken out, with the instant at which the answer was there.
func (p *sampler) keep(address string, text []byte, at time.Duration) {
	p.throttles.see(address, text, at)
	exposition := p.control.scrub.Exposition(string(text))
	p.log.add(func(dst []byte) []byte {
		dst = plan.AppendSeconds(append(dst, `{"at_s":`...), at)
		dst = plan.AppendString(append(dst, `,"origin":"server","url":`...), secrets.ShownURL(address))
		return append(plan.AppendString(append(dst, `,"exposition":`...), exposition), '}', '\n')
	})
}

// client writes the state of this process. A figure that the system does not say is left out, not 0.
func (p *sampler) client(context.Context) {
	at, wall := time.Since(p.begin), p.wall() // with nothing in between: their difference is looked at
	now := p.state()
	stall, lagP99 := p.heart.SinceLast()
	step := p.witness.Sample(now, at, wall)
	line := p.witness.Line
	values := slices.DeleteFunc([]value{
		{true, "in_flight", float64(p.meter.inFlight())},
		{true, "goroutines", float64(runtime.NumGoroutine())},
		{true, "gc_pause_s", now.GcPause.Seconds()},
		{true, "gc_cycles", float64(now.GcCycles)},
		{true, "scrapes_missed", float64(p.missed.Load())},
		{true, "stall_s", stall.Seconds()},
		{true, "lag_p99_s", lagP99.Seconds()},
		{true, "wall_step_s", step.Seconds()},
		{line.IsKnown, "waited_s", line.Waited.Seconds()},
		{line.IsKnown, "waited_for_others_s", line.ForOthers.Seconds()},
		{line.HasCores, "others_cpu_s", line.Others.Seconds()},
		{line.HasCores, "stolen_s", line.Stolen.Seconds()},
		{line.HasPressure, "cpu_pressure_s", line.Pressure.Seconds()},
		{now.HasCPU, "cpu_s", now.Cpu.Seconds()},
		{now.Rss > 0, "rss_bytes", now.Rss},
		{now.OpenFiles > 0, "open_files", now.OpenFiles},
		{now.HasNetwork, "retransmits", float64(now.Retransmits)},
	}, func(v value) bool { return !v.isKnown })
	p.log.add(func(dst []byte) []byte {
		dst = append(plan.AppendSeconds(append(dst, `{"at_s":`...), at), `,"origin":"client","values":{`...)
		for i, v := range values {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(plan.AppendString(dst, v.name), ':')
			dst = strconv.AppendFloat(dst, v.value, 'f', -1, 64)
		}
		return append(dst, "}}\n"...)
	})
}

// value is one figure of the client's state; cpu_s, gc_pause_s, gc_cycles and retransmits count from a start before the
// run; waited_s, waited_for_others_s, others_cpu_s, stolen_s and cpu_pressure_s from the run's own; stall_s, lag_p99_s and
// wall_step_s say what was since the last sample.
type value struct {
	isKnown bool // false: this system does not say it, and the line leaves it out
	name    string
	value   float64
}
