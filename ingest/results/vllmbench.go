package results

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/lazy"
	"tidemark/internal/maybe"
)

// VLLMBenchServe reads what "vllm bench serve" saves, and benchmark_serving.py
// before it: one object per run, several in one file with --append-result, an array
// of them in a sweep. Keys came and went over the years, so each is read where it
// is there.
var VLLMBenchServe = read.Format{
	Name:  "vllm-bench-serve",
	Sees:  seesVLLMServe,
	Read:  readVLLMServe,
	Wants: "date, model_id, tokenizer_id, num_prompts, request_rate and duration",
}

// seesVLLMServe refuses latencies without _ms in their names: those are
// InferenceX's, in seconds.
func seesVLLMServe(h *read.Head) string {
	keys := resultKeys(h)
	return read.If(isVLLMServe(keys) && !slices.ContainsFunc(keys, isInferenceXKey), "a result of vllm bench serve: date, model_id, tokenizer_id, num_prompts, request_rate")
}

// isVLLMServe asks for no latency, because a large file's head may end in its
// arrays, before them.
func isVLLMServe(keys []string) bool {
	return read.HasAll(keys, "date", "model_id", "tokenizer_id", "num_prompts", "request_rate", "duration", "completed") ||
		read.HasAll(keys, "date", "mode", "model_id", "num_conversations", "multi_turn_concurrency", "duration", "completed") // the Rust client
}

// readVLLMServe makes a point of each object, after the requests of those that were saved in
// detail.
func readVLLMServe(d *read.Document, out *read.Rows) error {
	return resultObjects(d, out, func(number int64, o read.Object, r *requestArrays) error {
		if o.Float("duration") == nil && o.Float("request_throughput") == nil {
			return out.Reject(number, "duration", read.Missing)
		}
		if err := r.addTo(out, number); err != nil {
			return err
		}
		figures, used := vllmFigures(o, out, "ms")
		figures = append(figures, partFigures(o, out)...)
		row := vllmPoint(o, out, "vllm-bench-serve")
		saysOf(o, r)
		row.Settings = vllmSettings(o, out, append(used, vllmPointKeys...))
		return addPoint(out, row, figures)
	})
}

// saysOf keeps with the settings what staging.result_requests must know about the
// requests.
func saysOf(o read.Object, r *requestArrays) {
	if delete(o, "e2e_from_gaps"); r.e2eFromGaps() {
		o["e2e_from_gaps"] = true
	}
}

// vllmPointKeys are the keys that have columns of their own.
var vllmPointKeys = []string{
	"date", "label", "model_id", "num_prompts", "request_rate", "completed", "failed", "failed_requests", "duration", "max_concurrency",
	"tensor_parallel_size", "mode", "num_conversations", "multi_turn_concurrency", "steady_state", "per_turn_metrics",
}

// vllmPoint reads the run, for this client and for those that came from it.
func vllmPoint(o read.Object, out *read.Rows, tool string) Point {
	noteOdd(o, out, "num_prompts", "completed", "failed", "failed_requests", "duration", "max_concurrency", "tensor_parallel_size")
	row := Point{
		Tool: tool, Label: o.Word("label"), StartedAt: clientDate(o, "date", out),
		Model: o.ModelName("model_id"), Engine: vllmEngine(o), Load: vllmLoad(o),
		RequestRatePerS: o.Float("request_rate"), MaxConcurrency: cmp.Or(o.Count("max_concurrency"), o.Count("multi_turn_concurrency")),
		Requests: o.Count("num_prompts"), Completed: o.Count("completed"), Failed: cmp.Or(o.Count("failed"), o.Count("failed_requests")), DurationS: o.Float("duration"),
	}
	row.TensorParallelSize = o.Int32("tensor_parallel_size")
	return row
}

// vllmEngine is the server that the client was told about. "openai" may be any.
func vllmEngine(o read.Object) *string {
	backend := cmp.Or(o.Word("backend"), o.Word("endpoint_type"))
	if backend == nil {
		return nil
	}
	for _, engine := range []string{"vllm", "sglang", "tensorrt-llm", "tgi", "lmdeploy", "llama.cpp", "trt"} {
		if *backend == engine || strings.HasPrefix(*backend, engine+"-") {
			return new(engine)
		}
	}
	return nil
}

// vllmLoad is how requests were sent. A request_rate of "inf" sends all at once, or as
// many as max_concurrency allows.
func vllmLoad(o read.Object) *string {
	var load string
	switch {
	case o.Word("mode") != nil && *o.Word("mode") == "multi_turn":
		load = "sessions"
	case o.Float("request_rate") != nil, o.Word("request_rate") != nil && *o.Word("request_rate") == "trace":
		load = "open"
	case o.Word("request_rate") == nil || *o.Word("request_rate") != "inf":
		return nil
	case o.Count("max_concurrency") != nil:
		load = "closed"
	default:
		load = "at once"
	}
	return &load
}

var (
	timedFigure = lazy.Regexp(`^(probe_)?(mean|median|std|min|max|p\d{1,2}(?:\.\d{1,6})?)_(\w{1,60}?)(_ms)?$`)
	latencyWord = lazy.Regexp(`^(ttft|tpot|itl|e2el|e2e_latency|intvty)`)
)

// vllmUnits are the figures that have no statistic in their name, with their units.
var vllmUnits = map[string]string{
	"request_throughput": "requests/s", "request_goodput": "requests/s", "output_throughput": "tokens/s", "input_throughput": "tokens/s",
	"total_token_throughput": "tokens/s", "total_throughput": "tokens/s", "max_output_tokens_per_s": "tokens/s", "max_concurrent_requests": "requests",
	"total_input_tokens": "tokens", "total_output_tokens": "tokens", "total_output_tokens_retokenized": "tokens",
	"total_input_text_tokens": "tokens", "total_input_vision_tokens": "tokens", "good_completed": "requests", "rtfx": "",
	"input_sequence_throughput": "requests/s", "total_input_sequences": "requests", "concurrency": "requests", "accept_length": "tokens",
	"probe_completed": "requests", "probe_failed": "requests",
	"spec_decode_acceptance_rate": "%", "spec_decode_acceptance_length": "tokens", "spec_decode_num_drafts": "", "spec_decode_draft_tokens": "tokens",
	"spec_decode_accepted_tokens": "tokens", "diffusion_committed_throughput": "tokens/s", "diffusion_steps_per_canvas": "",
	"diffusion_committed_per_step": "tokens", "diffusion_committed_tokens": "tokens", "diffusion_denoising_steps": "", "diffusion_canvas_positions": "",
	"tput_per_gpu": "tokens/s/gpu", "output_tput_per_gpu": "tokens/s/gpu", "input_tput_per_gpu": "tokens/s/gpu",
}

// vllmFigures are the numbers that the tool computed, and the keys that they were
// read from. Latencies without _ms in their names are in the unit given. median_
// and p50_ are the same number; where both are there, one is taken.
func vllmFigures(o read.Object, out *read.Rows, bare string) (figures []Figure, used []string) {
	for _, key := range read.SortedKeys(o) {
		name := strings.TrimSuffix(key, ":") // "request_goodput:" in some builds
		unit, alone := vllmUnits[name]
		parts := timedFigure().FindStringSubmatch(name)
		isLatency := parts != nil && (parts[4] != "" || latencyWord().MatchString(parts[3]))
		if !alone && !isLatency {
			continue
		}
		used = append(used, key)
		value := o.Float(key)
		if value == nil {
			if o[key] != nil && o[key] != "" {
				out.Implausible(key, "no finite number", 1)
			}
			continue
		}
		figure := Figure{Name: name, Statistic: "value", Unit: maybe.Known(unit), Value: *value}
		if isLatency {
			figure.Name, figure.Statistic = parts[1]+parts[3], parts[2]
			figure.Unit = new(bare)
			if parts[4] != "" {
				figure.Unit = new("ms")
			}
			if strings.HasPrefix(parts[3], "intvty") {
				figure.Unit = new("tokens/s/user")
			}
			if parts[2] == "median" {
				if _, twice := o["p50_"+parts[3]+parts[4]]; twice && parts[1] == "" {
					continue
				}
				figure.Statistic = "p50"
			}
		}
		figures = append(figures, figure)
	}
	return figures, used
}

// partFigures are the figures of a part of the run, as the Rust client computes
// them: of the time in which all slots were taken, and of each turn of the
// conversations.
func partFigures(o read.Object, out *read.Rows) (figures []Figure) {
	part := func(name string, of read.Object) {
		inside, _ := vllmFigures(of, out, "ms")
		for _, figure := range inside {
			figure.Name = name + "." + figure.Name
			figures = append(figures, figure)
		}
		for _, key := range read.SortedKeys(of) {
			parts := listedPercentiles().FindStringSubmatch(key)
			if parts == nil {
				continue
			}
			for _, pair := range of.List(key) {
				if percentile, value, isPair := pairOf(pair); isPair {
					figures = append(figures, Figure{Name: name + "." + parts[1], Unit: new("ms"), Value: value,
						Statistic: "p" + strconv.FormatFloat(percentile, 'f', -1, 64)})
				}
			}
		}
	}
	if steady := o.Object("steady_state"); steady != nil {
		part("steady_state", steady)
	}
	for i, turn := range o.Objects("per_turn_metrics") {
		part(fmt.Sprintf("turn_%d", i), turn)
	}
	return figures
}

// pairOf is a list of two numbers.
func pairOf(value any) (first, second float64, isPair bool) {
	if list, _ := value.([]any); len(list) == 2 {
		var isFirst, isSecond bool
		first, isFirst = list[0].(float64)
		second, isSecond = list[1].(float64)
		isPair = isFirst && isSecond
	}
	return first, second, isPair
}

// listedPercentiles holds pairs of a percentile and its value.
var listedPercentiles = lazy.Regexp(`^percentiles_(\w{1,60})_ms$`)

// vllmSettings are all other keys: how it was measured. Names of models and tokenizers
// lose the folders before them.
func vllmSettings(o read.Object, out *read.Rows, used []string) *string {
	kept := map[string]any{}
	for _, key := range read.SortedKeys(o) {
		if slices.Contains(used, key) || o[key] == nil {
			continue
		}
		value := o.Scalar(key)
		if strings.HasSuffix(key, "_id") || strings.Contains(key, "model") || strings.Contains(key, "path") || strings.Contains(key, "tokenizer") {
			if name := o.ModelName(key); name != nil {
				value = *name
			}
		}
		if value == nil || read.Word(key) == "" {
			out.Note("keys passed over that hold neither a number nor a word: %s", read.KeyName(key))
			continue
		}
		kept[key] = value
	}
	return read.Settings(kept)
}
