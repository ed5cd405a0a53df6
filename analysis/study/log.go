//go:build duckdb_arrow

package study

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

const logSchema = "tidemark.study-log/1"

// Log is the journal of what was rehearsed, JSON lines. After a kill at any instant no repeat that has a line is rehearsed again. Experiments
// have journals of their own, and results are in the warehouse.
type Log struct {
	mu   sync.Mutex
	file *userfile.Journal
	done map[Place]Measure
	wall func() time.Time
}

// Place is one repeat of one configuration.
type Place struct {
	Configuration string `json:"configuration"`
	Repeat        int    `json:"repeat"`
}

// logLine is a line of the journal. The first one says which study it belongs to.
type logLine struct {
	Schema string `json:"schema,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	At     string `json:"at"`
	*Place
	Measure *Measure `json:"measure,omitempty"`
}

// OpenLog starts the journal at path, or goes on with the one that is there. With isFresh the journal that is there is kept beside the new one.
func OpenLog(path string, f File, seed uint64, isFresh bool, wall func() time.Time) (*Log, error) {
	file, lines, err := userfile.OpenJournal(path, isFresh, wall())
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	l := &Log{file: file, done: map[Place]Measure{}, wall: wall}
	if len(lines) == 0 {
		err = l.add(logLine{Schema: logSchema, SHA256: f.SHA256, Seed: seed})
	}
	for n, line := range lines {
		var entry logLine
		if bad := json.Unmarshal(line, &entry); bad != nil || n == 0 && entry.Schema != logSchema || n > 0 && (entry.Place == nil || entry.Measure == nil) {
			err = hint.Errorf("study: %s: line %d: not a line of a study's journal", path, n+1).Hint("--restart begins again and keeps it beside the new one")
			break
		}
		if n == 0 && (entry.SHA256 != f.SHA256 || entry.Seed != seed) {
			err = hint.Misuse("study: %s: the file, its SLO, its traffic or the seed has changed since this journal was started", path).
				Hint("give it another name than %q, or start over with --restart, which keeps the old journal beside the new one", f.Name)
			break
		}
		if n > 0 {
			l.done[*entry.Place] = *entry.Measure
		}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return l, nil
}

// Has is what was measured before.
func (l *Log) Has(at Place) (Measure, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, has := l.done[at]
	return m, has
}

// Measured keeps a repeat. It may be called from several goroutines.
func (l *Log) Measured(at Place, m Measure) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[at] = m
	return l.add(logLine{Place: &at, Measure: &m})
}

func (l *Log) add(line logLine) error {
	line.At = l.wall().UTC().Format(time.RFC3339Nano)
	if err := l.file.Add(line); err != nil {
		return fmt.Errorf("study: %w", err)
	}
	return nil
}

// Close gives the journal up.
func (l *Log) Close() error { return l.file.Close() }
