package experiment

import (
	"cmp"
	"fmt"
	"time"

	"tidemark/internal/userfile"
)

const logSchema = "tidemark.experiment-log/1"

// Outcome is how a run was judged.
type Outcome string

const (
	Met       Outcome = "met"
	NotMet    Outcome = "not met"
	Undecided Outcome = "undecided"
	Invalid   Outcome = "invalid"  // neither pass nor fail
	Measured  Outcome = "measured" // there is no SLO
	// NotTakenIn is a run whose files are complete but which is not judged yet, because another
	// process held the warehouse.
	NotTakenIn Outcome = "not taken in"
)

// Done is a step that has ended.
type Done struct {
	Row       int     `json:"row"`
	Repeat    int     `json:"repeat"`
	Value     string  `json:"value"`
	RunID     string  `json:"run_id"`
	Outcome   Outcome `json:"outcome"`
	FirstLine string  `json:"first_line"` // of the verdict
}

// Log is the journal of an experiment, JSON lines. It gets a line when a step starts, one when its
// run is complete on disk, and one when the run is judged. Each line is synced before the next
// thing is done, so that after a crash the journal never claims too much: a step may be done twice,
// but is never skipped.
type Log struct {
	SeriesID string // the same for all runs of the experiment
	file     *userfile.Journal
	done     map[[2]int]Done
	wall     func() time.Time
}

// logLine is a line of the journal. The first one says which experiment it belongs to.
type logLine struct {
	userfile.Owner
	SeriesID string `json:"series_id,omitempty"`
	At       string `json:"at"`
	Event    string `json:"event"` // begun, started, sent, ended, stopped, finished
	Why      string `json:"why,omitempty"`
	*Done
}

// OpenLog starts the journal at path, or continues the one that is there. With isFresh the journal that is there is kept beside the new
// one, under the time.
func OpenLog(path string, f File, isFresh bool, wall func() time.Time) (*Log, error) {
	l := &Log{done: map[[2]int]Done{}, wall: wall}
	owner := userfile.Owner{Schema: logSchema, SHA256: f.SHA256}
	file, isNew, err := userfile.GoOn("experiment", path, isFresh, wall(), f.Name, owner, l.take)
	if err != nil {
		return nil, err
	}
	l.file = file
	if isNew {
		l.SeriesID = f.Name + "-" + l.wall().UTC().Format("20060102-150405")
		err = l.add(logLine{Owner: owner, SeriesID: l.SeriesID, Event: "begun"})
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// take is what an earlier process has written.
func (l *Log) take(_ int, line logLine) bool {
	l.SeriesID = cmp.Or(l.SeriesID, line.SeriesID)
	if (line.Event == "sent" || line.Event == "ended") && line.Done != nil {
		l.done[[2]int{line.Row, line.Repeat}] = *line.Done
	}
	return true
}

// Has is the record of a step that has ended or whose run is complete.
func (l *Log) Has(s Step) (Done, bool) {
	d, has := l.done[[2]int{s.Row, s.Repeat}]
	return d, has
}

// add writes a line and waits until it is on disk.
func (l *Log) add(line logLine) error {
	line.At = l.wall().UTC().Format(time.RFC3339Nano)
	if err := l.file.Add(line); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	return nil
}

func (l *Log) started(s Step) error {
	return l.add(logLine{Event: "started", Done: &Done{Row: s.Row, Repeat: s.Repeat, Value: s.Value}})
}

// sent records a complete run that is not judged yet. It will not be sent again.
func (l *Log) sent(s Step, runID string) error {
	d := Done{Row: s.Row, Repeat: s.Repeat, Value: s.Value, RunID: runID, Outcome: NotTakenIn}
	l.done[[2]int{s.Row, s.Repeat}] = d
	return l.add(logLine{Event: "sent", Done: &d})
}

func (l *Log) ended(d Done) error {
	l.done[[2]int{d.Row, d.Repeat}] = d
	return l.add(logLine{Event: "ended", Done: &d})
}

// Close closes the journal's file.
func (l *Log) Close() error { return l.file.Close() }
