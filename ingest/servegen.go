package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"tidemark/internal/hint"
)

// ServeGen: two files for each client N of a workload, whose folder names it.
//
//	chunk-N-trace.csv      t,rate,cv,pattern,arg1,arg2   no header; windows of 600 s
//	chunk-N-dataset.json   {"0": {"input_tokens": "{39: 0.00036, ...}", "output_tokens": "{...}"}, "21600": ...}
//
// rate is requests/s, pattern the family of the gaps, its arguments shape and scale
// in seconds. The shares are a Python dictionary printed into a string.
var _ = register(format{
	name:  "servegen-rates",
	kind:  "lengths",
	sees:  seesServeGenRates,
	read:  readServeGenRates,
	wants: "CSV without a header: t,rate,cv,pattern,arg1,arg2",
})

var _ = register(format{
	name:  "servegen-lengths",
	kind:  "lengths",
	sees:  seesServeGenLengths,
	read:  readServeGenLengths,
	wants: `one JSON object of windows, {"0": {"input_tokens": "{39: 0.1, ...}", "output_tokens": "{...}"}, ...}`,
})

// A window of rates lasts so long, or as the shortest from one's begin to the next
// one's: nothing is known of what lies between two that are farther apart. Lengths
// hold until the next ones, the last for so long.
const (
	rateWindowS   = 600
	lengthWindowS = 21600
)

// maxRateWindows of a file are held until its step is known: 19 years of windows.
const maxRateWindows = 1_000_000

var chunkName = regexp.MustCompile(`^chunk-([0-9]{1,9})-(trace|dataset)\.`)

// client is the number in a file's name, and partner the file that belongs to it.
func (d *document) client(partner string) (number *string, beside string) {
	match := chunkName.FindStringSubmatch(d.base())
	if match == nil {
		return nil, ""
	}
	return &match[1], "chunk-" + match[1] + "-" + partner
}

// isAlone notes that the file that belongs to it is not there.
func (d *document) isAlone(out *rows, partner, lacks string) {
	if partner == "" || d.path == "-" || d.beside(partner, 1) != nil || d.beside(partner+".gz", 1) != nil || d.beside(partner+".zst", 1) != nil {
		return
	}
	out.note("no %s beside it: this client has no %s", partner, lacks)
}

func seesServeGenRates(h *head) string {
	before := math.Inf(-1)
	lines := 0
	for line := range bytes.Lines(h.data[:min(len(h.data), 4096)]) {
		if len(line) == 0 || line[len(line)-1] != '\n' || len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		row, reason := servegenRate(line)
		if reason != nil || row.WindowFromS <= before {
			return ""
		}
		before = row.WindowFromS
		lines++
	}
	if lines < 2 {
		return ""
	}
	return "rows of t,rate,cv,pattern,arg1,arg2"
}

// servegenRate reads one window; its requests are still a rate.
func servegenRate(line []byte) (row rateWindowRow, problem *reject) {
	names := []string{"t", "rate", "cv", "pattern", "arg1", "arg2"}
	fields := strings.Split(strings.TrimSpace(string(line)), ",")
	if len(fields) != len(names) {
		return row, &reject{reason: isMissing}
	}
	var numbers [6]float64
	for i, field := range fields {
		if names[i] == "pattern" {
			continue
		}
		value, reason := plainNumber(strings.TrimSpace(field))
		if reason != "" {
			return row, &reject{column: names[i], reason: reason}
		}
		numbers[i] = value
	}
	row.WindowFromS, row.Requests = numbers[0], numbers[1]
	switch family := strings.ToLower(strings.TrimSpace(fields[3])); family {
	case "gamma", "weibull":
		row.GapCV, row.GapFamily, row.GapShape, row.GapScaleS = &numbers[2], &family, &numbers[4], &numbers[5]
	case "":
	default:
		return row, &reject{column: "pattern", reason: notAKnownWord}
	}
	return row, nil
}

func readServeGenRates(d *document, out *rows) error {
	client, partner := d.client("dataset.json")
	out.about.timeUnit, out.about.collection = "s", d.collection()
	var windows []rateWindowRow
	err := d.lines(out, func(_ int64, line []byte) (*reject, error) {
		row, problem := servegenRate(line)
		if problem != nil {
			return problem, nil
		}
		if last := len(windows) - 1; last >= 0 && row.WindowFromS <= windows[last].WindowFromS {
			return &reject{column: "t", reason: outOfRange}, nil
		}
		if len(windows) == maxRateWindows {
			return nil, hint.Errorf("more than %d windows", maxRateWindows).Hint("take it in in parts")
		}
		windows = append(windows, row)
		return nil, nil
	})
	if err == nil {
		err = out.addRates(windows, client)
	}
	d.isAlone(out, partner, "lengths")
	return err
}

// addRates puts in windows that are requests a second as yet, in order of time.
func (r *rows) addRates(windows []rateWindowRow, client *string) error {
	step := float64(rateWindowS)
	for i := 1; i < len(windows); i++ {
		step = min(step, windows[i].WindowFromS-windows[i-1].WindowFromS)
	}
	holes := 0
	for i, row := range windows {
		if i > 0 && row.WindowFromS-windows[i-1].WindowFromS > step*(1+1e-9) {
			holes++
		}
		row.Client, row.WindowUntilS, row.Requests = client, row.WindowFromS+step, row.Requests*step
		if err := r.add(row); err != nil {
			return err
		}
	}
	if holes > 0 {
		r.note("windows are %v s long, and %d of them do not begin where the one before ends: nothing is known of the time between, and a plan sends nothing then", step, holes)
	}
	return nil
}

func seesServeGenLengths(h *head) string {
	if len(h.keys) == 0 || strings.Trim(h.keys[0], "0123456789.") != "" || h.keys[0] == "" {
		return ""
	}
	_, value, _ := bytes.Cut(h.data, []byte(":"))
	if keys := topKeys(value); !hasKeys(keys, "input_tokens", "output_tokens") {
		return ""
	}
	return "windows of token shares"
}

// window is the shares that hold from an instant on.
type window struct {
	fromS  float64
	fields map[string]json.RawMessage
}

func readServeGenLengths(d *document, out *rows) error {
	text, err := d.whole()
	if err != nil {
		return err
	}
	var document map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &document); err != nil {
		return hint.Errorf("%s", "not windows of token shares: "+jsonReject(err).reason).Hint("check where it came from")
	}
	client, partner := d.client("trace.csv")
	out.about.timeUnit, out.about.collection = "s", d.collection()
	windows, err := windowsOf(document)
	if err != nil {
		return err
	}
	other := map[string]bool{}
	for i, w := range windows {
		for name := range w.fields {
			if name != "input_tokens" && name != "output_tokens" {
				other[name] = true
			}
		}
		until := w.fromS + lengthWindowS
		if i+1 < len(windows) {
			until = windows[i+1].fromS
		} else if i > 0 {
			until = w.fromS + w.fromS - windows[i-1].fromS
		}
		if err := out.addShares(w, lengthCellRow{WindowFromS: new(w.fromS), WindowUntilS: &until, Client: client}, int64(i)+1); err != nil {
			return err
		}
	}
	if len(other) > 0 {
		out.note("%d kinds of shares were passed over: input_tokens and output_tokens alone are kept", len(other))
	}
	d.isAlone(out, partner, "rates")
	return nil
}

// windowsOf puts the windows in order of time; as text "108000" is before "21600".
func windowsOf(document map[string]map[string]json.RawMessage) ([]window, error) {
	var windows []window
	for key, fields := range document {
		from, reason := plainNumber(key)
		if reason != "" {
			return nil, fmt.Errorf("a window's begin: %s", reason)
		}
		windows = append(windows, window{from, fields})
	}
	slices.SortFunc(windows, func(a, b window) int { return int(math.Copysign(1, a.fromS-b.fromS)) })
	return windows, nil
}

// addShares puts in a window's two distributions, each on its own: nothing says which
// prompt has which answer.
func (r *rows) addShares(w window, cell lengthCellRow, number int64) error {
	for _, column := range []string{"input_tokens", "output_tokens"} {
		shares, reason := pythonShares(w.fields[column])
		if reason != "" {
			if err := r.reject(number, column, reason); err != nil {
				return err
			}
			continue
		}
		sum := 0.0
		for _, share := range shares {
			next := cell
			if next.Requests = share.share; column == "input_tokens" {
				next.InputAbove, next.InputUpTo = new(share.tokens-1), new(share.tokens)
			} else {
				next.OutputAbove, next.OutputUpTo = new(share.tokens-1), new(share.tokens)
			}
			sum += share.share
			if err := r.add(next); err != nil {
				return err
			}
		}
		if len(shares) > 0 && math.Abs(sum-1) > 1e-6 {
			r.note("shares of %s do not add up to 1 in every window", column)
		}
	}
	return nil
}

type tokenShare struct {
	tokens int64
	share  float64
}

// pythonShares reads a dictionary that Python printed, as "{39: 0.5, 41: 1e-05}",
// by its letter: nothing of it is run.
func pythonShares(raw json.RawMessage) (shares []tokenShare, reason string) {
	var text string
	if len(raw) == 0 || string(raw) == "null" {
		return nil, ""
	}
	if json.Unmarshal(raw, &text) != nil {
		return nil, notADictionary
	}
	text, isOpen := strings.CutPrefix(strings.TrimSpace(text), "{")
	text, isClosed := strings.CutSuffix(text, "}")
	if !isOpen || !isClosed {
		return nil, notADictionary
	}
	for text = strings.TrimSpace(text); text != ""; {
		var item string
		item, text, _ = strings.Cut(text, ",")
		key, value, isPair := strings.Cut(item, ":")
		if !isPair {
			return nil, notADictionary
		}
		var s tokenShare
		if problem := whole("", strings.TrimSpace(key), &s.tokens); problem != nil {
			return nil, problem.reason
		}
		if s.share, reason = plainNumber(strings.TrimSpace(value)); reason != "" {
			return nil, reason
		}
		shares = append(shares, s)
		text = strings.TrimSpace(text)
	}
	slices.SortFunc(shares, func(a, b tokenShare) int { return int(a.tokens - b.tokens) })
	return shares, ""
}
