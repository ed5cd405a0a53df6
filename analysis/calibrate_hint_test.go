package analysis

import (
	"strings"
	"testing"
)

// Runs that say nothing of any constant are refused with the reason of each term.
func TestRefusedCalibrationNamesEachReason(t *testing.T) {
	err := nothingTold(map[string]string{"kv": "cannot be told from sequences (correlation -0.97)", "step": "as uncertain as before"})
	if !strings.Contains(err.Error(), "kv cannot be told from sequences (correlation -0.97); step as uncertain") {
		t.Errorf("got %v", err)
	}
}
