package ingest

import (
	"encoding/json"
	"strings"
)

// aiperfConfig reads how AIPerf was told to run: "loadgen" up to 0.5, "phases"
// since. Addresses, paths and the command line are left where they are.
func (o resultObject) aiperfConfig(row *pointRow) {
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
	row.Model = firstName(endpoint["model_names"])
	if row.Model == nil {
		row.Model = firstName(config.object("models")["items"])
	}
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
	row.MaxConcurrency, row.RequestRatePerS = load.count("concurrency"), load.number("request_rate")
	if row.RequestRatePerS == nil {
		row.RequestRatePerS = load.number("rate")
	}
	switch {
	case row.RequestRatePerS != nil:
		row.Load = new("open")
	case row.MaxConcurrency != nil:
		row.Load = new("closed")
	}
	keep(endpoint, "streaming", "type")
	keep(load, "arrival_pattern", "request_rate_mode", "warmup_request_count", "benchmark_duration", "smoothness")
	run := o.object("run_info")
	keep(run, "trial", "random_seed", "variation_index")
	row.Label = run.word("run_label")
	if row.Label == nil {
		row.Label = run.word("variation_label")
	}
	variation := run.object("variation_values")
	keep(variation, sortedKeys(variation)...)
	keep(o, "was_cancelled", "is_complete", "schema_version", "benchmark_id")
	metadata := o.object("metadata")
	keep(metadata, "aggregation_type", "num_profile_runs", "num_successful_runs", "confidence_level")
	if run := o.runSeconds(); run > 0 {
		kept["run_s"] = run
	}
	row.Settings = settings(kept)
}

// runSeconds is from start_time to end_time, which newer versions divide by.
func (o resultObject) runSeconds() float64 {
	var c clock
	begin, end := o.word("start_time"), o.word("end_time")
	if begin == nil || end == nil {
		return 0
	}
	from, _, _, problem := c.instant([]byte(*begin))
	until, _, _, other := c.instant([]byte(*end))
	if problem != "" || other != "" {
		return 0
	}
	return float64(until-from) * 1e-9
}

// firstName is the first of ["model", ...] or [{"name": "model"}, ...].
func firstName(list json.RawMessage) *string {
	var names []json.RawMessage
	if json.Unmarshal(list, &names) != nil || len(names) == 0 {
		return nil
	}
	if strings.HasPrefix(string(names[0]), "{") {
		var o resultObject
		_ = json.Unmarshal(names[0], &o)
		return o.modelName("name")
	}
	return resultObject{"name": names[0]}.modelName("name")
}

// objectsOf are the objects of an array; none where it is anything else.
func objectsOf(list json.RawMessage) []resultObject {
	var objects []resultObject
	if json.Unmarshal(list, &objects) != nil {
		return nil
	}
	return objects
}
