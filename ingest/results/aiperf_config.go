package results

import (
	"cmp"

	"tidemark/ingest/read"
)

// How AIPerf was told to run, in input_config: "loadgen" up to version 0.5,
// "phases" since.

// aiperfConfig fills in what was asked of the server. Addresses, paths and the
// command line are not kept.
func (o resultObject) aiperfConfig(row *Point) {
	config := o.object("input_config")
	kept := map[string]any{}
	keep := func(from resultObject, keys ...string) {
		for _, key := range keys {
			if value := from.scalar(key); value != nil {
				kept[key] = value
			}
		}
	}
	endpoint, load := config.object("endpoint"), config.object("loadgen")
	row.Model = cmp.Or(firstName(endpoint["model_names"]), firstName(config.object("models")["items"]))
	for _, phase := range objectsOf(config["phases"]) {
		if kind := phase.word("kind"); kind != nil && *kind == "profiling" {
			load = phase
		}
	}
	prompt := config.object("input").object("prompt")
	input, output := prompt.object("input_tokens"), prompt.object("output_tokens")
	for _, dataset := range objectsOf(config["datasets"]) {
		prompts := dataset.object("prompts")
		input, output = prompts.object("isl"), prompts.object("osl")
		keep(dataset, "type", "random_seed")
	}
	row.InputTokensAsked, row.OutputTokensAsked = input.number("mean"), output.number("mean")
	row.MaxConcurrency, row.RequestRatePerS = load.count("concurrency"), cmp.Or(load.number("request_rate"), load.number("rate"))
	row.Load = cmp.Or(row.openLoad(), row.closedLoad())
	keep(endpoint, "streaming", "type")
	keep(load, "arrival_pattern", "request_rate_mode", "warmup_request_count", "benchmark_duration", "smoothness")
	run := o.object("run_info")
	keep(run, "trial", "random_seed", "variation_index")
	row.Label = cmp.Or(run.word("run_label"), run.word("variation_label"))
	variation := run.object("variation_values")
	keep(variation, read.SortedKeys(variation)...)
	keep(o, "was_cancelled", "is_complete", "schema_version", "benchmark_id")
	metadata := o.object("metadata")
	keep(metadata, "aggregation_type", "num_profile_runs", "num_successful_runs", "confidence_level")
	if run := o.runSeconds(); run > 0 {
		kept["run_s"] = run
	}
	row.Settings = read.Settings(kept)
}

// runSeconds is the time from start_time to end_time, by which newer versions
// divide their rates.
func (o resultObject) runSeconds() float64 {
	var c read.Clock
	begin, end := o.word("start_time"), o.word("end_time")
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
