package server

import (
	"io"
	"os"
	"regexp"
	"strings"
)

// Failure is a server that did not get ready.
type Failure struct {
	Why  string   // in one line
	Last []string // lines of its log
}

const (
	keptLines = 10
	readTail  = 1 << 20 // bytes of the end of a log
)

// outOfMemory are the words of PyTorch, vLLM and SGLang.
var outOfMemory = regexp.MustCompile(`CUDA out of memory|OutOfMemoryError|No available memory for the cache blocks|Not enough memory|HIP out of memory`)

// raised is the last line of a Python traceback. vLLM ends with one that only says that the engine did not start.
var raised = regexp.MustCompile(`\b[A-Z]\w*(?:Error|Exception)\b: \S`)

// failure is what happened, with the log's own words.
func (p *Process) failure(what string) *Failure {
	text := tail(p.Log)
	f := &Failure{Why: what}
	cause, memory := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		f.Last = append(f.Last, line)
		if raised.MatchString(line) && !strings.Contains(line, "Engine core initialization failed") {
			cause = line
		}
		if outOfMemory.MatchString(line) {
			memory = line
		}
	}
	f.Last = f.Last[max(0, len(f.Last)-keptLines):]
	if cause == "" && len(f.Last) > 0 {
		cause = f.Last[len(f.Last)-1]
	}
	if memory != "" {
		f.Why, cause = "ran out of memory", memory
	}
	if cause != "" {
		f.Why += ": " + cause
	}
	return f
}

// Ended is a server that ended by itself after it was ready.
func (p *Process) Ended() *Failure { return p.failure("ended under load, " + p.ending()) }

// tail is the end of a log; of a file that cannot be read it is empty.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > readTail {
		if _, err := file.Seek(-readTail, io.SeekEnd); err != nil {
			return ""
		}
	}
	text, err := io.ReadAll(io.LimitReader(file, readTail))
	if err != nil {
		return ""
	}
	return string(text)
}
