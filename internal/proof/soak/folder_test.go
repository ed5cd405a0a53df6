//go:build soak

package soak

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/klauspost/compress/zstd"
)

// folder is what a run left on disk.
type folder struct {
	path     string
	planned  int
	document document
	rows     []row
	samples  []sample
}

type document struct {
	Status string
	Plan   struct{ Requests int }
	Result *struct {
		Planned, Completed, Failed, Unsent int
		IsValid                            bool `json:"is_valid"`
		Failures                           map[string]int
	}
}

type row struct {
	Seq     int64
	Due     float64  `json:"due_s"`
	Sent    *float64 `json:"sent_s"`
	First   *float64 `json:"first_token_s"`
	Done    *float64 `json:"done_s"`
	Failure string
}

type sample struct {
	At     float64 `json:"at_s"`
	Origin string
	Values map[string]float64
}

// kinds are the failures that the engine knows.
var kinds = regexp.MustCompile(`^(connect|refused|timeout_first_byte|timeout_between_bytes|http_\d\d\d|error_frame|protocol|cut_stream|no_token|bad_finish|short_output|long_output|token_mismatch|cancelled)$`)

// readFolder reads the only run under runs. A file may be torn at its end, nothing
// else may be wrong with it.
func readFolder(runs string) (f folder, err error) {
	found, err := filepath.Glob(filepath.Join(runs, "*", "run.json"))
	if err != nil || len(found) != 1 {
		return f, fmt.Errorf("%d run.json under %s", len(found), runs)
	}
	f.path = filepath.Dir(found[0])
	text, err := os.ReadFile(found[0])
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(text, &f.document); err != nil {
		return f, fmt.Errorf("run.json: %w", err)
	}
	f.planned = f.document.Plan.Requests
	if f.rows, err = linesOf[row](filepath.Join(f.path, "requests.jsonl.zst")); err != nil {
		return f, err
	}
	f.samples, err = linesOf[sample](filepath.Join(f.path, "samples.jsonl.zst"))
	return f, err
}

// linesOf reads to the end or to where the file is torn.
func linesOf[T any](path string) (all []T, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in, err := zstd.NewReader(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	lines := bufio.NewReader(in)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return all, nil // what follows the last whole line is the torn end
		}
		var one T
		if err := json.Unmarshal(text, &one); err != nil {
			return all, fmt.Errorf("%s: line %d: %w", filepath.Base(path), len(all)+1, err)
		}
		all = append(all, one)
	}
}

// wrongs are what no folder may have, whatever happened.
func (f folder) wrongs() (all []string) {
	wrong := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	seen := map[int64]bool{}
	completed, failures := 0, map[string]int{}
	for _, r := range f.rows {
		switch {
		case r.Seq < 0 || r.Seq >= int64(f.planned):
			wrong("row %d is not of the plan", r.Seq)
		case seen[r.Seq]:
			wrong("row %d twice", r.Seq)
		case r.Failure != "" && !kinds.MatchString(r.Failure):
			wrong("row %d failed by %q, which is no kind", r.Seq, r.Failure)
		case r.Failure == "" && (r.Sent == nil || r.First == nil || r.Done == nil):
			wrong("row %d succeeded without its instants", r.Seq)
		}
		seen[r.Seq] = true
		if r.Failure == "" {
			completed++
		} else {
			failures[r.Failure]++
		}
	}
	d := f.document.Result
	if d == nil {
		return all
	}
	if d.Planned != f.planned || d.Planned != d.Completed+d.Failed+d.Unsent {
		wrong("planned %d, completed %d + failed %d + unsent %d", d.Planned, d.Completed, d.Failed, d.Unsent)
	}
	if d.Completed != completed || d.Completed+d.Failed != len(f.rows) {
		wrong("run.json counts %d completed and %d failed, the rows %d and %d", d.Completed, d.Failed, completed, len(f.rows)-completed)
	}
	for kind, n := range failures {
		if d.Failures[kind] != n {
			wrong("run.json counts %d of %s, the rows %d", d.Failures[kind], kind, n)
		}
	}
	return all
}

// has says whether the request's row is on disk.
func (f folder) has() map[int64]bool {
	seen := map[int64]bool{}
	for _, r := range f.rows {
		seen[r.Seq] = true
	}
	return seen
}
