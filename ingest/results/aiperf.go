package results

import (
	"cmp"
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/lazy"
)

// AIPerf reads what AIPerf writes as JSON: profile_export_aiperf.json of one run
// and, over several runs, the aggregate, the collated file and the sweep. The unit
// of a number stands next to it.
//
// The traps: "avg" of a metric without a spread is the value itself, not a mean;
// the file's start_time is the client's local time with no zone, so the start is
// taken from the requests in profile_export.jsonl where that lies in the same
// folder; and only was_cancelled, which is kept as a setting, tells a cancelled run
// from a whole one.
var AIPerf = read.Format{
	Name:  "aiperf",
	Sees:  seesAIPerf,
	Read:  readAIPerf,
	Wants: "input_config and metrics such as request_latency with their units",
}

// seesAIPerf tells the three kinds of files apart by their keys. An export has
// input_config and at least one of the metrics that every run has.
func seesAIPerf(h *read.Head) string {
	keys := resultKeys(h)
	isMetric := func(key string) bool {
		return slices.Contains([]string{"request_latency", "request_count", "request_throughput", "completed_request_count"}, key)
	}
	switch {
	case read.HasAll(keys, "aiperf_version", "metadata", "metrics"):
		return "an aggregate of AIPerf's runs: aiperf_version, metadata, metrics"
	case read.HasAll(keys, "aggregation_type", "num_profile_runs", "per_combination_metrics"):
		return "a sweep of AIPerf: aggregation_type, num_profile_runs, per_combination_metrics"
	case slices.ContainsFunc(keys, isMetric) && (slices.Contains(keys, "aiperf_version") || read.HasAll(keys, "input_config")):
		return "an export of AIPerf: input_config, request_latency"
	}
	return ""
}

// readAIPerf reads the points of each object in the file.
func readAIPerf(d *read.Document, out *read.Rows) error {
	if isPhaseOf(d) {
		return hint.Errorf("one phase of a run of several").Hint("take in %s two folders up: it reads the phases with their names", phaseManifest).Mark(read.ErrUnknownFormat)
	}
	return resultObjects(d, out, func(number int64, o read.Object, _ *requestArrays) error {
		points := aiperfPoints(o, out)
		if len(points) == 0 {
			return out.Reject(number, "", read.Missing)
		}
		if o["metrics"] == nil && len(points) == 1 {
			// The start of the run is that of its requests in the file next to it. The same instant identifies both files, so that their points can be matched.
			points[0].row.StartedAt = cmp.Or(earliestStart(d.Beside("profile_export.jsonl", maxBeside)), points[0].row.StartedAt)
		}
		for _, p := range points {
			addPoint(out, p.row, p.figures)
		}
		if o["telemetry_data"] != nil {
			out.Note("passed over: telemetry_data; gpu_telemetry_export.jsonl has the samples")
		}
		return nil
	})
}

// aiperfPoint is a run on its way, with its figures.
type aiperfPoint struct {
	row     Point
	figures []Figure
}

// aiperfPoints are one point for a run or an aggregate, and one for each
// combination of a sweep.
func aiperfPoints(o read.Object, out *read.Rows) []aiperfPoint {
	if _, isSweep := o["per_combination_metrics"]; isSweep {
		return aiperfCombinations(out, o)
	}
	metrics := o
	if o["metrics"] != nil {
		metrics = o.Object("metrics")
	}
	p := aiperfPoint{row: aiperfRun(o, metrics), figures: aiperfFigures(out, metrics)}
	if len(p.figures) == 0 {
		return nil
	}
	return []aiperfPoint{p}
}

// aiperfCombinations reads a sweep: a list of {parameters, metrics}, or an object
// of them by the combination's name.
func aiperfCombinations(out *read.Rows, o read.Object) (points []aiperfPoint) {
	list, named := o.Objects("per_combination_metrics"), o.Object("per_combination_metrics")
	for _, key := range read.SortedKeys(named) {
		list = append(list, named.Object(key))
	}
	for _, combination := range list {
		metrics := combination
		if combination["metrics"] != nil {
			metrics = combination.Object("metrics")
		}
		p := aiperfPoint{row: Point{Tool: "aiperf"}, figures: aiperfFigures(out, metrics)}
		parameters := combination.Object("parameters")
		kept := map[string]any{}
		for _, key := range read.SortedKeys(parameters) {
			kept[key] = parameters.Scalar(key)
			switch last := key[strings.LastIndex(key, ".")+1:]; last {
			case "concurrency":
				p.row.MaxConcurrency, p.row.Load = parameters.Count(key), new("closed")
			case "request_rate", "rate":
				p.row.RequestRatePerS, p.row.Load = parameters.Float(key), new("open")
			}
		}
		p.row.Settings = read.Settings(kept)
		if len(p.figures) > 0 {
			points = append(points, p)
		}
	}
	return points
}

// aiperfStatistic matches the percentiles, which have the same names here.
var aiperfStatistic = lazy.Regexp(`^p\d{1,2}(\.\d{1,6})?$`)

// aiperfNames are AIPerf's names of statistics and ours; ci_ is the confidence
// interval over runs, se its standard error, cv the coefficient of variation.
var aiperfNames = map[string]string{
	"avg": "mean", "mean": "mean", "min": "min", "max": "max", "std": "std", "count": "count", "sum": "sum",
	"cv": "cv", "se": "se", "ci_low": "ci_low", "ci_high": "ci_high",
}

// aiperfFigures reads every metric. A metric with an average and no spread is one
// number. The instants at which a run began and ended are not figures.
func aiperfFigures(out *read.Rows, metrics read.Object) (figures []Figure) {
	for _, name := range read.SortedKeys(metrics) {
		metric := metrics.Object(name)
		unit := metric.Word("unit")
		if metric == nil || unit == nil || read.Word(name) == "" || strings.HasSuffix(name, "_timestamp") {
			continue
		}
		alone := !metric.HasAny("std", "p50", "ci_low")
		for _, key := range read.SortedKeys(metric) {
			statistic, value := aiperfNames[key], metric.Float(key)
			if aiperfStatistic().MatchString(key) {
				statistic = key
			}
			if alone && statistic == "mean" {
				statistic = "value"
			}
			if statistic != "" && value == nil && metric[key] != nil {
				out.Implausible(name, "no finite number", 1)
			}
			if value != nil && statistic != "" {
				figures = append(figures, Figure{Name: name, Statistic: statistic, Unit: unit, Value: *value})
			}
		}
	}
	return figures
}

// aiperfRun reads the counts and times of a run. Failed requests are not in
// request_count.
func aiperfRun(o read.Object, metrics read.Object) Point {
	scalar := func(name string) *float64 { return metrics.Object(name).Float("avg") }
	row := Point{Tool: "aiperf", ToolVersion: o.Word("aiperf_version"), DurationS: metricSeconds(metrics.Object("benchmark_duration"))}
	row.Completed, row.Failed = wholeNumber(scalar("request_count")), wholeNumber(scalar("error_request_count"))
	if row.Completed != nil {
		row.Requests = new(*row.Completed + *cmp.Or(row.Failed, new(int64(0))))
	}
	if first := metrics.Object("min_request_timestamp"); first != nil {
		row.StartedAt = instantInNanoseconds(first.Float("avg"), first.Word("unit"))
	}
	aiperfConfig(o, &row)
	return row
}

// maxBeside is how much of that file is searched, bytes.
const maxBeside = 64 << 20
