package ingest

import (
	"strings"

	"tidemark/internal/hint"
)

// Locust's CSVs: stats (one row per request name, and Aggregated), stats_history
// (the same over time), and a log of requests as a listener of its request event
// writes it. Response times are milliseconds. N/A is no number.
var _ = register(format{
	name: "locust",
	sees: func(h *head) string {
		switch {
		case h.columnsHave("Type", "Name", "Request Count", "Failure Count"), h.columnsHave("Type", "Name", "# requests", "# failures"):
			return "a CSV of Locust's statistics, with Request Count and Failure Count"
		case h.columnsHave("Timestamp", "User Count", "Type", "Name", "Total Request Count"):
			return "a CSV of Locust's history, with Timestamp and User Count"
		case h.columnsHave("Method", "Name", "Error", "Occurrences"), h.columnsHave("Count", "Message", "Traceback", "Nodes"):
			return "a CSV of Locust's failures or exceptions"
		}
		return ""
	},
	read:  readLocust,
	kind:  "results",
	wants: "a CSV with Type, Name, Request Count and Failure Count (Locust's --csv)",
})

func readLocust(d *document, out *rows) error {
	out.about.timeUnit = "ms"
	point := int32(0)
	return d.sheets(out, func(_ int64, s *sheet) (*reject, error) {
		if s.has("Error") || s.has("Traceback") {
			return nil, hint.Errorf("Locust's failures: messages alone, no measurement").Hint("take in the _stats.csv of the same run")
		}
		point++
		return nil, locustRow(out, point-1, s)
	})
}

func locustRow(out *rows, point int32, s *sheet) error {
	row := pointRow{
		Point: point, Tool: "locust", Label: shortWord(s.text("Name")), StartedAt: unixInstant(s.number("Timestamp")),
		MaxConcurrency: s.number("User Count").count(), Load: new("closed"),
		Requests: s.number(s.first("Request Count", "Total Request Count", "# requests")).count(),
		Failed:   s.number(s.first("Failure Count", "Total Failure Count", "# failures")).count(),
	}
	if row.Requests != nil && row.Failed != nil && *row.Failed <= *row.Requests {
		row.Completed = new(*row.Requests - *row.Failed)
	}
	row.Settings = settings(map[string]any{"type": s.text("Type"), "is_total": s.text("Name") == "Aggregated"})
	if err := out.add(row); err != nil {
		return err
	}
	isEmpty := row.Requests != nil && *row.Requests == 0 // its times are zeros
	for _, part := range []struct{ column, name, statistic, unit string }{
		{s.first("Average Response Time", "Total Average Response Time", "Average response time"), "Response Time", "mean", "ms"},
		{s.first("Min Response Time", "Total Min Response Time", "Min response time"), "Response Time", "min", "ms"},
		{s.first("Max Response Time", "Total Max Response Time", "Max response time"), "Response Time", "max", "ms"},
		{s.first("Average Content Size", "Total Average Content Size"), "Content Size", "mean", "bytes"},
		{"Requests/s", "Requests/s", "value", "requests/s"},
		{"Failures/s", "Failures/s", "value", "requests/s"},
	} {
		if isEmpty && part.statistic != "value" {
			continue
		}
		if err := out.figure(point, part.name, part.statistic, part.unit, s.number(part.column)); err != nil {
			return err
		}
	}
	return locustPercentiles(out, point, s)
}

// locustPercentiles: those of the history are of its last ten seconds, while its
// other columns are of all the time until then. 100% is the largest.
func locustPercentiles(out *rows, point int32, s *sheet) error {
	name := "Response Time"
	if s.has("Total Request Count") {
		name = "Response Time of 10s"
	}
	found := false
	for _, column := range sortedKeys(s.columns) {
		digits, isPercentile := strings.CutSuffix(column, "%")
		if !isPercentile || !measureOf(digits).is || digits == "100" {
			continue
		}
		found = found || digits == "50"
		if err := out.figure(point, name, "p"+digits, "ms", s.number(column)); err != nil {
			return err
		}
	}
	if found || s.number(s.first("Request Count", "# requests")).value == 0 {
		return nil
	}
	return out.figure(point, "Response Time", "p50", "ms", s.number(s.first("Median Response Time", "Total Median Response Time", "Median response time")))
}

// A log of requests has the event's own words for columns: request_type, name,
// response_time, and whatever its listener adds.
var _ = register(format{
	name: "locust-requests",
	sees: func(h *head) string {
		if !h.columnsHave("request_type", "name", "response_time") {
			return ""
		}
		return "a log of Locust's requests, with request_type, name and response_time"
	},
	read: readLocustRequests,
	kind: "results",

	takesColumns: true,
	wants:        "a CSV with request_type, name and response_time (ms): a log of Locust's request event",
})

// locustColumns are the names that a listener may give to what we want; --column
// names another. Times are milliseconds but for those that end in _s, and instants.
var locustColumns = map[string][]string{
	"started_s":     {"start_time", "timestamp", "time", "started_s"},
	"e2e_s":         {"response_time", "e2e_ms", "e2e_s"},
	"ttft_s":        {"ttft", "ttft_ms", "ttft_s", "time_to_first_token", "time_to_first_token_ms", "first_token_ms"},
	"tpot_s":        {"tpot", "tpot_ms", "tpot_s"},
	"input_tokens":  {"input_tokens", "prompt_tokens"},
	"output_tokens": {"output_tokens", "completion_tokens"},
	"cached_tokens": {"cached_tokens"},
	"session_id":    {"session_id", "conversation_id"},
	"turn":          {"turn", "turn_index", "round"},
	"failure":       {"exception", "error"},
	"is_success":    {"success", "is_success"},
}

type locustLog struct {
	columns map[string]string // ours -> the file's; "" for none
	zero    measure
	seen    int32
	failed  int64
}

func readLocustRequests(d *document, out *rows) error {
	out.about.timeUnit = "ms"
	var log *locustLog
	err := d.sheets(out, func(line int64, s *sheet) (problem *reject, err error) {
		if log == nil {
			if log, err = newLocustLog(d, s); err != nil {
				return nil, err
			}
			out.note("response_time is read as milliseconds, as Locust has it")
		}
		if e2e := s.number(log.columns["e2e_s"]); !e2e.is {
			return &reject{line, log.columns["e2e_s"], notANumber}, nil
		} else if e2e.value < 0 {
			return &reject{line, log.columns["e2e_s"], negative}, nil
		}
		if s.text(log.columns["failure"]) != "" {
			if err := out.text(log.columns["failure"]); err != nil {
				return nil, err
			}
		}
		return nil, out.add(log.row(s))
	})
	if err != nil || log == nil || log.seen == 0 {
		return err
	}
	all := int64(log.seen)
	return out.add(pointRow{Tool: "locust", Label: new("requests"), Load: new("closed"), Requests: &all, Completed: new(all - log.failed), Failed: &log.failed})
}

func newLocustLog(d *document, s *sheet) (*locustLog, error) {
	log := &locustLog{columns: map[string]string{}}
	for ours, theirs := range locustColumns {
		log.columns[ours] = s.first(theirs...)
	}
	for ours, theirs := range d.columns {
		if _, known := locustColumns[ours]; !known {
			return nil, hint.Misuse("no column %s of ours", ours).Hint("%s", "ours are "+strings.Join(sortedKeys(locustColumns), ", "))
		}
		if !s.has(theirs) {
			return nil, hint.Misuse("no column %s in the file", theirs).Hint("%s", "its columns are "+listed(sortedKeys(s.columns)))
		}
		log.columns[ours] = theirs
	}
	return log, nil
}

func (l *locustLog) row(s *sheet) resultRequestRow {
	seconds := func(ours string) *float64 {
		column := l.columns[ours]
		if strings.HasSuffix(column, "_s") {
			return s.number(column).number()
		}
		return s.number(column).times(1e-3)
	}
	row := resultRequestRow{
		Seq: l.seen, E2ES: seconds("e2e_s"), TTFTS: seconds("ttft_s"), TPOTS: seconds("tpot_s"),
		InputTokens: s.number(l.columns["input_tokens"]).count(), OutputTokens: s.number(l.columns["output_tokens"]).count(),
		CachedTokens: s.number(l.columns["cached_tokens"]).count(),
		SessionID:    shortWord(s.text(l.columns["session_id"])), Turn: int32Of(s.number(l.columns["turn"])),
	}
	l.seen++
	if start := l.started(s); start.is {
		if !l.zero.is {
			l.zero = start
		}
		row.StartedS = since(l.zero, start)
	}
	failure := s.text(l.columns["failure"])
	success := strings.ToLower(s.text(l.columns["is_success"]))
	if failure != "" && failure != "None" || success == "false" || success == "0" {
		row.Failure = new("error")
		l.failed++
	}
	return row
}

// started is when a request went out: Unix seconds, or an instant with a date.
func (l *locustLog) started(s *sheet) measure {
	text := s.text(l.columns["started_s"])
	if at := isoTime(text); at != nil {
		return measure{float64(at.UnixNano()) / 1e9, true}
	}
	return measureOf(text)
}
