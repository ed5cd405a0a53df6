package results

import (
	"encoding/json"
	"math"
	"strconv"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// The journal of a study: one operation per line, in the order in which they
// happened. Trials are numbered as they were created. One file may hold several
// studies; the trials of all are points, each with the directions of its own study.

// trialStates are Optuna's states, in the order of their codes.
var trialStates = []string{"RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"}

// journalLine is one operation, with the keys of all of them.
type journalLine struct {
	Op         read.Number    `json:"op_code"`
	StudyName  *read.Text     `json:"study_name"`
	Directions []read.Number  `json:"directions"`
	Study      read.Number    `json:"study_id"`
	Trial      read.Number    `json:"trial_id"`
	ParamName  *read.Text     `json:"param_name"`
	ParamValue read.Number    `json:"param_value_internal"`
	Choices    read.Text      `json:"distribution"`
	State      read.Number    `json:"state"`
	Values     []read.Number  `json:"values"`
	Start      read.Text      `json:"datetime_start"`
	End        read.Text      `json:"datetime_complete"`
	UserAttr   map[string]any `json:"user_attr"`
	SystemAttr read.Presence  `json:"system_attr"`
}

// begins says that a line creates a trial. Versions number the operations in two
// ways, but what they carry is the same; numbers below 4 are about studies.
func (l *journalLine) begins() bool {
	return !l.Trial.Known && l.Study.Known && l.Op.Value >= 4 && l.Directions == nil && l.UserAttr == nil && !bool(l.SystemAttr)
}

// maxJournalTrials bounds what is held while a journal is played.
const maxJournalTrials = 1 << 16

// readJournal plays a journal to its end and then writes the trials.
func readJournal(d *read.Document, out *read.Rows, stated directions) error {
	var trials []*trial
	var studyOf []int
	var goals []directions
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var entry journalLine
		if json.Unmarshal(line, &entry) != nil || !entry.Op.Known {
			return &read.Reject{Reason: read.NotJSON}, nil
		}
		var t *trial
		if id := entry.Trial.Count(); id != nil && *id < int64(len(trials)) {
			t = trials[*id]
		}
		switch {
		case entry.StudyName != nil:
			goals = append(goals, entry.directions(stated))
		case entry.Directions != nil && entry.Study.Count() != nil && int(entry.Study.Value) < len(goals):
			goals[int(entry.Study.Value)] = entry.directions(stated)
		case entry.begins() && len(trials) < maxJournalTrials:
			made := newTrial()
			made.number, made.start, made.state = read.Number{Value: float64(len(trials)), Known: true}, read.ISOTime(string(entry.Start)), "RUNNING"
			trials, studyOf = append(trials, &made), append(studyOf, int(entry.Study.Value))
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
		if err := t.add(out, goal); err != nil {
			return err
		}
	}
	return nil
}

// directions reads Optuna's codes: 1 is minimize, 2 maximize.
func (l *journalLine) directions(stated directions) directions {
	if stated.isKnown || len(l.Directions) == 0 {
		return stated
	}
	goals := directions{maximize: map[string]bool{}, isKnown: true, named: stated.named}
	for i, direction := range l.Directions {
		name := "value"
		if len(l.Directions) > 1 {
			name = "values_" + strconv.Itoa(i)
		}
		goals.maximize[name] = direction.Value == 2
	}
	return goals
}

// apply changes a trial as one operation says.
func (l *journalLine) apply(t *trial) {
	switch {
	case l.ParamName != nil:
		t.params[string(*l.ParamName)] = l.parameter()
	case l.UserAttr != nil:
		for name, value := range l.UserAttr {
			if number, isNumber := value.(float64); isNumber {
				t.attributes[name] = read.Number{Value: number, Known: true}
			}
		}
	case l.State.Count() != nil && int(l.State.Value) < len(trialStates):
		t.state = trialStates[int(l.State.Value)]
		for i, value := range l.Values {
			name := "values_" + strconv.Itoa(i)
			if len(l.Values) == 1 {
				name = "value"
			}
			if value.Known {
				t.values[name] = value
			}
		}
		if at := read.ISOTime(string(l.Start)); at != nil {
			t.start = at
		}
		t.end = read.ISOTime(string(l.End))
	}
}

// parameter is the value that was chosen. For a categorical parameter the journal
// has only the index of the choice.
func (l *journalLine) parameter() any {
	var distribution struct {
		Name       string `json:"name"`
		Attributes struct {
			Choices []any `json:"choices"`
		} `json:"attributes"`
	}
	if json.Unmarshal([]byte(l.Choices), &distribution) == nil && distribution.Name == "CategoricalDistribution" {
		if i := int(math.Round(l.ParamValue.Value)); l.ParamValue.Known && i >= 0 && i < len(distribution.Attributes.Choices) {
			return distribution.Attributes.Choices[i]
		}
		return nil
	}
	return read.Finite(l.ParamValue)
}
