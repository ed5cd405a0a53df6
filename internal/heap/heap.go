// Package heap is a heap of values of one type: the one that comes before all others is at hand. Values that neither comes before the
// other leave it in an order that only depends on what was done.
package heap

// Heap is a heap; New makes an empty one.
type Heap[T any] struct {
	all    []T
	before func(a, b T) bool
}

func New[T any](before func(a, b T) bool) Heap[T] { return Heap[T]{before: before} }

func (h *Heap[T]) Len() int { return len(h.all) }

// First is the value that comes before all others; there must be one.
func (h *Heap[T]) First() T { return h.all[0] }

// All are the values in no order. They belong to the heap.
func (h *Heap[T]) All() []T { return h.all }

// Clear forgets all values.
func (h *Heap[T]) Clear() { h.all = nil }

func (h *Heap[T]) Add(x T) {
	h.all = append(h.all, x)
	for at := len(h.all) - 1; at > 0; {
		above := (at - 1) / 2
		if !h.before(h.all[at], h.all[above]) {
			return
		}
		h.all[at], h.all[above] = h.all[above], h.all[at]
		at = above
	}
}

// Take removes the first value and returns it.
func (h *Heap[T]) Take() T {
	first, last := h.all[0], len(h.all)-1
	h.all[0] = h.all[last]
	clear(h.all[last:])
	h.all = h.all[:last]
	h.sink()
	return first
}

// Replace puts x in the place of the first value. x may be that value, which comes later now.
func (h *Heap[T]) Replace(x T) {
	h.all[0] = x
	h.sink()
}

// sink lets the value at the head find its place.
func (h *Heap[T]) sink() {
	for at := 0; ; {
		below := 2*at + 1
		if below >= len(h.all) {
			return
		}
		if other := below + 1; other < len(h.all) && h.before(h.all[other], h.all[below]) {
			below = other
		}
		if !h.before(h.all[below], h.all[at]) {
			return
		}
		h.all[at], h.all[below] = h.all[below], h.all[at]
		at = below
	}
}
