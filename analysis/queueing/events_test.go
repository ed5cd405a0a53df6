package queueing

import (
	"math"
	"testing"
)

// Coverage row 0.5. A hundred requests at once, one by one at 0.2 s: the k-th is done after 0.2 k s, mean 0.2 * 101 / 2 =
// 10.1 s, last 20 s. In ten batches of 0.4 s: 0.4 * 11 / 2 = 2.2 s, last 4 s.
func TestBatchesByEvents(t *testing.T) {
	arrivals, services := make([]float64, 100), make([]float64, 100)
	for i := range services {
		services[i] = 0.2
	}
	single, batched := Serve(arrivals, services, 1), ServeBatches(arrivals, 10, 0.4)
	for _, test := range []struct {
		what      string
		got, want float64
	}{
		{"mean one by one", single.MeanTimeS, 10.1}, {"last one by one", single.DoneS, 20},
		{"mean in batches", batched.MeanTimeS, 2.2}, {"last in batches", batched.DoneS, 4},
		{"mean wait one by one", single.MeanWaitS, 9.9}, {"p99 of the waits: the 99th of 100", single.P99WaitS, 98 * 0.2},
		{"a second server halves the end", Serve(arrivals, services, 2).DoneS, 10},
		{"who comes alone does not wait", Serve([]float64{0, 1, 5}, []float64{1, 1, 1}, 1).MeanWaitS, 0},
		{"who comes during a batch waits for the next: 1 of 0.4 - 0.1 s", ServeBatches([]float64{0, 0.1}, 10, 0.4).MeanWaitS, 0.15},
	} {
		if math.Abs(test.got-test.want) > 1e-9 {
			t.Errorf("%s: got %v s, want %v", test.what, test.got, test.want)
		}
	}
}
