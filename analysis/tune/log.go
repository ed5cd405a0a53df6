package tune

import (
	"fmt"
	"time"

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
	Ranged     []Try            // starts that only showed whether a value starts
	Starts     int              // begun, those that a kill ended too: they number logs
	Left       *server.Identity // of a server that was not stopped
	IsFinished bool
	file       *userfile.Journal
	wall       func() time.Time
}

// logLine is a line of the journal. The first one says which file it belongs to.
type logLine struct {
	userfile.Owner
	SeriesID  string           `json:"series_id,omitempty"`
	At        string           `json:"at"`
	Event     string           `json:"event"` // begun, starting, started, ranged, ended, stopped, finished
	Candidate string           `json:"starting,omitempty"`
	Process   *server.Identity `json:"process,omitempty"`
	Try       *Try             `json:"try,omitempty"`
	Why       string           `json:"why,omitempty"`
}

// OpenLog starts the journal at path, or goes on with the one that is there. With isFresh the journal that is there is kept beside the new
// one, under the time.
func OpenLog(path string, f File, isFresh bool, wall func() time.Time) (*Log, error) {
	l := &Log{wall: wall}
	owner := userfile.Owner{Schema: logSchema, SHA256: f.SHA256}
	file, isNew, err := userfile.GoOn("tune", path, isFresh, wall(), f.Name, owner, func(_ int, line logLine) bool { l.take(line); return true })
	if err != nil {
		return nil, err
	}
	l.file = file
	if isNew {
		err = l.add(logLine{Owner: owner, SeriesID: f.Name + "-" + l.wall().UTC().Format("20060102-150405"), Event: "begun"})
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

func (l *Log) take(entry logLine) {
	switch entry.Event {
	case "begun":
		l.SeriesID = entry.SeriesID
	case "starting":
		l.Starts++
	case "started":
		l.Left = entry.Process
	case "ranged":
		if entry.Try != nil {
			l.Ranged = append(l.Ranged, *entry.Try)
		}
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

// Starting, Started, RangeTried, Ended and Stopped each write a line.
func (l *Log) Starting(candidate string) error {
	return l.add(logLine{Event: "starting", Candidate: candidate})
}
func (l *Log) Started(of server.Identity) error {
	return l.add(logLine{Event: "started", Process: &of})
}
func (l *Log) RangeTried(t Try) error    { return l.add(logLine{Event: "ranged", Try: &t}) }
func (l *Log) Ended(t Try) error         { return l.add(logLine{Event: "ended", Try: &t}) }
func (l *Log) Stopped() error            { return l.add(logLine{Event: "stopped"}) }
func (l *Log) Finished(why string) error { return l.add(logLine{Event: "finished", Why: why}) }

// Close gives the journal up.
func (l *Log) Close() error { return l.file.Close() }
