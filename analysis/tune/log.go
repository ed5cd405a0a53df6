package tune

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
	file       *userfile.Growing
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
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	aside := ""
	if isFresh {
		aside = strings.TrimSuffix(path, ".jsonl") + wall().UTC().Format(".20060102-150405") + ".jsonl"
	}
	file, err := userfile.Grow(path, aside)
	if errors.Is(err, userfile.ErrBusy) {
		return nil, hint.Errorf("tune: %s: another process goes on with it", path).Hint("wait for it")
	}
	if err != nil {
		return nil, fmt.Errorf("tune: %w", err)
	}
	l := &Log{file: file, wall: wall}
	if err := l.begin(path, f); err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// begin reads what is there, or writes the first line. A last line without its end was cut by a kill.
func (l *Log) begin(path string, f File) error {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if err := l.file.Truncate(int64(len(whole))); err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	lines := bytes.Split(bytes.TrimSpace(whole), []byte("\n"))
	if isOfOther := len(lines) == 1 && !bytes.Contains(whole, []byte(f.SHA256)) && bytes.Contains(whole, []byte(logSchema)); isOfOther { // nothing was started of it
		if err := l.file.Truncate(0); err != nil {
			return fmt.Errorf("tune: %w", err)
		}
		whole = nil
	}
	if len(whole) == 0 {
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
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	l.take(line)
	return l.file.Sync()
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
