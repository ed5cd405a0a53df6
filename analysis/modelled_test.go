//go:build duckdb_arrow

package analysis_test

import (
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	model "tidemark/internal/engine"
	"tidemark/internal/proof/must"
)

// One question for many limits: each engine must be the one that is asked for alone, its step time beyond the largest captured graph too.
func TestAModellerAsksOnceForAllLimits(t *testing.T) {
	w := open(t)
	modeller := analysis.NewModeller(w.DB())
	steps := []model.Step{{DecodeSequences: 8, ContextTokens: 8000}, {DecodeSequences: 8, ContextTokens: 8000, PrefillTokens: 100, PrefillChunks: 1}, {DecodeSequences: 8, ContextTokens: 8000, PrefillTokens: 2000, PrefillChunks: 2}}
	for _, limits := range [][2]int{{0, 0}, {16, 2048}, {64, 0}, {512, 4096}} {
		d := deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b", EngineVersion: "0.26.0", MaxNumSeqs: limits[0], MaxNumBatchedTokens: limits[1]}
		got := must.Get(modeller.Of(t.Context(), d))(t)
		cost := must.Get(analysis.LoadStepCost(t.Context(), w.DB(), d))(t)
		want := cost.Engine()
		if got.Deployment != cost.Deployment || got.Engine.MaxNumSeqs != want.MaxNumSeqs || got.Engine.MaxNumBatchedTokens != want.MaxNumBatchedTokens || got.Engine.KVBlocks != want.KVBlocks {
			t.Errorf("%v: %+v of %+v, want %+v", limits, got.Engine, got.Deployment, want)
		}
		for _, step := range steps {
			if a, b := got.Engine.StepTime(step), want.StepTime(step); a != b {
				t.Errorf("%v: %+v takes %v, want %v", limits, step, a, b)
			}
		}
	}
	for range 2 {
		got, err := modeller.Of(t.Context(), deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-70b"})
		if err != nil || !strings.Contains(got.Why, "does not fit in the memory of 1 x H100") {
			t.Errorf("%q, %v", got.Why, err)
		}
	}
}
