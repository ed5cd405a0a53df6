package results

import (
	"cmp"
	"encoding/json"
	"fmt"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// SGLangAuto reads results.jsonl of SGLang's auto_benchmark, a search over flags of the
// server: a line is a trial of one candidate at one rate, measured by bench_serving,
// whose words mean what sglang-bench has for them.
//
// The traps: sla_passed compares the means of TTFT and TPOT with the bounds, no
// percentile, and does not ask how many requests failed, so it is kept as a setting and
// never as a verdict; a trial that failed has no metrics and is a point without a
// figure; rates are halved between two bounds, so the largest rate that passed is known
// only to the search's tolerance.
var SGLangAuto = read.Format{
	Name: "sglang-auto-benchmark",
	Sees: func(h *read.Head) string {
		return read.If(read.HasAll(resultKeys(h), "stage", "candidate_id", "requested_qps", "server_flags"), "trials of SGLang's auto_benchmark: stage, candidate_id, requested_qps, server_flags")
	},
	Read:  readSGLangAuto,
	Wants: "lines with stage, candidate_id, requested_qps, server_flags and metrics (results.jsonl of SGLang's auto_benchmark)",
}

// readSGLangAuto makes a point of each trial. The file that the search writes while it
// runs holds the same trials.
func readSGLangAuto(d *read.Document, out *read.Rows) error {
	const enough = 1
	if d.Base() == "live_results.jsonl" && d.Beside("results.jsonl", enough) != nil {
		return hint.Errorf("the trials of results.jsonl once more").Hint("take in results.jsonl in the same folder: it is complete, and says which trial was a candidate's best").Mark(read.ErrUnknownFormat)
	}
	return resultObjects(d, out, func(number int64, o read.Object, _ *requestArrays) error {
		if o.Float("requested_qps") == nil && o.Word("requested_qps") == nil {
			return out.Reject(number, "requested_qps", read.Missing)
		}
		if o["error"] != nil {
			out.Text("error")
		}
		row, figures := sglangTrial(o, out)
		out.Note("sla_passed compares means with the bounds; it is kept as a setting, and whether an SLO is met is judged from what was measured")
		return addPoint(out, row, figures)
	})
}

// sglangTrial reads one trial.
func sglangTrial(o read.Object, out *read.Rows) (Point, []Figure) {
	metrics := o.Object("metrics")
	figures, used := vllmFigures(metrics, out, "ms")
	row := Point{Tool: "sglang-bench", Engine: new("sglang")}
	flat := map[string]any{}
	if len(figures) > 0 {
		row = sglangPoint(metrics, out)
		if kept := vllmSettings(metrics, out, append(used, sglangPointKeys...)); kept != nil {
			_ = json.Unmarshal([]byte(*kept), &flat)
		}
	}
	flags := o.Object("server_flags")
	row.Label = new(fmt.Sprintf("candidate %.0f", *cmp.Or(o.Float("candidate_id"), new(0.0))))
	row.Model, row.TensorParallelSize = cmp.Or(row.Model, flags.ModelName("model_path")), cmp.Or(row.TensorParallelSize, flags.Int32("tp_size"))
	row.Engine = cmp.Or(row.Engine, new("sglang"))
	row.RequestRatePerS, row.MaxConcurrency = o.Float("requested_qps"), cmp.Or(o.Count("max_concurrency"), row.MaxConcurrency)
	row.Load = cmp.Or(row.openLoad(), row.Load)
	read.Flatten(flat, "flags", o.Object("server_flags"))
	keep(flat, o, "stage", "candidate_id", "sla_passed", "best_for_candidate", "heuristic_pruned")
	flat["state"] = "complete"
	if len(figures) == 0 {
		flat["state"] = "failed"
		if diagnosis := o.Word("diagnosis"); diagnosis != nil {
			flat["state"] = *diagnosis
		}
	}
	row.Settings = read.Settings(flat)
	return row, figures
}
