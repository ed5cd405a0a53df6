package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/internal/hint"
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
	file     *userfile.Growing
	done     map[[2]int]Done
	wall     func() time.Time
}

// logLine is a line of the journal. The first one says which experiment it belongs to.
type logLine struct {
	Schema   string `json:"schema,omitempty"`
	SHA256   string `json:"sha256,omitempty"`
	SeriesID string `json:"series_id,omitempty"`
	At       string `json:"at"`
	Event    string `json:"event"` // begun, started, sent, ended, stopped, finished
	Why      string `json:"why,omitempty"`
	*Done
}

// OpenLog starts the journal at path, or continues the one that is there. A last line without its
// end was cut by a kill and is dropped: its step had not ended. With isFresh the journal that is
// there is kept beside the new one, under the time.
func OpenLog(path string, f File, isFresh bool, wall func() time.Time) (*Log, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	aside := ""
	if isFresh {
		aside = strings.TrimSuffix(path, ".jsonl") + wall().UTC().Format(".20060102-150405") + ".jsonl"
	}
	file, err := userfile.Grow(path, aside)
	if errors.Is(err, userfile.ErrBusy) {
		return nil, hint.Errorf("experiment: %s: another process runs this experiment", path).Hint("wait for it")
	}
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	l := &Log{done: map[[2]int]Done{}, wall: wall, file: file}
	if err := l.begin(path, f); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// begin reads what is there, or writes the first line.
func (l *Log) begin(path string, f File) error {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if len(whole) == 0 {
		if err := l.file.Truncate(0); err != nil {
			return fmt.Errorf("experiment: %w", err)
		}
		l.SeriesID = f.Name + "-" + l.wall().UTC().Format("20060102-150405")
		return l.add(logLine{Schema: logSchema, SHA256: f.SHA256, SeriesID: l.SeriesID, Event: "begun"})
	}
	if err := l.replay(whole, f); err != nil {
		return fmt.Errorf("experiment: %s: %w", path, err)
	}
	if err := l.file.Truncate(int64(len(whole))); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	return nil
}

// replay reads what an earlier process has written.
func (l *Log) replay(text []byte, f File) error {
	for n, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		var entry logLine
		if err := json.Unmarshal(line, &entry); err != nil {
			return fmt.Errorf("line %d: not a line of a journal", n+1)
		}
		if n == 0 {
			if entry.Schema != logSchema {
				return errors.New("not the journal of an experiment")
			}
			if entry.SHA256 != f.SHA256 {
				return hint.Misuse("the experiment's file has changed since this journal was started").
					Hint("give the new experiment another name than %q, or start over with --restart, which keeps the old journal under another name", f.Name)
			}
			l.SeriesID = entry.SeriesID
		}
		if (entry.Event == "sent" || entry.Event == "ended") && entry.Done != nil {
			l.done[[2]int{entry.Row, entry.Repeat}] = *entry.Done
		}
	}
	return nil
}

// Has is the record of a step that has ended or whose run is complete.
func (l *Log) Has(s Step) (Done, bool) {
	d, has := l.done[[2]int{s.Row, s.Repeat}]
	return d, has
}

// add writes a line and waits until it is on disk.
func (l *Log) add(line logLine) error {
	line.At = l.wall().UTC().Format(time.RFC3339Nano)
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	return l.file.Sync()
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

func (l *Log) end(event, why string) error { return l.add(logLine{Event: event, Why: why}) }

// Close closes the journal's file.
func (l *Log) Close() error { return l.file.Close() }
