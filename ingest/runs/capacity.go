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

// capacityHeader is what is needed of the first line here. SQL reads the rest.
type capacityHeader struct {
	Schema    string          `json:"schema"`
	SearchID  string          `json:"search_id"`
	Source    string          `json:"source"`
	StartedAt time.Time       `json:"started_at"`
	Window    json.RawMessage `json:"window"`
	SLO       struct {
		Objectives []json.RawMessage `json:"objectives"`
	} `json:"slo"`
}

func readCapacityHeader(line []byte) (capacityHeader, error) {
	var header capacityHeader
	if err := json.Unmarshal(line, &header); err != nil {
		return header, damaged(1, "not the header of a search")
	}
	switch {
	case header.Schema != capacitySchema:
		return header, hint.Errorf("line 1: its schema is not %s", capacitySchema).Hint("it was written by another version of tidemark")
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
	Kind   string                     `json:"kind"`
	At     *time.Time                 `json:"at"`
	Run    map[string]json.RawMessage `json:"run"`
	Answer json.RawMessage            `json:"answer"`
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
		switch e.Kind {
		case "start":
			row.Answer = nil // after an answer: the search goes on, with a larger budget
		case "run":
			if e.Run["number"] == nil || e.Run["scale"] == nil || e.Run["load_s"] == nil {
				return nil, damaged(number, "a run without number, scale or load_s")
			}
			delete(e.Run, "measured") // the run itself has its requests
			runs, row.Answer = append(runs, e.Run), nil
		case "answer":
			if !hasOutcome(e.Answer) {
				return nil, damaged(number, "an answer without outcome")
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

func hasOutcome(answer json.RawMessage) bool {
	var a struct {
		Outcome string `json:"outcome"`
	}
	return json.Unmarshal(answer, &a) == nil && a.Outcome != ""
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
