package analysis

import (
	"testing"

	"tidemark/internal/proof/must"
)

// Runs that say nothing of any constant are refused with the reason of each term.
func TestRefusedCalibrationNamesEachReason(t *testing.T) {
	err := nothingTold(map[string]string{"kv": "cannot be told from sequences (correlation -0.97)", "step": "as uncertain as before"})
	must.Say(t, err.Error(), "kv cannot be told from sequences (correlation -0.97); step as uncertain")
}
