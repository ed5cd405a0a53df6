package tune

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/replay/server"
)

const logSchema = "tidemark.tune-log/1"

// Log is the journal of a race, JSON lines: a start before it is made, its process before the user's command runs in it, what came of the
// start, and its end. Each line is synced before the next thing is done. After a kill at any instant a start may be made twice, but what was
// measured is not measured again, and the process that was left behind is known.
type Log struct {
	SeriesID   string // names the searches and logs of this race
	Tries      []Try
	Starts     int              // begun, those that a kill ended too: they number logs
	Left       *server.Identity // of a server that was not stopped
	IsFinished bool
	file       *userfile.Journal
	wall       func() time.Time
}

// logLine is a line of the journal. The first one says which file it belongs to.
type logLine struct {
	Schema    string           `json:"schema,omitempty"`
	SHA256    string           `json:"sha256,omitempty"`
	SeriesID  string           `json:"series_id,omitempty"`
	At        string           `json:"at"`
	Event     string           `json:"event"` // begun, starting, started, ended, stopped, finished
	Candidate string           `json:"starting,omitempty"`
	Process   *server.Identity `json:"process,omitempty"`
	Try       *Try             `json:"try,omitempty"`
	Why       string           `json:"why,omitempty"`
}

// OpenLog starts the journal at path, or goes on with the one that is there. With isFresh the journal that is there is kept beside the new
// one, under the time.
func OpenLog(path string, f File, isFresh bool, wall func() time.Time) (*Log, error) {
	file, lines, err := userfile.OpenJournal(path, isFresh, wall())
	if err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	l := &Log{file: file, wall: wall}
	if err := l.begin(path, lines, f); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// begin takes what is there, or writes the first line.
func (l *Log) begin(path string, lines [][]byte, f File) error {
	if isOfOther := len(lines) == 1 && !bytes.Contains(lines[0], []byte(f.SHA256)) && bytes.Contains(lines[0], []byte(logSchema)); isOfOther { // nothing was started of it
		l.file.Clear()
		lines = nil
	}
	if len(lines) == 0 {
		return l.add(logLine{Schema: logSchema, SHA256: f.SHA256, SeriesID: f.Name + "-" + l.wall().UTC().Format("20060102-150405"), Event: "begun"})
	}
	for n, line := range lines {
		var entry logLine
		if err := json.Unmarshal(line, &entry); err != nil || n == 0 && entry.Schema != logSchema {
			return hint.Errorf("tune: %s: line %d: not a line of a tuning's journal", path, n+1).Hint("--restart begins again and keeps it beside the new one")
		}
		if n == 0 && entry.SHA256 != f.SHA256 {
			return hint.Misuse("tune: %s: the file, its SLO or its traffic has changed since this journal was started", path).
				Hint("give it another name than %q, or start over with --restart, which keeps the old journal beside the new one", f.Name)
		}
		l.take(entry)
	}
	return nil
}

func (l *Log) take(entry logLine) {
	switch entry.Event {
	case "begun":
		l.SeriesID = entry.SeriesID
	case "starting":
		l.Starts++
	case "started":
		l.Left = entry.Process
	case "ended":
		if entry.Try != nil {
			l.Tries = append(l.Tries, *entry.Try)
		}
	case "stopped":
		l.Left = nil
	case "finished":
		l.IsFinished = true
	}
}

// add writes a line and waits until it is on disk.
func (l *Log) add(line logLine) error {
	line.At = l.wall().UTC().Format(time.RFC3339Nano)
	if err := l.file.Add(line); err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	l.take(line)
	return nil
}

// Starting, Started, Ended and Stopped each write a line.
func (l *Log) Starting(candidate string) error {
	return l.add(logLine{Event: "starting", Candidate: candidate})
}
func (l *Log) Started(of server.Identity) error {
	return l.add(logLine{Event: "started", Process: &of})
}
func (l *Log) Ended(t Try) error         { return l.add(logLine{Event: "ended", Try: &t}) }
func (l *Log) Stopped() error            { return l.add(logLine{Event: "stopped"}) }
func (l *Log) Finished(why string) error { return l.add(logLine{Event: "finished", Why: why}) }

// Close gives the journal up.
func (l *Log) Close() error { return l.file.Close() }
