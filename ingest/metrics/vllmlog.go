package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// VLLMLog reads what a vLLM server logs. Its line of averages (every 5 s in V0,
// every 10 s in V1) becomes metrics under the names that the same gauges have in
// /metrics. Its line of a step (vllmsteps.go) becomes a step.
var VLLMLog = read.Format{
	Name:  "vllm-log",
	Sees:  seesStats,
	Read:  readVLLMLog,
	Wants: `lines such as "INFO 07-25 02:41:21 [loggers.py:118] Engine 000: Avg prompt throughput: 148.8 tokens/s, ..."`,
}

// VLLMRequests reads the same log where it has a line for each request
// (--enable-log-requests): a rate per minute, because the line tells when a request
// came, to the second, and not how long it was. Where other kinds of lines are
// there, they are read as well.
var VLLMRequests = read.Format{
	Name:  "vllm-requests",
	Sees:  seesRequestLog,
	Read:  readVLLMLog,
	Kind:  "lengths",
	Wants: `lines such as "INFO 07-25 02:41:21 [logger.py:43] Received request chatcmpl-1: ..."`,
}

var (
	statsMark   = []byte("Avg prompt throughput: ")
	requestMark = []byte("] Received request ")
	startMark   = []byte("] non-default args: ") // of any log since 0.6
	logStamp    = regexp.MustCompile(`\b(?:INFO|WARNING|DEBUG|ERROR) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)[ .,]`)
)

// isLog says that a text has a line of a vLLM log with a mark in it.
func isLog(h *read.Head, mark []byte) bool {
	if h.Keys != nil || h.Element != nil {
		return false
	}
	at := bytes.Index(h.Data, mark)
	return at >= 0 && logStamp.Match(h.Data[bytes.LastIndexByte(h.Data[:at], '\n')+1:at+2])
}

// seesStats leaves a log with lines of requests to VLLMRequests.
func seesStats(h *read.Head) string {
	switch {
	case isLog(h, requestMark):
		return ""
	case isLog(h, stepMark):
		return "a vLLM server's log, with a line for each step"
	}
	if isLog(h, statsMark) {
		return "a vLLM server's log, with its lines of averages"
	}
	return read.If(isLog(h, startMark), "a vLLM server's log")
}

// seesRequestLog asks for one line for a request.
func seesRequestLog(h *read.Head) string {
	return read.If(isLog(h, requestMark), "a vLLM server's log, with a line for each request")
}

// vllmLog is one log on its way. Where Docker, containerd or kubectl wrote an instant
// before its lines, that is taken. Its own stamps have neither year nor zone: times are
// then seconds since its first line, and a month that falls by half a year begins
// another year. A year is one with a 29 February, unless the lines go from the
// 28th to the 1st. A clock that falls back by an hour, as at the end of summer
// time, goes on counting.
type vllmLog struct {
	out     *read.Rows
	begun   bool
	zeroS   int64
	years   int64
	day     [2]int // month and day of the line before
	shiftS  int64  // of later lines: a day that there was not, an hour that there was twice
	fellS   int64  // when the clock last fell back
	lastS   int64
	scrapes int32
	minutes map[int64]int64 // requests in each minute

	isFine bool      // the first line has an instant before its stamp
	first  time.Time // this instant
	lastNs int64     // since then, of the line before
	series stepSeries
	source stepSource
}

// readVLLMLog reads all kinds of lines, whichever format was recognised.
func readVLLMLog(d *read.Document, out *read.Rows) error {
	l := &vllmLog{out: out, minutes: map[int64]int64{}, series: stepSeries{}}
	isTold := false
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		isStep := bytes.Contains(line, stepMark)
		isTold = isTold || isStep || bytes.Contains(line, statsMark) || bytes.Contains(line, requestMark)
		if !isStep && bytes.HasSuffix(line, asyncMark) {
			l.source.IsAsync = true
		}
		if !isStep && l.begun && !bytes.Contains(line, statsMark) && !bytes.Contains(line, requestMark) {
			return nil, nil // not a row: a log has many other lines
		}
		stamp := logStamp.FindSubmatchIndex(line[:min(len(line), 256)])
		if stamp == nil {
			return nil, nil
		}
		atNs, err := l.at(line, stamp)
		if err != nil {
			return nil, err
		}
		switch rest := line[stamp[1]:]; {
		case bytes.Contains(rest, statsMark):
			return nil, l.stats(number, atNs, rest)
		case bytes.Contains(rest[:min(len(rest), 128)], requestMark):
			l.minutes[atNs/1e9/read.MinuteS]++
			if bytes.Contains(rest, []byte("prompt: '")) || bytes.Contains(rest, []byte(`prompt: "`)) {
				return nil, out.Text("prompt")
			}
		case isStep:
			l.steps(number, atNs, line)
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	if !isTold {
		return hint.Errorf("a vLLM server's log without a line of a step or of averages").
			Hint("start vllm serve with --enable-logging-iteration-details, or without --disable-log-stats, and measure again")
	}
	if err := l.stepsEnd(); err != nil {
		return err
	}
	return l.rates()
}

// instant is what Docker, containerd and kubectl write before a line, each with words of its own before or behind it.
var instant = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)`)

// at is when a line was written, since the first one, nanoseconds.
func (l *vllmLog) at(line []byte, stamp []int) (int64, error) {
	isFirst := !l.begun
	if isFirst || l.isFine {
		written, err := time.Parse(time.RFC3339Nano, string(instant.Find(line[:stamp[0]])))
		if isFirst && err == nil {
			l.begun, l.isFine, l.first = true, true, written.UTC().Truncate(time.Microsecond)
			l.out.About.OriginAt, l.out.About.TimeUnit = &l.first, "datetime"
		}
		if l.isFine {
			if err == nil {
				l.lastNs = max(int64(written.Sub(l.first)), 0)
			}
			l.lastS = max(l.lastS, l.lastNs/1e9)
			if l.lastNs/1e9/read.MinuteS >= read.MostLogMinutes {
				return 0, errTooLong
			}
			return l.lastNs, nil
		}
	}
	seconds, err := l.seconds(line, stamp)
	return seconds * 1e9, err
}

var errTooLong = errors.New("the log spans more than five years")

const dayS = 86_400

// seconds reads a stamp as seconds since the log's first one.
func (l *vllmLog) seconds(line []byte, stamp []int) (int64, error) {
	var of [5]int
	for i := range of {
		of[i], _ = strconv.Atoi(string(line[stamp[2+2*i]:stamp[3+2*i]]))
	}
	today := [2]int{of[0], of[1]}
	if l.day[0]-today[0] > 6 {
		l.years++
	}
	const leapYear = 2024
	if l.day == [2]int{2, 28} && today == [2]int{3, 1} {
		l.shiftS -= dayS
	}
	l.day = today
	at := (l.years*366+int64(time.Date(leapYear, time.Month(of[0]), of[1], 0, 0, 0, 0, time.UTC).YearDay()))*dayS + int64(of[2]*3600+of[3]*60+of[4])
	if !l.begun {
		l.begun, l.zeroS, l.fellS = true, at, -dayS
		l.out.About.TimeUnit = "datetime"
		l.out.About.Zone = fmt.Sprintf("the log says neither year nor zone: times are since its first line, %02d-%02d %02d:%02d:%02d", of[0], of[1], of[2], of[3], of[4])
	}
	since := at - l.zeroS + l.shiftS
	if back := l.lastS - since; back > 50*60 && back < 70*60 && l.lastS-l.fellS >= dayS {
		l.shiftS, l.fellS, since = l.shiftS+3600, l.lastS, since+3600
		l.out.Note("the clock falls back by an hour at %02d-%02d %02d:%02d:%02d, as at the end of summer time: the lines from there on are taken as later ones", of[0], of[1], of[2], of[3], of[4])
	}
	if since/read.MinuteS >= read.MostLogMinutes {
		return 0, errTooLong
	}
	since = max(since, 0) // of another process, whose first line came late
	l.lastS = max(l.lastS, since)
	return since, nil
}

var (
	logFigure = regexp.MustCompile(`([A-Z][A-Za-z ]*): ([0-9.]+)(%?)`)
	logEngine = regexp.MustCompile(`Engine (\d+): `)
)

// gauges are what the words of the line are called in /metrics. What the log writes
// as a percentage is a share of 1 there.
var gauges = map[string]string{
	"Avg prompt throughput":          "vllm:avg_prompt_throughput_toks_per_s",
	"Avg generation throughput":      "vllm:avg_generation_throughput_toks_per_s",
	"Running":                        "vllm:num_requests_running",
	"Waiting":                        "vllm:num_requests_waiting",
	"Pending":                        "vllm:num_requests_waiting",
	"Swapped":                        "vllm:num_requests_swapped",
	"GPU KV cache usage":             "vllm:gpu_cache_usage_perc",
	"CPU KV cache usage":             "vllm:cpu_cache_usage_perc",
	"Prefix cache hit rate":          "vllm:gpu_prefix_cache_hit_rate",
	"External prefix cache hit rate": "vllm:external_prefix_cache_hit_rate",
	"MM cache hit rate":              "vllm:mm_cache_hit_rate",
}

// stats makes samples of one line of averages.
func (l *vllmLog) stats(number, atNs int64, text []byte) error {
	labels := ""
	if engine := logEngine.FindSubmatch(text); engine != nil {
		index, err := strconv.Atoi(string(engine[1]))
		if err != nil {
			return l.out.Reject(number, "Engine", read.OutOfRange)
		}
		labels = fmt.Sprintf(`engine="%d"`, index)
	}
	var made []Sample
	for _, figure := range logFigure.FindAllSubmatch(text[bytes.Index(text, statsMark):], -1) {
		name, value := gauges[string(figure[1])], 0.0
		if name == "" {
			continue
		}
		if name == "vllm:gpu_cache_usage_perc" && labels != "" {
			name = "vllm:kv_cache_usage_perc" // V1's
		}
		value, err := strconv.ParseFloat(string(bytes.TrimRight(figure[2], ".")), 64)
		if err != nil {
			return l.out.Reject(number, string(figure[1]), read.NotANumber)
		}
		if len(figure[3]) > 0 {
			value /= 100
		}
		made = append(made, Sample{Scrape: l.scrapes, AtNs: new(atNs), Name: name, Labels: labels, Value: value})
	}
	for _, row := range made {
		l.out.Add(row)
	}
	l.scrapes++
	return nil
}

// rates writes the requests of each minute. The last minute ends with the log.
func (l *vllmLog) rates() error {
	if len(l.minutes) == 0 {
		return nil
	}
	l.out.Note("the log tells when requests came, to the second, and not how long they were: a rate per minute was taken in")
	return l.out.RatesOf(l.minutes, float64(l.lastS+1))
}
