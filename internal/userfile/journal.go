package userfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/internal/hint"
)

// ErrForeign is the error of a file that holds something else than a journal.
var ErrForeign = errors.New("not a journal of this program")

// Journal is a growing file of JSON lines, each on disk before the next thing is done: after a kill at any instant it never claims too much.
type Journal struct {
	*Growing
	end   int64 // of the last whole line
	isCut bool  // something follows that a kill or a full disk has cut
}

// OpenJournal opens or makes the journal at path and returns its whole lines. A last line without its end was cut by a kill; the next line
// takes its place. With a name to put it aside under, the journal that is there is kept beside a new one (Grow).
func OpenJournal(path, aside string) (j *Journal, lines [][]byte, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, nil, err
	}
	file, err := Grow(path, aside)
	if err != nil {
		return nil, nil, err
	}
	text, err := io.ReadAll(file)
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if isCut := len(whole) < len(text); err == nil && isCut && len(whole) == 0 && !begins(text) {
		err = ErrForeign
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	if len(whole) > 0 {
		lines = bytes.Split(bytes.TrimSpace(whole), []byte("\n"))
	}
	return &Journal{file, int64(len(whole)), len(whole) < len(text)}, lines, nil
}

// begins says that a text is the beginning of a journal's first line, as far as it goes.
func begins(text []byte) bool {
	const first = `{"schema":"`
	return bytes.HasPrefix(text, []byte(first)) || strings.HasPrefix(first, string(text))
}

// Owner is whose a journal is: the first line has it.
type Owner struct {
	Schema string `json:"schema,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of the file that somebody wrote, and of what it names
	Seed   uint64 `json:"seed,omitempty"`
}

// GoOn opens a verb's journal as OpenJournal does and gives each line to take, which refuses what is none. isNew: the first line is the caller's
// to write. With isFresh the journal that is there is kept beside the new one, under the time. Another owner's journal is refused, unless nothing
// was done in it. name is what the owner's file calls itself.
func GoOn[Line any](verb, path string, isFresh bool, now time.Time, name string, of Owner, take func(n int, line Line) bool) (j *Journal, isNew bool, err error) {
	aside := ""
	if isFresh {
		aside = strings.TrimSuffix(path, ".jsonl") + now.UTC().Format(".20060102-150405") + ".jsonl"
	}
	j, lines, err := OpenJournal(path, aside)
	if errors.Is(err, ErrBusy) {
		return nil, false, hint.Errorf("%s: %s: another process goes on with it", verb, path).Hint("wait for it")
	}
	if errors.Is(err, ErrForeign) {
		return nil, false, foreign(verb, path, 1)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", verb, err)
	}
	for n, text := range lines {
		var owner Owner
		var line Line
		isLine := json.Unmarshal(text, &owner) == nil && json.Unmarshal(text, &line) == nil && (n > 0 || owner.Schema == of.Schema)
		switch {
		case n == 0 && isLine && owner != of && len(lines) == 1:
			j.Replace()
			return j, true, nil
		case n == 0 && isLine && owner != of:
			err = hint.Misuse("%s: %s: the file, its SLO, its traffic or the seed has changed since this journal was started", verb, path).
				Hint("give it another name than %q, or start over with --restart, which keeps the old journal beside the new one", name)
		case !isLine || !take(n, line):
			err = foreign(verb, path, n+1)
		}
		if err != nil {
			j.Close()
			return nil, false, err
		}
	}
	return j, len(lines) == 0, nil
}

func foreign(verb, path string, line int) error {
	return hint.Errorf("%s: %s: line %d: not a line of this verb's journal", verb, path, line).Hint("--restart begins again and keeps it beside the new one")
}

// Replace makes the next line take the place of all that are there.
func (j *Journal) Replace() { j.end, j.isCut = 0, true }

// Add writes a line and waits until it is on disk. Of a line for which that failed, nothing stays once another is added.
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
	text = append(text, '\n')
	if _, err := j.Write(text); err != nil {
		j.isCut = true
		return err
	}
	if err := j.Sync(); err != nil {
		j.isCut = true
		return err
	}
	j.end += int64(len(text))
	return nil
}
