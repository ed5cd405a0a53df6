package runs

// The shards of a run become one folder, which is then taken in like that of any run. What one client says of itself is kept
// for each shard under "shards" of the merged run.json; a run is valid only if every shard is.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
	"tidemark/replay/host"
	"tidemark/replay/plan"
)

// mostApart is how far the clocks of two shards may differ.
const mostApart = 10 * time.Millisecond

// Shard is the folder of one part of a run.
type Shard struct {
	Folder string
	RunID  string
	Status string
	Part   shardRecord
	whole  map[string]any // run.json
}

// shardRecord is what replay writes of a shard into run.json.
type shardRecord struct {
	Index           int        `json:"index"`
	Count           int        `json:"count"`
	StartAt         string     `json:"start_at"`
	PlanFingerprint string     `json:"plan_fingerprint"`
	Clock           host.Clock `json:"clock"`
}

// String is what people call it.
func (s Shard) String() string { return fmt.Sprintf("shard %d of %d", s.Part.Index, s.Part.Count) }

// OpenShard is nil for a folder with a run that is whole, or that cannot be read as one.
func OpenShard(folder string) *Shard {
	document, err := readRunDocument(folder)
	if err != nil {
		return nil
	}
	var said struct {
		Shard *shardRecord `json:"shard"`
	}
	if json.Unmarshal(document.text, &said) != nil || said.Shard == nil || said.Shard.Count < 1 {
		return nil
	}
	s := &Shard{Folder: folder, RunID: document.RunID, Status: document.Status, Part: *said.Shard}
	in := json.NewDecoder(bytes.NewReader(document.text))
	in.UseNumber() // a seed has 64 bits
	if in.Decode(&s.whole) != nil {
		return nil
	}
	return s
}

// CheckShards refuses shards that are not all of one run: others are all shards that were named, to say where one went.
func CheckShards(shards, others []*Shard) error {
	slices.SortStableFunc(shards, func(a, b *Shard) int { return cmp.Compare(a.Part.Index, b.Part.Index) })
	first := shards[0]
	for i, s := range shards {
		switch {
		case s.Part.Count != first.Part.Count:
			return hint.Errorf("%s: it is %s, and %s is %s", s.Folder, s, first.Folder, first).Hint("name the folders of one run")
		case s.Part.PlanFingerprint != first.Part.PlanFingerprint:
			return hint.Errorf("%s: it has another plan than %s", s.Folder, first.Folder).Hint("give every shard the same plan file, and run them again")
		case s.Part.StartAt != first.Part.StartAt:
			return hint.Errorf("%s: it started at %s, and %s at %s", s.Folder, s.Part.StartAt, first.Folder, first.Part.StartAt).
				Hint("give every shard the same --start-at, and run them again")
		case i > 0 && s.Part.Index == shards[i-1].Part.Index:
			return hint.Errorf("%s: it is %s, as %s is", s.Folder, s, shards[i-1].Folder).Hint("name one of them")
		}
	}
	for i := range first.Part.Count {
		if i >= len(shards) || shards[i].Part.Index != i {
			return missingShard(first, i, others)
		}
	}
	return clocksApart(shards)
}

// missingShard says which shard is not there and, where a folder is that shard of another run, in what it differs.
func missingShard(first *Shard, index int, others []*Shard) error {
	why := ""
	for _, other := range others {
		if other.Part.Index != index || other.RunID == first.RunID {
			continue
		}
		what := "start, " + other.Part.StartAt
		if other.Part.PlanFingerprint != first.Part.PlanFingerprint {
			what = "plan"
		}
		why = fmt.Sprintf("; %s is that shard of another %s", other.Folder, what)
	}
	return hint.Errorf("run %s: shard %d of %d is missing%s", first.RunID, index, first.Part.Count, why).
		Hint("name all its folders together; a shard that never began has none, and the load was not the plan: run all of them again")
}

// clocksApart refuses two clocks that differ by too much, whatever of their intervals is true.
func clocksApart(shards []*Shard) error {
	for _, a := range shards {
		for _, b := range shards {
			if a.Part.Clock.KnownBy != b.Part.Clock.KnownBy || a.Part.Clock.KnownBy == host.ByNothing {
				continue
			}
			if apart := a.Part.Clock.LowS - b.Part.Clock.HighS; apart > mostApart.Seconds() {
				return hint.Errorf("%s: its clock was %.0f ms or more from that of %s, and may differ by %d", a.Folder, apart*1000, b.Folder, mostApart.Milliseconds()).
					Hint("let chrony keep the clocks, and run all shards again")
			}
		}
	}
	return nil
}

// Merge writes the run that the shards are together into a folder, which must be there and empty.
func Merge(shards []*Shard, folder string) (notes []string, err error) {
	header, err := mergePlans(shards, filepath.Join(folder, planFile))
	if err != nil {
		return nil, err
	}
	var lateness []float64
	torn, err := joinLines(shards, requestsFile, filepath.Join(folder, requestsFile), func(line []byte) { lateness = appendLateness(lateness, line) })
	if err != nil {
		return nil, err
	}
	notes = append(notes, torn...)
	// All shards looked at the same server: one's looks are enough, and counters that are summed must not come twice.
	watcher := shards[max(0, slices.IndexFunc(shards, func(s *Shard) bool { return s.Status == "done" }))]
	if _, err = joinLines([]*Shard{watcher}, samplesFile, filepath.Join(folder, samplesFile), nil); err != nil {
		return nil, err
	}
	document := mergeDocuments(shards, header, lateness)
	if why, _ := document["stop_reason"].(string); why != "" {
		notes = append(notes, why)
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, err
	}
	return notes, os.WriteFile(filepath.Join(folder, RunFile), text, 0o644)
}

// mergePlans joins the plans; together they must be the plan that was split, to the byte.
func mergePlans(shards []*Shard, path string) (header plan.Header, err error) {
	var plans []*plan.Plan
	for _, s := range shards {
		part, err := plan.Open(filepath.Join(s.Folder, planFile))
		if err != nil {
			return header, err
		}
		plans = append(plans, part)
	}
	if header, err = plan.Join(path, plans); err != nil {
		return header, err
	}
	whole, err := plan.Open(path)
	if err == nil && whole.Fingerprint() != shards[0].Part.PlanFingerprint {
		err = hint.Errorf("the plans of the shards in %s are together not the plan that was split", filepath.Dir(shards[0].Folder)).
			Hint("a %s was changed: restore it, or run all shards again", planFile)
	}
	return header, err
}

// joinLines writes the whole lines of a file of each shard into one. A file of a killed shard ends in the middle of a line, or
// is not there.
func joinLines(shards []*Shard, name, path string, look func([]byte)) (notes []string, err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, file.Close()) }()
	out, err := plan.NewLineWriter(file)
	if err != nil {
		return nil, err
	}
	for _, s := range shards {
		isTorn, err := copyLines(out, filepath.Join(s.Folder, name), look)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Folder, err)
		}
		if isTorn {
			notes = append(notes, fmt.Sprintf("%s: %s ends in the middle of a line: what is whole was taken in", s, name))
		}
	}
	return notes, out.Close()
}

func copyLines(out io.Writer, path string, look func([]byte)) (isTorn bool, err error) {
	file, err := userfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	lines, err := plan.NewLineReader(file, nil)
	if err != nil {
		return false, err
	}
	defer lines.Close()
	for {
		line, err := lines.Next()
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return true, nil
		}
		if look != nil {
			look(line)
		}
		if _, err := out.Write(append(slices.Clip(line), '\n')); err != nil {
			return false, err
		}
	}
}

// appendLateness adds how late a request was sent that was sent.
func appendLateness(all []float64, line []byte) []float64 {
	var row requestLine
	if json.Unmarshal(line, &row) != nil || row.Sent == nil || row.Due == nil {
		return all
	}
	late := *row.Sent - *row.Due
	if row.Held != nil {
		late -= *row.Held
	}
	return append(all, late)
}

// mergeDocuments is the run.json of the first shard with what is of all of them.
func mergeDocuments(shards []*Shard, header plan.Header, lateness []float64) map[string]any {
	document := maps.Clone(shards[0].whole)
	delete(document, "stop_reason")
	delete(document, "stopped_by")
	delete(document, "result")
	delete(document, "shard")
	var each []any
	ended := ""
	for i, s := range shards {
		one := map[string]any{"folder": filepath.Base(s.Folder), "status": s.Status, "clock": s.Part.Clock, "index": i}
		for _, key := range []string{"started_at", "ended_at", "client", "result", "stop_reason"} {
			if value, isThere := s.whole[key]; isThere {
				one[key] = value
			}
		}
		if at, _ := s.whole["ended_at"].(string); at > ended {
			ended = at
		}
		each = append(each, one)
	}
	document["shards"] = each
	document["plan"] = planRecord{header, shards[0].Part.PlanFingerprint}
	document["started_at"] = shards[0].Part.StartAt
	if document["status"] = mergedStatus(shards); document["status"] != "running" {
		document["ended_at"] = ended
		document["result"] = mergedResult(shards, lateness)
	} else {
		delete(document, "ended_at")
	}
	var why []string
	for _, s := range shards {
		switch reason, _ := s.whole["stop_reason"].(string); {
		case s.Status == "running":
			why = append(why, fmt.Sprintf("%s did not end: its pod was killed or evicted, or is still at it", s))
		case s.Status != "done":
			why = append(why, strings.TrimSuffix(fmt.Sprintf("%s was %s: %s", s, s.Status, reason), ": "))
		}
	}
	if len(why) > 0 {
		document["stop_reason"] = strings.Join(why, "; ")
	}
	return document
}

type planRecord struct {
	plan.Header
	Fingerprint string `json:"fingerprint"`
}

// mergedStatus is the worst of all: what one shard did not send, the run did not. Where some have ended and others have not, the run is
// aborted: it has an end, and its reason names the others. It is running where none has ended.
func mergedStatus(shards []*Shard) string {
	is := func(status string) func(*Shard) bool { return func(s *Shard) bool { return s.Status == status } }
	running := is("running")
	switch {
	case !slices.ContainsFunc(shards, func(s *Shard) bool { return !running(s) }):
		return "running"
	case slices.ContainsFunc(shards, running), slices.ContainsFunc(shards, is("aborted")):
		return "aborted"
	case slices.ContainsFunc(shards, is("interrupted")):
		return "interrupted"
	default:
		return "done"
	}
}

// counted is what a client counts while it sends.
var counted = []string{"planned", "sent", "completed", "failed", "unsent", "input_tokens_reported", "output_tokens_reported", "cached_tokens_reported"}

// mergedResult sums up the counts. Lateness is that of all requests; the certificate is that of the client that was latest.
func mergedResult(shards []*Shard, lateness []float64) map[string]any {
	slices.Sort(lateness)
	sums, failures := map[string]float64{}, map[string]float64{}
	result := map[string]any{"lateness_s": host.QuantilesOf(lateness), "failures": failures}
	reasons, limit, latest := []string{}, "", -1.0
	for _, s := range shards {
		of, _ := s.whole["result"].(map[string]any)
		for _, key := range counted {
			sums[key] += number(of[key])
		}
		kinds, _ := of["failures"].(map[string]any)
		for kind, n := range kinds {
			failures[kind] += number(n)
		}
		for _, key := range []string{"duration_s", "client_stall_s"} {
			sums[key] = math.Max(sums[key], number(of[key]))
		}
		if isValid, _ := of["is_valid"].(bool); !isValid {
			why, _ := of["invalid_reason"].(string)
			reasons = append(reasons, fmt.Sprintf("%s: %s", s, cmp.Or(why, "it has no result")))
		}
		if said, _ := of["client_limit"].(string); said != "" {
			limit = said
		}
		late, _ := of["lateness_s"].(map[string]any)
		if p99 := number(late["p99"]); p99 > latest && of["client"] != nil {
			latest, result["client"] = p99, of["client"]
		}
	}
	if slices.ContainsFunc(shards, func(s *Shard) bool { return s.whole["result"] == nil }) {
		for _, key := range counted { // not known for all: as of a run that was killed, the rows are what there is
			delete(sums, key)
		}
	}
	for key, sum := range sums {
		result[key] = sum
	}
	result["is_valid"], result["invalid_reason"] = len(reasons) == 0, strings.Join(reasons, "; ")
	if limit != "" {
		result["client_limit"] = limit
	}
	return result
}

func number(value any) float64 {
	text, _ := value.(json.Number)
	n, _ := text.Float64()
	return n
}
