package results

import (
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// Locust reads Locust's CSVs: stats (one row per request name, and one called
// Aggregated), stats_history (the same over time). Response times are milliseconds,
// of the whole response; Locust knows no first token. N/A is no number.
var Locust = read.Format{
	Name: "locust",
	Sees: func(h *read.Head) string {
		switch {
		case h.ColumnsHave("Type", "Name", "Request Count", "Failure Count"), h.ColumnsHave("Type", "Name", "# requests", "# failures"):
			return "a CSV of Locust's statistics, with Request Count and Failure Count"
		case h.ColumnsHave("Timestamp", "User Count", "Type", "Name", "Total Request Count"):
			return "a CSV of Locust's history, with Timestamp and User Count"
		case h.ColumnsHave("Method", "Name", "Error", "Occurrences"), h.ColumnsHave("Count", "Message", "Traceback", "Nodes"):
			return "a CSV of Locust's failures or exceptions"
		}
		return ""
	},
	Read:  readLocust,
	Wants: "a CSV with Type, Name, Request Count and Failure Count (Locust's --csv)",
}

// readLocust makes a point of each row. Files of failures hold messages alone and
// are refused.
func readLocust(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "ms"
	return d.Sheets(out, func(_ int64, s *read.Sheet) (*read.Reject, error) {
		if s.Has("Error") || s.Has("Traceback") {
			return nil, hint.Errorf("Locust's failures: messages alone, no measurement").Hint("take in the _stats.csv of the same run")
		}
		locustRow(out, s)
		return nil, nil
	})
}

// locustRow is one row of statistics. Columns have three names, by version and by file.
func locustRow(out *read.Rows, s *read.Sheet) {
	row := Point{
		Tool: "locust", Label: read.WordOrNil(s.Text("Name")), StartedAt: read.UnixInstant(s.Number("Timestamp")),
		MaxConcurrency: s.Number("User Count").Count(), Load: new("closed"),
		Requests: s.Number(s.First("Request Count", "Total Request Count", "# requests")).Count(),
		Failed:   s.Number(s.First("Failure Count", "Total Failure Count", "# failures")).Count(),
	}
	if row.Requests != nil && row.Failed != nil && *row.Failed <= *row.Requests {
		row.Completed = new(*row.Requests - *row.Failed)
	}
	row.Settings = read.Settings(map[string]any{"type": s.Text("Type"), "is_total": s.Text("Name") == "Aggregated"})
	out.Add(row)
	isEmpty := row.Requests != nil && *row.Requests == 0 // its times are zeros
	for _, part := range []struct{ column, name, statistic, unit string }{
		{s.First("Average Response Time", "Total Average Response Time", "Average response time"), "Response Time", "mean", "ms"},
		{s.First("Min Response Time", "Total Min Response Time", "Min response time"), "Response Time", "min", "ms"},
		{s.First("Max Response Time", "Total Max Response Time", "Max response time"), "Response Time", "max", "ms"},
		{s.First("Average Content Size", "Total Average Content Size"), "Content Size", "mean", "bytes"},
		{"Requests/s", "Requests/s", "value", "requests/s"},
		{"Failures/s", "Failures/s", "value", "requests/s"},
	} {
		if isEmpty && part.statistic != "value" {
			continue
		}
		addFigure(out, part.name, part.statistic, part.unit, s.Number(part.column))
	}
	locustPercentiles(out, s)
}

// locustPercentiles reads the columns named 50%, 99%, ... In the history they cover
// its last ten seconds, while its other columns cover all the time until then, so
// they have another name. 100% is the maximum.
func locustPercentiles(out *read.Rows, s *read.Sheet) {
	name := "Response Time"
	if s.Has("Total Request Count") {
		name = "Response Time of 10s"
	}
	found := false
	// Zeros below the least time of all: no request ended within the ten seconds.
	isUnknown := s.Number(s.First("Min Response Time", "Total Min Response Time", "Min response time")).Value > 0
	for _, column := range slices.Sorted(slices.Values(s.Names())) {
		digits, isPercentile := strings.CutSuffix(column, "%")
		if !isPercentile || !read.ParseNumber(digits).Known || digits == "100" {
			continue
		}
		found = found || digits == "50"
		if value := s.Number(column); value.Value > 0 || !isUnknown {
			addFigure(out, name, "p"+digits, "ms", value)
		}
	}
	if !found && s.Number(s.First("Request Count", "# requests")).Value != 0 {
		addFigure(out, "Response Time", "p50", "ms", s.Number(s.First("Median Response Time", "Total Median Response Time", "Median response time")))
	}
}

// LocustRequests reads a log of requests as a listener of Locust's request event
// writes it: the event's own words are columns (request_type, name, response_time),
// with whatever the listener adds.
var LocustRequests = read.Format{
	Name: "locust-requests",
	Sees: func(h *read.Head) string {
		return read.If(h.ColumnsHave("request_type", "name", "response_time"), "a log of Locust's requests, with request_type, name and response_time")
	},
	Read: readLocustRequests,

	TakesColumns: true,
	Wants:        "a CSV with request_type, name and response_time (ms): a log of Locust's request event",
}

// locustColumns are the names that a listener may use for what we want; --column
// names another. Times are milliseconds, except for instants and for columns that
// end in _s.
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

// locustLog is a log on its way.
type locustLog struct {
	columns map[string]string // ours -> the file's; "" for none
	zero    read.Number
	seen    outcomes
}

// readLocustRequests reads the log; a request without a response time is a reject.
func readLocustRequests(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "ms"
	var log *locustLog
	err := d.Sheets(out, func(line int64, s *read.Sheet) (problem *read.Reject, err error) {
		if log == nil {
			if log, err = newLocustLog(d, s); err != nil {
				return nil, err
			}
			out.Note("response_time is read as milliseconds, as Locust has it")
		}
		if e2e := s.Number(log.columns["e2e_s"]); !e2e.Known {
			return &read.Reject{Column: log.columns["e2e_s"], Reason: read.NotANumber}, nil
		} else if e2e.Value < 0 {
			return &read.Reject{Column: log.columns["e2e_s"], Reason: read.Negative}, nil
		}
		if s.Text(log.columns["failure"]) != "" {
			out.Text(log.columns["failure"])
		}
		return nil, log.seen.add(out, log.row(s))
	})
	if err != nil || log == nil {
		return err
	}
	return log.seen.addPoint(out, Point{Tool: "locust", Label: new("requests"), Load: new("closed")})
}

// newLocustLog settles which column is which, once the header is known.
func newLocustLog(d *read.Document, s *read.Sheet) (*locustLog, error) {
	log := &locustLog{columns: map[string]string{}}
	for ours, theirs := range locustColumns {
		log.columns[ours] = s.First(theirs...)
	}
	for ours, theirs := range d.Columns {
		if _, known := locustColumns[ours]; !known {
			return nil, hint.Misuse("no column %s of ours", ours).Hint("%s", "ours are "+strings.Join(read.SortedKeys(locustColumns), ", "))
		}
		if !s.Has(theirs) {
			return nil, hint.Misuse("no column %s in the file", theirs).Hint("%s", "its columns are "+read.ListNames(slices.Sorted(slices.Values(s.Names()))))
		}
		log.columns[ours] = theirs
	}
	return log, nil
}

// row reads one request, by the columns that were settled.
func (l *locustLog) row(s *read.Sheet) Request {
	seconds := func(ours string) *float64 {
		column := l.columns[ours]
		if strings.HasSuffix(column, "_s") {
			return s.Number(column).Float()
		}
		return s.Number(column).Times(1e-3)
	}
	row := Request{
		E2ES: seconds("e2e_s"), TTFTS: seconds("ttft_s"), TPOTS: seconds("tpot_s"),
		InputTokens: s.Number(l.columns["input_tokens"]).Count(), OutputTokens: s.Number(l.columns["output_tokens"]).Count(),
		CachedTokens: s.Number(l.columns["cached_tokens"]).Count(),
		SessionID:    read.WordOrNil(s.Text(l.columns["session_id"])), Turn: read.Int32Of(s.Number(l.columns["turn"])),
	}
	if start := l.started(s); start.Known {
		l.zero = firstOf(l.zero, start)
		row.StartedS = since(l.zero, start)
	}
	failure := s.Text(l.columns["failure"])
	success := strings.ToLower(s.Text(l.columns["is_success"]))
	if failure != "" && failure != "None" || success == "false" || success == "0" {
		row.Failure = new("error")
	}
	return row
}

// started is when a request went out: Unix seconds, or an instant with a date.
func (l *locustLog) started(s *read.Sheet) read.Number {
	text := s.Text(l.columns["started_s"])
	if at := read.ISOTime(text); at != nil {
		return read.Number{Value: float64(at.UnixNano()) / 1e9, Known: true}
	}
	return read.ParseNumber(text)
}
