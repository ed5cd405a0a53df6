package sample

import (
	"math"

	"tidemark/analysis/week"
)

// buckets of vLLM's histograms that matter here, seconds.
var buckets = map[string][]float64{
	"ttft":  {0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5},
	"tpot":  {0.01, 0.025, 0.05, 0.075, 0.1, 0.15},
	"queue": {0.05, 0.1, 0.25, 0.5, 1, 2},
	"e2e":   {0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30},
}

// bucket is the one that holds v; the last is open.
func bucket(metric string, v float64) *week.Bounds {
	low := 0.0
	for _, high := range buckets[metric] {
		if v <= high {
			return &week.Bounds{Low: low, High: ptr(high)}
		}
		low = high
	}
	return &week.Bounds{Low: low}
}

// felt invents latencies: longer where the fleet is fuller, much longer where a GPU ran slow.
func (p plan) felt(hours []week.Hour) []week.Felt {
	var out []week.Felt
	for i, h := range hours {
		if h.IsMissing {
			continue
		}
		full := math.Min(*h.PeakRatePerS/(float64(p.replicas)*replicaRate), 1.2)
		slow := 1.0
		if p.slow[i] {
			slow = 2.1
		}
		var felt float64
		for _, metric := range []string{"ttft", "tpot", "queue", "e2e"} {
			if felt = slow; metric == "tpot" {
				felt = 1
			}
			f := week.Felt{Start: h.Start, Metric: metric, Count: *h.Requests}
			median := map[string]float64{"ttft": 0.11 + 0.22*full*full, "tpot": p.step(i, h).Measured, "queue": 0.01 + 0.07*full*full, "e2e": 3.2 + 1.5*full}[metric]
			tail := map[string]float64{"ttft": 2.6, "tpot": 1.5, "queue": 4, "e2e": 3.4}[metric]
			f.P50, f.P95, f.P99 = bucket(metric, median), bucket(metric, median*(1+0.6*(tail-1))), bucket(metric, median*tail*felt*(1+0.12*noise(20, i)))
			f.MeanS = ptr(round(median*1.15, 5))
			switch metric {
			case "ttft":
				f.Limit, f.Errors, f.Rejected = ptr(1.0), ptr(0.0), ptr(0.0)
				f.Within = &week.Bounds{Low: 0.9985, High: ptr(0.9993)}
				if i == peakHour {
					f.Rejected = ptr(0.01)
				}
				if p.slow[i] {
					f.P99, f.Within, f.IsBroken, f.Rejected = &week.Bounds{Low: 1, High: ptr(2.5)}, &week.Bounds{Low: 0.961, High: ptr(0.968)}, true, ptr(round(0.115-0.03*float64(i%2), 3))
					f.Errors = ptr(0.002)
				}
			case "tpot":
				f.Limit, f.Within = ptr(0.05), &week.Bounds{Low: 0.996, High: ptr(1.0)}
			case "queue":
				f.Waiting, f.KVUsage, f.Preempt = ptr(round(0.2+3*full*full, 3)), ptr(round(0.1+0.5*full, 3)), ptr(0.0)
			}
			if f.Count < 100 {
				f.P99 = nil
			}
			out = append(out, f)
		}
	}
	return out
}

func (p plan) broken(felt []week.Felt) int {
	n := 0
	for _, f := range felt {
		if f.IsBroken {
			n++
		}
	}
	return n
}

// step is the time per token of one hour.
func (p plan) step(i int, h week.Hour) week.StepTime {
	running := round(*h.RatePerS*float64(248)*0.024/float64(p.replicas), 2)
	context := 780.0
	weights, kv, prefill := 0.0123, round(running*context*0.000000075, 6), round(0.0012+running*0.00015, 6)
	predicted := weights + kv + prefill
	measured := predicted * (1.035 + 0.025*noise(21, i))
	isOut := false
	if p.slow[i] || p.slow[i+1] || p.slow[i-1] {
		measured, isOut = predicted*(1.26+0.03*noise(22, i)), true
	}
	return week.StepTime{Start: h.Start, Measured: round(measured, 6), Floor: round(weights*0.8+kv*0.9, 6), Predicted: round(predicted, 6),
		Low: round(predicted*0.92, 6), High: round(predicted*1.08, 6), Running: running, Context: context, IsOut: isOut,
		Terms: []week.Term{{Name: "weights", Seconds: weights}, {Name: "KV cache", Seconds: kv}, {Name: "prefill", Seconds: prefill}}}
}

func (p plan) steps(hours []week.Hour) []week.StepTime {
	var out []week.StepTime
	for i, h := range hours {
		if !h.IsMissing {
			out = append(out, p.step(i, h))
		}
	}
	return out
}
