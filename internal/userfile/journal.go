package userfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/internal/hint"
)

// Journal is a growing file of JSON lines, each on disk before the next thing is done: after a kill at any instant it never claims too much.
type Journal struct {
	*Growing
	end   int64 // of the last whole line
	isCut bool  // something follows that a kill has cut
}

// OpenJournal opens or makes the journal at path and returns its whole lines. A last line without its end was cut by a kill; the next line
// takes its place. With isFresh the journal that is there is kept beside the new one, under the time.
func OpenJournal(path string, isFresh bool, now time.Time) (j *Journal, lines [][]byte, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, err
	}
	aside := ""
	if isFresh {
		aside = strings.TrimSuffix(path, ".jsonl") + now.UTC().Format(".20060102-150405") + ".jsonl"
	}
	file, err := Grow(path, aside)
	if errors.Is(err, ErrBusy) {
		return nil, nil, hint.Errorf("%s: another process goes on with it", path).Hint("wait for it")
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := ReadAll(path)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if len(whole) > 0 {
		lines = bytes.Split(bytes.TrimSpace(whole), []byte("\n"))
	}
	return &Journal{file, int64(len(whole)), len(whole) < len(text)}, lines, nil
}

// Clear forgets what is in the journal.
func (j *Journal) Clear() { j.end, j.isCut = 0, true }

// Add writes a line and waits until it is on disk.
func (j *Journal) Add(line any) error {
	if j.isCut {
		if err := j.Truncate(j.end); err != nil {
			return err
		}
		j.isCut = false
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := j.Write(append(text, '\n')); err != nil {
		return err
	}
	return j.Sync()
}
