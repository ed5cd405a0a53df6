package metrics

import (
	"bytes"
	"strconv"

	"tidemark/ingest/read"
)

// The lines of --enable-logging-iteration-details, one per engine step:
//
//	(EngineCore_DP1 pid=9) INFO 01-01 00:00:00 [core.py:387] Iteration(188): 0 context requests, 0 context tokens, 50 generation requests, 50 generation tokens, iteration elapsed time: 10.25 ms
//	(APIServer pid=7) INFO 01-01 00:00:00 [loggers.py:182] Engine 001: Iteration(188): 0 context requests, ..., iteration elapsed time: 10.25 ms, GPU KV cache usage: 5.1%
//
// The first kind is the engine's own (0.14 to 0.25), the second an API server's. A rank without work takes part in a step of
// the others with a dummy, whose line has zeros and ends with "(dummy)".

var (
	stepMark  = []byte("Iteration(")
	dpMark    = []byte("EngineCore_DP")
	asyncMark = []byte("] Asynchronous scheduling is enabled.")
)

// steps reads the steps of one line. It has two of them where two processes wrote into each other's lines.
func (l *vllmLog) steps(number, atNs int64, line []byte) {
	for {
		at := bytes.Index(line, stepMark)
		if at < 0 {
			return
		}
		before, rest := line[:at], line[at+len(stepMark):]
		line = rest
		if !bytes.HasSuffix(before, []byte("] ")) && !bytes.HasSuffix(before, []byte(": ")) {
			continue // a word of somebody's text
		}
		step, ok := stepOf(rest[:min(len(rest), 400)])
		if !ok {
			l.out.Reject(number, "Iteration", read.NotAStep)
			continue
		}
		rank, isByAPIServer := rankOf(before)
		step.Rank, step.AtNs = rank, atNs
		l.source.IsByAPIServer = l.source.IsByAPIServer || isByAPIServer
		l.series.saw("", rank, step.Seq)
		l.out.Add(step)
	}
}

// rankOf is the data-parallel rank that a line names before its step, and whether an API server wrote it.
func rankOf(before []byte) (rank int32, isByAPIServer bool) {
	if engine := logEngine.FindSubmatch(before[max(0, len(before)-32):]); engine != nil {
		number, _ := strconv.ParseInt(string(engine[1]), 10, 32)
		return int32(number), true
	}
	if at := bytes.LastIndex(before, dpMark); at >= 0 {
		digits := before[at+len(dpMark):]
		for i, c := range digits {
			if c < '0' || c > '9' {
				digits = digits[:i]
				break
			}
		}
		number, _ := strconv.ParseInt(string(digits), 10, 32)
		return int32(number), false
	}
	return 0, false
}

// stepOf reads what follows "Iteration(". By hand, because a server writes a hundred such lines a second.
func stepOf(text []byte) (step Step, ok bool) {
	for _, field := range []struct {
		count *int64
		until string
	}{
		{&step.Seq, "): "}, {&step.PrefillRequests, " context requests, "}, {&step.PrefillTokens, " context tokens, "},
		{&step.DecodeRequests, " generation requests, "}, {&step.DecodeTokens, " generation tokens, iteration elapsed time: "},
	} {
		number, rest, found := bytes.Cut(text, []byte(field.until))
		value, err := strconv.ParseInt(string(number), 10, 64)
		if !found || err != nil || value < 0 || value > mostOfStep {
			return step, false
		}
		*field.count, text = value, rest
	}
	number, text, found := bytes.Cut(text, []byte(" ms"))
	elapsedMs, err := strconv.ParseFloat(string(number), 64)
	if !found || err != nil || !(elapsedMs >= 0 && elapsedMs < 1e9) {
		return step, false
	}
	step.ElapsedS = new(elapsedMs / 1e3)
	step.IsDummy = bytes.HasPrefix(text, []byte(" (dummy)"))
	if rest, has := bytes.CutPrefix(text, []byte(", GPU KV cache usage: ")); has {
		number, _, found := bytes.Cut(rest, []byte("%"))
		if percent, err := strconv.ParseFloat(string(number), 64); found && err == nil && percent >= 0 && percent <= 100 {
			step.KVUsageRatio = new(percent / 100)
		}
	}
	return step, true
}

// stepsEnd says how the steps were taken down, and what is missing of them.
func (l *vllmLog) stepsEnd() error {
	if len(l.series) == 0 {
		return nil
	}
	l.source.LostSteps = l.series.lost()
	if l.out.About.OriginAt == nil {
		l.source.ZeroOfYearS = new(l.zeroS - dayS)
	}
	if lost := l.source.LostSteps; lost > 0 {
		l.out.Note("%d steps are missing between those that are there, by their numbers: lines were lost or left out", lost)
	}
	return l.out.Add(l.source)
}
