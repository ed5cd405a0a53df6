package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/lazy"
)

// Optuna reads the trials of an Optuna study: what trials_dataframe() writes as CSV
// or JSON (records or columns), what "optuna trials --format json" prints, and the
// JSON lines of a journal storage. A trial is a point: its parameters are settings,
// its objectives and user attributes are figures. Those whose names say a rate, or a
// latency with its percentile and unit, in words of vLLM's clients such as
// request_throughput and p99_ttft_ms, are also figures of that name, so that trials
// stand beside benchmarks.
//
// Only a journal says which objectives are maximized. For the other files the user
// says so with --column maximize=values_0,values_2; without that all are minimized,
// which is Optuna's own default. --column request_throughput=values_0 says what an
// objective without such a name is.
var Optuna = read.Format{
	Name: "optuna",
	Sees: func(h *read.Head) string {
		switch {
		case read.HasAll(h.Columns, "number", "state") && (isTrial(h.Columns)):
			return "a CSV of Optuna's trials, with number, state and objectives"
		case read.HasAll(h.Element, "number", "state") && isTrial(h.Element):
			return "a JSON array of Optuna's trials"
		case read.HasAll(h.Keys, "number", "state") && isTrial(h.Keys) && !h.Has("op_code"):
			return "Optuna's trials, with number, state and objectives"
		case h.IsLines() && h.Has("op_code", "worker_id"):
			return "the journal of an Optuna study, with op_code"
		}
		return ""
	},
	Read: readOptuna,

	TakesColumns: true,
	Wants:        "a CSV or JSON with number, state and value or values_0 (Optuna's trials), or an Optuna journal",
}

// isTrial says that names of columns or keys include an objective.
func isTrial(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return key == "value" || key == "values" || strings.HasPrefix(key, "values_") })
}

// trial is one trial of a study, in whatever form it was written.
type trial struct {
	number     read.Number
	state      string
	start, end *time.Time
	duration   *float64
	values     map[string]read.Number // by the objective's name: value, values_0, values_NAME
	params     map[string]any
	attributes map[string]read.Number
}

// directions of the objectives: true for those that are maximized.
type directions struct {
	maximize map[string]bool
	isKnown  bool
	named    map[string]string // by the user: what an objective or attribute of another name is
}

// readOptuna reads any of the four forms.
func readOptuna(d *read.Document, out *read.Rows) error {
	goals, err := statedDirections(d)
	if err != nil {
		return err
	}
	out.About.TimeUnit = "datetime"
	add := func(number int64, t trial) (*read.Reject, error) {
		if t.number.Count() == nil {
			return &read.Reject{Column: "number", Reason: read.NotAnInteger}, nil
		}
		return nil, t.add(out, goals)
	}
	head := read.NewHead(d.First.Data, d.Base())
	switch {
	case head.Columns != nil:
		err = d.Sheets(out, func(line int64, s *read.Sheet) (*read.Reject, error) { return add(line, trialOfSheet(s)) })
	case head.Has("op_code"):
		return readJournal(d, out, goals)
	default:
		err = eachTrial(d, func(number int64, t trial) error {
			problem, err := add(number, t)
			if problem != nil {
				err = out.Reject(number, problem.Column, problem.Reason)
			}
			return err
		})
	}
	if err == nil && !goals.isKnown {
		out.Note("which objectives are to be large is not in this file: all are taken to be small; say --column maximize=values_0,... for the others")
	}
	return err
}

// statedDirections reads --column maximize=...
func statedDirections(d *read.Document) (directions, error) {
	goals := directions{maximize: map[string]bool{}, named: map[string]string{}}
	for ours, theirs := range d.Columns {
		if _, is := benchWord(ours); is {
			goals.named[theirs] = ours
			continue
		}
		if ours != "maximize" {
			return goals, hint.Misuse("no column %s of ours", ours).Hint("of trials, --column takes maximize=NAME,..., and names such as request_throughput=values_0 or p99_ttft_ms=values_1")
		}
		goals.isKnown = true
		for name := range strings.SplitSeq(theirs, ",") {
			goals.maximize[strings.TrimSpace(name)] = true
		}
	}
	return goals, nil
}

// add writes a trial as a point with its figures.
func (t *trial) add(out *read.Rows, goals directions) error {
	flat := map[string]any{"state": t.state}
	read.Flatten(flat, "params", t.params)
	for name := range t.values {
		flat["objective."+name] = map[bool]string{true: "maximize", false: "minimize"}[goals.maximize[name]]
	}
	flat["are_directions_known"] = goals.isKnown
	row := Point{
		Tool: "optuna", Label: new("trial " + strconv.FormatInt(*t.number.Count(), 10)),
		StartedAt: t.start, DurationS: t.duration, Settings: read.Settings(flat),
	}
	if row.DurationS == nil && t.start != nil && t.end != nil {
		row.DurationS = new(t.end.Sub(*t.start).Seconds())
	}
	row.asked(t.params)
	row.Completed, row.Failed = t.attributes["completed"].Count(), t.attributes["failed"].Count()
	if row.Completed != nil && row.Failed != nil {
		row.Requests = new(*row.Completed + *row.Failed)
	}
	out.Add(row)
	var named []benchFigure
	for _, name := range read.SortedKeys(t.values) {
		addFigure(out, name, "value", "", t.values[name])
		named = append(named, benchFigure{column: name, word: strings.TrimPrefix(name, "values_"), value: t.values[name]})
	}
	for _, name := range read.SortedKeys(t.attributes) {
		addFigure(out, "user_attrs_"+name, "value", "", t.attributes[name])
		named = append(named, benchFigure{column: "user_attrs_" + name, word: name, value: t.attributes[name]})
	}
	figures, err := benchFigures(named, goals.named)
	if err != nil {
		return fmt.Errorf("trial %d: %w", *t.number.Count(), err)
	}
	for _, f := range figures {
		addFigure(out, f.Name, f.Statistic, *f.Unit, f.value)
	}
	return nil
}

// benchFigure is a column of a trial that may say a figure of a benchmark.
type benchFigure struct {
	Figure
	column, word string
	value        read.Number
	isSaid       bool // by the user
}

// benchFigures are the columns that say one, each quantity once. What the user said of a column goes before what its name says; other columns of
// one quantity have to say the same.
func benchFigures(columns []benchFigure, said map[string]string) (figures []benchFigure, err error) {
	for i, f := range columns {
		if word, isSaid := said[f.column]; isSaid {
			columns[i].word, columns[i].isSaid = word, true
		}
	}
	slices.SortStableFunc(columns, func(a, b benchFigure) int { return strings.Compare(said[b.column], said[a.column]) }) // said ones first
	for _, f := range columns {
		var is bool
		if f.Figure, is = benchWord(f.word); !is || !f.value.Known {
			continue
		}
		if f.Name == "request_throughput" {
			f.word = f.Name
		}
		at := slices.IndexFunc(figures, func(g benchFigure) bool { return g.Name == f.Name && g.Statistic == f.Statistic })
		switch {
		case at < 0:
			figures = append(figures, f)
		case figures[at].isSaid && !f.isSaid || f.isLike(figures[at]):
		default:
			g := figures[at]
			return nil, hint.Misuse("%s and %s are both %s, and differ: %v and %v", g.column, f.column, f.word, g.value.Value, f.value.Value).
				Hint("say which it is: --column %s=%s, or --column %s=%s", g.word, g.column, f.word, f.column)
		}
	}
	return figures, nil
}

// isLike says that both are the same but for rounding.
func (f benchFigure) isLike(other benchFigure) bool {
	base := func(g benchFigure) float64 {
		if *g.Unit == "ms" {
			return g.value.Value / 1000
		}
		return g.value.Value
	}
	return math.Abs(base(f)-base(other)) <= 1e-6*math.Abs(base(other))
}

// asked is the load where a trial has it among its parameters.
func (row *Point) asked(params map[string]any) {
	if rate, is := params["request_rate"].(float64); is && rate > 0 {
		row.RequestRatePerS, row.Load = &rate, new("open")
	} else if streams, is := params["max_concurrency"].(float64); is && streams >= 1 {
		row.MaxConcurrency, row.Load = new(int64(streams)), new("closed")
	}
}

var (
	benchLatency = lazy.Regexp(`^(?:(mean|median|p\d{1,2}(?:\.\d{1,6})?)_(ttft|tpot|itl|e2el)|(ttft|tpot|itl|e2el)_(mean|median|p\d{1,2}))_(ms|s)$`)
	benchRates   = []string{"request_throughput", "requests_per_s", "requests_per_second", "req_per_s", "rps", "qps"}
)

// benchWord is the figure that a name says, without its value. A latency without a percentile or a unit in its name is none.
func benchWord(name string) (f Figure, is bool) {
	switch parts := benchLatency().FindStringSubmatch(name); {
	case parts != nil:
		return Figure{Name: parts[2] + parts[3], Statistic: statistic(parts[1] + parts[4]), Unit: &parts[5]}, true
	case slices.Contains(benchRates, name):
		return Figure{Name: "request_throughput", Statistic: "value", Unit: new("requests/s")}, true
	case name == "total_output_tokens":
		return Figure{Name: name, Statistic: "value", Unit: new("tokens")}, true
	}
	return f, false
}

// set takes one cell of a trial's table.
func (t *trial) set(key, text string) {
	switch {
	case key == "number":
		t.number = read.ParseNumber(text)
	case key == "state":
		t.state = strings.TrimPrefix(text, "TrialState.")
	case key == "datetime_start":
		t.start = read.ISOTime(text)
	case key == "datetime_complete":
		t.end = read.ISOTime(text)
	case key == "duration":
		t.duration = pandasDuration(text)
	case key == "value", strings.HasPrefix(key, "values_"):
		if m := read.ParseNumber(text); m.Known {
			t.values[key] = m
		}
	case strings.HasPrefix(key, "params_"):
		t.params[key[len("params_"):]] = cellValue(text)
	case strings.HasPrefix(key, "user_attrs_"):
		if m := read.ParseNumber(text); m.Known {
			t.attributes[key[len("user_attrs_"):]] = m
		}
	}
}

// newTrial is a trial of which nothing is known yet.
func newTrial() trial {
	return trial{values: map[string]read.Number{}, params: map[string]any{}, attributes: map[string]read.Number{}}
}

// trialOfSheet is a row of trials_dataframe().
func trialOfSheet(s *read.Sheet) trial {
	t := newTrial()
	for _, key := range s.Names() {
		t.set(key, s.Text(key))
	}
	return t
}

// cellValue is a number, a boolean or a word.
func cellValue(text string) any {
	if m := read.StrictNumber(text); m.Known {
		return m.Value
	}
	switch text {
	case "True", "true":
		return true
	case "False", "false":
		return false
	case "", "null":
		return nil
	}
	return text
}

// timeDelta is how pandas and Python print a duration.
var timeDelta = lazy.Regexp(`^(?:(\d+) days?,? )?(\d+):(\d{2}):(\d{2}(?:\.\d+)?)$`)

// pandasDuration reads "0 days 00:01:23.5", Python's "0:01:23.5", and seconds.
func pandasDuration(text string) *float64 {
	parts := timeDelta().FindStringSubmatch(text)
	if parts == nil {
		return read.ParseNumber(text).Float()
	}
	return new(86400*read.ParseNumber(parts[1]).Value + 3600*read.ParseNumber(parts[2]).Value + 60*read.ParseNumber(parts[3]).Value + read.ParseNumber(parts[4]).Value)
}

// eachTrial reads JSON: an array of records, or an object of columns, each an
// object of rows, as pandas writes both.
func eachTrial(d *read.Document, use func(number int64, t trial) error) error {
	if bytes.HasPrefix(read.FirstLine(d.First.Data), []byte("[")) {
		return read.EachElement(d.Reader(), read.MaxElementBytes, func(number int64, element json.RawMessage) error {
			return use(number, trialOfTree(read.ObjectOf(read.TreeOfPart(element))))
		})
	}
	columns, err := d.Tree()
	if err != nil {
		return err
	}
	numbers, isColumns := columns["number"].(map[string]any)
	if !isColumns {
		return use(1, trialOfTree(columns))
	}
	indices := read.SortedKeys(numbers)
	slices.SortStableFunc(indices, func(a, b string) int { return len(a) - len(b) }) // "10" behind "9"
	for i, index := range indices {
		record := map[string]any{}
		for name := range columns {
			record[name] = columns.At(name, index)
		}
		if err := use(int64(i)+1, trialOfTree(record)); err != nil {
			return err
		}
	}
	return nil
}

// trialOfTree is a JSON record. pandas writes instants as milliseconds and
// durations, too.
func trialOfTree(record map[string]any) trial {
	t := newTrial()
	for key, value := range record {
		switch value := value.(type) {
		case map[string]any:
			t.setGroup(key, value)
		case []any:
			for i, one := range value {
				t.set(key+"_"+strconv.Itoa(i), cellText(one))
			}
		default:
			// pandas writes instants as milliseconds.
			if at, isNumber := value.(float64); isNumber && strings.HasPrefix(key, "datetime_") {
				value = time.UnixMilli(int64(at)).UTC().Format(time.RFC3339Nano)
			} else if isNumber && key == "duration" {
				value = at / 1000
			}
			t.set(key, cellText(value))
		}
	}
	return t
}

// setGroup takes what --format json nests: params, user_attrs, values by name.
func (t *trial) setGroup(key string, group map[string]any) {
	for name, value := range group {
		if key == "params" {
			t.params[name] = value
			continue
		}
		t.set(key+"_"+name, cellText(value))
	}
}

// cellText is a value of JSON as a CSV would hold it, so that both are read alike.
func cellText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}
