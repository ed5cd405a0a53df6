package results

import (
	"cmp"
	"encoding/json"
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
	Kind:  "results",
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

// readVLLMServe makes a point of each object.
func readVLLMServe(d *read.Document, out *read.Rows) error {
	point := int32(0)
	return resultObjects(d, out, func(number int64, o resultObject, r *requestArrays) error {
		err := o.addVLLMServe(out, number, point, r)
		point++
		return err
	})
}

// addVLLMServe adds one run: its point, its figures and, where it was saved in
// detail, its requests.
func (o resultObject) addVLLMServe(out *read.Rows, number int64, point int32, r *requestArrays) error {
	if o.number("duration") == nil && o.number("request_throughput") == nil {
		return out.Reject(number, "duration", read.Missing)
	}
	if err := r.addTo(out, number, point); err != nil {
		return err
	}
	figures, used := o.vllmFigures(out, point, "ms")
	figures = append(figures, o.partFigures(out, point)...)
	row := o.vllmPoint(out, point, "vllm-bench-serve")
	o.saysOf(r)
	row.Settings = o.settings(out, append(used, vllmPointKeys...))
	return addPoint(out, row, figures)
}

// saysOf keeps with the settings what staging.result_requests must know about the
// requests.
func (o resultObject) saysOf(r *requestArrays) {
	if delete(o, "e2e_from_gaps"); r.e2eFromGaps() {
		o["e2e_from_gaps"] = json.RawMessage("true")
	}
}

// vllmPointKeys are the keys that have columns of their own.
var vllmPointKeys = []string{
	"date", "label", "model_id", "num_prompts", "request_rate", "completed", "failed", "failed_requests", "duration", "max_concurrency",
	"tensor_parallel_size", "mode", "num_conversations", "multi_turn_concurrency", "steady_state", "per_turn_metrics",
}

// vllmPoint reads the run, for this client and for those that came from it.
func (o resultObject) vllmPoint(out *read.Rows, point int32, tool string) Point {
	o.odd(out, "num_prompts", "completed", "failed", "failed_requests", "duration", "max_concurrency", "tensor_parallel_size")
	row := Point{
		Point: point, Tool: tool, Label: o.word("label"), StartedAt: o.clientDate("date", out),
		Model: o.modelName("model_id"), Engine: o.engine(), Load: o.load(),
		RequestRatePerS: o.number("request_rate"), MaxConcurrency: cmp.Or(o.count("max_concurrency"), o.count("multi_turn_concurrency")),
		Requests: o.count("num_prompts"), Completed: o.count("completed"), Failed: cmp.Or(o.count("failed"), o.count("failed_requests")), DurationS: o.number("duration"),
	}
	row.TensorParallelSize = o.size("tensor_parallel_size")
	return row
}

// engine is the server that the client was told about. "openai" may be any.
func (o resultObject) engine() *string {
	backend := cmp.Or(o.word("backend"), o.word("endpoint_type"))
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

// load is how requests were sent. A request_rate of "inf" sends all at once, or as
// many as max_concurrency allows.
func (o resultObject) load() *string {
	var load string
	switch {
	case o.word("mode") != nil && *o.word("mode") == "multi_turn":
		load = "sessions"
	case o.number("request_rate") != nil, o.word("request_rate") != nil && *o.word("request_rate") == "trace":
		load = "open"
	case o.word("request_rate") == nil || *o.word("request_rate") != "inf":
		return nil
	case o.count("max_concurrency") != nil:
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
func (o resultObject) vllmFigures(out *read.Rows, point int32, bare string) (figures []Figure, used []string) {
	for _, key := range read.SortedKeys(o) {
		name := strings.TrimSuffix(key, ":") // "request_goodput:" in some builds
		unit, alone := vllmUnits[name]
		parts := timedFigure().FindStringSubmatch(name)
		isLatency := parts != nil && (parts[4] != "" || latencyWord().MatchString(parts[3]))
		if !alone && !isLatency {
			continue
		}
		used = append(used, key)
		value := o.number(key)
		if value == nil {
			if text := string(o[key]); text != "null" && text != `""` {
				out.Implausible(key, "no finite number", 1)
			}
			continue
		}
		figure := Figure{Point: point, Name: name, Statistic: "value", Unit: maybe.Known(unit), Value: *value}
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
func (o resultObject) partFigures(out *read.Rows, point int32) (figures []Figure) {
	part := func(name string, of resultObject) {
		inside, _ := of.vllmFigures(out, point, "ms")
		for _, figure := range inside {
			figure.Name = name + "." + figure.Name
			figures = append(figures, figure)
		}
		for _, key := range read.SortedKeys(of) {
			var pairs [][2]float64
			parts := listedPercentiles().FindStringSubmatch(key)
			if parts == nil || json.Unmarshal(of[key], &pairs) != nil {
				continue
			}
			for _, pair := range pairs {
				figures = append(figures, Figure{Point: point, Name: name + "." + parts[1], Unit: new("ms"), Value: pair[1],
					Statistic: "p" + strconv.FormatFloat(pair[0], 'f', -1, 64)})
			}
		}
	}
	if steady := o.object("steady_state"); steady != nil {
		part("steady_state", steady)
	}
	for i, turn := range objectsOf(o["per_turn_metrics"]) {
		part(fmt.Sprintf("turn_%d", i), turn)
	}
	return figures
}

// listedPercentiles holds pairs of a percentile and its value.
var listedPercentiles = lazy.Regexp(`^percentiles_(\w{1,60})_ms$`)

// settings are all other keys: how it was measured. Names of models and tokenizers
// lose the folders before them.
func (o resultObject) settings(out *read.Rows, used []string) *string {
	kept := map[string]any{}
	for _, key := range read.SortedKeys(o) {
		if slices.Contains(used, key) || string(o[key]) == "null" {
			continue
		}
		value := o.scalar(key)
		if strings.HasSuffix(key, "_id") || strings.Contains(key, "model") || strings.Contains(key, "path") || strings.Contains(key, "tokenizer") {
			if name := o.modelName(key); name != nil {
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
