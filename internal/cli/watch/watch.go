// Package watch is the page that shows a replay in a browser while it goes. It is handed the counters that the load engine has anyway, once a
// second, and keeps them as boards that never change. A browser gets the newest board; it is drawn when somebody asks for it, on the
// goroutine of that request. So no browser, however slow, can hold up the engine.
//
// It listens on 127.0.0.1 alone, loads nothing from elsewhere, and refuses what asks for it by another name than this machine's.
package watch

import (
	"fmt"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/internal/cli/progress"
	"tidemark/internal/hint"
	"tidemark/replay"
	"tidemark/replay/plan"
	"tidemark/reports/style"
)

// Page is what is shown. The methods that change it are short and wait for no browser.
type Page struct {
	Address string // http://127.0.0.1:PORT/

	server *http.Server
	now    atomic.Pointer[board]

	mu     sync.Mutex // below, between those who tell
	said   []string
	asked  Asked
	judge  *progress.Judge
	recent []moment // of the last seconds, for rates
	points []moment // since the start, thinned
	every  int      // one in so many seconds is kept
	shown  int
}

// board is the run at one instant.
type board struct {
	Title     string
	StartedAt time.Time
	Progress  replay.Progress
	Last      moment
	Standings []progress.Standing
	Points    []moment
	Said      []string
	IsOver    bool

	page    func() ([]byte, error)
	figures func() ([]byte, error) // those of the page that change
}

// moment is one reading of the counters.
type moment struct {
	replay.Progress
	asked, sent float64 // requests a second over the last seconds; NaN: not known
}

const (
	rateOver   = 10   // readings, a second apart, over which rates are taken
	mostPoints = 1200 // of a chart; beyond that every other one is left out
)

// Asked is how many requests of a plan are due before the end of each second. nil: due times do not say when a request goes.
type Asked []int64

// AskedBy counts the due times of an open loop. Those of other modes depend on answers.
func AskedBy(mode string, requests iter.Seq2[plan.Request, error]) (asked Asked) {
	if mode != "" && mode != "open" {
		return nil
	}
	for r, err := range requests {
		if err != nil {
			break // the engine reads it too, and says so
		}
		for second := int(r.Due / time.Second); len(asked) <= second; {
			asked = append(asked, 0)
		}
		asked[int(r.Due/time.Second)]++
	}
	for i := 1; i < len(asked); i++ {
		asked[i] += asked[i-1]
	}
	return asked
}

// before is how many are due before an instant; within a second they are taken as even.
func (a Asked) before(at time.Duration) float64 {
	second := int(at / time.Second)
	switch {
	case len(a) == 0 || at <= 0:
		return 0
	case second >= len(a):
		return float64(a[len(a)-1])
	}
	low := 0.0
	if second > 0 {
		low = float64(a[second-1])
	}
	return low + (float64(a[second])-low)*(at-time.Duration(second)*time.Second).Seconds()
}

// Listen opens the page on a port of 127.0.0.1; 0 takes a free one.
func Listen(port int) (*Page, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, hint.Errorf("--watch-port %d: %w", port, err).Hint("another port, or none: then a free one is taken")
	}
	p := &Page{Address: "http://" + listener.Addr().String() + "/"}
	p.put(board{Title: "Nothing is sent yet"})
	p.server = &http.Server{Handler: p.routes(), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	go func() { _ = p.server.Serve(listener) }() // ends with Close
	return p, nil
}

// Close ends the page at once.
func (p *Page) Close() { _ = p.server.Close() }

// Begin shows another run from here on.
func (p *Page) Begin(title string, asked Asked, judge *progress.Judge) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.judge, p.recent, p.points, p.every, p.shown = asked, judge, nil, nil, 1, 0
	p.put(board{Title: title, StartedAt: time.Now()})
}

// Say adds a line under the run: what became of an earlier one.
func (p *Page) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = append(p.said, text)
	p.put(*p.now.Load())
}

// Show takes the counters of the moment.
func (p *Page) Show(now replay.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.read(now)
	if p.shown%p.every == 0 {
		p.points = append(p.points, m)
	}
	p.shown++
	if len(p.points) > mostPoints {
		var kept []moment
		for i := 0; i < len(p.points); i += 2 {
			kept = append(kept, p.points[i])
		}
		p.points, p.every = kept, 2*p.every
	}
	b := *p.now.Load()
	b.Progress, b.Last, b.Points, b.Standings = now, m, p.points[:len(p.points):len(p.points)], p.judge.Standings()
	p.put(b)
}

// End says that the run is over.
func (p *Page) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := *p.now.Load()
	b.IsOver = true
	p.put(b)
}

// put makes a board the newest.
func (p *Page) put(b board) {
	b.Said = p.said[:len(p.said):len(p.said)]
	b.figures = sync.OnceValues(func() ([]byte, error) { return render(&b) })
	b.page = sync.OnceValues(func() ([]byte, error) {
		html, err := b.figures()
		return []byte(strings.NewReplacer("{{STYLE}}", style.Sheet, "{{FIGURES}}", string(html)).Replace(pageText)), err
	})
	p.now.Store(&b)
}
