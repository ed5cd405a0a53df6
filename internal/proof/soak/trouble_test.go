//go:build soak

package soak

import (
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"
)

// trouble is what goes wrong in an episode and what it must lead to.
type trouble struct {
	name string
	// mischief makes the choice for each request through a proxy; nil: there is no proxy.
	mischief func(*rand.Rand) func() mischief
	// strike does something once, at a random moment with requests in flight.
	strike func(*episode) error
	check  func(*episode)
}

var troubles = []trouble{
	{name: "client SIGINT", strike: func(e *episode) error { return e.sendSignal(syscall.SIGINT) }, check: stoppedInOrder(130)},
	{name: "client SIGTERM", strike: func(e *episode) error { return e.sendSignal(syscall.SIGTERM) }, check: stoppedInOrder(143)},
	{name: "client SIGKILL", strike: func(e *episode) error { return e.sendSignal(syscall.SIGKILL) }, check: killed},
	{name: "server frozen", strike: freeze, check: frozen},
	{name: "server killed", strike: killServer, check: gone},
	{name: "server killed, back behind a proxy", mischief: always(none), strike: restartServer, check: cameBack},
	{name: "storm of 429 and 503", mischief: storm, check: stormed},
	{name: "streams cut", mischief: sometimes(cut), check: failedAs(cut, "cut_stream")},
	{name: "connections reset", mischief: sometimes(reset), check: failedAs(reset, "")},
	{name: "slow bytes", mischief: sometimes(dribble), check: allCompleted},
}

// signals are the first of troubles; they are drawn as often as all others together.
const signals = 3

func draw(rnd *rand.Rand) trouble {
	if rnd.IntN(2) == 0 {
		return troubles[rnd.IntN(signals)]
	}
	return troubles[signals+rnd.IntN(len(troubles)-signals)]
}

func always(m mischief) func(*rand.Rand) func() mischief {
	return func(*rand.Rand) func() mischief { return func() mischief { return m } }
}

// drawn makes a chooser that may be called from many connections.
func drawn(rnd *rand.Rand, choose func(*rand.Rand) mischief) func() mischief {
	token := make(chan *rand.Rand, 1)
	token <- rand.New(rand.NewPCG(rnd.Uint64(), rnd.Uint64()))
	return func() mischief {
		own := <-token
		defer func() { token <- own }()
		return choose(own)
	}
}

func sometimes(m mischief) func(*rand.Rand) func() mischief {
	return func(rnd *rand.Rand) func() mischief {
		return drawn(rnd, func(r *rand.Rand) mischief {
			if r.IntN(4) == 0 {
				return m
			}
			return none
		})
	}
}

// storm refuses everything for a stretch of requests, then nothing for one.
func storm(rnd *rand.Rand) func() mischief {
	left, m := 0, none
	return drawn(rnd, func(r *rand.Rand) mischief {
		if left == 0 {
			left = 20 + r.IntN(60)
			m = []mischief{none, refuse429, refuse503}[r.IntN(3)]
		}
		left--
		return m
	})
}

func freeze(e *episode) error {
	e.struck = time.Now()
	e.server.Signal(syscall.SIGSTOP)
	time.Sleep(time.Duration(300+e.rnd.IntN(1200)) * time.Millisecond) // the freeze itself
	e.over = time.Now()
	e.server.Signal(syscall.SIGCONT)
	return nil
}

func killServer(e *episode) error {
	e.truthsWereCut = true
	e.struck = time.Now()
	e.server.Kill()
	e.server.Stop()
	return nil
}

func restartServer(e *episode) error {
	address := e.server.Address
	if err := killServer(e); err != nil {
		return err
	}
	time.Sleep(time.Duration(e.rnd.IntN(400)) * time.Millisecond) // the outage itself
	again, err := startServer(address)
	if err != nil {
		return err
	}
	e.over = time.Now()
	e.server = again
	return nil
}

// stoppedInOrder: nothing more is sent, streams are let finish, everything is on disk.
func stoppedInOrder(exit int) func(*episode) {
	return func(e *episode) {
		if e.exit != exit {
			e.wrong("exit code %d, want %d", e.exit, exit)
		}
		if e.folder.document.Result == nil || e.folder.document.Status != "interrupted" {
			e.wrong("run.json says %q", e.folder.document.Status)
		}
		e.lost(math.Inf(1))
	}
}

// killed: whatever had ended a second before is on disk.
func killed(e *episode) {
	if e.folder.document.Result != nil || e.folder.document.Status != "running" {
		e.wrong("run.json says %q of a run that was killed", e.folder.document.Status)
	}
	e.lost(unix(e.struck) - 1)
}

// lost looks for answers that the server gave whole before an instant and that have no row.
func (e *episode) lost(until float64) {
	has, known := e.folder.has(), 0
	for _, t := range e.truths {
		seq, ok := seqOf(t)
		if !ok {
			continue
		}
		known++
		if t.IsWhole && endOf(t) < until && !has[seq] {
			e.wrong("request %d had ended %.3f s before the signal and has no row", seq, unix(e.struck)-endOf(t))
		}
	}
	if known == 0 {
		e.wrong("the server knows none of the %d requests by its id", len(e.truths))
	}
}

// frozen: what a freeze does to the time from due to first token is arithmetic. A request that is answered within it
// has its first token at its end.
func frozen(e *episode) {
	allCompleted(e)
	if len(e.wrongs) > 0 {
		return
	}
	zero := e.zero()
	from, to := unix(e.struck)-zero, unix(e.over)-zero
	var got, want []float64
	for _, r := range e.folder.rows {
		got = append(got, *r.First-r.Due)
		first := r.Due + ttft.Seconds()
		if first > from && first < to {
			first = to
		}
		want = append(want, first-r.Due)
	}
	for _, q := range []float64{0.5, 0.9, 0.99, 1} {
		if g, w := quantile(got, q), quantile(want, q); math.Abs(g-w) > frozenTolerance {
			e.wrong("first token from due, q%g: got %.3f s, arithmetic says %.3f s (frozen from %.3f to %.3f)", q, g, w, from, to)
		}
	}
}

// frozenTolerance, seconds: other processes want the same cores.
const frozenTolerance = 0.15

// zero is the run's begin by the server's clock, Unix seconds: the middle of many.
func (e *episode) zero() float64 {
	sent := map[int64]float64{}
	for _, r := range e.folder.rows {
		if r.Sent != nil {
			sent[r.Seq] = *r.Sent
		}
	}
	var zeros []float64
	for _, t := range e.truths {
		if seq, ok := seqOf(t); ok {
			if at, ok := sent[seq]; ok {
				zeros = append(zeros, t.Arrived-at)
			}
		}
	}
	return quantile(zeros, 0.5)
}

// gone: a server that refuses connections ends the run, which says so.
func gone(e *episode) {
	if e.folder.document.Status != "aborted" || e.exit == 0 {
		e.wrong("run.json says %q, exit code %d", e.folder.document.Status, e.exit)
	}
	if len(e.folder.rows) >= planned {
		e.wrong("all was sent to a server that had gone")
	}
}

// cameBack: what was under way and what was sent meanwhile has failed, the rest has not.
func cameBack(e *episode) {
	if e.folder.document.Status != "done" || len(e.folder.rows) != planned {
		e.wrong("run.json says %q, %d of %d rows", e.folder.document.Status, len(e.folder.rows), planned)
	}
	completed := 0
	for _, r := range e.folder.rows {
		if r.Failure == "" {
			completed++
		}
	}
	if completed == 0 || completed == planned {
		e.wrong("%d of %d completed over a restart", completed, planned)
	}
}

func allCompleted(e *episode) {
	if d := e.folder.document.Result; d == nil || d.Completed != planned || e.folder.document.Status != "done" {
		e.wrong("not all completed: %q, %+v", e.folder.document.Status, d)
	}
}

func stormed(e *episode) {
	e.failures("http_429", e.proxy.count(refuse429))
	e.failures("http_503", e.proxy.count(refuse503))
	e.others(e.proxy.count(none))
}

// failedAs: as many failures as mischiefs, all of that kind where one is named.
func failedAs(m mischief, kind string) func(*episode) {
	return func(e *episode) {
		if kind != "" {
			e.failures(kind, e.proxy.count(m))
		}
		e.others(planned - e.proxy.count(m))
	}
}

func (e *episode) failures(kind string, want int) {
	got := 0
	for _, r := range e.folder.rows {
		if r.Failure == kind {
			got++
		}
	}
	if got != want {
		e.wrong("%d failed by %s, the proxy did it to %d", got, kind, want)
	}
}

func (e *episode) others(want int) {
	completed := 0
	for _, r := range e.folder.rows {
		if r.Failure == "" {
			completed++
		}
	}
	if completed != want || len(e.folder.rows) != planned {
		e.wrong("%d completed of %d rows, the proxy left %d alone", completed, len(e.folder.rows), want)
	}
}

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Round(q*float64(len(sorted)-1)))]
}
