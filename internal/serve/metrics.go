package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is how a query ended, as the metrics count it.
type outcome string

const (
	outcomeOK       outcome = "ok"
	outcomeCut      outcome = "cut"      // part of the answer was sent
	outcomeBad      outcome = "bad"      // the client's mistake
	outcomeDeadline outcome = "deadline" // before the first row
	outcomeMemory   outcome = "memory"   // before the first row
	outcomeBusy     outcome = "busy"
	outcomeLeft     outcome = "left" // the client went away
	outcomeFailed   outcome = "failed"
)

var outcomes = []outcome{outcomeOK, outcomeCut, outcomeBad, outcomeDeadline, outcomeMemory, outcomeBusy, outcomeLeft, outcomeFailed}

// secondsBounds are the upper bounds of the histogram's buckets, in seconds.
var secondsBounds = []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60, 300}

// counters are since the start of the server.
type counters struct {
	mu      sync.Mutex
	queries map[outcome]int64
	buckets []int64 // one more than there are bounds
	seconds float64
	rows    int64
	bytes   int64
}

func newCounters() *counters {
	return &counters{queries: map[outcome]int64{}, buckets: make([]int64, len(secondsBounds)+1)}
}

// count adds a query that has ended.
func (c *counters) count(how outcome, took time.Duration, rows, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queries[how]++
	place, _ := slices.BinarySearch(secondsBounds, took.Seconds())
	c.buckets[place]++
	c.seconds += took.Seconds()
	c.rows += rows
	c.bytes += bytes
}

// serveMetrics writes Prometheus' text format.
func (s *Server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	family := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	c := s.counters
	c.mu.Lock()
	family("tidemark_serve_queries_total", "counter", "Queries that have ended, by outcome.")
	for _, o := range outcomes {
		fmt.Fprintf(&b, "tidemark_serve_queries_total{outcome=%q} %d\n", o, c.queries[o])
	}
	family("tidemark_serve_query_seconds", "histogram", "Time from the request to the end of its answer, the wait for a turn included.")
	sum := int64(0)
	for i, bound := range secondsBounds {
		sum += c.buckets[i]
		fmt.Fprintf(&b, "tidemark_serve_query_seconds_bucket{le=\"%g\"} %d\n", bound, sum)
	}
	sum += c.buckets[len(secondsBounds)]
	fmt.Fprintf(&b, "tidemark_serve_query_seconds_bucket{le=\"+Inf\"} %d\ntidemark_serve_query_seconds_sum %g\ntidemark_serve_query_seconds_count %d\n", sum, c.seconds, sum)
	family("tidemark_serve_rows_total", "counter", "Rows of whole answers.")
	fmt.Fprintf(&b, "tidemark_serve_rows_total %d\n", c.rows)
	family("tidemark_serve_bytes_total", "counter", "Bytes of answers that were sent.")
	fmt.Fprintf(&b, "tidemark_serve_bytes_total %d\n", c.bytes)
	c.mu.Unlock()

	waiting, running := s.queue.now()
	family("tidemark_serve_queue_length", "gauge", "Queries that wait for their turn.")
	fmt.Fprintf(&b, "tidemark_serve_queue_length %d\n", waiting)
	family("tidemark_serve_workers", "gauge", "Processes that run a query, and that wait for one.")
	fmt.Fprintf(&b, "tidemark_serve_workers{state=\"running\"} %d\ntidemark_serve_workers{state=\"waiting\"} %d\n", running, s.pool.waiting())
	newest, err := s.snapshots.newest()
	isUp := 1
	if err != nil || s.trouble() != nil {
		isUp = 0
	}
	family("tidemark_serve_published_up", "gauge", "1 while the newest snapshot can be read, 0 while answers are of the last one that could.")
	fmt.Fprintf(&b, "tidemark_serve_published_up %d\n", isUp)
	family("tidemark_serve_snapshot_age_seconds", "gauge", "Time since the served snapshot was written.")
	fmt.Fprintf(&b, "tidemark_serve_snapshot_age_seconds %g\n", time.Since(newest.info.ModTime()).Seconds())
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(b.String()))
}
