package ingest

import (
	"path"
	"slices"
	"strings"
)

// BLIS's TraceV2: a CSV of requests with everything in microseconds, and a YAML
// header beside it. What was sent and timed is a result; what was only generated
// has zeros for its times, and is a trace.
var _ = register(format{
	name: "blis",
	sees: func(h *head) string {
		if !isBLIS(h) || !isTimedBLIS(h) {
			return ""
		}
		return "a BLIS TraceV2 with times, first_chunk_time_us and last_chunk_time_us"
	},
	read: readBLIS, kind: "results",
	wants: "a CSV with arrival_time_us, send_time_us, first_chunk_time_us and last_chunk_time_us (BLIS TraceV2)",
})

var _ = register(format{
	name: "blis-trace",
	sees: func(h *head) string {
		if !isBLIS(h) || isTimedBLIS(h) {
			return ""
		}
		return "a BLIS TraceV2 without times, arrival_time_us alone"
	},
	read:  readBLISTrace,
	wants: "a CSV with arrival_time_us, input_tokens and output_tokens (BLIS TraceV2)",
})

func isBLIS(h *head) bool {
	return h.columnsHave("request_id", "input_tokens", "output_tokens", "arrival_time_us", "first_chunk_time_us", "last_chunk_time_us")
}

// isTimedBLIS looks for a time that was measured among the first rows.
func isTimedBLIS(h *head) bool {
	column := slices.Index(h.columns, "last_chunk_time_us")
	rows := 0
	for line := range strings.Lines(string(h.data[:min(len(h.data), 1<<20)])) {
		if rows++; rows == 1 || rows > 1000 {
			continue
		}
		fields, reason := csvFields([]byte(strings.TrimSpace(line)))
		if reason == "" && column < len(fields) && measureOf(fields[column]).value > 0 {
			return true
		}
	}
	return false
}

// blisHeader is the YAML beside the CSV; nil where there is none.
func blisHeader(d *document) map[string]any {
	name := strings.TrimSuffix(d.base(), path.Ext(d.base()))
	for _, beside := range []string{name + ".yaml", name + ".yml", strings.TrimSuffix(name, "_data") + "_header.yaml", "trace_header.yaml", "header.yaml"} {
		text := d.beside(beside, 1<<20)
		if text == nil {
			continue
		}
		if header, err := treeOf(text); err == nil && header["trace_version"] != nil {
			return header
		}
	}
	return nil
}

func readBLIS(d *document, out *rows) error {
	out.about.timeUnit = "us"
	header := blisHeader(d)
	warmUp := numberWithin(header, "warm_up_requests").value
	model, all, failed := "", int64(0), int64(0)
	var zero measure
	err := d.sheets(out, func(line int64, s *sheet) (*reject, error) {
		sent := s.number("send_time_us")
		if !sent.is {
			return &reject{line, "send_time_us", notANumber}, nil
		}
		if s.text("error_message") != "" {
			if err := out.text("error_message"); err != nil {
				return nil, err
			}
		}
		zero = firstOf(zero, sent)
		row := blisRow(s, sent, zero)
		row.Seq = int32(all)
		if float64(all) < warmUp {
			row.IsWarmUp = new(true)
		}
		if model == "" {
			model = s.text("model")
		}
		all++
		if row.Failure != nil {
			failed++
		}
		return nil, out.add(row)
	})
	if err != nil || all == 0 {
		return err
	}
	flat := map[string]any{}
	flatten(flat, "", header)
	if header == nil {
		out.note("no header (YAML) beside it: what it was measured on is not known")
	}
	return out.add(pointRow{
		Tool: "blis", ToolVersion: shortWord(versionOf(within(header, "trace_version"))), Model: modelName(firstText(model, textWithin(header, "server", "model"))),
		Hardware: shortWord(textWithin(header, "hardware", "gpu")), Engine: shortWord(textWithin(header, "server", "type")), Load: new("open"),
		TensorParallelSize: int32Of(numberWithin(header, "server", "tensor_parallel")),
		Requests:           &all, Completed: new(all - failed), Failed: &failed, Settings: settings(flat),
	})
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// blisRow: the clock of arrivals begins at the trace's zero, that of sending is the
// wall clock's, so that a due time cannot be told. The tokens that the server
// counted go before those that were planned.
func blisRow(s *sheet, sent, zero measure) resultRequestRow {
	row := resultRequestRow{
		StartedS: new((sent.value - zero.value) / 1e6), InputTokens: s.number("input_tokens").count(), OutputTokens: s.number("output_tokens").count(),
		SessionID: shortWord(s.text("session_id")), FinishReason: shortWord(s.text("finish_reason")),
	}
	if server := s.number("server_input_tokens").count(); server != nil && *server > 0 {
		row.InputTokens = server
	}
	if row.SessionID != nil {
		row.Turn = int32Of(s.number("round_index"))
	}
	if status := s.text("status"); status != "ok" && status != "" {
		row.Failure = new("error")
		if status == "timeout" {
			row.Failure = new("timeout")
		}
		return row
	}
	first, last := s.number("first_chunk_time_us"), s.number("last_chunk_time_us")
	if first.value >= sent.value && first.value > 0 {
		row.TTFTS = new((first.value - sent.value) / 1e6)
	}
	if last.value >= sent.value && last.value > 0 {
		row.E2ES = new((last.value - sent.value) / 1e6)
	}
	return row
}

func readBLISTrace(d *document, out *rows) error {
	out.about.timeUnit = "us"
	return d.sheets(out, func(line int64, s *sheet) (*reject, error) {
		arrival, used, reason := decimal([]byte(s.text("arrival_time_us")), 3)
		if reason == "" && used != len(s.text("arrival_time_us")) || used == 0 {
			reason = notATime
		}
		if reason != "" {
			return &reject{line, "arrival_time_us", reason}, nil
		}
		row := arrivalRow{Line: line, ArrivalNs: arrival, SessionID: shortWord(s.text("session_id")), Class: shortWord(s.text("slo_class"))}
		for _, column := range []string{"input_tokens", "output_tokens"} {
			tokens := s.number(column).count()
			if tokens == nil || *tokens > maxTokens {
				return &reject{line, column, notAnInteger}, nil
			}
			if column == "input_tokens" {
				row.InputTokens = *tokens
			} else {
				row.OutputTokens = *tokens
			}
		}
		if row.SessionID != nil {
			row.Turn = int32Of(s.number("round_index"))
		}
		if err := out.add(row); err != nil {
			return nil, err
		}
		if model := modelName(s.text("model")); model != nil {
			return nil, out.add(arrivalDetailRow{Line: line, Model: model})
		}
		return nil, nil
	})
}
