package results

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"tidemark/ingest/read"
)

// BLIS reads BLIS's TraceV2: a CSV of requests with every time in microseconds, and
// a YAML header in a file next to it. A table that was sent and timed is a result.
var BLIS = read.Format{
	Name: "blis",
	Sees: func(h *read.Head) string {
		return read.If(isBLIS(h) && isTimedBLIS(h), "a BLIS TraceV2 with times, first_chunk_time_us and last_chunk_time_us")
	},
	Read:  readBLIS,
	Wants: "a CSV with arrival_time_us, send_time_us, first_chunk_time_us and last_chunk_time_us (BLIS TraceV2)",
}

// BLISTrace is the same table where it was only generated: all its times but the
// arrivals are zero. It is a trace.
var BLISTrace = read.Format{
	Name: "blis-trace",
	Sees: func(h *read.Head) string {
		return read.If(isBLIS(h) && !isTimedBLIS(h), "a BLIS TraceV2 without times, arrival_time_us alone")
	},
	Read:  readBLISTrace,
	Wants: "a CSV with arrival_time_us, input_tokens and output_tokens (BLIS TraceV2)",
	Kind:  "arrivals",
}

// isBLIS says that the columns are those of a TraceV2.
func isBLIS(h *read.Head) bool {
	return h.ColumnsHave("request_id", "input_tokens", "output_tokens", "arrival_time_us", "first_chunk_time_us", "last_chunk_time_us")
}

// isTimedBLIS looks for a measured time among the first thousand rows; the first
// requests may have failed.
func isTimedBLIS(h *read.Head) bool {
	column := slices.Index(h.Columns, "last_chunk_time_us")
	rows := 0
	for line := range strings.Lines(string(h.Data[:min(len(h.Data), 1<<20)])) {
		if rows++; rows == 1 || rows > 1000 {
			continue
		}
		fields, reason := read.CSVFields([]byte(strings.TrimSpace(line)))
		if reason == "" && column < len(fields) && read.ParseNumber(fields[column]).Value > 0 {
			return true
		}
	}
	return false
}

// blisHeader is the YAML next to the CSV; nil where there is none. Its name differs
// between versions.
func blisHeader(d *read.Document) read.Object {
	name := strings.TrimSuffix(d.Base(), path.Ext(d.Base()))
	for _, beside := range []string{name + ".yaml", name + ".yml", strings.TrimSuffix(name, "_data") + "_header.yaml", "trace_header.yaml", "header.yaml"} {
		text := d.Beside(beside, 1<<20)
		if text == nil {
			continue
		}
		if header, err := read.ParseTree(text); err == nil && header["trace_version"] != nil {
			return header
		}
	}
	return nil
}

// readBLIS reads the requests, then adds the run with what the header says.
func readBLIS(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "us"
	header := blisHeader(d)
	warmUp := header.Number("warm_up_requests").Value
	model := ""
	var zero read.Number
	var seen outcomes
	err := d.Sheets(out, func(line int64, s *read.Sheet) (*read.Reject, error) {
		sent := s.Number("send_time_us")
		if !sent.Known {
			return &read.Reject{Column: "send_time_us", Reason: read.NotANumber}, nil
		}
		if s.Text("error_message") != "" {
			out.Text("error_message")
		}
		zero = firstOf(zero, sent)
		row := blisRow(s, sent, zero)
		if float64(seen.all) < warmUp {
			row.IsWarmUp = new(true)
		}
		if model == "" {
			model = s.Text("model")
		}
		return nil, seen.add(out, row)
	})
	if err != nil {
		return err
	}
	flat := map[string]any{}
	read.Flatten(flat, "", header)
	if header == nil && seen.all > 0 {
		out.Note("no header (YAML) next to it: the hardware is not known")
	}
	return seen.addPoint(out, Point{
		Tool: "blis", ToolVersion: read.WordOrNil(header.Version("trace_version")), Model: read.ModelName(cmp.Or(model, header.Text("server", "model"))),
		Hardware: header.Word("hardware", "gpu"), Engine: header.Word("server", "type"), Load: new("open"),
		TensorParallelSize: header.Int32("server", "tensor_parallel"), Settings: read.Settings(flat),
	})
}

// blisRow is one request. Arrivals count from the trace's zero and sending from the
// wall clock's, so it cannot be told when a request was due. The tokens that the
// server counted go before those that were planned.
func blisRow(s *read.Sheet, sent, zero read.Number) Request {
	row := Request{
		StartedS: new((sent.Value - zero.Value) / 1e6), InputTokens: s.Number("input_tokens").Count(), OutputTokens: s.Number("output_tokens").Count(),
		SessionID: read.WordOrNil(s.Text("session_id")), FinishReason: read.WordOrNil(s.Text("finish_reason")),
	}
	if server := s.Number("server_input_tokens").Count(); server != nil && *server > 0 {
		row.InputTokens = server
	}
	if row.SessionID != nil {
		row.Turn = read.Int32Of(s.Number("round_index"))
	}
	if status := s.Text("status"); status != "ok" && status != "" {
		row.Failure = new("error")
		if status == "timeout" {
			row.Failure = new("timeout")
		}
		return row
	}
	first, last := s.Number("first_chunk_time_us"), s.Number("last_chunk_time_us")
	if first.Value >= sent.Value && first.Value > 0 {
		row.TTFTS = new((first.Value - sent.Value) / 1e6)
	}
	if last.Value >= sent.Value && last.Value > 0 {
		row.E2ES = new((last.Value - sent.Value) / 1e6)
	}
	return row
}

// readBLISTrace reads the same table as a trace.
func readBLISTrace(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "us"
	return d.Sheets(out, func(line int64, s *read.Sheet) (*read.Reject, error) {
		arrival, used, reason := read.Decimal([]byte(s.Text("arrival_time_us")), 3)
		if reason == "" && used != len(s.Text("arrival_time_us")) || used == 0 {
			reason = read.NotATime
		}
		if reason != "" {
			return &read.Reject{Column: "arrival_time_us", Reason: reason}, nil
		}
		row := read.Arrival{Line: line, ArrivalNs: arrival, SessionID: read.WordOrNil(s.Text("session_id")), Class: read.WordOrNil(s.Text("slo_class"))}
		for _, column := range []string{"input_tokens", "output_tokens"} {
			tokens := s.Number(column).Count()
			if tokens == nil || *tokens > read.MaxTokens {
				return &read.Reject{Column: column, Reason: read.NotAnInteger}, nil
			}
			if column == "input_tokens" {
				row.InputTokens = *tokens
			} else {
				row.OutputTokens = *tokens
			}
		}
		if row.SessionID != nil {
			row.Turn = read.Int32Of(s.Number("round_index"))
		}
		return nil, out.AddRequest(row, read.ArrivalDetail{Model: read.ModelName(s.Text("model"))})
	})
}
