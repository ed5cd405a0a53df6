//go:build duckdb_arrow

package analysis_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/analysis"
	"tidemark/internal/deployment"
	"tidemark/internal/proof/must"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/store/warehouse/warehousetest"
)

var someDay = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// alteredServer puts in a run of an engine whose constants are others than the built-in ones: each step takes
// what the macros say with them, and each answer is off by some noise.
func alteredServer(t *testing.T, w *warehouse.Warehouse, run string, d deployment.Deployment, truth map[string]float64, requests int, e engine) {
	t.Helper()
	do := func(statement string) {
		t.Helper()
		must.Get(w.DB().Exec(statement))(t)
	}
	e.cost = alteredCost(t, w, d, truth) // it refreshes: a run that is there by then would be one without requests
	do(manifest(run, d, requests, `"is_simulated": false`))
	do(e.serve(t, run, requests))
	// Between 1.7 % less and more: a spread of 1 %.
	do(fmt.Sprintf(`update raw.requests
		set last_token_s = first_token_s + (last_token_s - first_token_s) * (1 + 0.0346 * ((hash(seq) %% 10007) / 10007e0 - 0.5))
		where run_id = '%s'`, run))
	do("update raw.requests set done_s = last_token_s")
	warehousetest.Put(t, w)
}

// alteredCost is what steps cost where constants are so many times the built-in ones.
func alteredCost(t *testing.T, w *warehouse.Warehouse, d deployment.Deployment, truth map[string]float64) analysis.StepCost {
	t.Helper()
	change := func(by string) {
		for name, factor := range truth {
			statement := fmt.Sprintf("update seeds.constants set value = value %s %v where name = '%s'", by, factor, name)
			must.Get(w.DB().Exec(statement))(t)
			must.Do(t, warehousetest.ForgetKnown(w.DB(), statement))
		}
		must.Do(t, warehouse.KnowAgain(t.Context(), w.DB()))
	}
	change("*")
	defer change("/")
	cost := must.Get(analysis.LoadStepCost(t.Context(), w.DB(), d))(t)
	return cost
}

func manifest(run string, d deployment.Deployment, requests int, server string) string {
	return fmt.Sprintf(`insert into raw.runs values ('%s', 1, '{"status": "done", "started_at": "2026-11-20T10:00:00Z", "ended_at": "2026-11-20T11:00:00Z",
		"plan": {"requests": %[2]d}, "result": {"planned": %[2]d, "is_valid": true}, "server": {%[3]s}, "environment": {"gpu": %[4]q, "catalog_model": %[5]q,
		"tensor_parallel_size": %[6]d, "quantization": %[7]q, "engine_version": %[8]q, "max_num_batched_tokens": %[9]d, "kv_cache_dtype": %[10]q}}')`,
		run, requests, server, d.GPU, d.CatalogModel, max(d.TensorParallelSize, 1), d.Quantization, d.EngineVersion, d.MaxNumBatchedTokens, d.KVCacheDtype)
}

var denseOnTwo = deployment.Deployment{
	GPU: "H200", CatalogModel: "llama-3.1-70b", TensorParallelSize: 2, Quantization: "fp8", EngineVersion: "0.24.0", MaxNumBatchedTokens: 8192,
}

func TestConstantsOfAServerAreFoundBack(t *testing.T) {
	w := open(t)
	truth := map[string]float64{"weight_bandwidth_ratio": 0.9, "sequence_s": 4}
	server := denseOnTwo
	server.EngineVersion = "0.18.0" // its host time is no part of a step that is hidden
	alteredServer(t, w, "busy", server, truth, 1200, engine{perS: 6, input: 300, output: 400})
	alteredServer(t, w, "idle", server, truth, 300, engine{perS: 1, input: 1000, output: 200})
	c := must.Get(analysis.Calibrate(t.Context(), w.DB(), []string{"busy", "idle"}, someDay))(t)
	found := map[string]bool{}
	for _, one := range c.Constants {
		factor := truth[one.Name]
		factor = cmp.Or(factor, 1)
		if one.Held == "" && (one.Low > one.Before*factor || one.High < one.Before*factor) {
			t.Errorf("%s %s: truly %v, the interval is %v to %v", one.Name, one.Format, one.Before*factor, one.Low, one.High)
		}
		found[one.Name] = found[one.Name] || one.Held == ""
	}
	for name := range truth {
		if !found[name] {
			t.Errorf("%s was not found", name)
		}
	}
	if c.After.Median > 0.02 || c.Before.Median < 0.05 {
		t.Errorf("off by %.3f before and %.3f after; want more than 0.05, less than 0.02", c.Before.Median, c.After.Median)
	}
}

func slowdown(t *testing.T, w *warehouse.Warehouse, run string) (ratio float64) {
	t.Helper()
	must.Do(t, w.DB().QueryRow("select slowdown_ratio from marts.tpot_gap_runs where run_id = ?", run).Scan(&ratio))
	return ratio
}

// A prediction with a calibration says so; that of another degree or version does not use it, and when it is
// forgotten all is as before.
func TestLaterPredictionsUseACalibration(t *testing.T) {
	w := open(t)
	alteredServer(t, w, "a", denseOnTwo, map[string]float64{"weight_bandwidth_ratio": 0.88}, 300, engine{perS: 2, input: 500, output: 200})
	other, older := denseOnTwo, denseOnTwo
	other.TensorParallelSize, older.EngineVersion = 4, "0.12.0"
	load := analysis.Load{Clients: 16, InputTokens: 1000, OutputTokens: 200}
	predict := func() []analysis.Prediction {
		t.Helper()
		got := must.Get(analysis.Predict(t.Context(), w.DB(), []analysis.Point{{Deployment: denseOnTwo, Load: load}, {Deployment: other, Load: load}, {Deployment: older, Load: load}}))(t)
		return got
	}
	bare := predict()
	first := must.Get(analysis.Calibrate(t.Context(), w.DB(), []string{"a"}, someDay))(t)
	must.Do(t, first.Keep(t.Context(), w.DB()))
	kept := predict()
	if want := "calibration 1 of run a"; kept[0].Calibration != want || kept[1].Calibration != "" || kept[2].Calibration != "" {
		t.Errorf("got calibrations %q, %q, %q, want %q and none", kept[0].Calibration, kept[1].Calibration, kept[2].Calibration, want)
	}
	if kept[0].TPOT < 1.03*bare[0].TPOT || kept[1].TPOT != bare[1].TPOT || kept[2].TPOT != bare[2].TPOT {
		t.Errorf("calibrated %v of %v, others %v of %v and %v of %v", kept[0].TPOT, bare[0].TPOT, kept[1].TPOT, bare[1].TPOT, kept[2].TPOT, bare[2].TPOT)
	}
	if verdict, err := analysis.Judge(t.Context(), w.DB(), "a"); err != nil || !strings.Contains(verdict.FirstLine(), "; constants: calibration 1 of run a") {
		t.Errorf("the run's first line is %q, %v", verdict.FirstLine(), err)
	}
	if after := slowdown(t, w, "a"); after < 0.98 || after > 1.02 {
		t.Errorf("after it, the run takes %.3f of its prediction", after)
	}
	// Once more is as once: it starts from the built-in constants, not from the calibration.
	second := must.Get(analysis.Calibrate(t.Context(), w.DB(), []string{"a"}, someDay))(t)
	for i, one := range second.Constants {
		if ratio := one.Value / first.Constants[i].Value; ratio < 0.999 || ratio > 1.001 {
			t.Errorf("calibrated again, %s is %v and was %v", one.Name, one.Value, first.Constants[i].Value)
		}
	}
	if n, err := analysis.ForgetCalibration(t.Context(), w.DB(), 1); err != nil || n == 0 {
		t.Errorf("forgot %d constants, %v", n, err)
	}
	if again := predict(); again[0].TPOT != bare[0].TPOT || again[0].Calibration != "" {
		t.Errorf("forgotten, it is still %v (%q), was %v", again[0].TPOT, again[0].Calibration, bare[0].TPOT)
	}
	must.Refuse(analysis.ForgetCalibration(t.Context(), w.DB(), 1))(t, "no calibration 1", "there is none")
}

// Experts have one scale for all that they do, in law and table alike.
func TestExpertsAreCalibratedAsOne(t *testing.T) {
	w := open(t)
	d := deployment.Deployment{GPU: "H100", CatalogModel: "gpt-oss-120b", TensorParallelSize: 2, EngineVersion: "0.18.0", MaxNumBatchedTokens: 8192}
	alteredServer(t, w, "a", d, map[string]float64{"expert_time_ratio": 1.3}, 600, engine{perS: 4, input: 1500, output: 150})
	c := must.Get(analysis.Calibrate(t.Context(), w.DB(), []string{"a"}, someDay))(t)
	for _, one := range c.Constants {
		if one.Name == "kv_bandwidth_ratio" && !strings.HasPrefix(one.Held, "as uncertain") {
			t.Errorf("its cache is read, not multiplied: %+v", one)
		}
		if one.Name == "expert_time_ratio" && (one.Held != "" || one.Low > 1.3 || one.High < 1.3) {
			t.Errorf("truly 1.3, got %+v", one)
		}
	}
}

func TestCalibrateRefusesRunsThatSayNothing(t *testing.T) {
	w := open(t)
	alteredServer(t, w, "short", denseOnTwo, nil, 20, engine{perS: 2, input: 500, output: 100})
	other, older, nowhere := denseOnTwo, denseOnTwo, denseOnTwo
	other.TensorParallelSize, older.EngineVersion, nowhere.GPU = 4, "0.12.1", "X1"
	warehousetest.Put(t, w, []string{
		manifest("other", other, 1, `"is_simulated": false`),
		manifest("older", older, 1, `"is_simulated": false`),
		manifest("nowhere", nowhere, 1, `"is_simulated": false`),
		manifest("simulated", denseOnTwo, 1, `"is_simulated": true`),
		strings.Replace(manifest("broken", denseOnTwo, 1, `"is_simulated": false`), `"status": "done"`, `"status": "aborted"`, 1),
		manifest("shared", denseOnTwo, 20, `"is_simulated": false`),
		manifest("guessed", denseOnTwo, 20, `"is_simulated": false`),
		`insert into raw.requests by name select * replace (unnest(['shared', 'guessed']) as run_id) from raw.requests where run_id = 'short'`,
		`insert into raw.samples (run_id, at_s, origin, url, name, labels, value)
			select 'shared', unnest(range(1, 9)), 'server', 's', 'vllm:num_requests_running', '', 50`,
		`insert into raw.samples (run_id, at_s, origin, url, name, labels, value)
			select 'guessed', unnest([1, 2]), 'server', 's', unnest(['vllm:spec_decode_num_drafts_total', 'vllm:spec_decode_num_accepted_tokens_total']), '', unnest([0, 0])
			union all
			select 'guessed', 5, 'server', 's', unnest(['vllm:spec_decode_num_drafts_total', 'vllm:spec_decode_num_accepted_tokens_total']), '', unnest([100, 150])`,
		`insert into raw.runs values ('draft', 1, '{"status": "done", "environment": null}')`,
		`insert into raw.runs values ('on_a_cpu', 1, '{"status": "done", "environment": null, "effective": {"unmodelled": "a CPU (the law does not hold there)"}}')`,
	}...)
	for _, test := range []struct {
		runs       []string
		want, hint string
	}{
		{[]string{"nobody"}, `no run named "nobody"`, "known runs are"},
		{[]string{"short", "short"}, "run short: named twice", "once"},
		{[]string{"simulated"}, "run simulated: measured on a simulated server", "only a real server"},
		{[]string{"draft"}, "run draft: what it ran on is not known", "--gpu"},
		{[]string{"on_a_cpu"}, "run on_a_cpu: its server runs with a CPU (the law does not hold there), which is not modelled", "without a prediction"},
		{[]string{"nowhere"}, `run nowhere: the bandwidth model does not know what it ran on: no GPU named "X1"`, "catalogue"},
		{[]string{"broken"}, "run broken: not to be used: the run stopped by itself: it does not say why", "tidemark runs broken"},
		{[]string{"short", "other"}, "runs short and other differ: tensor parallel size 2 and 4", "one deployment"},
		{[]string{"short", "older"}, "runs short and older differ: engine version 0.24.0 and 0.12.1", "one deployment"},
		{[]string{"shared"}, "run shared: the server was shared: it had 50.0 requests in flight", "nobody else"},
		{[]string{"guessed"}, "run guessed: the engine decoded speculatively", "without speculative"},
		{[]string{"short"}, "requests to compare, at least 30 are needed", "warm-up"},
	} {
		must.Refuse(analysis.Calibrate(t.Context(), w.DB(), test.runs, someDay))(t, test.want, test.hint)
	}
}

// Eight looks are few, but they are enough to judge the run by.
func TestDiagnoseSaysSharedWhereTheRunIsJudgedSo(t *testing.T) {
	w := open(t)
	warehousetest.Put(t, w, manifest("shared", denseOnTwo, 20, `"is_simulated": false`), `
insert into raw.requests (run_id, seq, is_warm_up, input_tokens, output_tokens, due_s, sent_s, first_token_s, last_token_s, done_s, output_tokens_reported)
select 'shared', seq, false, 100, 11, seq, seq, seq + 0.1, seq + 0.5, seq + 0.5, 11 from range(20) as numbers (seq)`, `
insert into raw.samples (run_id, at_s, origin, url, name, labels, value)
select 'shared', unnest(range(1, 9)), 'server', 's', 'vllm:num_requests_running', '', 50`)
	found := must.Get(analysis.Diagnose(t.Context(), w.DB(), "shared"))(t)
	must.Say(t, fmt.Sprint(found[0].Symptoms.Rows), "shared_server", "of others in the server")
}

func TestAWorseFitSaysSo(t *testing.T) {
	for _, test := range []struct {
		before, after float64
		want          bool
	}{{0.01, 0.02, true}, {0.02, 0.02, false}, {0.02, 0.01, false}} {
		c := analysis.Calibration{Before: analysis.FitError{Median: test.before}, After: analysis.FitError{Median: test.after}}
		if c.IsWorse() != test.want {
			t.Errorf("%v before and %v after: worse %v", test.before, test.after, c.IsWorse())
		}
	}
}

// A latent cache in FP8 that 16 heads multiply is bound by the arithmetic of an H20: 2 * 16 * (2 * 512 + 64) FLOP for each 576
// bytes is 60 FLOP a byte, and 0.84 of 148 TFLOP/s over 0.85 of 4 TB/s is 37. No bandwidth is found from it. A layer's
// three times, its own, that of MLA and that of GEMMs in blocks, have one scale.
func TestTimesThatAreNoBandwidth(t *testing.T) {
	w := open(t)
	d := deployment.Deployment{
		GPU: "H20", CatalogModel: "deepseek-v3", TensorParallelSize: 8, KVCacheDtype: "fp8", EngineVersion: "0.24.0", MaxNumBatchedTokens: 8192,
	}
	truth := map[string]float64{"layer_s": 1.2, "mla_layer_s": 1.2, "gemm_overhead_s": 1.2}
	alteredServer(t, w, "a", d, truth, 100, engine{perS: 2, input: 500, output: 100})
	c := must.Get(analysis.Calibrate(t.Context(), w.DB(), []string{"a"}, someDay))(t)
	found := 0
	for _, one := range c.Constants {
		switch one.Term {
		case "kv":
			if one.Held != "bound by arithmetic, not by bandwidth" {
				t.Errorf("got %+v", one)
			}
		case "layers":
			found++
			if one.Held != "" || one.Low > 1.2*one.Before || one.High < 1.2*one.Before {
				t.Errorf("truly 1.2 times as long, got %+v", one)
			}
		}
	}
	if found != 3 {
		t.Errorf("%d constants of a layer, want 3: %+v", found, c.Constants)
	}
}

// Points of a server whose weights stream at nine tenths of the speed tell that constant; the calibrations that were kept before do not change
// what is found, because each fit begins from the built-in constants.
func TestConstantsAreFoundBackFromPoints(t *testing.T) {
	w := open(t)
	base := analysis.Point{Deployment: denseOnTwo}
	slow := base
	slow.Constants = map[string]float64{}
	var built float64
	must.Do(t, w.DB().QueryRow(`select constant.value from macros.constants_for('H200', 'vllm', '0.24.0', ['fp8'], '')
		where name = 'weight_bandwidth_ratio' and format = 'fp8'`).Scan(&built))
	slow.Constants["weight_bandwidth_ratio fp8"] = 0.9 * built
	table := "concurrency,input_len,output_len,tpot_s,origin\n"
	for _, clients := range []float64{1, 2, 4, 8, 16, 32} {
		one := slow
		one.Load = analysis.Load{Clients: clients, InputTokens: 500, OutputTokens: 200}
		got, err := analysis.Predict(t.Context(), w.DB(), []analysis.Point{one})
		if err != nil || got[0].Why != "" {
			t.Fatal(err, got[0].Why)
		}
		table += fmt.Sprintf("%v,500,200,%v,measured\n", clients, got[0].TPOT)
	}
	table += "1,500,200,0.0001,\n1,500,200,,\n1,500,200,0.02,simulated\n"
	for range 2 {
		points := must.Get(analysis.ReadPoints(strings.NewReader(table)))(t)
		c := must.Get(analysis.CalibratePoints(t.Context(), w.DB(), points, base, "points.csv", someDay))(t)
		if c.Points != 6 || len(c.Warnings) != 3 {
			t.Errorf("%d points, want 6; left out: %q, want three reasons", c.Points, c.Warnings)
		}
		for _, one := range c.Constants {
			if one.Name == "weight_bandwidth_ratio" && one.Format == "fp8" && (one.Held != "" || one.Low > 0.9*one.Before || one.High < 0.9*one.Before) {
				t.Errorf("%+v: truly %v", one, 0.9*one.Before)
			}
		}
		if c.After.Median > 0.01 || c.Before.Median < 0.04 {
			t.Errorf("off by %.3f before and %.3f after; want more than 0.04, less than 0.01", c.Before.Median, c.After.Median)
		}
		must.Do(t, c.Keep(t.Context(), w.DB()))
	}
	kept, err := analysis.Predict(t.Context(), w.DB(), []analysis.Point{{Deployment: denseOnTwo, Load: analysis.Load{Clients: 4, InputTokens: 500, OutputTokens: 200}}})
	if err != nil || kept[0].Calibration != "calibration 2 of points.csv" {
		t.Errorf("%q, %v", kept[0].Calibration, err)
	}
}
