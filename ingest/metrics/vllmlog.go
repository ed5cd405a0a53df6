package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"tidemark/ingest/read"
)

// VLLMLog reads what a vLLM server logs. Its line of averages (every 5 s in V0,
// every 10 s in V1) becomes metrics under the names that the same gauges have in
// /metrics.
var VLLMLog = read.Format{
	Name:  "vllm-log",
	Sees:  seesStats,
	Read:  readVLLMLog,
	Kind:  "metrics",
	Wants: `lines such as "INFO 07-25 02:41:21 [loggers.py:118] Engine 000: Avg prompt throughput: 148.8 tokens/s, ..."`,
}

// VLLMRequests reads the same log where it has a line for each request
// (--enable-log-requests): a rate per minute, because the line tells when a request
// came, to the second, and not how long it was. Where both kinds of lines are
// there, both are read.
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

// seesStats leaves a log with both kinds of lines to VLLMRequests.
func seesStats(h *read.Head) string {
	return read.If(isLog(h, statsMark) && !isLog(h, requestMark), "a vLLM server's log, with its lines of averages")
}

// seesRequestLog asks for one line for a request.
func seesRequestLog(h *read.Head) string {
	return read.If(isLog(h, requestMark), "a vLLM server's log, with a line for each request")
}

// vllmLog is one log on its way. Its stamps have neither year nor zone: times are
// seconds since its first line, and a month that falls by half a year begins
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
}

// readVLLMLog reads both kinds of lines, whichever format was recognised.
func readVLLMLog(d *read.Document, out *read.Rows) error {
	l := &vllmLog{out: out, minutes: map[int64]int64{}}
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		mayBeStats := bytes.Contains(line, statsMark)
		if !mayBeStats && l.begun && !bytes.Contains(line, requestMark) {
			return nil, nil // not a row: a log has many other lines
		}
		stamp := logStamp.FindSubmatchIndex(line[:min(len(line), 256)])
		if stamp == nil {
			return nil, nil
		}
		at, err := l.seconds(line, stamp)
		if err != nil {
			return nil, err
		}
		switch rest := line[stamp[1]:]; {
		case bytes.Contains(rest, statsMark):
			return nil, l.stats(number, at, rest)
		case bytes.Contains(rest[:min(len(rest), 128)], requestMark):
			l.minutes[at/read.MinuteS]++
			if bytes.Contains(rest, []byte("prompt: '")) || bytes.Contains(rest, []byte(`prompt: "`)) {
				return nil, out.Text("prompt")
			}
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	return l.rates()
}

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
	const dayS, leapYear = 86_400, 2024
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
		return 0, errors.New("the log spans more than five years")
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
func (l *vllmLog) stats(number, at int64, text []byte) error {
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
		made = append(made, Sample{Scrape: l.scrapes, AtNs: new(at * 1e9), Name: name, Labels: labels, Value: value})
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
