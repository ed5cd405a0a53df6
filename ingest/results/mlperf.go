package results

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/lazy"
)

// MLPerf reads mlperf_log_summary.txt, what MLPerf's LoadGen writes at the end of a run.
// A sample is a request. All times are nanoseconds, from when a request was due, so
// waiting in the client counts; a percentile is the element at rank n*p, with nothing
// between two elements.
//
// The traps. "Scheduled samples per second" is what was asked for, not what was done.
// LoadGen knows no scenario Interactive: it says Server, and only its bounds and the name
// of the folder tell. VALID is LoadGen's verdict by its own bounds, a setting here. The
// number of requests is not in the summary: min_query_count is a bound.
var MLPerf = read.Format{
	Name: "mlperf-loadgen",
	Sees: func(h *read.Head) string {
		switch {
		case bytes.Contains(h.Data, []byte(mlperfTitle)):
			return "a summary of MLPerf's LoadGen: " + mlperfTitle
		case bytes.HasPrefix(h.Line, []byte(":::MLLOG ")):
			return "the detailed log of MLPerf's LoadGen"
		}
		return ""
	},
	Read:  readMLPerf,
	Wants: "text with " + mlperfTitle + ", Scenario and Mode (mlperf_log_summary.txt of MLPerf's LoadGen)",
}

// mlperfTitle stands above each summary, between equals signs.
const mlperfTitle = "MLPerf Results Summary"

var (
	mlperfLine = lazy.Regexp(`^(?:\* )?([A-Za-z0-9][A-Za-z0-9 ./()_-]*?)\s*:\s*(\S.{0,63})$`)
	mlperfTime = lazy.Regexp(`^(?:(Min|Max|Mean)|(\d{1,2})(?:\.(\d\d)|th)? percentile) ([A-Za-z ]+) \(ns\)$`)
	// mlperfFirst is the headline of a single stream with tokens, which has another order.
	mlperfFirst  = lazy.Regexp(`^(\d{1,2})th first token percentile latency \(ns\)$`)
	mlperfErrors = lazy.Regexp(`^(\d{1,9}) ERRORS? encountered`)
	// mlperfFolder is how submissions lie: system, model, scenario.
	mlperfFolder = lazy.Regexp(`(?i)([^/]+)/([^/]+)/(offline|server|interactive|singlestream|multistream)/performance/run_\d+/[^/]+$`)
)

// mlperfWords are the lines that are single figures, with their unit.
var mlperfWords = map[string]string{
	"Completed samples per second": "requests/s", "Scheduled samples per second": "requests/s", "Samples per second": "requests/s",
	"Completed tokens per second": "tokens/s", "Tokens per second": "tokens/s",
	"QPS w/ loadgen overhead": "requests/s", "QPS w/o loadgen overhead": "requests/s",
	"TPS w/ loadgen overhead": "tokens/s", "TPS w/o loadgen overhead": "tokens/s",
}

// mlperfTimes are LoadGen's names of times, in small letters, and ours of the figure.
var mlperfTimes = map[string]string{
	"latency": "latency", "first token latency": "first token latency",
	"time to output token": "time to output token", "time per output token": "time to output token",
}

// mlperfRun is one summary on its way.
type mlperfRun struct {
	said       map[string]string // words of the first part
	asked      map[string]any    // numbers of "Test Parameters Used"
	figures    []Figure
	known      map[[2]string]bool // names and statistics that the figures have
	isAsking   bool
	errorCount string
}

// readMLPerf makes a point of each summary in the file.
func readMLPerf(d *read.Document, out *read.Rows) error {
	if bytes.HasPrefix(d.First.Data, []byte(":::MLLOG ")) {
		return hint.Errorf("LoadGen's detailed log").Hint("take in mlperf_log_summary.txt of the same folder").Mark(read.ErrUnknownFormat)
	}
	out.About.TimeUnit = "ns"
	var run *mlperfRun
	points, withoutSpeed := 0, 0
	end := func() error {
		if run == nil {
			return nil
		}
		if strings.HasPrefix(run.said["Mode"], "Accuracy") || len(run.figures) == 0 {
			withoutSpeed++
			return nil
		}
		points++
		return addPoint(out, run.point(out, d.Path), run.figures)
	}
	err := d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) {
		text := strings.TrimSpace(string(line))
		if text == mlperfTitle {
			err := end()
			run = &mlperfRun{said: map[string]string{}, asked: map[string]any{}, known: map[[2]string]bool{}}
			return nil, err
		}
		if run != nil {
			run.take(text)
		}
		return nil, nil
	})
	if err == nil {
		err = end()
	}
	if err == nil && points == 0 {
		return hint.Errorf("a summary of LoadGen without a speed").Hint("a run of accuracy has none, and a cut one none either: take in the summary in the folder performance/run_1").Mark(read.ErrUnknownFormat)
	}
	if withoutSpeed > 0 {
		out.Note("%d summaries have no speed, of accuracy or cut, and are left out", withoutSpeed)
	}
	return err
}

// take reads one line. A figure that stands there twice is kept once.
func (r *mlperfRun) take(text string) {
	if text == "Test Parameters Used" {
		r.isAsking = true
	}
	if found := mlperfErrors().FindStringSubmatch(text); found != nil {
		r.errorCount = found[1]
	}
	found := mlperfLine().FindStringSubmatch(text)
	if found == nil {
		return
	}
	name, value := found[1], read.ParseNumber(found[2])
	unit, isFigure := mlperfWords[name]
	const mostAsked = 64 // LoadGen writes some 20
	switch {
	case r.isAsking:
		if value.Known && json.Valid([]byte(found[2])) && len(r.asked) < mostAsked {
			key := strings.NewReplacer(" (", "_", ")", "").Replace(name) // target_latency (ns) is target_latency_ns
			r.asked[key] = json.Number(found[2])                         // seeds are longer than a float64
		}
	case isFigure:
		r.figure(name, "value", unit, value)
	case value.Known:
		r.time(name, value)
	case len(r.said) < mostAsked:
		r.said[name] = found[2]
	}
}

// time reads a line of nanoseconds; others are passed over.
func (r *mlperfRun) time(name string, value read.Number) {
	if found := mlperfFirst().FindStringSubmatch(name); found != nil {
		r.figure("first token latency", "p"+found[1], "ns", value)
	}
	if percentile, isEstimate := strings.CutPrefix(name, "Early stopping "); isEstimate {
		percentile, _ = strings.CutSuffix(percentile, "th percentile estimate")
		if is := statistic("p" + percentile); is != "" {
			r.figure("early stopping estimate", is, "ns", value)
		}
	}
	found := mlperfTime().FindStringSubmatch(name)
	if found == nil || mlperfTimes[strings.ToLower(found[4])] == "" {
		return
	}
	figure, is := mlperfTimes[strings.ToLower(found[4])], strings.ToLower(found[1])
	if is == "" {
		is = "p" + found[2]
		if part := strings.TrimRight(found[3], "0"); part != "" {
			is += "." + part
		}
	}
	if figure == "latency" && r.said["Scenario"] == "MultiStream" {
		figure = "query latency" // of all samples of a query together
	}
	r.figure(figure, is, "ns", value)
}

// figure keeps one number, unless it has it.
func (r *mlperfRun) figure(name, is, unit string, value read.Number) {
	if key := [2]string{name, is}; value.Known && !r.known[key] {
		r.known[key] = true
		r.figures = append(r.figures, Figure{Name: name, Statistic: is, Unit: new(unit), Value: value.Value})
	}
}

// point says what was asked. Of a submission the folders say the system and the model.
func (r *mlperfRun) point(out *read.Rows, path string) Point {
	scenario := r.said["Scenario"]
	row := Point{Tool: "mlperf-loadgen"}
	if found := mlperfFolder().FindStringSubmatch(filepath.ToSlash(path)); found != nil {
		row.Hardware, row.Model = read.WordOrNil(found[1]), read.ModelName(found[2])
		if strings.EqualFold(found[3], "Interactive") && scenario == "Server" {
			scenario = "Interactive"
		}
	}
	row.Label = read.WordOrNil(scenario)
	switch scenario {
	case "Offline":
		row.Load = new("at once")
	case "Server", "Interactive":
		row.Load, row.RequestRatePerS = new("open"), r.number("target_qps").Float()
	case "SingleStream", "MultiStream": // the next query is sent when the last one is done
		row.Load, row.MaxConcurrency = new("closed"), r.number("samples_per_query").Count()
	}
	for _, same := range []string{"performance_issue_same", "performance_issue_unique"} {
		if r.number(same).Value > 0 {
			out.Note("%s: a test of caching or of rules, whose speed is not that of the workload", same)
		}
	}
	if r.errorCount != "" {
		out.Note("LoadGen met %s errors: its detailed log has them", r.errorCount)
	}
	if r.said["Result is"] == "INVALID" {
		out.Note("LoadGen calls the run INVALID: a bound of its own, the time or the number of queries is not met; its figures are kept")
	}
	row.Settings = read.Settings(r.settings(scenario))
	return row
}

func (r *mlperfRun) number(key string) read.Number {
	text, _ := r.asked[key].(json.Number)
	return read.ParseNumber(string(text))
}

// settings joins what was asked with LoadGen's verdicts.
func (r *mlperfRun) settings(scenario string) map[string]any {
	r.asked["scenario"], r.asked["mode"], r.asked["status"] = scenario, r.said["Mode"], r.said["Result is"]
	for name, key := range map[string]string{
		"Performance constraints satisfied": "constraints_satisfied", "Min duration satisfied": "min_duration_satisfied",
		"Min queries satisfied": "min_queries_satisfied", "Early stopping satisfied": "early_stopping_satisfied",
	} {
		if said := r.said[name]; said == "Yes" || said == "NO" {
			r.asked[key] = said == "Yes"
		}
	}
	return r.asked
}
