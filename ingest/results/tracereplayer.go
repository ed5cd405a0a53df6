package results

import (
	"encoding/json"
	"strings"

	"tidemark/ingest/read"
)

// TraceReplayer reads what trace-replayer writes: one JSON object per request, all
// of whose values are texts. Times are milliseconds since it began. s_time_drift is
// how late a request was sent, so that it was due at s_time less the drift.
var TraceReplayer = read.Format{
	Name: "trace-replayer",
	Sees: func(h *read.Head) string {
		return read.If(h.IsLines() && h.Has("s_time", "s_time_drift", "input_length", "output_length"), "JSON lines with s_time, s_time_drift, input_length and output_length")
	},
	Read:  readTraceReplayer,
	Wants: "JSON lines with s_time, s_time_drift, input_length and output_length (trace-replayer)",
}

// replayerLine is one request. Output is what was asked for: the tool does not
// count what came.
type replayerLine struct {
	Status  read.Text     `json:"status"`
	Start   read.Number   `json:"s_time"`
	End     read.Number   `json:"e_time"`
	Drift   read.Number   `json:"s_time_drift"`
	Input   read.Number   `json:"input_length"`
	Output  read.Number   `json:"output_length"`
	Span    read.Number   `json:"span_time"`
	First   read.Number   `json:"first_token_time"`
	Between read.Number   `json:"avg_time_between_tokens"`
	Cached  read.Number   `json:"cached_tokens"`
	Text    read.Presence `json:"output_text"`
}

// readTraceReplayer reads the requests, then adds the run.
func readTraceReplayer(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "ms"
	var seen outcomes
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var q replayerLine
		switch {
		case json.Unmarshal(line, &q) != nil:
			return &read.Reject{Reason: read.NotJSON}, nil
		case !q.Start.Known:
			return &read.Reject{Column: "s_time", Reason: read.NotANumber}, nil
		case bool(q.Text):
			out.Text("output_text")
		}
		row := Request{
			StartedS: q.Start.Times(1e-3), InputTokens: q.Input.Count(), OutputTokens: q.Output.Count(), CachedTokens: q.Cached.Count(),
		}
		if q.Drift.Known {
			row.DueS = new((q.Start.Value - q.Drift.Value) * 1e-3)
		}
		if !strings.HasPrefix(string(q.Status), "2") {
			row.Failure = new("error")
			if q.Status == "timeout" {
				row.Failure = new("timeout")
			}
			return nil, seen.add(out, row)
		}
		row.TTFTS, row.TPOTS, row.E2ES = q.First.Times(1e-3), q.Between.Times(1e-3), q.Span.Times(1e-3)
		if row.E2ES == nil && q.End.Known {
			row.E2ES = new((q.End.Value - q.Start.Value) * 1e-3)
		}
		return nil, seen.add(out, row)
	})
	if err != nil || seen.all == 0 {
		return err
	}
	out.Note("output tokens are those asked for: the file does not say how many came")
	return seen.addPoint(out, Point{Tool: "trace-replayer", Load: new("open")})
}
