package collect

import (
	"bufio"
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
	"tidemark/internal/userfile"
	"tidemark/replay/secrets"
)

// Schema of the growing file. Its first line is a header; each further line is an answer of the server with what was asked before it.
const Schema = "tidemark.collect/1"

const beginning = `{"schema":"tidemark.collect/`

type header struct {
	Schema    string  `json:"schema"`
	ID        string  `json:"collect_id"` // the service: a file of the same id replaces an earlier state of it in the warehouse
	Service   string  `json:"service"`
	URL       string  `json:"url"`
	Selector  string  `json:"selector"`
	CounterS  float64 `json:"counter_step_s"`
	GPUS      float64 `json:"gpu_step_s"`
	HistogrS  float64 `json:"histogram_step_s"`
	StartedAt string  `json:"started_at"`
	Version   string  `json:"tidemark_version"`
}

// askedFor is what an answer is an answer to.
type askedFor struct {
	Group  string    `json:"group"`
	From   time.Time `json:"from"` // first and last instant
	Until  time.Time `json:"until"`
	StepS  float64   `json:"step_s"`
	Query  string    `json:"query"`
	Series int       `json:"series"`
}

// growing is the file. One process has it at a time.
type growing struct {
	path  string
	file  *userfile.Growing
	isNew bool
	size  int64
	asked map[string][]span
	head  header
}

func openFile(s Settings, selector string) (*growing, error) {
	fail := func(err error) (*growing, error) { return nil, fmt.Errorf("collect: %w", err) }
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o755); err != nil {
		return fail(err)
	}
	aside := ""
	if s.IsFresh {
		aside = fmt.Sprintf("%s.%s.old", s.Path, time.Now().UTC().Format("20060102T150405"))
	}
	file, err := userfile.Grow(s.Path, aside)
	if errors.Is(err, userfile.ErrBusy) {
		return nil, hint.Errorf("collect: %s: another process collects into it", s.Path).Hint("wait for it")
	}
	if err != nil {
		return fail(err)
	}
	g := &growing{path: s.Path, file: file, asked: map[string][]span{}}
	g.head = header{
		Schema: Schema, ID: s.Service, Service: s.Service, URL: secrets.ShownURL(s.URL), Selector: selector, StartedAt: time.Now().UTC().Format(time.RFC3339), Version: s.Version,
		CounterS: s.Steps.Counters.Seconds(), GPUS: s.Steps.GPUs.Seconds(), HistogrS: s.Steps.Histograms.Seconds(),
	}
	if err := g.read(); err != nil {
		g.file.Close()
		return nil, err
	}
	return g, nil
}

// read finds out what was asked already. A last line that was cut by a kill is removed.
func (g *growing) read() error {
	lines := bufio.NewReaderSize(g.file, 1<<20)
	damaged := func(line int, why string) error {
		return hint.Errorf("collect: %s: line %d: %s", g.path, line, why).Hint("--fresh begins again and keeps this file beside it")
	}
	for number := 1; ; number++ {
		begin, length, err := lineOf(lines)
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("collect: %w", err)
		}
		if number == 1 {
			var found header
			switch err := json.Unmarshal(begin, &found); {
			case err != nil || found.Schema == "":
				return damaged(1, "not a file of collect")
			case found.Schema != Schema:
				return damaged(1, "its schema is not "+Schema)
			case found.ID != g.head.ID || found.Selector != g.head.Selector:
				return hint.Misuse("collect: %s is of the service %s and the selector {%s}", g.path, found.Service, found.Selector).
					Hint("--fresh begins again and keeps this file beside it")
			case found.GPUS != g.head.GPUS || found.HistogrS != g.head.HistogrS:
				return hint.Misuse("collect: %s was begun with other steps", g.path).Hint("--fresh begins again and keeps this file beside it")
			}
			g.head.CounterS = found.CounterS
		} else {
			var asked askedFor
			rest, isAnswer := bytes.CutPrefix(begin, []byte(`{"asked":`))
			if !isAnswer || json.NewDecoder(bytes.NewReader(rest)).Decode(&asked) != nil {
				return damaged(number, "not an answer")
			}
			g.asked[asked.Group] = append(g.asked[asked.Group], span{asked.From, asked.Until})
		}
		g.size += length
	}
	g.isNew = g.size == 0
	if begin := make([]byte, len(beginning)); g.isNew { // a header that was cut by a kill, or something else
		if n, _ := g.file.ReadAt(begin, 0); !strings.HasPrefix(beginning, string(begin[:n])) {
			return damaged(1, "not a file of collect")
		}
	}
	return g.file.Truncate(g.size)
}

// lineOf is the first megabyte of a line, and its length with its end. io.EOF: there is no further line that is whole.
func lineOf(lines *bufio.Reader) (begin []byte, length int64, err error) {
	for {
		part, err := lines.ReadSlice('\n')
		if length == 0 {
			begin = bytes.Clone(part)
		}
		length += int64(len(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return begin, length, err
		}
	}
}

// until is the last instant that was asked about by the counters; zero: none was.
func (g *growing) until() (last time.Time) {
	for _, s := range g.asked[counts] {
		if s.until.After(last) {
			last = s.until
		}
	}
	return last
}

// since is the first instant that was asked about by the counters, where it is before another.
func (g *growing) since(first time.Time) time.Time {
	for _, s := range g.asked[counts] {
		first = earlier(s.from, first)
	}
	return first
}

// add appends an answer and says how many series are in it. A line is whole or not there.
func (g *growing) add(q question, answer []byte) (series int, err error) {
	var line bytes.Buffer
	if g.size == 0 {
		head, err := json.Marshal(g.head)
		if err != nil {
			return 0, err
		}
		line.Write(append(head, '\n'))
	}
	series = bytes.Count(answer, []byte(`"metric":{`))
	asked, err := json.Marshal(askedFor{Group: q.group.name, From: q.from, Until: q.until, StepS: q.group.step.Seconds(), Query: q.group.query, Series: series})
	if err != nil {
		return 0, err
	}
	line.Grow(len(asked) + len(answer) + 16)
	line.WriteString(`{"asked":`)
	line.Write(asked)
	line.WriteByte(',')
	var object bytes.Buffer
	object.Grow(len(answer))
	if err := json.Compact(&object, answer); err != nil || object.Len() < 2 || object.Bytes()[0] != '{' {
		return 0, hint.Errorf("collect: the answer for %s to %s was cut", q.from.Format(time.RFC3339), q.until.Format(time.RFC3339)).Hint("ask again: what was answered is kept")
	}
	line.Write(object.Bytes()[1:])
	line.WriteByte('\n')
	if _, err := g.file.Write(line.Bytes()); err != nil {
		g.file.Truncate(g.size)
		return 0, fmt.Errorf("collect: %w", err)
	}
	g.size += int64(line.Len())
	g.asked[q.group.name] = append(g.asked[q.group.name], span{q.from, q.until})
	return series, nil
}
