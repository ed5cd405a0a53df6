package ingest

import (
	"encoding/json"
	"strings"
)

// trace-replayer writes one JSON object a request, all of whose values are texts.
// Times are milliseconds since it began. s_time_drift is how late it was: when a
// request was due is s_time less that.
var _ = register(format{
	name: "trace-replayer",
	sees: func(h *head) string {
		if !h.isLines() || !h.has("s_time", "s_time_drift", "input_length", "output_length") {
			return ""
		}
		return "JSON lines with s_time, s_time_drift, input_length and output_length"
	},
	read:  readTraceReplayer,
	kind:  "results",
	wants: "JSON lines with s_time, s_time_drift, input_length and output_length (trace-replayer)",
})

type replayerLine struct {
	Status  term     `json:"status"`
	Start   measure  `json:"s_time"`
	End     measure  `json:"e_time"`
	Drift   measure  `json:"s_time_drift"`
	Input   measure  `json:"input_length"`
	Output  measure  `json:"output_length"`
	Span    measure  `json:"span_time"`
	First   measure  `json:"first_token_time"`
	Between measure  `json:"avg_time_between_tokens"`
	Cached  measure  `json:"cached_tokens"`
	Text    presence `json:"output_text"`
}

func readTraceReplayer(d *document, out *rows) error {
	out.about.timeUnit = "ms"
	all, failed := int64(0), int64(0)
	err := d.lines(out, func(number int64, line []byte) (*reject, error) {
		var q replayerLine
		switch {
		case json.Unmarshal(line, &q) != nil:
			return &reject{number, "", notJSON}, nil
		case !q.Start.is:
			return &reject{number, "s_time", notANumber}, nil
		case bool(q.Text):
			if err := out.text("output_text"); err != nil {
				return nil, err
			}
		}
		row := resultRequestRow{
			Seq: int32(all), StartedS: q.Start.times(1e-3), InputTokens: q.Input.count(), OutputTokens: q.Output.count(), CachedTokens: q.Cached.count(),
		}
		if q.Drift.is {
			row.DueS = new((q.Start.value - q.Drift.value) * 1e-3)
		}
		all++
		if !strings.HasPrefix(string(q.Status), "2") {
			failed++
			row.Failure = new("error")
			if q.Status == "timeout" {
				row.Failure = new("timeout")
			}
			return nil, out.add(row)
		}
		row.TTFTS, row.TPOTS, row.E2ES = q.First.times(1e-3), q.Between.times(1e-3), q.Span.times(1e-3)
		if row.E2ES == nil && q.End.is {
			row.E2ES = new((q.End.value - q.Start.value) * 1e-3)
		}
		return nil, out.add(row)
	})
	if err != nil || all == 0 {
		return err
	}
	out.note("output tokens are those asked for: the file does not say how many came")
	return out.add(pointRow{Tool: "trace-replayer", Load: new("open"), Requests: &all, Completed: new(all - failed), Failed: &failed})
}
