//go:build duckdb_arrow

package study

import (
	"fmt"
	"sync"
	"time"

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
	userfile.Owner
	At string `json:"at"`
	*Place
	Measure *Measure `json:"measure,omitempty"`
}

// OpenLog starts the journal at path, or goes on with the one that is there. With isFresh the journal that is there is kept beside the new one.
func OpenLog(path string, f File, seed uint64, isFresh bool, wall func() time.Time) (*Log, error) {
	l := &Log{done: map[Place]Measure{}, wall: wall}
	owner := userfile.Owner{Schema: logSchema, SHA256: f.SHA256, Seed: seed}
	file, isNew, err := userfile.GoOn("study", path, isFresh, wall(), f.Name, owner, func(n int, line logLine) bool {
		if n > 0 && line.Place != nil && line.Measure != nil {
			l.done[*line.Place] = *line.Measure
		}
		return n == 0 || line.Place != nil && line.Measure != nil
	})
	if err != nil {
		return nil, err
	}
	l.file = file
	if isNew {
		err = l.add(logLine{Owner: owner})
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
