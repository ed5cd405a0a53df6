//go:build duckdb_arrow

package analysis_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/answers"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/replay/plan"
)

// What is said of a p99 TTFT beside limited slots is held against what is not known to it: the same requests taken one by one,
// first come, first served, by as many servers as there are slots. Where one request in a hundred waits there, and only
// where about so many do, the p99 is withheld.
func TestP99TTFTIsWithheldWhereRequestsWaitForASlot(t *testing.T) {
	db := open(t).DB()
	for _, traffic := range []struct {
		name     string
		requests []plan.Request
	}{
		{"Poisson", drawnRequests(1000, 3, 1)},
		{"in bursts", drawnRequests(1000, 3, 8)},
		{"azure-code, 20 minutes", azureCode(t, 20*time.Minute)},
	} {
		if len(traffic.requests) == 0 {
			continue
		}
		var scenarios []analysis.Scenario
		mix := mixOf(t, analysis.MixChoice{}, traffic.requests...)
		slots := []int{1, 2, 4, 8, 16, 64, 256}
		for _, n := range slots {
			d := eightB
			d.MaxNumSeqs = n
			scenarios = append(scenarios, analysis.Scenario{Deployment: d, Mix: mix})
		}
		prompts := promptTimes(t, db, eightB, traffic.requests)
		slo := analysis.SLO{Objectives: []analysis.Objective{{Metric: "ttft", Percentile: 99, AtMost: 60}, {Metric: "tpot", Percentile: 99, AtMost: 1}}}
		for i, o := range whatIf(t, db, slo, scenarios...) {
			waiting, p99 := firstCome(traffic.requests, prompts, o.TPOT.Value, slots[i])
			t.Logf("%s, %d slots: waiting %.2f %% predicted, %.2f %% by hand; p99 TTFT %.3f s predicted (%.3f by hand); at most %.2f/s of %.2f/s, %s",
				traffic.name, slots[i], 100*o.SlotWaitRatio, 100*waiting, o.P99TTFT.Value, p99, o.CapacityPerS.Value, o.RequestsPerS, o.SLO)
			isWithheld := math.IsNaN(o.P99TTFT.Value)
			switch {
			case !o.IsStable:
				if !math.IsInf(o.P99TTFT.Value, 1) || o.SLO != analysis.NotMet {
					t.Errorf("%s, %d slots: not stable: got a p99 of %v and %q", traffic.name, slots[i], o.P99TTFT.Value, o.SLO)
				}
			case waiting > 0.015 && !isWithheld, waiting < 0.007 && isWithheld:
				t.Errorf("%s, %d slots: %.2f %% wait, and the p99 TTFT is %v", traffic.name, slots[i], 100*waiting, o.P99TTFT.Value)
			case isWithheld && (o.SLO == analysis.Met || !math.IsNaN(o.CapacityPerS.Value) || o.Needed != 0 || !o.Objectives[0].IsWithheld || o.Objectives[1].IsWithheld):
				t.Errorf("%s, %d slots: the p99 is withheld, and the SLO is %q with a capacity of %v/s", traffic.name, slots[i], o.SLO, o.CapacityPerS.Value)
			}
		}
	}
}

// firstCome is the share of requests that wait for one of so many slots, and the p99 of wait and prompt.
func firstCome(requests []plan.Request, prompts []float64, tpotS float64, slots int) (waiting, p99 float64) {
	free := make([]float64, slots) // when each slot is free again
	ttfts := make([]float64, len(requests))
	for i, r := range requests {
		slot := 0
		for j := range free {
			if free[j] < free[slot] {
				slot = j
			}
		}
		due := r.Due.Seconds()
		begin := max(due, free[slot])
		if begin > due {
			waiting += 1 / float64(len(requests))
		}
		free[slot] = begin + prompts[i] + float64(r.OutputTokens-1)*tpotS
		ttfts[i] = begin - due + prompts[i]
	}
	slices.Sort(ttfts)
	return waiting, ttfts[int(math.Ceil(0.99*float64(len(ttfts))))-1]
}

// promptTimes are of each request's prompt, computed alone, and the step in which its first token is made.
func promptTimes(t *testing.T, db *sql.DB, d deployment.Deployment, requests []plan.Request) []float64 {
	t.Helper()
	var rows []string
	for i, r := range requests {
		rows = append(rows, fmt.Sprintf("(%d, %d)", i, r.InputTokens))
	}
	table := must.Get(answers.Ask(context.Background(), db, `
select macros.prompt_s(d, 1, prompts.tokens, 0) + macros.decode_s(d, 1, prompts.tokens, prompts.tokens)
from macros.deployment({'gpu': ?, 'catalog_model': ?}) as d
cross join (values `+strings.Join(rows, ", ")+`) as prompts (seq, tokens)
order by prompts.seq`, d.GPU, d.CatalogModel))(t)
	times := make([]float64, len(table.Rows))
	for i, row := range table.Rows {
		times[i] = row[0].(float64)
	}
	return times
}

// drawnRequests come at a mean rate, so many at once on the mean.
func drawnRequests(n int, perS, burst float64) (requests []plan.Request) {
	random := rand.New(rand.NewPCG(7, 7))
	for at := 0.0; len(requests) < n; at += random.ExpFloat64() * burst / perS {
		for range int(math.Round(burst)) {
			requests = append(requests, plan.Request{
				Due: time.Duration(at * 1e9), InputTokens: 200 + random.IntN(1500), OutputTokens: 1 + int(40*random.ExpFloat64()),
			})
		}
	}
	return requests
}

// azureCode is the beginning of Azure's trace, which is not in this repository; nothing where it is not there.
func azureCode(t *testing.T, length time.Duration) (requests []plan.Request) {
	path := filepath.Join(cmp.Or(os.Getenv("TIDEMARK_SHARED"), filepath.Join("..", "..", "shared")), "traces", "azure-2023", "AzureLLMInferenceTrace_code.csv")
	file, err := os.Open(path)
	if err != nil {
		t.Logf("LEFT OUT: Azure's trace: %v; $TIDEMARK_SHARED names another folder", err)
		return nil
	}
	defer file.Close()
	rows := must.Get(csv.NewReader(file).ReadAll())(t)
	var first time.Time
	for _, row := range rows[1:] {
		at := must.Get(time.Parse("2006-01-02 15:04:05.9999999", row[0]))(t)
		if first.IsZero() {
			first = at
		}
		input, _ := strconv.Atoi(row[1])
		output, _ := strconv.Atoi(row[2])
		if due := at.Sub(first); due < length {
			requests = append(requests, plan.Request{Due: due, InputTokens: input, OutputTokens: max(1, output)})
		}
	}
	return requests
}
