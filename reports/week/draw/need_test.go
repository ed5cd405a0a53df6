package draw

import "testing"

func TestGPUsPaidForAreCounted(t *testing.T) {
	for want, paid := range map[string][]float64{"the one GPU": {1, 1}, "the 12 GPUs": {12}, "the 1 to 2 GPUs": {1, 2}} {
		if got := (needs{paid: paid}).paidGPUs(); got != want {
			t.Errorf("%v: got %q, want %q", paid, got, want)
		}
	}
}
