// Package parallel does many things at once on the cores there are.
package parallel

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls do for each number below n, as many at a time as there are cores, and returns their errors together. After an error it begins no more.
func Do(n int, do func(i int) error) error { return Told(n, nil, do) }

// Told is Do, and says after each how many are done; told may be nil, and is called by one at a time.
func Told(n int, told func(done, of int), do func(i int) error) error {
	failed, next := make([]error, n), make(chan int)
	var working sync.WaitGroup
	var mu sync.Mutex // of done and told
	var done int
	var hasFailed atomic.Bool
	for range min(n, runtime.GOMAXPROCS(0)) {
		working.Go(func() {
			for i := range next {
				if hasFailed.Load() {
					continue
				}
				if failed[i] = do(i); failed[i] != nil {
					hasFailed.Store(true)
				}
				mu.Lock()
				if done++; told != nil {
					told(done, n)
				}
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	working.Wait()
	return errors.Join(failed...)
}
