// The files of a run while it goes. A lineLog has one writer goroutine: whoever adds a line formats it into a pooled buffer
// and sends it over a channel. The stream is flushed every quarter second, so that a killed run loses no more than that; a
// torn last frame is cut off by whoever reads it (ingest). When the disk is full the log drops lines rather than block the
// load, and ends the run.

package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tidemark/internal/hint"
	"tidemark/replay/plan"
)

// file is what the run's folder needs of a file.
type file interface {
	io.Writer
	Sync() error
	Close() error
}

type createFunc func(path string) (file, error)

// createFile truncates: the only file that is written twice under one name is run.json.new.
func createFile(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
}

// makeFolder makes the run's folder, which must not be there: nobody's run is overwritten.
func makeFolder(folder string) error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	err := os.Mkdir(folder, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return folderExists(folder)
	}
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}

func folderExists(folder string) error {
	return hint.Errorf("run: %s exists", folder).Mark(fs.ErrExist).Hint("give this run another id or folder; nothing is overwritten")
}

// copyPlan puts the plan next to the run's results, and returns that copy.
func copyPlan(planned *plan.Plan, folder string, create createFunc) (*plan.Plan, error) {
	from, err := os.Open(planned.Path())
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	defer from.Close()
	path := filepath.Join(folder, "plan.jsonl.zst")
	to, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	_, err = io.Copy(to, from)
	if err = cmp.Or(err, to.Close()); err != nil {
		return nil, fmt.Errorf("run: %s: %w", path, err)
	}
	return planned.MovedTo(path), nil
}

// flushEvery bounds what a killed run loses.
const flushEvery = 250 * time.Millisecond

// lineLog is a compressed file of lines with one writer, a goroutine of its own. What has been flushed can be read
// whatever happens to the process.
type lineLog struct {
	path   string
	file   file
	lines  chan *[]byte
	broken func(error) // called once, when the file cannot be written any more
	done   chan struct{}
	err    error // of the writer, to be read after ended
	bufs   sync.Pool
}

// openLog makes the file and starts its writer.
func openLog(path string, create createFunc, broken func(error)) (*lineLog, error) {
	f, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	out, err := plan.NewLineWriter(f)
	if err != nil {
		return nil, err
	}
	l := &lineLog{path: path, file: f, lines: make(chan *[]byte, 1024), broken: broken, done: make(chan struct{})}
	go l.run(out)
	return l, nil
}

// add writes the line that fill appends to an empty buffer.
func (l *lineLog) add(fill func([]byte) []byte) {
	buf, _ := l.bufs.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	*buf = fill((*buf)[:0])
	l.lines <- buf
}

// run is the only one that touches the file. After an error it goes on taking lines off the channel, so that no sender
// waits.
func (l *lineLog) run(out *plan.LineWriter) {
	defer close(l.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	isDirty := false
	for {
		select {
		case line, isOpen := <-l.lines:
			if !isOpen {
				l.check(out.Close())
				l.check(l.file.Sync())
				l.check(l.file.Close())
				return
			}
			if l.err == nil { // after that lines are only taken off, so that nobody waits
				_, err := out.Write(*line)
				l.check(err)
			}
			isDirty = true
			l.bufs.Put(line)
		case <-tick.C:
			if isDirty && l.err == nil {
				l.check(out.Flush())
			}
			isDirty = false
		}
	}
}

// check keeps the first error and reports it once.
func (l *lineLog) check(err error) {
	if err == nil || l.err != nil {
		return
	}
	l.err = hint.Errorf("run: %s: %w", l.path, cutPath(err)).Hint("make room; what was written until then is readable and can be ingested")
	l.broken(l.err)
}

// cutPath takes the file's name off an error that is given it anyway.
func cutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// close returns when everything is on the disk.
func (l *lineLog) close() error {
	close(l.lines)
	<-l.done
	return l.err
}

// journal is the rows of a run, as lines and as an outcome.
type journal struct {
	log     *lineLog
	mu      sync.Mutex
	outcome outcome
}

// newJournal is that of a closed loop of so many slots; 0: of another mode.
func newJournal(log *lineLog, slots int) *journal {
	return &journal{log: log, outcome: outcome{result: Result{Failures: map[string]int64{}}, slots: slots}}
}

// add takes a row that is complete; nothing of it is kept after the call.
func (j *journal) add(r *row) {
	j.mu.Lock()
	j.outcome.add(r)
	j.mu.Unlock()
	j.log.add(r.append)
}
