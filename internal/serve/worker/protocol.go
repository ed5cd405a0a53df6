package worker

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// variable in the environment makes this program a worker. See Child.
const variable = "TIDEMARK_SERVE_WORKER"

// SnapshotFile is the number of the open file that the server passes on: the worker needs no path and no right to open one.
const SnapshotFile = 3

// Setup is what a worker is told when it starts.
type Setup struct {
	MemoryBytes int64 `json:"memory_bytes"`
	Threads     int   `json:"threads"`
	IsReporter  bool  `json:"is_reporter"` // makes a report instead of running a query
}

// Errand is the one thing that a worker does: a query, or a report.
type Errand struct {
	SQL       string                     `json:"sql"`
	Named     map[string]json.RawMessage `json:"named,omitempty"`  // parameters as $name
	Listed    []json.RawMessage          `json:"listed,omitempty"` // parameters as $1 or ?
	Form      Form                       `json:"form"`
	AskedRows int64                      `json:"asked_rows"` // the client wants no more; 0: all
	MostRows  int64                      `json:"most_rows"`  // the server gives no more; 0: no limit
	MostBytes int64                      `json:"most_bytes"` // the same for bytes of the answer
	Page      Page                       `json:"page"`       // a report, and no query
}

// Page is a report: of a run, or of a week of a service.
type Page struct {
	Run     string `json:"run,omitempty"`
	Service string `json:"service,omitempty"`
	Week    string `json:"week,omitempty"`
}

// Form is how an answer is written.
type Form string

const (
	Arrow   Form = "arrow"
	CSV     Form = "csv"
	JSON    Form = "json"
	Parquet Form = "parquet"
	HTML    Form = "html" // reports only
)

// The kinds of frames that a worker writes.
const (
	FrameReady byte = 'r' // the snapshot is open
	FrameHead  byte = 'h' // a Head: the query works and has its first rows
	FramePart  byte = 'p' // bytes of the answer that end in the middle of a row or message
	FrameData  byte = 'd' // bytes of the answer that end between two rows or messages
	FrameEnd   byte = 'z' // an End: the answer is whole
	FrameError byte = 'e' // a Failure: instead of the Head, or after part of the answer
)

// Head precedes the answer.
type Head struct {
	Columns []string `json:"columns"`
	Cut     string   `json:"cut,omitempty"` // why the answer will be cut, where that is known ahead
}

// End follows the whole answer.
type End struct {
	Rows int64 `json:"rows"`
}

// Failure says why there is no answer, or no more of it.
type Failure struct {
	Kind FailureKind `json:"kind"`
	Text string      `json:"text"`
	Hint string      `json:"hint,omitempty"`
}

func (f *Failure) Error() string { return f.Text }

// FailureKind decides the status that a client gets.
type FailureKind string

const (
	BadQuery FailureKind = "bad query" // the client's mistake
	Memory   FailureKind = "memory"    // the query needs more than it may take
	Limit    FailureKind = "limit"     // the answer has more rows or bytes than the server gives
	NoRun    FailureKind = "no run"    // a report of a run or a week that is not there
	Broken   FailureKind = "broken"    // the program's own fault
)

// mostInFrame is the largest payload, so that neither side holds more than that of an answer.
const mostInFrame = 1 << 20

func writeFrame(w io.Writer, kind byte, payload []byte) error {
	head := [5]byte{kind}
	binary.LittleEndian.PutUint32(head[1:], uint32(len(payload)))
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(payload)
	return err
}

// ReadFrame reads one frame into buffer, which it returns grown where that is needed. The payload is valid until the next call.
func ReadFrame(r *bufio.Reader, buffer []byte) (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, buffer, err
	}
	size := binary.LittleEndian.Uint32(head[1:])
	if size > 2*mostInFrame {
		return 0, buffer, fmt.Errorf("a worker's frame of %d bytes", size)
	}
	if cap(buffer) < int(size) {
		buffer = make([]byte, size)
	}
	buffer = buffer[:size]
	_, err = io.ReadFull(r, buffer)
	return head[0], buffer, err
}

// Environment is the whole environment of a worker: no path, no home and no secret is in it.
func (s Setup) Environment() ([]string, error) {
	told, err := json.Marshal(s)
	return []string{variable + "=" + string(told)}, err
}
