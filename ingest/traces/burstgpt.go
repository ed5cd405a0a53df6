package traces

import (
	"slices"
	"strings"

	"tidemark/ingest/read"
)

// BurstGPT reads the BurstGPT trace: CSV, with seconds from 0:00 of the first day. Its
// third file has two more columns in the middle, so columns are found by name:
//
//	1, 2   Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
//	3      Timestamp,Session ID,Elapsed time,Model,Request tokens,...
//
// A request that failed at the source has no response tokens. It stays: it arrived.
var BurstGPT = read.Format{
	Name:  "burstgpt",
	Sees:  seesBurstGPT,
	Read:  readBurstGPT,
	Wants: "a CSV header with Timestamp, Request tokens and Response tokens",
}

// seesBurstGPT compares names without their capitals.
func seesBurstGPT(h *read.Head) string {
	var names []string
	for _, name := range h.Columns {
		names = append(names, strings.ToLower(name))
	}
	for _, name := range []string{"timestamp", "request tokens", "response tokens"} {
		if !slices.Contains(names, name) {
			return ""
		}
	}
	return "its header is " + strings.Join(h.Columns, ",")
}

// readBurstGPT numbers the turns of a session as they come. The elapsed time gives
// the end of an answer, and so the think time before the next turn.
func readBurstGPT(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "s"
	sessions := map[string]sessionSoFar{}
	unanswered := 0
	err := d.Sheets(out, func(number int64, s *read.Sheet) (*read.Reject, error) {
		arrival := read.Arrival{
			Line: number, ArrivalNs: s.Nanos("Timestamp"), InputTokens: s.Tokens("Request tokens"), OutputTokens: s.Tokens("Response tokens"),
			Class: out.Class(s.Text("Log Type")),
		}
		if s.Problem() != nil {
			return s.Problem(), nil
		}
		detail := read.ArrivalDetail{Model: read.WordOrNil(s.Text("Model")), IsFailed: new(arrival.OutputTokens == 0)}
		if *detail.IsFailed {
			unanswered++ // and has no time to the end of its answer
		} else {
			detail.E2ES = read.Seconds(s.Text("Elapsed time"), 1)
		}
		if session := s.Text("Session ID"); session != "" {
			before := sessions[session]
			arrival.SessionID, arrival.Turn = &session, new(before.turns)
			after := sessionSoFar{turns: before.turns + 1, endNs: -1}
			if before.turns > 0 && before.endNs >= 0 {
				detail.ThinkS = read.SinceNs(before.endNs, arrival.ArrivalNs)
			}
			if detail.E2ES != nil && *detail.E2ES < 1e9 {
				after.endNs = arrival.ArrivalNs + int64(*detail.E2ES*1e9)
			}
			sessions[session] = after
		}
		return nil, out.AddRequest(arrival, detail)
	})
	if unanswered > 0 {
		out.Note("%d requests have no answer: they failed at the source; kept", unanswered)
	}
	out.Note("seconds count from a midnight, in a zone that the file does not say")
	return err
}
