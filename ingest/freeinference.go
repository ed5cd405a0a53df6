package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The freeinference agentic trace: JSON lines, a session each, whose requests
// have Unix milliseconds and the provider's token counts. Who the user was is
// not kept.
var _ = register(format{
	name:  "freeinference",
	sees:  seesFreeInference,
	read:  func(d *document, out *rows) error { return readFreeInference(d.reader(), out) },
	wants: `JSON lines with "session_id", "start_ms" and "requests", each with "start_ms" and "provider_tokens"`,
})

func seesFreeInference(h *head) string {
	if !h.has("session_id", "start_ms", "requests") {
		return ""
	}
	return "sessions with start_ms and requests"
}

type freeSession struct {
	ID       string `json:"session_id"`
	Harness  string `json:"harness"`
	Requests []struct {
		StartMs json.RawMessage `json:"start_ms"`
		EndMs   json.RawMessage `json:"end_ms"`
		TTFTMs  json.RawMessage `json:"ttft_ms"`
		Model   string          `json:"model"`
		Tokens  struct {
			Prompt     json.RawMessage `json:"prompt"`
			Completion json.RawMessage `json:"completion"`
		} `json:"provider_tokens"`
	} `json:"requests"`
}

// readFreeInference counts requests, not lines: raw.arrivals.line is a request's
// place in the file. A session may be longer than the lines of other formats.
func readFreeInference(from io.Reader, out *rows) error {
	t := newRequestTable(out)
	t.is(meaning{part: arrivesAt, unit: inMillis}, "start_ms")
	t.is(meaning{part: endsAt, unit: inMillis}, "end_ms")
	t.is(meaning{part: ttftFor, unit: inMillis}, "ttft_ms")
	t.is(meaning{part: thinksFor, unit: inMillis}, "start_ms")
	t.is(meaning{part: inputLength}, "provider_tokens.prompt")
	t.is(meaning{part: outputLength}, "provider_tokens.completion")
	source := capped(from, elementBytes)
	decoder := json.NewDecoder(source)
	place := int64(0)
	for number := 1; ; number++ {
		source.next()
		var session freeSession
		err := decoder.Decode(&session)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("session %d: %w", number, withoutText(err))
		}
		if err := t.freeSession(&session, &place); err != nil {
			return err
		}
	}
	t.end()
	return nil
}

func (t *requestTable) freeSession(session *freeSession, place *int64) error {
	ended := int64(-1) // the turn before, milliseconds
	for turn, from := range session.Requests {
		var r request
		r[arrivesAt], r[endsAt], r[ttftFor] = unquoted(from.StartMs), unquoted(from.EndMs), unquoted(from.TTFTMs)
		r[inputLength], r[outputLength] = unquoted(from.Tokens.Prompt), unquoted(from.Tokens.Completion)
		r[modelIn], r[classIn] = []byte(from.Model), []byte(session.Harness)
		r[sessionIn], r[turnIn] = []byte(session.ID), []byte(strconv.Itoa(turn))
		if began, err := strconv.ParseInt(string(r[arrivesAt]), 10, 64); err == nil && ended >= 0 && began >= ended {
			r[thinksFor] = strconv.AppendInt(nil, began-ended, 10)
		}
		ended = -1
		if end, err := strconv.ParseInt(string(r[endsAt]), 10, 64); err == nil {
			ended = end
		}
		*place++
		if err := t.add(*place, &r); err != nil {
			return err
		}
	}
	return nil
}
