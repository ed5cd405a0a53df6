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
	iterations := history.Objects("iterations")
	if len(goals) == 0 || len(iterations) == 0 {
		return hint.Errorf("a history without an iteration or an objective").Hint("the search was stopped before its first iteration ended: run it again, or wait for it")
	}
	if history.Text("convergence_reason") == "" {
		out.Note("the search did not end: it was still running, or was broken off")
	}
	chosen := aiperfChosen(history)
	for i, iteration := range iterations {
		number := iteration.Number("iteration_idx")
		if number.Count() == nil {
			if err := out.Reject(int64(i)+1, "iteration_idx", read.NotAnInteger); err != nil {
				return err
			}
			continue
		}
		flat := aiperfSearchSettings(history, goals)
		row := Point{Tool: "aiperf", Label: new("iteration " + strconv.FormatInt(*number.Count(), 10))}
		row.varied(flat, iteration.Object("variation_values"))
		keep(flat, iteration, "feasible", "non_monotonic_warning")
		flat["is_searches_choice"] = slices.Contains(chosen, number.Value)
		row.Settings = read.Settings(flat)
		out.Add(row)
		for of, goal := range goals {
			goal.add(out, aiperfReached(iteration, of))
		}
	}
	return aiperfBoundary(history, goals, out)
}

// aiperfGoals reads both ways of saying what is searched for.
func aiperfGoals(history read.Object) (goals []aiperfGoal) {
	config := history.Object("config")
	for _, goal := range config.Objects("objectives") {
		goals = append(goals, aiperfGoal{goal.Text("metric"), goal.Text("stat"), goal.Text("direction")})
	}
	if len(goals) == 0 {
		goals = append(goals, aiperfGoal{config.Text("objective_metric"), config.Text("objective_stat"), config.Text("objective_direction")})
	}
	return slices.DeleteFunc(goals, func(g aiperfGoal) bool { return read.Word(g.metric) == "" })
}

// aiperfReached is the value of the nth objective.
func aiperfReached(iteration read.Object, nth int) read.Number {
	if values := iteration.List("objective_values"); nth < len(values) {
		value, isNumber := values[nth].(float64)
		return read.Number{Value: value, Known: isNumber}
	}
	if nth > 0 {
		return read.Number{}
	}
	return iteration.Number("objective_value")
}

// aiperfChosen are the numbers of the iterations that the search calls the best.
func aiperfChosen(history read.Object) (chosen []float64) {
	for _, best := range append(history.Objects("best_trials"), history.Object("best")) {
		if number := best.Number("iteration_idx"); number.Known {
			chosen = append(chosen, number.Value)
		}
	}
	return chosen
}

// add writes what was reached.
func (g aiperfGoal) add(out *read.Rows, value read.Number) {
	is := cmp.Or(aiperfNames[g.stat], statistic(g.stat), "value")
	unit := aiperfUnits[g.metric]
	if is == "mean" && strings.Contains(unit, "/") {
		is = "value" // "avg" of a metric without a spread is the value itself
	}
	addFigure(out, "search."+g.metric, is, unit, value)
}

// aiperfUnits are the units of AIPerf's metrics, for files that do not say them.
var aiperfUnits = map[string]string{
	"request_latency": "ms", "time_to_first_token": "ms", "time_to_second_token": "ms", "time_to_first_output_token": "ms", "inter_token_latency": "ms", "inter_chunk_latency": "ms",
	"output_token_throughput": "tokens/sec", "total_token_throughput": "tokens/sec", "input_token_throughput": "tokens/sec", "output_token_throughput_per_user": "tokens/sec/user",
	"request_throughput": "requests/sec", "goodput": "requests/sec", "good_request_fraction": "ratio",
}

// aiperfSearchSettings are what the whole search was told.
func aiperfSearchSettings(history read.Object, goals []aiperfGoal) map[string]any {
	config := history.Object("config")
	flat := map[string]any{"algorithm": cmp.Or(config.Text("planner"), config.Text("algorithm")), "stop_reason": history.Text("convergence_reason")}
	for _, goal := range goals {
		flat["objective."+goal.metric] = strings.ToLower(goal.direction)
	}
	keep(flat, config, "max_iterations", "n_initial_points", "random_seed")
	for _, bound := range config.Objects("sla_filters") {
		flat[aiperfBound(bound)] = read.Finite(bound.Number("threshold"))
	}
	return flat
}

// aiperfBound is a bound as a key: sla.time_to_first_token.p95.lt.
func aiperfBound(of read.Object) string {
	return strings.Join([]string{"sla", cmp.Or(of.Text("metric_tag"), of.Text("metric")), of.Text("stat"), of.Text("op")}, ".")
}

// varied keeps what was varied, and makes a load of what is one.
func (row *Point) varied(flat map[string]any, of read.Object) {
	for _, key := range read.SortedKeys(of) {
		flat[key] = of[key]
		row.loadOf(key[strings.LastIndex(key, ".")+1:], of.Number(key))
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
func aiperfBoundary(history read.Object, goals []aiperfGoal, out *read.Rows) error {
	boundary := history.Object("boundary_summary")
	path := boundary.Text("swept_dim_path")
	if boundary == nil || path == "" {
		return out.Err()
	}
	variable := path[strings.LastIndex(path, ".")+1:]
	flat := aiperfSearchSettings(history, goals)
	if breach := boundary.Object("infeasible_min", "first_breach"); breach != nil {
		flat[strings.Replace(aiperfBound(breach), "sla.", "breach.", 1)] = read.Finite(breach.Number("observed"))
	}
	row := Point{Tool: "aiperf", Label: new("boundary")}
	kept := boundary.Number("feasible_max", "value")
	row.loadOf(variable, kept)
	row.Settings = read.Settings(flat)
	out.Add(row)
	unit := aiperfVariableUnit(variable)
	addFigure(out, "boundary."+variable+".feasible_max", "value", unit, kept)
	addFigure(out, "boundary."+variable+".infeasible_min", "value", unit, boundary.Number("infeasible_min", "value"))
	for _, end := range []struct{ key, is string }{{"lo", "ci_low"}, {"hi", "ci_high"}} {
		addFigure(out, "boundary."+variable+".boundary_ci", end.is, "", boundary.Number("boundary_ci", end.key))
	}
	if boundary.At("infeasible_min") == nil {
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
