package ingest

import (
	"slices"
	"strings"
)

// BurstGPT: CSV, seconds from 0:00 of the first day. Its third file has two more
// columns in the middle, so columns are found by name:
//
//	1, 2   Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
//	3      Timestamp,Session ID,Elapsed time,Model,Request tokens,...
//
// A request that failed there has no response tokens. It stays: it arrived.
var _ = register(format{
	name:  "burstgpt",
	sees:  seesBurstGPT,
	read:  readBurstGPT,
	wants: "a CSV header with Timestamp, Request tokens and Response tokens",
})

func seesBurstGPT(h *head) string {
	var names []string
	for _, name := range h.columns {
		names = append(names, strings.ToLower(name))
	}
	for _, name := range []string{"timestamp", "request tokens", "response tokens"} {
		if !slices.Contains(names, name) {
			return ""
		}
	}
	return "its header is " + strings.Join(h.columns, ",")
}

// chat is a session while its rows come by.
type chat struct {
	turns int32
	endNs int64 // of the answer before
}

func readBurstGPT(d *document, out *rows) error {
	out.about.timeUnit = "s"
	table := &csvTable{}
	chats := map[string]chat{}
	unanswered := 0
	err := d.lines(out, func(number int64, line []byte) (*reject, error) {
		isHeader, problem := table.take(line)
		if isHeader || problem != nil {
			return problem, nil
		}
		arrival := arrivalRow{Line: number}
		for _, problem := range []*reject{
			table.nanos("Timestamp", &arrival.ArrivalNs),
			table.tokens("Request tokens", &arrival.InputTokens),
			table.tokens("Response tokens", &arrival.OutputTokens),
		} {
			if problem != nil {
				return problem, nil
			}
		}
		arrival.Class = out.class(table.text("Log Type"))
		detail := arrivalDetailRow{Model: orNil(word(table.text("Model"))), IsFailed: new(arrival.OutputTokens == 0)}
		if *detail.IsFailed {
			unanswered++
		}
		// What was not answered has no time to the end of its answer.
		if detail.E2ES = seconds(table.text("Elapsed time"), 1); *detail.IsFailed {
			detail.E2ES = nil
		}
		if session := table.text("Session ID"); session != "" {
			before := chats[session]
			arrival.SessionID, arrival.Turn = &session, new(before.turns)
			after := chat{turns: before.turns + 1, endNs: -1}
			if before.turns > 0 && before.endNs >= 0 {
				detail.ThinkS = sinceNs(before.endNs, arrival.ArrivalNs)
			}
			if detail.E2ES != nil && *detail.E2ES < 1e9 {
				after.endNs = arrival.ArrivalNs + int64(*detail.E2ES*1e9)
			}
			chats[session] = after
		}
		return nil, out.addRequest(arrival, detail)
	})
	if unanswered > 0 {
		out.note("%d requests have no answer: they failed at the source; kept", unanswered)
	}
	out.note("seconds count from a midnight, in a zone that the file does not say")
	return err
}
