//go:build duckdb_arrow

package decide

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

const whole = `schema: tidemark.contract/1
name: chat
objectives:
  - {metric: ttft, percentile: 95, at_most: 500ms}
  - {metric: failure_ratio, at_most: 0.01}
shape: {source: azure-conv, distance_at_most: 0.1}
cost: {usd_per_gpu_hour: 2.90, usd_per_million_at_most: 1.20}
`

func contractOf(t *testing.T, text string) (Contract, error) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"contract.yaml": text, "slo.yaml": "schema: tidemark.slo/2\nname: quick\nobjectives:\n  - {metric: tpot, percentile: 99, at_most: 20ms}\n"} {
		must.Do(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	return ReadContract(filepath.Join(folder, "contract.yaml"))
}

func TestReadContract(t *testing.T) {
	c, err := contractOf(t, whole)
	if err != nil || c.SLO.Name != "chat" || c.SLO.Schema != "tidemark.slo/2" || len(c.SLO.Objectives) != 2 || c.SLO.Cost.PerGPUHour != 2.9 || c.Shape.DistanceAtMost != 0.1 {
		t.Errorf("got %+v, %v", c, err)
	}
	// The objectives of another file; the price is the contract's. A plan lies beside the contract.
	c, err = contractOf(t, strings.Replace(whole[:strings.Index(whole, "objectives")]+"slo: slo.yaml\n"+whole[strings.Index(whole, "shape"):], "azure-conv", "plan.jsonl.zst", 1))
	if err != nil || c.SLO.Name != "quick" || c.SLO.Objectives[0].AtMost != 0.02 || c.SLO.Cost.PerGPUHour != 2.9 || !filepath.IsAbs(c.Shape.Source) {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestContractsThatBoundNothingAreRefused(t *testing.T) {
	without := func(old, by string) string { return strings.Replace(whole, old, by, 1) }
	for _, c := range []struct{ why, text, words, todo string }{
		{"no metric", without("metric: ttft, ", ""), "line 4: objectives[0].metric: is missing", "an objective is written {metric: ttft_from_due"},
		{"no percentile", without("percentile: 95, ", ""), "line 4: objectives[0]: ttft: no percentile", "an objective is written"},
		{"a mean of nothing but failures", without("  - {metric: ttft, percentile: 95, at_most: 500ms}\n", ""), "line 1: no objective has a percentile", "schema: tidemark.contract/1"},
		{"no bound", without(", at_most: 500ms", ""), "line 4: objectives[0]: ttft: no at_most", "an objective is written"},
		{"one number bound twice", without("failure_ratio, at_most: 0.01", "ttft, percentile: 95, at_most: 1s"), "line 5: objectives[1]: p95 TTFT is bound twice", ""},
		{"no objectives", without(whole[strings.Index(whole, "objectives"):strings.Index(whole, "shape")], ""), "line 1: slo: is missing, and so are objectives", "slo: slo.yaml"},
		{"two kinds of objectives", whole + "slo: slo.yaml\n", "line 1: slo and objectives exclude each other", ""},
		{"an SLO that is not there", without(whole[strings.Index(whole, "objectives"):strings.Index(whole, "shape")], "slo: nothing.yaml\n"), "nothing.yaml: no such file", "name the file of an SLO"},
		{"no shape", without("shape: {source: azure-conv, distance_at_most: 0.1}\n", ""), "line 1: shape: is missing", "shape: {source"},
		{"a shape of any distance", without(", distance_at_most: 0.1", ""), "line 6: shape.distance_at_most: is missing", "shape: {source"},
		{"a shape of nothing", without("source: azure-conv, ", ""), "line 6: shape.source: is missing", ""},
		{"no cost", without("cost: {usd_per_gpu_hour: 2.90, usd_per_million_at_most: 1.20}\n", ""), "line 1: cost: is missing", "cost: {usd_per_gpu_hour"},
		{"a cost of any size", without(", usd_per_million_at_most: 1.20", ""), "line 7: cost.usd_per_million_at_most: is missing", ""},
		{"no price", without("usd_per_gpu_hour: 2.90, ", ""), "line 7: cost.usd_per_gpu_hour: is missing", ""},
		{"no name", without("name: chat\n", ""), "line 1: name: is missing", ""},
		{"an unknown key", whole + "reason: because\n", `line 8: unknown key "reason"`, ""},
	} {
		_, err := contractOf(t, c.text)
		must.Fail(t, err, c.words, c.todo)
		if err != nil && c.why != "an SLO that is not there" && !hint.IsMisuse(err) {
			t.Errorf("%s: %v is no misuse", c.why, err)
		}
	}
}
