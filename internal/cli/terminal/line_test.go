package terminal

import (
	"slices"
	"testing"
)

func TestALineDoesNotBreakBetweenANumberAndItsUnit(t *testing.T) {
	got := Wrapped("TTFT rose by +7,130 % to 12.5 ms in 3 runs", 18)
	if want := []string{"TTFT rose by", "+7,130 % to", "12.5 ms in 3 runs"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
