//go:build duckdb_arrow

package privacy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
)

// Options say what leaves and how much of it. Default has the usual values.
type Options struct {
	Form            string // trace or histogram
	K               int64
	Tick            time.Duration // 1s, 10s or 60s
	KeepsWeekday    bool
	UserCap         float64 // share of the rows that one user may have
	AnswersAtMiddle bool
	Epsilon, Delta  float64 // noise on the counts of a histogram; 0 is none
	Key             Key
	IsKeyGiven      bool
	Seed            uint64
	EvenSo          bool // write even what fails a rule
	Force           bool // overwrite existing files
	Version         string
}

// Default is what the rules ask for.
func Default() Options {
	return Options{Form: "trace", K: 10, Tick: time.Second, UserCap: 0.01, Seed: 1}
}

// Result describes a finished export. Loss is exact, and so is Dropped even
// where noise was added: both are for the owner of the trace only. The manifest
// tells less.
type Result struct {
	Manifest Manifest
	Rows     int64
	Read     int64
	Dropped  Dropped
	Loss     Loss
	Notes    []string // what a reader of the export must know
	Passed   bool
	Written  []string // files, the manifest the last
}

func (o Options) check(output string) error {
	name := strings.TrimSuffix(strings.TrimSuffix(output, ".zst"), ".gz")
	switch {
	case o.Form != "trace" && o.Form != "histogram":
		return hint.Misuse("privacy: --as %s: no such form", o.Form).Hint("--as trace or --as histogram")
	case o.Form == "trace" && !strings.HasSuffix(name, ".jsonl"):
		return hint.Misuse("privacy: --output %s: a trace is JSON lines", output).
			Hint("name it FILE.jsonl, FILE.jsonl.zst or FILE.jsonl.gz")
	case o.Form == "histogram" && (!strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".rates.csv")):
		return hint.Misuse("privacy: --output %s: a histogram is a CSV", output).Hint("name it FILE.csv, FILE.csv.zst or FILE.csv.gz")
	case o.K < 2:
		return hint.Misuse("privacy: --k must be at least 2").Hint("10 is usual")
	case o.Tick != time.Second && o.Tick != 10*time.Second && o.Tick != time.Minute:
		return hint.Misuse("privacy: --time %s: not one of the three", o.Tick).Hint("--time 1s, 10s or 60s")
	case !(o.UserCap > 0 && o.UserCap <= 1):
		return hint.Misuse("privacy: --user-cap must be above 0 and at most 1").Hint("0.01 is usual, 1 is no cap")
	case o.Epsilon < 0 || math.IsNaN(o.Epsilon) || math.IsInf(o.Epsilon, 0):
		return hint.Misuse("privacy: --epsilon must be above 0").Hint("1 is usual")
	case o.Epsilon > 0 && o.Form == "trace":
		return hint.Misuse("privacy: --epsilon is for the counts of a histogram; a trace has none").Hint("add --as histogram")
	case o.Delta != 0 && (o.Epsilon == 0 || !(o.Delta > 0 && o.Delta < 1)):
		return hint.Misuse("privacy: --delta goes with --epsilon and lies between 0 and 1").Hint("as in --epsilon 1 --delta 1e-6")
	}
	return nil
}

// Export writes a source in a form that may leave, with its manifest next to
// it. It reads back what it wrote and checks it against every rule. If a rule
// fails, nothing is left on disk unless EvenSo is set.
func Export(ctx context.Context, w *warehouse.Warehouse, name, output string, o Options) (*Result, error) {
	if err := o.check(output); err != nil {
		return nil, err
	}
	if err := isTrace(ctx, w, name); err != nil {
		return nil, err
	}
	t, err := read(ctx, w, name)
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", name, err)
	}
	if int64(len(t.Rows)) < o.K {
		return nil, hint.Errorf("source %s: %d requests, fewer than k = %d: nobody can hide among so few", name, len(t.Rows), o.K).
			Hint("take more of it in, or ask for less: --k N")
	}
	if o.KeepsWeekday && !t.IsDated {
		return nil, hint.Misuse("source %s: its times are relative: there is no weekday to keep", name).Hint("leave --keep-weekday out")
	}
	e := &export{Options: o, trace: t, output: output}
	if t.Sources > 1 && !t.IsDated {
		e.result.Notes = append(e.result.Notes, "sessions of several files without a common clock: each starts at its own zero, so that times between them mean nothing")
	}
	if err := e.mayWrite(); err != nil {
		return nil, err
	}
	if err := e.prepare(); err != nil {
		return nil, fmt.Errorf("source %s: %w", name, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return e.write()
}

// export is one trace on its way out.
type export struct {
	Options
	trace   *Trace
	output  string
	zero    string
	cells   []Cell
	windows []Rate
	limit   int64 // rows of one user at most
	result  Result
}

// prepare changes the trace, step by step, into what may leave. The order
// matters: the cap on users comes first, because every later count of "k
// requests" would be worth little if one user had made them all; lengths are
// cut per class after rare classes have merged; pseudonyms come last, because
// the steps before need to know who is who.
func (e *export) prepare() (err error) {
	t, r := e.trace, &e.result
	r.Read = int64(len(t.Rows))
	inputs, outputs := sampleOf(t.Rows, input), sampleOf(t.Rows, output)
	r.Loss.ReusedBefore = reused(t.Rows)
	if e.limit, r.Dropped.RowsOfHeavyUsers, err = t.capUsers(e.Key, e.UserCap); err != nil {
		return err
	}
	if int64(len(t.Rows)) < e.K {
		return hint.Errorf("only %d requests stay under a cap of %g, fewer than k = %d", len(t.Rows), e.UserCap, e.K).
			Hint("say a larger one: --user-cap")
	}
	r.Dropped.RareClasses, r.Dropped.RareTenants, r.Dropped.UnfitClasses = t.mergeRareNames(e.K)
	if r.Dropped.UnfitClasses > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%s not words but texts, addresses or keys; their requests are in the class %s", show.Things(r.Dropped.UnfitClasses, "class was", "classes were"), other))
	}
	r.Dropped.ToppedInputs, r.Dropped.ToppedOutputs = t.roundLengths(e.K, e.AnswersAtMiddle && e.Form == "trace")

	before := minutes(t.Rows)
	r.Loss.DispersionBefore = dispersion(t.Rows, 10*second)
	t.spread(e.Key, e.Seed, int64(e.Tick))
	r.Loss.ThinkMeanBefore, r.Loss.ThinkMeanAfter = t.roundThinks(int64(e.Tick), e.K)
	r.Loss.DispersionAfter = dispersion(t.Rows, 10*second)
	moved := changed(before, minutes(t.Rows))
	r.Loss.ChangedMinutes = &moved
	if e.KeepsWeekday {
		e.zero = time.Unix(0, floorTo(t.Rows[0].At, hour)).UTC().Format("Monday 15:04")
	}
	t.shift(e.Key, e.Seed, e.KeepsWeekday && e.Form == "trace", map[string]int64{"trace": minute, "histogram": hour}[e.Form])
	t.pseudonymize(e.Key)
	r.Loss.ReusedAfter = reused(t.Rows)
	r.Rows = int64(len(t.Rows))

	var after [2]interface {
		distribution
		mean() float64
	}
	after[0], after[1] = sampleOf(t.Rows, input), sampleOf(t.Rows, output)
	if e.Form == "histogram" {
		r.Loss.ReusedAfter = nil // a histogram has no prompts that share anything
		if err := e.fill(); err != nil {
			return err
		}
		after[0], after[1] = spreadCells(e.cells, inputSide), spreadCells(e.cells, outputSide)
	}
	e.noteUselessness()
	r.Loss.InputKS, r.Loss.OutputKS = distance(inputs, after[0]), distance(outputs, after[1])
	r.Loss.InputShift = shifts(inputs, after[0], inputs.mean(), after[0].mean())
	r.Loss.OutputShift = shifts(outputs, after[1], outputs.mean(), after[1].mean())
	return nil
}

// noteUselessness warns where so little is left that nobody can use it.
func (e *export) noteUselessness() {
	rows := e.trace.Rows
	isOneLength := !slices.ContainsFunc(rows, func(r Row) bool { return r.Input != rows[0].Input || r.Output != rows[0].Output })
	n := show.Things(len(rows), "request", "requests")
	switch {
	case e.Form == "histogram" && len(e.cells) == 1:
		e.result.Notes = append(e.result.Notes, fmt.Sprintf("useless: %s with k = %d make one cell, which says how many there were and little else; take more in, or ask for a smaller --k", n, e.K))
	case e.Form == "trace" && isOneLength && int64(len(rows)) < 2*e.K:
		e.result.Notes = append(e.result.Notes, fmt.Sprintf("useless: with k = %d, %s are all cut to one length; take more in, or ask for a smaller --k", e.K, n))
	}
}

// fill counts the cells and adds noise where it was asked for. Half of epsilon
// is spent on the lengths and half on the rates, because the privacy losses of
// two tables about the same users add up (sequential composition). Cells are
// made larger from the start, so that noise seldom pushes one below what may be
// shown.
func (e *export) fill() error {
	k, enough := e.K, int64(0)
	if e.Epsilon > 0 {
		const seldom = 3 // times the scale of the noise: exceeded by one cell in forty
		enough = max(k, least(e.Epsilon/2, e.Delta, e.limit))
		k = enough + int64(math.Ceil(seldom*float64(e.limit)/(e.Epsilon/2)))
	}
	if int64(len(e.trace.Rows)) < k {
		return hint.Errorf("%d requests; noise for a user of up to %d needs cells of %d", len(e.trace.Rows), e.limit, k).
			Hint("say a larger --epsilon or a smaller --user-cap")
	}
	e.cells, e.result.Dropped.MovedUp = histogram(e.trace, k)
	e.windows = rates(e.trace, k, minute)
	if e.Epsilon > 0 {
		e.addNoise(enough)
	}
	if len(e.cells) == 0 {
		return hint.Errorf("nothing is left under noise for a user of up to %d requests", e.limit).
			Hint("say a larger --epsilon or a smaller --user-cap")
	}
	return nil
}

// addNoise drops cells that fall below enough. A rate below it becomes zero
// instead: a missing window would say that there had been one.
func (e *export) addNoise(enough int64) {
	lengths, times := e.Key.source("noise of lengths", e.Seed), e.Key.source("noise of rates", e.Seed)
	for i := range e.cells {
		e.cells[i].Requests += noise(lengths, e.Epsilon/2, e.limit)
	}
	for i := range e.windows {
		e.windows[i].Requests += noise(times, e.Epsilon/2, e.limit)
		if e.windows[i].Requests < enough {
			e.windows[i].Requests = 0
		}
	}
	e.cells = slices.DeleteFunc(e.cells, func(c Cell) bool { return c.Requests < enough })
}

// manifest describes the export for the reader, and for whoever has to agree to
// it.
func (e *export) manifest() *Manifest {
	m := &e.result.Manifest
	key := "random, shown once, stored nowhere"
	if e.IsKeyGiven {
		key = "given by the user, not stored; exports with the same key can be linked"
	}
	*m = Manifest{
		Schema: manifestSchema, Version: e.Version, Form: e.Form, LeftOut: leftOut, Zero: e.zero, Rows: int64(len(e.cells)),
		Parameters: Parameters{
			K: e.K, TickS: e.Tick.Seconds(), KeepsWeekday: e.KeepsWeekday, UserCap: e.UserCap, UserRows: e.limit,
			LengthStep: fmt.Sprintf("%d tokens or 1/%d, the wider; rounded down", rungTokens, rungShare), AnswersAtMiddle: e.AnswersAtMiddle, TopShare: topShare,
			Ids: "HMAC-SHA-256, 64 bits; blocks renumbered in the order of their hashes", Key: key,
			Seed: e.Seed, Epsilon: e.Epsilon, Delta: e.Delta,
		},
		Columns: lengthColumns, Classes: e.classes(), Notes: e.result.Notes,
	}
	if e.Form == "trace" {
		m.Columns, m.Rows = traceColumns, e.result.Rows
	} else {
		m.LeftOut = append(slices.Clone(leftOut), "session_id", "turn", "parent_session_id", "parent_turn", "think_s", "is_failed", "blocks")
	}
	if e.Epsilon == 0 {
		m.Dropped, m.Loss = &e.result.Dropped, new(e.published())
		return m
	}
	m.Parameters.EpsilonCovers = fmt.Sprintf("the counts of both files, half of it each, for a user of up to %d requests; "+
		"not which cells there are, nor the classes: rule 3 made them of the counts before the noise", e.limit)
	return m
}

// classes are the class names that the export shows: whoever must agree to it
// should read them.
func (e *export) classes() (words []string) {
	used := map[int32]bool{}
	for _, row := range e.trace.Rows {
		used[row.Class] = true
	}
	for i, class := range e.trace.Classes {
		if used[int32(i)] && class != "" {
			words = append(words, class)
		}
	}
	return words
}

// mayWrite refuses to overwrite existing files.
func (e *export) mayWrite() error {
	names := []string{e.output, e.output + manifestEnding}
	if e.Form == "histogram" {
		names = append(names, ratesName(e.output))
	}
	for _, name := range names {
		if _, err := os.Lstat(name); err == nil && !e.Force {
			return hint.Errorf("privacy export: %s is there already", name).Hint("name another, or say --force")
		}
	}
	return nil
}

// write makes the files in a hidden folder, checks them against the rules, and
// only then gives them their names.
func (e *export) write() (*Result, error) {
	type part struct {
		name string
		fill func(*bufio.Writer) error
	}
	parts := []part{{e.output, func(w *bufio.Writer) error { return writeTrace(w, e.trace) }}}
	if e.Form == "histogram" {
		parts = []part{
			{e.output, func(w *bufio.Writer) error { return writeCells(w, e.trace, e.cells) }},
			{ratesName(e.output), func(w *bufio.Writer) error { return writeRates(w, e.trace, e.windows) }},
		}
	}
	m := e.manifest()
	folder, err := os.MkdirTemp(filepath.Dir(e.output), ".privacy-")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.output, errors.Unwrap(err))
	}
	defer os.RemoveAll(folder)
	inside := func(name string) string { return filepath.Join(folder, filepath.Base(name)) }
	for _, p := range parts {
		if err := create(inside(p.name), p.name, p.fill); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		sum, size, err := userfile.Sum(inside(p.name))
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, File{filepath.Base(p.name), sum, size})
		e.result.Written = append(e.result.Written, p.name)
	}
	if err := e.holdToRules(m, inside(e.output)); err != nil {
		return nil, err
	}
	if !e.EvenSo && !e.result.Passed {
		e.result.Written = nil
		return &e.result, nil
	}
	manifest := e.output + manifestEnding
	if err := os.WriteFile(inside(manifest), m.text(), 0o600); err != nil {
		return nil, err
	}
	e.result.Written = append(e.result.Written, manifest)
	// The manifest first: a check would refuse a file without one.
	for _, name := range slices.Backward(e.result.Written) {
		if err := os.Rename(inside(name), name); err != nil {
			return nil, err
		}
	}
	return &e.result, nil
}

// holdToRules reads back what was written, not what was meant to be written.
func (e *export) holdToRules(m *Manifest, path string) error {
	subject, err := readFile(path)
	if err != nil {
		return err
	}
	subject.manifest = m
	m.Rules = subject.verdicts(Terms{K: e.K, UserCap: e.UserCap})
	e.result.Passed = Passed(m.Rules)
	return nil
}
