package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/analysis/capacity"
	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// State is the journal of a search: a header, then a line for each event (docs/files.md). One process has it at a time.
type State struct {
	Path   string
	Header any // a pointer: written before the first event of a new file, and read from an earlier one
	file   *userfile.Journal
	isNew  bool
}

// OpenState opens or makes the file and returns the events in it. A last line that was cut by a kill is passed over; any other damage is an
// error, as is the file of another search than the header's. With isFresh an earlier file is kept beside the new one, under its name and the time.
func OpenState(path string, header any, isFresh bool) (s *State, events []capacity.Event, err error) {
	aside := ""
	if isFresh {
		aside = fmt.Sprintf("%s.%s.old", path, time.Now().UTC().Format("20060102T150405"))
	}
	file, lines, err := userfile.OpenJournal(path, aside)
	if errors.Is(err, userfile.ErrBusy) {
		return nil, nil, hint.Errorf("capacity: %s: another process goes on with this search", path).Hint("wait for it, or ask another question: another --seed is one")
	}
	if errors.Is(err, userfile.ErrForeign) {
		return nil, nil, damaged(path, 1, errNoState)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("capacity: %w", err)
	}
	events = make([]capacity.Event, max(len(lines)-1, 0))
	for n, line := range lines {
		switch {
		case n > 0:
			err = json.Unmarshal(line, &events[n-1])
		case bytes.HasPrefix(line, []byte(`{"schema":"tidemark.capacity/`)):
			err = readHeader(line, header)
		default:
			err = errNoState
		}
		if err != nil {
			file.Close()
			return nil, nil, damaged(path, n+1, err)
		}
	}
	return &State{path, header, file, len(lines) == 0}, events, nil
}

// readHeader takes the header of a file, where it is of the same search.
func readHeader(line []byte, header any) error {
	type named struct {
		SearchID string `json:"search_id"`
	}
	var asked, found named
	text, err := json.Marshal(header)
	if err := errors.Join(err, json.Unmarshal(text, &asked), json.Unmarshal(line, &found)); err != nil {
		return err
	}
	if found != asked {
		return fmt.Errorf("another search, %q", found.SearchID)
	}
	return json.Unmarshal(line, header)
}

var errNoState = errors.New("not the state of a search")

func damaged(path string, line int, err error) error {
	return hint.Errorf("capacity: %s: line %d: %w", path, line, err).Hint("move the file away, and the same command begins again")
}

// Replace makes the next event the first of the file, in the place of what is there.
func (s *State) Replace() {
	s.file.Replace()
	s.isNew = true
}

// Write appends an event with its instant; what is written stays after a power cut.
func (s *State) Write(e capacity.Event) error {
	if s.isNew {
		if err := s.file.Add(s.Header); err != nil {
			return err
		}
		s.isNew = false
	}
	return s.file.Add(struct {
		capacity.Event
		At string `json:"at"`
	}{e, time.Now().UTC().Format(time.RFC3339)})
}

// Close gives the file up; one that nothing was written to is removed.
func (s *State) Close() { s.file.Close() }

// Answered is the answer that events end in, where more load would not change it; nil where there is none.
func Answered(events []capacity.Event) *capacity.Answer {
	if len(events) == 0 {
		return nil
	}
	last := events[len(events)-1]
	if last.Kind != "answer" || last.Answer == nil || last.Answer.Outcome == capacity.Undecided || last.Answer.Outcome == capacity.Invalid {
		return nil
	}
	return last.Answer
}

// Answers are those among events, in their order.
func Answers(events []capacity.Event) (answers []*capacity.Answer) {
	for _, e := range events {
		if e.Kind == "answer" && e.Answer != nil {
			answers = append(answers, e.Answer)
		}
	}
	return answers
}

// BrokenOff is the load of runs that a kill ended, at most: a search counts it as sent.
func BrokenOff(events []capacity.Event) (load time.Duration) {
	begun := time.Duration(0)
	for _, e := range events {
		switch {
		case e.Kind == "start" && e.Run != nil:
			load += begun
			begun = time.Duration(e.Run.LengthS * float64(time.Second))
		case e.Kind == "run":
			begun = 0
		}
	}
	return load + begun
}

// OnNewStart are events of earlier starts of a server with the same flags: how many blocks of memory it finds free differs a little from start to
// start, and that is no other server.
func OnNewStart(events []capacity.Event) []capacity.Event {
	events = slices.Clone(events)
	for i, e := range events {
		if e.Run != nil {
			run := *e.Run
			run.Said.Settings.KVBlocks = 0
			events[i].Run = &run
		}
	}
	return events
}

// Resumable leaves out the runs that made a search invalid: of a server that died, changed or was not alone, or of a late client.
func Resumable(events []capacity.Event, maxLatenessS float64) (kept []capacity.Event) {
	isInvalid := false
	for _, e := range events {
		isInvalid = isInvalid || e.Kind == "answer" && e.Answer != nil && e.Answer.Outcome == capacity.Invalid
	}
	var first *capacity.Said // of a run that is kept
	for _, e := range events {
		if isInvalid && e.Kind == "run" && e.Run != nil && (e.Run.Said.IsSpoilt() || e.Run.LatenessP99S > maxLatenessS || e.Run.Fault != "" || first != nil && first.HasDrifted(e.Run.Said)) {
			if n := len(kept); n > 0 && kept[n-1].Kind == "start" {
				kept = kept[:n-1] // a start alone is a run that was killed
			}
			continue
		}
		if e.Kind == "run" && e.Run != nil && first == nil {
			first = &e.Run.Said
		}
		kept = append(kept, e)
	}
	return kept
}
