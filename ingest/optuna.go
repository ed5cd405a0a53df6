package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/hint"
)

// Optuna's trials: what trials_dataframe() writes as CSV or as JSON (records or
// columns), what "optuna trials --format json" prints, and the JSON lines of a
// journal storage. A trial is a point: its parameters are settings, its objectives
// and user attributes are figures.
//
// Only a journal says which objectives are to be large; of the others the user
// says so with --column maximize=values_0,values_2, and without that all are taken
// to be small, Optuna's own default.
var _ = register(format{
	name: "optuna",
	sees: func(h *head) string {
		switch {
		case hasKeys(h.columns, "number", "state") && (isTrial(h.columns)):
			return "a CSV of Optuna's trials, with number, state and objectives"
		case hasKeys(h.element, "number", "state") && isTrial(h.element):
			return "a JSON array of Optuna's trials"
		case hasKeys(h.keys, "number", "state") && isTrial(h.keys) && !h.has("op_code"):
			return "Optuna's trials, with number, state and objectives"
		case h.isLines() && h.has("op_code", "worker_id"):
			return "the journal of an Optuna study, with op_code"
		}
		return ""
	},
	read: readOptuna,
	kind: "results",

	takesColumns: true,
	wants:        "a CSV or JSON with number, state and value or values_0 (Optuna's trials), or an Optuna journal",
})

func isTrial(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return key == "value" || key == "values" || strings.HasPrefix(key, "values_") })
}

// trial is one of a study, however it was written.
type trial struct {
	number     measure
	state      string
	start, end *time.Time
	duration   *float64
	values     map[string]measure // by the objective's name: value, values_0, values_NAME
	params     map[string]any
	attributes map[string]measure
}

// directions of objectives: true for those that are to be large.
type directions struct {
	maximize map[string]bool
	isKnown  bool
}

func readOptuna(d *document, out *rows) error {
	goals, err := statedDirections(d)
	if err != nil {
		return err
	}
	out.about.timeUnit = "datetime"
	point := int32(0)
	add := func(number int64, t trial) (*reject, error) {
		if t.number.count() == nil {
			return &reject{number, "number", notAnInteger}, nil
		}
		point++
		return nil, t.add(out, point-1, goals)
	}
	head := newHead(d.first.data, d.base())
	switch {
	case head.columns != nil:
		err = d.sheets(out, func(line int64, s *sheet) (*reject, error) { return add(line, trialOfSheet(s)) })
	case head.has("op_code"):
		return readJournal(d, out, goals)
	default:
		err = eachTrial(d, func(number int64, t trial) error {
			problem, err := add(number, t)
			if problem != nil {
				err = out.reject(problem.line, problem.column, problem.reason)
			}
			return err
		})
	}
	if err == nil && !goals.isKnown {
		out.note("which objectives are to be large is not in this file: all are taken to be small; say --column maximize=values_0,... for the others")
	}
	return err
}

func statedDirections(d *document) (directions, error) {
	goals := directions{maximize: map[string]bool{}}
	for ours, theirs := range d.columns {
		if ours != "maximize" {
			return goals, hint.Misuse("no column %s of ours", ours).Hint("of trials, --column takes maximize=NAME,... alone")
		}
		goals.isKnown = true
		for name := range strings.SplitSeq(theirs, ",") {
			goals.maximize[strings.TrimSpace(name)] = true
		}
	}
	return goals, nil
}

func (t *trial) add(out *rows, point int32, goals directions) error {
	flat := map[string]any{"state": t.state}
	flatten(flat, "params", t.params)
	for name := range t.values {
		flat["objective."+name] = map[bool]string{true: "maximize", false: "minimize"}[goals.maximize[name]]
	}
	flat["are_directions_known"] = goals.isKnown
	row := pointRow{
		Point: point, Tool: "optuna", Label: new("trial " + strconv.FormatInt(*t.number.count(), 10)),
		StartedAt: t.start, DurationS: t.duration, Settings: settings(flat),
	}
	if row.DurationS == nil && t.start != nil && t.end != nil {
		row.DurationS = new(t.end.Sub(*t.start).Seconds())
	}
	if err := out.add(row); err != nil {
		return err
	}
	for _, name := range sortedKeys(t.values) {
		if err := out.figure(point, name, "value", "", t.values[name]); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(t.attributes) {
		if err := out.figure(point, "user_attrs_"+name, "value", "", t.attributes[name]); err != nil {
			return err
		}
	}
	return nil
}

// set takes one cell of a trial's table.
func (t *trial) set(key, text string) {
	switch {
	case key == "number":
		t.number = measureOf(text)
	case key == "state":
		t.state = strings.TrimPrefix(text, "TrialState.")
	case key == "datetime_start":
		t.start = isoTime(text)
	case key == "datetime_complete":
		t.end = isoTime(text)
	case key == "duration":
		t.duration = pandasDuration(text)
	case key == "value", strings.HasPrefix(key, "values_"):
		if m := measureOf(text); m.is {
			t.values[key] = m
		}
	case strings.HasPrefix(key, "params_"):
		t.params[key[len("params_"):]] = trialCell(text)
	case strings.HasPrefix(key, "user_attrs_"):
		if m := measureOf(text); m.is {
			t.attributes[key[len("user_attrs_"):]] = m
		}
	}
}

func newTrial() trial {
	return trial{values: map[string]measure{}, params: map[string]any{}, attributes: map[string]measure{}}
}

func trialOfSheet(s *sheet) trial {
	t := newTrial()
	for key := range s.columns {
		t.set(key, s.text(key))
	}
	return t
}

// trialCell is a number, a boolean or a word.
func trialCell(text string) any {
	if m := measureOf(text); m.is {
		return m.value
	}
	switch text {
	case "True", "true":
		return true
	case "False", "false":
		return false
	case "":
		return nil
	}
	return text
}

var timeDelta = regexp.MustCompile(`^(?:(\d+) days?,? )?(\d+):(\d{2}):(\d{2}(?:\.\d+)?)$`)

// pandasDuration reads "0 days 00:01:23.5", Python's "0:01:23.5", and seconds.
func pandasDuration(text string) *float64 {
	parts := timeDelta.FindStringSubmatch(text)
	if parts == nil {
		return measureOf(text).number()
	}
	return new(86400*measureOf(parts[1]).value + 3600*measureOf(parts[2]).value + 60*measureOf(parts[3]).value + measureOf(parts[4]).value)
}

// eachTrial reads JSON: an array of records, or an object of columns, each an
// object of rows, as pandas writes both.
func eachTrial(d *document, use func(number int64, t trial) error) error {
	if bytes.HasPrefix(firstLine(d.first.data), []byte("[")) {
		return eachOfArray(d.reader(), func(number int64, element json.RawMessage) error {
			record, _ := treeOfRaw(element).(map[string]any)
			return use(number, trialOfTree(record))
		})
	}
	columns, err := d.tree()
	if err != nil {
		return err
	}
	numbers, isColumns := columns["number"].(map[string]any)
	if !isColumns {
		return use(1, trialOfTree(columns))
	}
	indices := sortedKeys(numbers)
	slices.SortStableFunc(indices, func(a, b string) int { return len(a) - len(b) }) // "10" behind "9"
	for i, index := range indices {
		record := map[string]any{}
		for name, column := range columns {
			record[name] = within(column, index)
		}
		if err := use(int64(i)+1, trialOfTree(record)); err != nil {
			return err
		}
	}
	return nil
}

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

var trialStates = []string{"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"}

type journalLine struct {
	Op         measure        `json:"op_code"`
	StudyName  *term          `json:"study_name"`
	Directions []measure      `json:"directions"`
	Study      measure        `json:"study_id"`
	Trial      measure        `json:"trial_id"`
	ParamName  *term          `json:"param_name"`
	ParamValue measure        `json:"param_value_internal"`
	Choices    term           `json:"distribution"`
	State      measure        `json:"state"`
	Values     []measure      `json:"values"`
	Start      term           `json:"datetime_start"`
	End        term           `json:"datetime_complete"`
	UserAttr   map[string]any `json:"user_attr"`
	SystemAttr presence       `json:"system_attr"`
}

// begins says that a line creates a trial. Versions number the operations in two
// ways; what they carry is the same. Below 4 they are about studies.
func (l *journalLine) begins() bool {
	return !l.Trial.is && l.Study.is && l.Op.value >= 4 && l.Directions == nil && l.UserAttr == nil && !bool(l.SystemAttr)
}

const maxJournalTrials = 1 << 16

// readJournal plays a journal: trials are numbered as they were created. One file
// may hold several studies; trials of all of them are points, and the directions
// are those of each.
func readJournal(d *document, out *rows, stated directions) error {
	var trials []*trial
	var studyOf []int
	var goals []directions
	err := d.lines(out, func(number int64, line []byte) (*reject, error) {
		var entry journalLine
		if json.Unmarshal(line, &entry) != nil || !entry.Op.is {
			return &reject{number, "", notJSON}, nil
		}
		var t *trial
		if id := entry.Trial.count(); id != nil && *id < int64(len(trials)) {
			t = trials[*id]
		}
		switch {
		case entry.StudyName != nil:
			goals = append(goals, entry.directions(stated))
		case entry.Directions != nil && entry.Study.count() != nil && int(entry.Study.value) < len(goals):
			goals[int(entry.Study.value)] = entry.directions(stated)
		case entry.begins() && len(trials) < maxJournalTrials:
			made := newTrial()
			made.number, made.start, made.state = measure{float64(len(trials)), true}, isoTime(string(entry.Start)), "RUNNING"
			trials, studyOf = append(trials, &made), append(studyOf, int(entry.Study.value))
		case entry.begins():
			return nil, hint.Errorf("a journal of more than %d trials", maxJournalTrials).
				Hint("export one study: trials_dataframe().to_csv()")
		case t != nil:
			entry.apply(t)
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	for i, t := range trials {
		goal := stated
		if study := studyOf[i]; study >= 0 && study < len(goals) {
			goal = goals[study]
		}
		if err := t.add(out, int32(i), goal); err != nil {
			return err
		}
	}
	return nil
}

// directions: 1 is to be small, 2 to be large.
func (l *journalLine) directions(stated directions) directions {
	if stated.isKnown || len(l.Directions) == 0 {
		return stated
	}
	goals := directions{maximize: map[string]bool{}, isKnown: true}
	for i, direction := range l.Directions {
		name := "value"
		if len(l.Directions) > 1 {
			name = "values_" + strconv.Itoa(i)
		}
		goals.maximize[name] = direction.value == 2
	}
	return goals
}

func (l *journalLine) apply(t *trial) {
	switch {
	case l.ParamName != nil:
		t.params[string(*l.ParamName)] = l.parameter()
	case l.UserAttr != nil:
		for name, value := range l.UserAttr {
			if number, isNumber := value.(float64); isNumber {
				t.attributes[name] = measure{number, true}
			}
		}
	case l.State.count() != nil && int(l.State.value) < len(trialStates):
		t.state = trialStates[int(l.State.value)]
		for i, value := range l.Values {
			name := "values_" + strconv.Itoa(i)
			if len(l.Values) == 1 {
				name = "value"
			}
			if value.is {
				t.values[name] = value
			}
		}
		if at := isoTime(string(l.Start)); at != nil {
			t.start = at
		}
		t.end = isoTime(string(l.End))
	}
}

// parameter is what was chosen: of a categorical one the journal has the index.
func (l *journalLine) parameter() any {
	var distribution struct {
		Name       string `json:"name"`
		Attributes struct {
			Choices []any `json:"choices"`
		} `json:"attributes"`
	}
	if json.Unmarshal([]byte(l.Choices), &distribution) == nil && distribution.Name == "CategoricalDistribution" {
		if i := int(math.Round(l.ParamValue.value)); l.ParamValue.is && i >= 0 && i < len(distribution.Attributes.Choices) {
			return distribution.Attributes.Choices[i]
		}
		return nil
	}
	return finite(l.ParamValue)
}
