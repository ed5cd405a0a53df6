package results

import (
	"strconv"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// AIPerfAdaptive reads adaptive_scale_summary.json: the run that raises its load until
// a bound breaks and then holds it below. One point for each window of time, and one
// for the boundary.
//
// The traps: windows are of one run that never stops, so each has what the one before
// left in the queues; "itl" is AIPerf's inter_token_latency, a TPOT; 0 is a latency of
// no requests; errors and cancelled requests are counted apart; and where no window
// broke a bound, the boundary is the end of the range and not the server's.
var AIPerfAdaptive = read.Format{
	Name: "aiperf-adaptive-scale",
	Sees: func(h *read.Head) string {
		switch {
		case h.Has("event", "control_variable", "schema_version"):
			return "events of AIPerf's adaptive scale: event, control_variable"
		case h.Has("control_variable", "last_passing_value", "first_failing_value"):
			return "the summary of AIPerf's adaptive scale: control_variable, last_passing_value, first_failing_value"
		case h.Has("phases") && strings.Contains(string(h.Data), `"summary_path"`):
			return "the index of AIPerf's adaptive phases: phases with summary_path"
		}
		return ""
	},
	Read:  readAIPerfAdaptive,
	Wants: `a JSON object with "control_variable", "last_passing_value" and "first_failing_value" (AIPerf's adaptive_scale_summary.json)`,
}

// readAIPerfAdaptive refuses the two files that have no figures of their own.
func readAIPerfAdaptive(d *read.Document, out *read.Rows) error {
	head := read.NewHead(d.First.Data, d.Base())
	switch {
	case head.Has("event"):
		return hint.Errorf("events of AIPerf's adaptive scale").Hint("adaptive_scale_summary.json in the same folder has its windows: take that in").Mark(read.ErrUnknownFormat)
	case head.Has("phases"):
		return hint.Errorf("the index of AIPerf's adaptive phases, without a figure").Hint("take in phases/NAME/adaptive_scale_summary.json that it lists").Mark(read.ErrUnknownFormat)
	}
	summary, err := d.Tree()
	if err != nil {
		return err
	}
	variable := summary.Text("control_variable")
	if read.Word(variable) == "" {
		return hint.Errorf("control_variable: not a word").Hint("take the file from its source again")
	}
	windows := summary.Objects("candidates")
	for i, window := range windows {
		aiperfWindow(out, i, variable, window)
	}
	if len(windows) == 0 {
		out.Note("no windows in it, as in the first versions of the file: the boundary alone is read")
	}
	aiperfAdaptiveBoundary(out, variable, summary)
	return out.Err()
}

// aiperfWindow adds one window of assessment.
func aiperfWindow(out *read.Rows, nth int, variable string, window read.Object) {
	number := func(key string) read.Number { return window.Number(key) }
	row := Point{
		Tool: "aiperf", Label: new("window " + strconv.Itoa(nth)), StartedAt: read.ISOTime(window.Text("start_ts")), DurationS: number("duration_s").Float(),
		Requests: number("request_count").Count(), Completed: number("success_count").Count(), Failed: number("error_count").Count(),
	}
	row.loadOf(variable, number("candidate_value"))
	flat := map[string]any{"control." + variable: read.Finite(number("candidate_value"))}
	keep(flat, window, "accepted", "cancelled")
	row.Settings = read.Settings(flat)
	out.Add(row)
	addFigure(out, "window.throughput_rps", "value", "requests/s", number("throughput_rps"))
	addFigure(out, "window.success_rate", "value", "ratio", number("success_rate"))
	for _, name := range []string{"latency", "ttft", "itl"} {
		for _, is := range []string{"avg", "p50", "p95", "p99"} {
			if value := number(name + "_" + is + "_ms"); value.Value > 0 { // 0: no requests
				addFigure(out, "window."+name, statistic(is), "ms", value)
			}
		}
	}
}

// aiperfAdaptiveBoundary adds what the controller found.
func aiperfAdaptiveBoundary(out *read.Rows, variable string, summary read.Object) {
	number := func(key string) read.Number {
		return firstOf(summary.Number(key), summary.Number("result", key))
	}
	boundary := firstOf(number("boundary_value"), summary.Number("boundary_concurrency"))
	row := Point{Tool: "aiperf", Label: new("boundary")}
	row.loadOf(variable, boundary)
	flat := map[string]any{"status": summary.Text("status"), "stop_reason": summary.Text("completed_reason")}
	for _, from := range []read.Object{summary.Object("result"), summary} {
		keep(flat, from, "sustain_duration_seconds", "sustain_windows", "sustain_passed_windows", "schema_version")
	}
	flat[aiperfBound(summary.Object("sla"))] = read.Finite(summary.Number("sla", "bound"))
	row.Settings = read.Settings(flat)
	out.Add(row)
	unit := aiperfVariableUnit(variable)
	addFigure(out, "boundary."+variable, "value", unit, boundary)
	addFigure(out, "boundary."+variable+".last_passing", "value", unit, number("last_passing_value"))
	addFigure(out, "boundary."+variable+".first_failing", "value", unit, number("first_failing_value"))
	switch {
	case !number("last_passing_value").Known:
		out.Note("no window kept the bounds")
	case !number("first_failing_value").Known:
		out.Note("no window broke a bound: the boundary is the end of the range, not the server's")
	}
}
