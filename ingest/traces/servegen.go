package traces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// ServeGen: two files for each client N of a workload, whose folder names it.
//
//	chunk-N-trace.csv      t,rate,cv,pattern,arg1,arg2   no header; windows of 600 s
//	chunk-N-dataset.json   {"0": {"input_tokens": "{39: 0.00036, ...}", "output_tokens": "{...}"}, "21600": ...}
//
// rate is requests/s, pattern the family of the gaps, its arguments shape and scale
// in seconds. The shares are a Python dictionary printed into a string.
var ServeGenRates = read.Format{
	Name:  "servegen-rates",
	Sees:  seesServeGenRates,
	Read:  readServeGenRates,
	Wants: "CSV without a header: t,rate,cv,pattern,arg1,arg2",
}

// ServeGenLengths reads the other file of a client: the shares of lengths.
var ServeGenLengths = read.Format{
	Name:  "servegen-lengths",
	Sees:  seesServeGenLengths,
	Read:  readServeGenLengths,
	Wants: `one JSON object of windows, {"0": {"input_tokens": "{39: 0.1, ...}", "output_tokens": "{...}"}, ...}`,
}

// A window of rates lasts 600 s, or as long as the shortest time from one window's
// start to the next: nothing is known of the time between two windows that are
// farther apart. Lengths hold until the next lengths, the last ones for six hours.
const (
	rateWindowS   = 600
	lengthWindowS = 21600
)

// maxRateWindows are held until their length is known: 19 years of windows.
const maxRateWindows = 1_000_000

// chunkName has the number of a client, and which of its two files this is.
var chunkName = regexp.MustCompile(`^chunk-([0-9]{1,9})-(trace|dataset)\.`)

// servegenClient is the number in a file's name, and the name of the file that
// belongs to it.
func servegenClient(d *read.Document, partner string) (number *string, beside string) {
	match := chunkName.FindStringSubmatch(d.Base())
	if match == nil {
		return nil, ""
	}
	return &match[1], "chunk-" + match[1] + "-" + partner
}

// noteMissingPartner notes that the file that belongs to this one is not in its folder.
func noteMissingPartner(d *read.Document, out *read.Rows, partner, lacks string) {
	if partner == "" || d.Path == "-" || d.Beside(partner, 1) != nil || d.Beside(partner+".gz", 1) != nil || d.Beside(partner+".zst", 1) != nil {
		return
	}
	out.Note("no %s next to it: this client has no %s", partner, lacks)
}

// seesServeGenRates has no header to go by: every line of the first 4 kB must be a
// window, later than the one before.
func seesServeGenRates(h *read.Head) string {
	before := math.Inf(-1)
	lines := 0
	for line := range bytes.Lines(h.Data[:min(len(h.Data), 4096)]) {
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
func servegenRate(line []byte) (row read.RateWindow, problem *read.Reject) {
	names := []string{"t", "rate", "cv", "pattern", "arg1", "arg2"}
	fields := strings.Split(strings.TrimSpace(string(line)), ",")
	if len(fields) != len(names) {
		return row, &read.Reject{Reason: read.Missing}
	}
	var numbers [6]float64
	for i, field := range fields {
		if names[i] == "pattern" {
			continue
		}
		value, reason := read.PlainNumber(strings.TrimSpace(field))
		if reason != "" {
			return row, &read.Reject{Column: names[i], Reason: reason}
		}
		numbers[i] = value
	}
	row.WindowFromS, row.Requests = numbers[0], numbers[1]
	switch family := strings.ToLower(strings.TrimSpace(fields[3])); family {
	case "gamma", "weibull":
		row.GapCV, row.GapFamily, row.GapShape, row.GapScaleS = &numbers[2], &family, &numbers[4], &numbers[5]
	case "":
	default:
		return row, &read.Reject{Column: "pattern", Reason: read.NotAKnownWord}
	}
	return row, nil
}

// readServeGenRates holds the windows until all are read: how long they last is
// seen by their distances.
func readServeGenRates(d *read.Document, out *read.Rows) error {
	client, partner := servegenClient(d, "dataset.json")
	out.About.TimeUnit, out.About.Collection = "s", d.Collection()
	var windows []read.RateWindow
	err := d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) {
		row, problem := servegenRate(line)
		if problem != nil {
			return problem, nil
		}
		if last := len(windows) - 1; last >= 0 && row.WindowFromS <= windows[last].WindowFromS {
			return &read.Reject{Column: "t", Reason: read.OutOfRange}, nil
		}
		if len(windows) == maxRateWindows {
			return nil, hint.Errorf("more than %d windows", maxRateWindows).Hint("take it in in parts")
		}
		windows = append(windows, row)
		return nil, nil
	})
	if err == nil {
		addRates(out, windows, client)
	}
	noteMissingPartner(d, out, partner, "lengths")
	return err
}

// addRates adds windows, which are requests per second so far, in order of time.
func addRates(r *read.Rows, windows []read.RateWindow, client *string) {
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
		r.Add(row)
	}
	if holes > 0 {
		r.Note("windows are %v s long, and %d of them do not begin where the one before ends: nothing is known of the time between, and a plan sends nothing then", step, holes)
	}
}

// seesServeGenLengths asks for a first key that is a number of seconds, with the
// two distributions below it.
func seesServeGenLengths(h *read.Head) string {
	if len(h.Keys) == 0 || strings.Trim(h.Keys[0], "0123456789.") != "" || h.Keys[0] == "" {
		return ""
	}
	_, value, _ := bytes.Cut(h.Data, []byte(":"))
	if keys := read.TopKeys(value); !read.HasAll(keys, "input_tokens", "output_tokens") {
		return ""
	}
	return "windows of token shares"
}

// shareWindow is the shares that hold from an instant on.
type shareWindow struct {
	fromS  float64
	fields map[string]json.RawMessage
}

// readServeGenLengths reads the shares of each window as cells of a histogram.
func readServeGenLengths(d *read.Document, out *read.Rows) error {
	text, err := d.Whole()
	if err != nil {
		return err
	}
	var document map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &document); err != nil {
		return hint.Errorf("%s", "not windows of token shares: "+read.JSONReject(err).Reason).Hint("check where it came from")
	}
	client, partner := servegenClient(d, "trace.csv")
	out.About.TimeUnit, out.About.Collection = "s", d.Collection()
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
		addShares(out, w, read.LengthCell{WindowFromS: new(w.fromS), WindowUntilS: &until, Client: client}, int64(i)+1)
	}
	if len(other) > 0 {
		out.Note("%d kinds of shares were passed over: input_tokens and output_tokens alone are kept", len(other))
	}
	noteMissingPartner(d, out, partner, "rates")
	return nil
}

// windowsOf puts the windows in order of time; as text "108000" would stand before
// "21600".
func windowsOf(document map[string]map[string]json.RawMessage) ([]shareWindow, error) {
	var windows []shareWindow
	for key, fields := range document {
		from, reason := read.PlainNumber(key)
		if reason != "" {
			return nil, fmt.Errorf("a window's start: %s", reason)
		}
		windows = append(windows, shareWindow{from, fields})
	}
	slices.SortFunc(windows, func(a, b shareWindow) int { return int(math.Copysign(1, a.fromS-b.fromS)) })
	return windows, nil
}

// addShares adds a window's two distributions separately: nothing says which prompt
// had which answer.
func addShares(r *read.Rows, w shareWindow, cell read.LengthCell, number int64) {
	for _, column := range []string{"input_tokens", "output_tokens"} {
		shares, reason := pythonShares(w.fields[column])
		if reason != "" {
			r.Reject(number, column, reason)
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
			r.Add(next)
		}
		if len(shares) > 0 && math.Abs(sum-1) > 1e-6 {
			r.Note("shares of %s do not add up to 1 in every window", column)
		}
	}
}

// tokenShare is the share of requests with exactly so many tokens.
type tokenShare struct {
	tokens int64
	share  float64
}

// pythonShares parses a dictionary that Python printed, as "{39: 0.5, 41: 1e-05}".
// Nothing of it is evaluated.
func pythonShares(raw json.RawMessage) (shares []tokenShare, reason string) {
	var text string
	if len(raw) == 0 || string(raw) == "null" {
		return nil, ""
	}
	if json.Unmarshal(raw, &text) != nil {
		return nil, read.NotADictionary
	}
	text, isOpen := strings.CutPrefix(strings.TrimSpace(text), "{")
	text, isClosed := strings.CutSuffix(text, "}")
	if !isOpen || !isClosed {
		return nil, read.NotADictionary
	}
	for text = strings.TrimSpace(text); text != ""; {
		var item string
		item, text, _ = strings.Cut(text, ",")
		key, value, isPair := strings.Cut(item, ":")
		if !isPair {
			return nil, read.NotADictionary
		}
		var s tokenShare
		if problem := read.WholeTokens("", strings.TrimSpace(key), &s.tokens); problem != nil {
			return nil, problem.Reason
		}
		if s.share, reason = read.PlainNumber(strings.TrimSpace(value)); reason != "" {
			return nil, reason
		}
		shares = append(shares, s)
		text = strings.TrimSpace(text)
	}
	slices.SortFunc(shares, func(a, b tokenShare) int { return int(a.tokens - b.tokens) })
	return shares, ""
}
