package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/lazy"
)

// Rows of InferenceX's HTTP API (/api/v1/benchmarks) and of its weekly dump
// (benchmark_results.json, with configs.json in the same folder). Latencies are
// seconds.
//
// The traps: num_prefill_gpu and num_decode_gpu count the same GPUs twice where the
// two roles are not apart, and are TP x EP there, so no GPUs are counted by them;
// "date" is when a point was measured, curve_date when it was last published; a power
// is one only where power_valid is 1 and its schema is 2. In rows of agents, itl and
// intvty are of the whole response, reasoning included, and itl is a time per token of
// each request: no gap between tokens. Those figures have "agentic.api." in front.

// inferenceXConfigs are the deployments of a dump by their ids, read when the first
// row wants them.
type inferenceXConfigs struct {
	beside *read.Document
	byID   map[string]json.RawMessage // a tree of all would take many times as much
	isRead bool
}

// of is the deployment of a row; the row itself where it says its deployment.
func (c *inferenceXConfigs) of(o read.Object, out *read.Rows) read.Object {
	if o["hardware"] != nil || o["config_id"] == nil {
		return o
	}
	if !c.isRead {
		c.isRead = true
		const longest = 32 << 20
		c.byID = map[string]json.RawMessage{}
		err := read.EachElement(bytes.NewReader(c.beside.Beside("configs.json", longest)), longest, func(_ int64, text json.RawMessage) error {
			var config struct {
				ID json.RawMessage `json:"id"`
			}
			_ = json.Unmarshal(text, &config) // an element that is not an object has no id
			c.byID[read.Object{"id": read.IDOfPart(config.ID)}.Version("id")] = text
			return nil
		})
		if err != nil { // half a file of deployments is none
			clear(c.byID)
		}
	}
	config := read.ObjectOf(read.TreeOfPart(c.byID[o.Version("config_id")]))
	if config == nil {
		out.Note("rows whose hardware, model and engine are not known: configs.json of the dump belongs in the same folder")
	}
	return config
}

// inferenceXAPI reads one row.
func inferenceXAPI(o read.Object, out *read.Rows, configs *inferenceXConfigs) (Point, []Figure) {
	on, metrics := configs.of(o, out), o.Object("metrics")
	isAgentic := o.Word("benchmark_type") != nil && strings.HasPrefix(*o.Word("benchmark_type"), "agentic")
	row := Point{
		Tool: "inferencex", Hardware: on.Word("hardware"), Model: on.ModelName("model"), Engine: on.Word("framework"),
		MaxConcurrency: o.Count("conc"), Load: new("closed"), InputTokensAsked: lengthAsked(o, "isl"), OutputTokensAsked: lengthAsked(o, "osl"),
		DurationS: metrics.Float("duration_seconds"), StartedAt: dayOf(o, "date", out),
	}
	prefix := ""
	if isAgentic {
		prefix, row.Load = "agentic.api.", new("sessions")
	}
	if size := on.Int32("prefill_tp"); size != nil && on["disagg"] != true && *size == *cmp.Or(on.Int32("decode_tp"), size) {
		row.TensorParallelSize = size
	}
	figures, used := inferenceXFigures(metrics, out, prefix)
	kept := read.Object{}
	for _, from := range []read.Object{on, o, metrics} {
		for key, value := range from {
			if !slices.Contains(inferenceXNoSettings, key) && !slices.Contains(used, key) {
				kept[key] = value
			}
		}
	}
	row.Settings = vllmSettings(kept, out, nil)
	return row, figures
}

// inferenceXNoSettings have columns of their own, or are ids and places.
var inferenceXNoSettings = []string{
	"id", "config_id", "workflow_run_id", "server_log_id", "hardware", "model", "framework", "conc", "isl", "osl", "metrics", "workers", "run_url", "error", "date",
	"curve_date", "curve_workflow_run_id", "curve_run_started_at", "duration_seconds", "num_prefill_gpu", "num_decode_gpu", "latest_result_id",
}

// lengthAsked is a length of fixed-length requests; agents have none.
func lengthAsked(o read.Object, key string) *float64 {
	if asked := o.Float(key); asked != nil && *asked > 0 {
		return asked
	}
	return nil
}

// dayOf is a date without a time of day: of 2026-09-03T00:00:00.000Z the dump's form.
func dayOf(o read.Object, key string, out *read.Rows) *time.Time {
	text := o.Word(key)
	if text == nil {
		return nil
	}
	day, _, _ := strings.Cut(*text, "T")
	at, err := time.Parse(time.DateOnly, day)
	if err != nil || !read.IsOfThisAge(at) {
		out.Implausible(key, "no possible date", 1)
		return nil
	}
	out.About.Zone = "dates have no time of day, read as midnight UTC"
	return &at
}

// inferenceXUnits are the figures of the API that have no statistic in their names,
// and those of the clients' lengths and rates, with their units.
var inferenceXUnits = map[string]string{
	"tput_per_gpu": "tokens/s/gpu", "output_tput_per_gpu": "tokens/s/gpu", "input_tput_per_gpu": "tokens/s/gpu",
	"input_tput_tps": "tokens/s", "output_tput_tps": "tokens/s", "total_tput_tps": "tokens/s",
	"total_prompt_tokens": "tokens", "total_generation_tokens": "tokens", "total_requests_completed": "requests", "kv_cache_pool_tokens": "tokens",
	"theoretical_cache_hit_rate": "ratio", "server_gpu_cache_hit_rate": "ratio", "server_cpu_cache_hit_rate": "ratio", "server_external_cache_hit_rate": "ratio",
	"gpu_kv_cache_usage_pct": "ratio", // a share, whatever its name says
	"qps":                    "requests/s", "input_tokens": "tokens", "output_tokens_actual": "tokens", "output_tokens_expected": "tokens",
	"ttft": "s", "tpot": "s", "itl": "s", "e2el": "s", "full_response_itl": "s", "intvty": "tokens/s/user", "full_response_intvty": "tokens/s/user",
	"e2e_norm_intvty": "tokens/s/user",
}

// inferenceXPower are figures of GPUs' power and energy.
var inferenceXPower = lazy.Regexp(`^(?:(?:prefill|decode)_)?(avg_power_w|avg_total_gpu_power_w|total_gpu_energy_j|joules_per_(?:input|output|total)_token|joules_per_successful_query)$`)

// inferenceXStatistic splits median_ttft and p99.9_itl.
var inferenceXStatistic = lazy.Regexp(`^(mean|median|std|min|max|p\d{1,2}(?:\.\d{1,6})?)_(\w{1,60})$`)

// inferenceXFigures reads the flat keys of a row's metrics.
func inferenceXFigures(o read.Object, out *read.Rows, prefix string) (figures []Figure, used []string) {
	schema, valid := o.Float("power_metric_schema_version"), o.Float("power_valid")
	isPowerValid := schema != nil && *schema == 2 && valid != nil && *valid == 1
	for _, key := range read.SortedKeys(o) {
		name, is := key, "value"
		if parts := inferenceXStatistic().FindStringSubmatch(key); parts != nil && inferenceXUnits[parts[2]] != "" {
			name, is = parts[2], statistic(parts[1])
		}
		unit, of := inferenceXUnits[name], prefix
		if isPower := inferenceXPower().MatchString(key); isPower {
			unit, of = "j", "" // of the GPUs: the same of agents
			if strings.HasSuffix(key, "_w") {
				unit = "w"
			}
			if !isPowerValid {
				out.Note("passed over: powers and energies of rows that are not power_valid 1 by schema 2")
				used = append(used, key)
				continue
			}
		}
		if unit == "" {
			continue
		}
		used = append(used, key)
		if value := o.Float(key); value != nil {
			figures = append(figures, Figure{Name: of + name, Statistic: is, Unit: new(unit), Value: *value})
		} else if o[key] != nil && o[key] != "" {
			out.Implausible(key, "no finite number", 1)
		}
	}
	return figures, used
}
