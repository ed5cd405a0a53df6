package runs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

const capacitySchema = "tidemark.capacity/1"

// Capacity reads the state file of a search for capacity: a header, then the events of the search in order of time. A search
// that goes on appends to its file, so that the same search may be taken in again: its later state replaces the earlier one.
var Capacity = read.Format{
	Name:  "capacity",
	Sees:  seesCapacity,
	Read:  readCapacity,
	Grows: searchOf,
	Wants: "a first line with schema, search_id, source, window and slo",
	Kind:  "capacity",
}

func seesCapacity(h *read.Head) string {
	return read.If(h.Has("schema", "search_id") && bytes.Contains(h.Line, []byte(`"tidemark.capacity/`)),
		"the state of a search for capacity, with search_id")
}

// capacityHeader is the first line. The whole line is stored as text, and SQL reads it: a value of another type than here would break the
// view for all searches, so it is refused.
type capacityHeader struct {
	Schema   string `json:"schema"`
	SearchID string `json:"search_id"`
	Source   string `json:"source"`
	SHA256   string `json:"source_sha256"`
	Window   *struct {
		FromS    float64 `json:"from_s"`
		UntilS   float64 `json:"until_s"`
		Requests int64   `json:"requests"`
		Sessions int64   `json:"sessions"`
		RatePerS float64 `json:"rate_per_s"`
	} `json:"window"`
	Mode       string         `json:"mode"`
	By         string         `json:"by"`
	Lengths    string         `json:"lengths"`
	Origin     string         `json:"origin"`
	Deployment map[string]any `json:"deployment"`
	Replicas   int64          `json:"replicas"`
	Routing    string         `json:"routing"`
	SLO        struct {
		Schema     string `json:"schema"`
		Name       string `json:"name"`
		Objectives []struct {
			Metric     string   `json:"metric"`
			Percentile *float64 `json:"percentile"`
			AtMost     float64  `json:"at_most"`
			Class      string   `json:"class"`
		} `json:"objectives"`
	} `json:"slo"`
	BudgetS   float64   `json:"budget_s"`
	Precision float64   `json:"precision"`
	MinScale  float64   `json:"min_scale"`
	MaxScale  float64   `json:"max_scale"`
	Seed      uint64    `json:"seed"`
	BaseURLs  []string  `json:"base_urls"`
	Model     string    `json:"model"`
	StartedAt time.Time `json:"started_at"`
	Version   string    `json:"tidemark_version"`
}

// capacityAnswer is the answer, for its types too.
type capacityAnswer struct {
	Outcome          string   `json:"outcome"`
	Scale            *float64 `json:"scale"`
	ScaleLow         *float64 `json:"scale_low"`
	ScaleHigh        *float64 `json:"scale_high"`
	RatePerS         *float64 `json:"rate_per_s"`
	RateLowPerS      *float64 `json:"rate_low_per_s"`
	RateHighPerS     *float64 `json:"rate_high_per_s"`
	BindingObjective *string  `json:"binding_objective"`
	PredictedScale   *float64 `json:"predicted_scale"`
	Confirmed        *bool    `json:"confirmed"`
	Users            *float64 `json:"users"`
	Concurrency      *int64   `json:"concurrency"`
	LoadS            float64  `json:"load_s"`
	IsWeak           bool     `json:"is_weak"`
	Why              string   `json:"why"`
	MinutesEnough    *float64 `json:"minutes_enough"`
	Notes            []string `json:"notes"`
	Table            []struct {
		RunID       string   `json:"run_id"`
		RatePerS    *float64 `json:"rate_per_s"`
		MissedRatio *float64 `json:"missed_ratio"`
		Objective   string   `json:"objective"`
		Verdict     string   `json:"verdict"`
	} `json:"table"`
	Curve []struct {
		Scale      *float64 `json:"scale"`
		Missed     *float64 `json:"missed_ratio"`
		MissedLow  *float64 `json:"missed_low_ratio"`
		MissedHigh *float64 `json:"missed_high_ratio"`
	} `json:"curve"`
}

func readCapacityHeader(line []byte) (capacityHeader, error) {
	var header capacityHeader
	err := json.Unmarshal(line, &header)
	switch {
	case header.Schema != "" && header.Schema != capacitySchema:
		return header, hint.Errorf("line 1: its schema is not %s", capacitySchema).Hint("it was written by another version of tidemark")
	case err != nil:
		return header, damaged(1, "not the header of a search"+inField(err))
	case header.SearchID == "" || header.Source == "" || header.Window == nil || len(header.SLO.Objectives) == 0 || header.StartedAt.IsZero():
		return header, damaged(1, "search_id, source, window, started_at or the objectives of its slo are missing")
	}
	return header, nil
}

// searchOf names the search whose state a file holds, by the head of the file; empty where its header is damaged.
func searchOf(head []byte) string {
	header, err := readCapacityHeader(read.FirstLine(head))
	if err != nil {
		return ""
	}
	return header.SearchID
}

// capacityRow is a search in raw.capacities.
type capacityRow struct {
	SearchID    string     `sql:"search_id"`
	Header      string     `sql:"header"`
	Runs        string     `sql:"runs"`
	Answer      *string    `sql:"answer"`
	LastEventAt *time.Time `sql:"last_event_at"`
}

// Table says where the row belongs.
func (capacityRow) Table() string { return "capacities" }

// capacityEvent is a line after the header.
type capacityEvent struct {
	Question string                     `json:"question"` // hash of what was asked, the model of the server included
	Kind     string                     `json:"kind"`
	At       *time.Time                 `json:"at"`
	Run      map[string]json.RawMessage `json:"run"`
	Answer   json.RawMessage            `json:"answer"`
}

func readCapacity(d *read.Document, out *read.Rows) error {
	lines := bufio.NewReaderSize(d.Reader(), 1<<16)
	first, err := lines.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	header, err := readCapacityHeader(first)
	if err != nil {
		return err
	}
	row := capacityRow{SearchID: header.SearchID, Header: string(bytes.TrimSpace(first)), LastEventAt: &header.StartedAt}
	runs, err := row.events(lines, out)
	if err != nil {
		return err
	}
	text, err := json.Marshal(runs)
	if err != nil {
		return err
	}
	row.Runs = string(text)
	switch {
	case row.Answer == nil && len(runs) == 0:
		out.Note("the search has no run and no answer yet: take it in again when it has ended")
	case row.Answer == nil:
		out.Note("the search has not ended: take it in again when it has")
	}
	return out.Add(row)
}

// events reads the lines after the header to the end of the file. The last one may be cut: whoever killed the search cut it.
func (row *capacityRow) events(lines *bufio.Reader, out *read.Rows) ([]map[string]json.RawMessage, error) {
	runs := []map[string]json.RawMessage{}
	question := ""
	for number := int64(2); ; number++ {
		line, err := wholeLine(lines)
		isLast := errors.Is(err, io.EOF)
		if err != nil && !isLast {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			if isLast {
				return runs, nil
			}
			continue
		}
		var e capacityEvent
		if json.Unmarshal(line, &e) != nil {
			if isLast {
				out.Note("the file ends in the middle of a line: what is whole was taken in")
				return runs, nil
			}
			return nil, damaged(number, read.NotJSON)
		}
		if e.Question != question { // another model of the server: the search does not take the runs before it either
			runs, row.Answer, question = runs[:0], nil, e.Question
		}
		switch e.Kind {
		case "start":
			row.Answer = nil // after an answer: the search goes on, with a larger budget
		case "run":
			if why := e.wrongRun(); why != "" {
				return nil, damaged(number, why)
			}
			runs, row.Answer = append(runs, e.Run), nil
		case "answer":
			if why := e.wrongAnswer(); why != "" {
				return nil, damaged(number, why)
			}
			row.Answer = new(string(e.Answer))
		case "":
			return nil, damaged(number, "an event without kind")
		}
		if e.At != nil {
			row.LastEventAt = e.At
		}
	}
}

// wrongRun says what is wrong with a run; empty: nothing.
func (e *capacityEvent) wrongRun() string {
	var r struct {
		Number    *int64   `json:"number"`
		ID        string   `json:"id"`
		Why       string   `json:"why"`
		Scale     *float64 `json:"scale"`
		StartS    float64  `json:"start_s"`
		LengthS   float64  `json:"length_s"`
		LoadS     *float64 `json:"load_s"`
		CutNS     float64  `json:"cut_ns"`
		LatenessS float64  `json:"lateness_p99_s"`
		Verdict   string   `json:"verdict"`
	}
	delete(e.Run, "measured") // the lists of single requests: the run itself has them
	text, err := json.Marshal(e.Run)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil:
		return "not a run" + inField(err)
	case r.Number == nil || r.Scale == nil || r.LoadS == nil:
		return "a run without number, scale or load_s"
	}
	return ""
}

// wrongAnswer says what is wrong with an answer; empty: nothing.
func (e *capacityEvent) wrongAnswer() string {
	var a capacityAnswer
	if err := json.Unmarshal(e.Answer, &a); err != nil {
		return "not an answer" + inField(err)
	}
	if a.Outcome == "" {
		return "an answer without outcome"
	}
	return ""
}

// inField names the key whose value is of the wrong type.
func inField(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return ": " + wrong.Field + " is a " + wrong.Value
	}
	return ""
}

// wholeLine reads a line of at most read.MaxWholeBytes: that of a run holds five numbers of each request.
func wholeLine(lines *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := lines.ReadSlice('\n')
		whole = append(whole, part...)
		if len(whole) > read.MaxWholeBytes {
			return nil, errors.New(read.TooLong)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

func damaged(line int64, why string) error {
	return hint.Errorf("line %d: %s", line, strings.TrimSpace(why)).
		Hint("the file is damaged; restore it, or search again: tidemark capacity ... --fresh")
}
