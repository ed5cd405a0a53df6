//go:build duckdb_arrow

package privacy

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The real traces can leave, and a replay of what left finds the same shape.
func TestRealTraces(t *testing.T) {
	for _, c := range []struct {
		path       string
		rows       int64
		ks         float64 // of the prompts, at most; as measured, with a little room
		dispersion float64 // change at most; Mooncake's clock ticks every 3 s
	}{
		{"azure-2023/AzureLLMInferenceTrace_code.csv", 8819, 0.06, 0.05},
		{"azure-2023/AzureLLMInferenceTrace_conv.csv", 19366, 0.09, 0.05},
		{"mooncake/conversation_trace.jsonl", 12031, 0.05, 0.15},
		{"mooncake/synthetic_trace.jsonl", 3993, 0.10, 0.05},
	} {
		path := filepath.Join(sharedRoot(), "traces", c.path)
		if _, err := os.Stat(path); err != nil {
			t.Skipf("LEFT OUT: %s is not here ($TIDEMARK_SHARED is where it is looked for)", c.path)
		}
		result, _ := exported(t, holding(t, path), "out.jsonl.zst", optionsOf(1))
		loss := result.Loss
		if result.Rows != c.rows || *loss.ChangedMinutes != 0 || loss.InputKS > c.ks {
			t.Errorf("%s: %d rows, %d minutes changed, distance %v", c.path, result.Rows, *loss.ChangedMinutes, loss.InputKS)
		}
		if change := math.Abs(*loss.DispersionAfter/(*loss.DispersionBefore) - 1); change > c.dispersion {
			t.Errorf("%s: the dispersion changes by %.2g", c.path, change)
		}
		if loss.ReusedBefore != nil && math.Abs(*loss.ReusedAfter-*loss.ReusedBefore) > 0.01 {
			t.Errorf("%s: reuse %v, then %v", c.path, *loss.ReusedBefore, *loss.ReusedAfter)
		}
	}
}
