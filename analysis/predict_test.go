//go:build duckdb_arrow

package analysis_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

func catalogue(t testing.TB) *warehouse.Warehouse {
	t.Helper()
	w := must.Get(warehouse.Catalogue(context.Background()))(t)
	t.Cleanup(func() { w.Close() })
	return w
}

func point(change ...func(*analysis.Point)) analysis.Point {
	p := analysis.Point{Deployment: deployment.Deployment{GPU: "H100", CatalogModel: "llama-3.1-8b"}, Load: analysis.Load{Clients: 8, InputTokens: 1000, OutputTokens: 500}}
	for _, one := range change {
		one(&p)
	}
	return p
}

// What a point cannot be is said beside those that can.
func TestPredictSaysWhyNot(t *testing.T) {
	config := filepath.Join(t.TempDir(), "mine", "config.json")
	must.Do(t, os.MkdirAll(filepath.Dir(config), 0o755))
	text := `{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
		"intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 2048}`
	must.Do(t, os.WriteFile(config, []byte(text), 0o644))
	nan := math.NaN()
	tests := []struct {
		change func(*analysis.Point)
		why    string
	}{
		{func(p *analysis.Point) {}, ""},
		{func(p *analysis.Point) { p.CatalogModel = config }, ""},
		{func(p *analysis.Point) { p.CatalogModel, p.InputTokens = config, 1549 }, "2049 tokens are more than the context of 2048"},
		{func(p *analysis.Point) { p.MaxModelLen = 1024 }, "1500 tokens are more than the context of 1024"},
		{func(p *analysis.Point) { p.CatalogModel = "gone/config.json" }, "there is no such file"},
		{func(p *analysis.Point) { p.GPU = "H300" }, `no GPU named "H300"`},
		{func(p *analysis.Point) { p.KVCacheDtype = "awq" }, `no KV cache format named "awq"`},
		{func(p *analysis.Point) { p.TensorParallelSize = 64 }, "32 attention heads of llama-3.1-8b cannot be shared by 64 GPUs"},
		{func(p *analysis.Point) { p.TensorParallelSize = -1 }, "tensor_parallel_size: -1"},
		{func(p *analysis.Point) { p.CatalogModel, p.ExpertParallelSize = "gpt-oss-120b", 3 }, "experts cannot be spread over 3 GPUs: tensor times data parallel size is 1"},
		{func(p *analysis.Point) { p.CatalogModel = "llama-3.1-405b" }, "does not fit: the weights"},
		{func(p *analysis.Point) { p.GPU, p.InputTokens = "L4", 90000 }, "does not fit: one request of 90500 tokens"},
		{func(p *analysis.Point) { p.GPUMemoryUtilization = 1.5 }, "gpu_memory_utilization: 1.5"},
		{func(p *analysis.Point) { p.HBMBytesPerS = nan }, "hbm_bytes_per_s: NaN"},
		{func(p *analysis.Point) { p.ComputeDtype = "fp7" }, `compute_dtype: "fp7"`},
		{func(p *analysis.Point) { p.Clients = 0 }, "no load"},
		{func(p *analysis.Point) { p.InputTokens = nan }, "input tokens: not a number"},
		{func(p *analysis.Point) { p.CachedTokens = 1001 }, "cached tokens: 1001 of a prompt of 1000"},
		{func(p *analysis.Point) { p.Drafts = 3 }, "how many drafts are kept is missing"},
		{func(p *analysis.Point) { p.Drafts, p.TokensPerStep = 3, 4.5 }, "tokens per step: 4.5 of 3 drafts"},
		{func(p *analysis.Point) { p.Drafts, p.AcceptanceRate = 3, new(1.5) }, "acceptance rate: 1.5"},
	}
	var points []analysis.Point
	for _, test := range tests {
		points = append(points, point(test.change))
	}
	got := must.Get(analysis.Predict(context.Background(), catalogue(t).DB(), points))(t)
	for i, test := range tests {
		isPredicted := got[i].TPOT > got[i].FloorTPOT
		if isPredicted != (test.why == "") || (got[i].Why == "") != isPredicted || !strings.Contains(got[i].Why, test.why) {
			t.Errorf("%+v: got %q and %v s, want %q", points[i], got[i].Why, got[i].TPOT, test.why)
		}
	}
}

// The terms are the prediction, and the floor is below it: closed and open loops, speculation, replicas, experts.
func TestPredictedTermsAddUp(t *testing.T) {
	points := []analysis.Point{
		point(),
		point(func(p *analysis.Point) { p.Clients, p.RequestsPerS = 0, 3 }),
		// Two replicas of 8 clients are two times one of 8.
		point(func(p *analysis.Point) { p.Clients, p.DataParallelSize = 16, 2 }),
		// 3 drafts of which each is kept with chance 0.5: (1 - 0.5^4) / 0.5 = 1.875 tokens a step.
		point(func(p *analysis.Point) { p.Drafts, p.AcceptanceRate = 3, new(0.5) }),
		point(func(p *analysis.Point) { p.Drafts, p.TokensPerStep = 3, 1.875 }),
		point(func(p *analysis.Point) { p.CatalogModel, p.GPU, p.TensorParallelSize = "gpt-oss-120b", "H200", 2 }),
		// Twice the bandwidth halves what is streamed; the floor is a half.
		point(func(p *analysis.Point) { p.Clients = 1 }),
		point(func(p *analysis.Point) { p.Clients, p.HBMBytesPerS = 1, 6.7e12 }),
	}
	got := must.Get(analysis.Predict(context.Background(), catalogue(t).DB(), points))(t)
	for i, p := range got {
		sum := 0.0
		for _, term := range p.Terms {
			sum += term
		}
		if p.Why != "" || math.Abs(sum-p.TPOT) > 1e-12 || !(p.FloorTPOT < p.TPOT && p.Low < p.TPOT && p.TPOT < p.High) {
			t.Errorf("%+v: got %+v (%s), terms of %v s", points[i], p, p.Why, sum)
		}
	}
	if got[2].TPOT != got[0].TPOT || got[3].TPOT != got[4].TPOT || math.Abs(got[6].FloorTPOT/got[7].FloorTPOT-2) > 1e-12 {
		t.Errorf("got %v and %v, %v and %v, floors %v and %v", got[0].TPOT, got[2].TPOT, got[3].TPOT, got[4].TPOT, got[6].FloorTPOT, got[7].FloorTPOT)
	}
	if got[5].ExpertsFrom == "" || got[0].ExpertsFrom != "" {
		t.Errorf("experts from %q and %q", got[5].ExpertsFrom, got[0].ExpertsFrom)
	}
}

// A calibration is used for its own deployment, and said.
func TestPredictSaysItsCalibration(t *testing.T) {
	w := warehousetest.Open(t, `
insert into raw.calibrations (
    calibration_id, run_id, run_ids, made_at, gpu, model, tensor_parallel_size, weight_format, kv_format, engine, engine_version,
    name, format, value, low, high, before, requests
) values (1, 'a', 'a b', timestamp '2026-11-01', 'H100', 'llama-3.1-8b', 1, 'bf16', 'bf16', 'vllm', '0.20.0', 'layer_s', '*', 100e-6, 90e-6, 110e-6, 42e-6, 400)`)
	its := func(p *analysis.Point) { p.EngineVersion = "0.20.1" }
	got := must.Get(analysis.Predict(context.Background(), w.DB(), []analysis.Point{
		point(its), point(its, func(p *analysis.Point) { p.TensorParallelSize = 2 }), point(func(p *analysis.Point) { p.EngineVersion = "0.19.0" }),
	}))(t)
	layers := 4
	if got[0].Calibration != "calibration 1 of run a b" || math.Abs(got[0].Terms[layers]-32*100e-6) > 1e-12 || analysis.TermNames()[layers] != "layers_s" {
		t.Errorf("its own deployment: got %q, %s %v", got[0].Calibration, analysis.TermNames()[layers], got[0].Terms[layers])
	}
	if got[1].Calibration != "" || got[2].Calibration != "" {
		t.Errorf("two GPUs, another version: got %q and %q", got[1].Calibration, got[2].Calibration)
	}
}

// Rows stay in their order when they are many enough to be asked in parts.
func TestManyPointsKeepTheirOrder(t *testing.T) {
	var file strings.Builder
	file.WriteString("gpu,model,input_len,output_len,concurrency,tpot_ms,row\n")
	for i := range 3100 {
		fmt.Fprintf(&file, "H100,llama-3.1-8b,1000,500,%d,10,%d\n", 1+i%7, i)
	}
	file.WriteString(",llama-3.1-8b,,500,1,10,3100\n")
	points := must.Get(analysis.ReadPoints(strings.NewReader(file.String())))(t)
	table, missed, err := analysis.PredictPoints(context.Background(), catalogue(t).DB(), points, analysis.Point{})
	must.Do(t, err)
	at := places(table)
	if why := table.Rows[3100][at["why"]]; why != "nothing is said of gpu, input_len" {
		t.Errorf("a row with empty cells: got %v", why)
	}
	for i, row := range table.Rows[:3100] {
		if fmt.Sprint(row[at["row"]]) != fmt.Sprint(i) || row[at["predicted_tpot_s"]] != table.Rows[i%7][at["predicted_tpot_s"]] {
			t.Fatalf("row %d: got %v", i, row)
		}
	}
	one := table.Rows[0][at["predicted_tpot_s"]].(float64)
	if got := table.Rows[0][at["error_ratio"]].(float64); math.Abs(got-(one/10e-3-1)) > 1e-12 || missed.Measured != 3100 {
		t.Errorf("error of %v s against 10 ms: got %v; %+v", one, got, missed)
	}
}

// A measurement that no hardware makes is named by its line and is no error of the model; one that is no time is said in
// its row. A row that lost a cell, or asks for more context than the model has, leaves the others theirs.
func TestPointsThatAreErrorsOfTheData(t *testing.T) {
	// The floor of line 2 and of its copies is 4.53 ms: 15.173 GB over 3350 GB/s.
	points := must.Get(analysis.ReadPoints(strings.NewReader(`gpu,model,input_len,output_len,concurrency,max_model_len,tpot_ms
H100,llama-3.1-8b,1000,500,1,,6.5
H100,llama-3.1-8b,1000,500,1,,4.4
H100,llama-3.1-8b,1000,500,1,,4.5
H100,llama-3.1-8b,1000,500,1,,0
H100,llama-3.1-8b,1000,500,1,,-2
H100,llama-3.1-8b,1000,500
H100,llama-3.1-8b,1000,500,1,131073,6.5
H100,llama-3.1-8b,1000,500,1,131072,
`)))(t)
	table, missed, err := analysis.PredictPoints(context.Background(), catalogue(t).DB(), points, analysis.Point{})
	must.Do(t, err)
	at := places(table)
	for i, want := range []struct {
		isBelow, why any
		isPredicted  bool
	}{
		{false, nil, true},
		{true, nil, true},
		{false, nil, true}, // rounded, not below
		{nil, "tpot_ms: 0 is no measured time and is not compared", true},
		{nil, "tpot_ms: -2 is no measured time and is not compared", true},
		{nil, "line 7: 4 cells, 7 are named", false},
		{nil, "max_model_len: 131073 tokens are more than the context of llama-3.1-8b, 131072", false},
		{nil, nil, true},
	} {
		row := table.Rows[i]
		if row[at["is_below_floor"]] != want.isBelow || row[at["why"]] != want.why || (row[at["predicted_tpot_s"]] != nil) != want.isPredicted {
			t.Errorf("line %d: got %v, %v, %v, want %+v", i+2, row[at["is_below_floor"]], row[at["why"]], row[at["predicted_tpot_s"]], want)
		}
	}
	one := table.Rows[0][at["predicted_tpot_s"]].(float64)
	mean := (one/6.5e-3 + one/4.5e-3) / 2
	if missed.Predicted != 6 || missed.Measured != 2 || math.Abs(missed.Bias-(mean-1)) > 1e-12 || fmt.Sprint(missed.BelowFloor) != "[3]" {
		t.Errorf("got %+v, want 6 predicted, 2 compared, bias %v and line 3 below the floor", missed, mean-1)
	}
	if got := missed.String(); !strings.HasPrefix(got, "8 rows, 6 predicted, 1 below the floor and left out, 2 compared: error median ") {
		t.Errorf("the summary: got %q", got)
	}
}

// A long table is done in parts: each row has the answer that it has alone, unknown names and rows of one deployment in two parts with it.
func TestPredictInParts(t *testing.T) {
	w := catalogue(t)
	var points []analysis.Point
	for i := range 7 {
		points = append(points, point(func(p *analysis.Point) {
			p.MaxNumSeqs, p.Clients = []int{8, 16, 8, 64, 128}[i%5], float64(1+i)
			if i == 3 {
				p.CatalogModel = "nobody's"
			}
		}))
	}
	whole := must.Get(analysis.Predict(t.Context(), w.DB(), points))(t)
	defer analysis.InPartsOf(2)()
	parts := must.Get(analysis.Predict(t.Context(), w.DB(), points))(t)
	if got, want := fmt.Sprint(parts), fmt.Sprint(whole); got != want {
		t.Errorf("in parts: got %s\nwant %s", got, want)
	}
	if !strings.Contains(parts[3].Why, "nobody's") || parts[6].Why != "" {
		t.Errorf("got %q and %q, want a reason for the unknown model alone", parts[3].Why, parts[6].Why)
	}
}

// Ten thousand configurations: what a table of a sweep may have.
func BenchmarkTenThousandPoints(b *testing.B) {
	w := catalogue(b)
	var points []analysis.Point
	for i := range 10000 {
		points = append(points, point(func(p *analysis.Point) {
			p.CatalogModel = []string{"llama-3.1-8b", "qwen3-32b", "gpt-oss-120b", "llama-3.1-70b"}[i%4]
			p.TensorParallelSize, p.Clients, p.InputTokens = []int{2, 4, 8}[i/4%3], float64(1+i%500), float64(100+i%3000)
		}))
	}
	for b.Loop() {
		must.Get(analysis.Predict(context.Background(), w.DB(), points))(b)
	}
}

// places are those of a table's columns.
func places(table analysis.Table) map[string]int {
	at := map[string]int{}
	for i, column := range table.Columns {
		at[column] = i
	}
	return at
}

// Clients that start at once and whose requests are all alike stay together. Three servers of docs/evidence.md needed 645 to 711 ms to the first
// token, where the formula of clients that come apart says 78.
func TestPromptsThatComeTogetherWaitForEachOther(t *testing.T) {
	db := warehousetest.Open(t).DB()
	p := analysis.Point{Load: analysis.Load{Clients: 256, InputTokens: 128, OutputTokens: 256}}
	p.GPU, p.CatalogModel = "H100", "llama-3.1-8b"
	argument := must.Get(analysis.Argue(t.Context(), db, p))(t)
	together, err := argument.TogetherTTFT(t.Context(), db)
	if err != nil || together < 5*argument.TTFT || together < 0.645/1.3 || together > 0.711*1.3 {
		t.Errorf("256 clients at once: %v s, %v; want 0.5 to 0.92, and much more than %v", together, err, argument.TTFT)
	}
	for what, change := range map[string]func(p *analysis.Point){
		"one client": func(p *analysis.Point) { p.Clients = 1 },
		"drafts":     func(p *analysis.Point) { p.Drafts = 3 },
		"a cache":    func(p *analysis.Point) { p.CachedTokens = 64 },
	} {
		other := argument
		change(&other.Point)
		if together, err := other.TogetherTTFT(t.Context(), db); !math.IsNaN(together) || err != nil {
			t.Errorf("%s: %v, %v; want no figure", what, together, err)
		}
	}
}
