package results

import (
	"bytes"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/lazy"
)

// AutoTune reads the result.txt of vLLM's auto_tune.sh: one line for each pair of
// --max-num-seqs and --max-num-batched-tokens that was tried, and one with the
// script's choice. e2el is the p99 of the whole latency in milliseconds; throughput
// and goodput are requests per second. The script knows only a bound on the whole
// latency, so its choice is kept as a setting of the point and never as a verdict.
var AutoTune = read.Format{
	Name: "auto-tune",
	Sees: func(h *read.Head) string {
		if !tunedLine().Match(h.Line) && !(bytes.HasPrefix(h.Line, []byte("hash:")) && tunedLine().Match(h.Data[:min(len(h.Data), 4096)])) {
			return ""
		}
		return "auto_tune's result.txt, with max_num_seqs and max_num_batched_tokens"
	},
	Read:  readAutoTune,
	Wants: "lines with max_num_seqs: and max_num_batched_tokens: (auto_tune's result.txt)",
}

var (
	tunedLine = lazy.Regexp(`(?m)^(?:best_)?max_num_seqs: *\d+, (?:max|best)_num_batched_tokens: *\d+`)
	tunedPair = lazy.Regexp(`(?:^|, )([a-z_][a-z0-9_ ]*): *([^,]*)`)
	unmet     = lazy.Regexp(`does not meet latency requirement *([0-9.eE+]+)`)
)

// maxTuned bounds the lines of one file.
const maxTuned = 1 << 16

// tuned is one pair that was tried.
type tuned struct {
	pairs map[string]string
	limit read.Number // that it did not meet, milliseconds
}

// readAutoTune holds the pairs until the line with the choice, which comes last.
func readAutoTune(d *read.Document, out *read.Rows) error {
	var found []tuned
	var hash string
	var best map[string]string
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		text := strings.TrimSpace(string(line))
		switch {
		case strings.HasPrefix(text, "hash:"):
			hash = strings.TrimSpace(text[len("hash:"):])
		case !tunedLine().MatchString(text):
			if strings.Contains(text, "max_num_seqs") {
				return &read.Reject{Reason: read.Missing}, nil
			} // else it is talk of the script
		default:
			one := tuned{pairs: map[string]string{}}
			if limit := unmet().FindStringSubmatch(text); limit != nil {
				one.limit = read.ParseNumber(limit[1])
				text = strings.TrimSpace(text[:strings.Index(text, "does not")])
			}
			for _, pair := range tunedPair().FindAllStringSubmatch(text, 32) {
				one.pairs[strings.ReplaceAll(pair[1], " ", "")] = strings.TrimSpace(pair[2])
			}
			if strings.HasPrefix(text, "best_") {
				best = one.pairs
				return nil, nil
			}
			if found = append(found, one); len(found) > maxTuned {
				return nil, hint.Errorf("more than 65,536 lines of a tuner").Hint("split it")
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	for _, one := range found {
		one.add(out, hash, best)
	}
	if best != nil {
		out.Note("the tuner's choice is kept as a setting; whether an SLO is met is judged from what was measured")
	}
	return nil
}

// add writes one pair as a point. The choice is marked on the pair that it names.
func (t *tuned) add(out *read.Rows, hash string, best map[string]string) {
	number := func(key string) read.Number { return read.ParseNumber(t.pairs[key]) }
	seqs, tokens := number("max_num_seqs"), number("max_num_batched_tokens")
	isBest := best != nil && best["best_max_num_seqs"] == t.pairs["max_num_seqs"] && best["best_num_batched_tokens"] == t.pairs["max_num_batched_tokens"]
	flat := map[string]any{"max_num_seqs": read.Finite(seqs), "max_num_batched_tokens": read.Finite(tokens), "is_tuners_choice": isBest, "vllm_commit": hash}
	if t.limit.Known {
		flat["unmet_e2el_limit_ms"] = t.limit.Value
	}
	label := "max_num_seqs=" + t.pairs["max_num_seqs"] + " max_num_batched_tokens=" + t.pairs["max_num_batched_tokens"]
	row := Point{Tool: "auto-tune", Label: read.WordOrNil(label), Engine: new("vllm"), RequestRatePerS: number("request_rate").Float(), Settings: read.Settings(flat)}
	switch rate := t.pairs["request_rate"]; {
	case rate == "inf":
		row.Load = new("at once")
	case rate != "":
		row.Load = new("open")
	}
	out.Add(row)
	addFigure(out, "e2el", "p99", "ms", firstOf(number("e2el"), number("e2e")))
	for _, name := range []string{"throughput", "goodput"} {
		addFigure(out, name, "value", "requests/s", number(name))
	}
}
