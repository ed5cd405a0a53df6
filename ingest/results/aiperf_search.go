package results

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// AIPerfSearch reads search_history.json of AIPerf's adaptive search: one point for
// each iteration, with what it reached, and one for the boundary where one dimension
// was searched under bounds. The search's own choice is kept as a setting.
//
// The traps: the file says no units, so a metric's unit is known by its name alone; a
// value is the mean over an iteration's trials of their statistic (of their p99s, not
// a p99), so its name has "search." in front; null is an iteration that failed, which
// is a point without a figure and beats nothing; without a convergence_reason the
// search was still running, or was broken off.
var AIPerfSearch = read.Format{
	Name: "aiperf-search",
	Sees: func(h *read.Head) string {
		keys := resultKeys(h)
		return read.If(read.HasAll(keys, "config", "iterations") && slices.ContainsFunc([]string{"best_trials", "best", "convergence_reason", "boundary_summary"}, func(key string) bool {
			return slices.Contains(keys, key)
		}), "the history of AIPerf's adaptive search: config, iterations, convergence_reason")
	},
	Read:  readAIPerfSearch,
	Kind:  "results",
	Wants: `a JSON object with "config", "iterations" and "convergence_reason" (AIPerf's search_history.json)`,
}

// aiperfGoal is one objective of a search.
type aiperfGoal struct{ metric, stat, direction string }

// readAIPerfSearch adds the iterations in the order in which they were proposed.
func readAIPerfSearch(d *read.Document, out *read.Rows) error {
	history, err := d.Tree()
	if err != nil {
		return err
	}
	goals := aiperfGoals(history)
	iterations := read.ListAt(history, "iterations")
	if len(goals) == 0 || len(iterations) == 0 {
		return hint.Errorf("a history without an iteration or an objective").Hint("the search was stopped before its first iteration ended: run it again, or wait for it")
	}
	if read.TextAt(history, "convergence_reason") == "" {
		out.Note("the search did not end: it was still running, or was broken off")
	}
	chosen := aiperfChosen(history)
	point := int32(0)
	for i, iteration := range iterations {
		number := read.NumberAt(iteration, "iteration_idx")
		if number.Count() == nil {
			if err := out.Reject(int64(i)+1, "iteration_idx", read.NotAnInteger); err != nil {
				return err
			}
			continue
		}
		flat := aiperfSearchSettings(history, goals)
		row := Point{Point: point, Tool: "aiperf", Label: new("iteration " + strconv.FormatInt(*number.Count(), 10))}
		row.varied(flat, read.At(iteration, "variation_values"))
		for _, key := range []string{"feasible", "non_monotonic_warning"} {
			if said, isBool := read.At(iteration, key).(bool); isBool {
				flat[key] = said
			}
		}
		flat["is_searches_choice"] = slices.Contains(chosen, number.Value)
		row.Settings = read.Settings(flat)
		out.Add(row)
		for of, goal := range goals {
			goal.add(out, point, aiperfReached(iteration, of))
		}
		point++
	}
	return aiperfBoundary(history, goals, out, point)
}

// aiperfGoals reads both ways of saying what is searched for.
func aiperfGoals(history map[string]any) (goals []aiperfGoal) {
	config := read.At(history, "config")
	for _, goal := range read.ListAt(config, "objectives") {
		goals = append(goals, aiperfGoal{read.TextAt(goal, "metric"), read.TextAt(goal, "stat"), read.TextAt(goal, "direction")})
	}
	if len(goals) == 0 {
		goals = append(goals, aiperfGoal{read.TextAt(config, "objective_metric"), read.TextAt(config, "objective_stat"), read.TextAt(config, "objective_direction")})
	}
	return slices.DeleteFunc(goals, func(g aiperfGoal) bool { return read.Word(g.metric) == "" })
}

// aiperfReached is the value of the nth objective.
func aiperfReached(iteration any, nth int) read.Number {
	if values := read.ListAt(iteration, "objective_values"); nth < len(values) {
		value, isNumber := values[nth].(float64)
		return read.Number{Value: value, Known: isNumber}
	}
	if nth > 0 {
		return read.Number{}
	}
	return read.NumberAt(iteration, "objective_value")
}

// aiperfChosen are the numbers of the iterations that the search calls the best.
func aiperfChosen(history map[string]any) (chosen []float64) {
	for _, best := range append(read.ListAt(history, "best_trials"), read.At(history, "best")) {
		if number := read.NumberAt(best, "iteration_idx"); number.Known {
			chosen = append(chosen, number.Value)
		}
	}
	return chosen
}

// add writes what was reached.
func (g aiperfGoal) add(out *read.Rows, point int32, value read.Number) {
	is := cmp.Or(aiperfNames[g.stat], statistic(g.stat), "value")
	unit := aiperfUnits[g.metric]
	if is == "mean" && strings.Contains(unit, "/") {
		is = "value" // "avg" of a metric without a spread is the value itself
	}
	addFigure(out, point, "search."+g.metric, is, unit, value)
}

// aiperfUnits are the units of AIPerf's metrics, for files that do not say them.
var aiperfUnits = map[string]string{
	"request_latency": "ms", "time_to_first_token": "ms", "time_to_second_token": "ms", "time_to_first_output_token": "ms", "inter_token_latency": "ms", "inter_chunk_latency": "ms",
	"output_token_throughput": "tokens/sec", "total_token_throughput": "tokens/sec", "input_token_throughput": "tokens/sec", "output_token_throughput_per_user": "tokens/sec/user",
	"request_throughput": "requests/sec", "goodput": "requests/sec", "good_request_fraction": "ratio",
}

// aiperfSearchSettings are what the whole search was told.
func aiperfSearchSettings(history map[string]any, goals []aiperfGoal) map[string]any {
	config := read.At(history, "config")
	flat := map[string]any{"algorithm": cmp.Or(read.TextAt(config, "planner"), read.TextAt(config, "algorithm")), "stop_reason": read.TextAt(history, "convergence_reason")}
	for _, goal := range goals {
		flat["objective."+goal.metric] = strings.ToLower(goal.direction)
	}
	for _, key := range []string{"max_iterations", "n_initial_points", "random_seed"} {
		if number := read.NumberAt(config, key); number.Known {
			flat[key] = number.Value
		}
	}
	for _, bound := range read.ListAt(config, "sla_filters") {
		flat[aiperfBound(bound)] = read.Finite(read.NumberAt(bound, "threshold"))
	}
	return flat
}

// aiperfBound is a bound as a key: sla.time_to_first_token.p95.lt.
func aiperfBound(of any) string {
	return strings.Join([]string{"sla", cmp.Or(read.TextAt(of, "metric_tag"), read.TextAt(of, "metric")), read.TextAt(of, "stat"), read.TextAt(of, "op")}, ".")
}

// varied keeps what was varied, and makes a load of what is one.
func (row *Point) varied(flat map[string]any, values any) {
	of, _ := values.(map[string]any)
	for _, key := range read.SortedKeys(of) {
		flat[key] = of[key]
		row.loadOf(key[strings.LastIndex(key, ".")+1:], read.NumberAt(of, key))
	}
}

// loadOf reads a variable that is a load by its name in AIPerf.
func (row *Point) loadOf(variable string, value read.Number) {
	switch variable {
	case "concurrency":
		row.MaxConcurrency, row.Load = value.Count(), new("closed")
	case "request_rate", "rate":
		row.RequestRatePerS, row.Load = value.Float(), new("open")
	}
}

// aiperfBoundary adds the boundary as a point of its own: the largest value that kept
// the bounds and the smallest that did not, as far as the search looked.
func aiperfBoundary(history map[string]any, goals []aiperfGoal, out *read.Rows, point int32) error {
	boundary, _ := history["boundary_summary"].(map[string]any)
	path := read.TextAt(boundary, "swept_dim_path")
	if boundary == nil || path == "" {
		return out.Err()
	}
	variable := path[strings.LastIndex(path, ".")+1:]
	flat := aiperfSearchSettings(history, goals)
	if breach := read.At(boundary, "infeasible_min", "first_breach"); breach != nil {
		flat[strings.Replace(aiperfBound(breach), "sla.", "breach.", 1)] = read.Finite(read.NumberAt(breach, "observed"))
	}
	row := Point{Point: point, Tool: "aiperf", Label: new("boundary")}
	kept := read.NumberAt(boundary, "feasible_max", "value")
	row.loadOf(variable, kept)
	row.Settings = read.Settings(flat)
	out.Add(row)
	unit := aiperfVariableUnit(variable)
	addFigure(out, point, "boundary."+variable+".feasible_max", "value", unit, kept)
	addFigure(out, point, "boundary."+variable+".infeasible_min", "value", unit, read.NumberAt(boundary, "infeasible_min", "value"))
	for _, end := range []struct{ key, is string }{{"lo", "ci_low"}, {"hi", "ci_high"}} {
		addFigure(out, point, "boundary."+variable+".boundary_ci", end.is, "", read.NumberAt(boundary, "boundary_ci", end.key))
	}
	if read.At(boundary, "infeasible_min") == nil {
		out.Note("no value of the search broke a bound: its boundary is the end of what it tried, not the server's")
	}
	return out.Err()
}

// aiperfVariableUnit is the unit of a load.
func aiperfVariableUnit(variable string) string {
	switch variable {
	case "concurrency", "prefill_concurrency":
		return "requests"
	case "request_rate", "rate":
		return "requests/s"
	}
	return ""
}
