package results

import (
	"cmp"

	"tidemark/ingest/read"
)

// How AIPerf was told to run, in input_config: "loadgen" up to version 0.5,
// "phases" since.

// aiperfConfig fills in what was asked of the server. Addresses, paths and the
// command line are not kept.
func aiperfConfig(o read.Object, row *Point) {
	config := o.Object("input_config")
	kept := map[string]any{}
	endpoint, load := config.Object("endpoint"), config.Object("loadgen")
	row.Model = cmp.Or(firstName(endpoint.List("model_names")), firstName(config.List("models", "items")))
	for _, phase := range config.Objects("phases") {
		if kind := phase.Word("kind"); kind != nil && *kind == "profiling" {
			load = phase
		}
	}
	prompt := config.Object("input").Object("prompt")
	input, output := prompt.Object("input_tokens"), prompt.Object("output_tokens")
	for _, dataset := range config.Objects("datasets") {
		prompts := dataset.Object("prompts")
		input, output = prompts.Object("isl"), prompts.Object("osl")
		keep(kept, dataset, "type", "random_seed")
	}
	row.InputTokensAsked, row.OutputTokensAsked = input.Float("mean"), output.Float("mean")
	row.MaxConcurrency, row.RequestRatePerS = load.Count("concurrency"), cmp.Or(load.Float("request_rate"), load.Float("rate"))
	row.Load = cmp.Or(row.openLoad(), row.closedLoad())
	keep(kept, endpoint, "streaming", "type")
	keep(kept, load, "arrival_pattern", "request_rate_mode", "warmup_request_count", "benchmark_duration", "smoothness")
	run := o.Object("run_info")
	keep(kept, run, "trial", "random_seed", "variation_index")
	row.Label = cmp.Or(run.Word("run_label"), run.Word("variation_label"))
	variation := run.Object("variation_values")
	keep(kept, variation, read.SortedKeys(variation)...)
	keep(kept, o, "was_cancelled", "is_complete", "schema_version", "benchmark_id")
	metadata := o.Object("metadata")
	keep(kept, metadata, "aggregation_type", "num_profile_runs", "num_successful_runs", "confidence_level")
	if run := runSeconds(o); run > 0 {
		kept["run_s"] = run
	}
	row.Settings = read.Settings(kept)
}

// runSeconds is the time from start_time to end_time, by which newer versions
// divide their rates.
func runSeconds(o read.Object) float64 {
	var c read.Clock
	begin, end := o.Word("start_time"), o.Word("end_time")
	if begin == nil || end == nil {
		return 0
	}
	from, _, _, problem := c.Instant([]byte(*begin))
	until, _, _, other := c.Instant([]byte(*end))
	if problem != "" || other != "" {
		return 0
	}
	return float64(until-from) * 1e-9
}
