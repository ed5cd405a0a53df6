// Package parallel does many things at once on the cores there are.
package parallel

import (
	"errors"
	"runtime"
	"sync"
)

// Do calls do for each number below n, as many at a time as there are cores, and returns their errors together.
func Do(n int, do func(i int) error) error {
	failed, next := make([]error, n), make(chan int)
	var working sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		working.Go(func() {
			for i := range next {
				failed[i] = do(i)
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
