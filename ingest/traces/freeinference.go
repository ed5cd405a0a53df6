package traces

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"tidemark/ingest/read"
)

// FreeInference reads the freeinference agentic trace: JSON lines, a session each,
// whose requests have Unix milliseconds and the provider's token counts. Who the
// user was is not kept. The same table also comes as Parquet.
var FreeInference = read.Format{
	Name:  "freeinference",
	Sees:  seesFreeInference,
	Read:  func(d *read.Document, out *read.Rows) error { return ReadFreeInference(d.Reader(), out) },
	Wants: `JSON lines with "session_id", "start_ms" and "requests", each with "start_ms" and "provider_tokens"`,
}

// seesFreeInference asks for the keys of a session.
func seesFreeInference(h *read.Head) string {
	return read.If(h.Has("session_id", "start_ms", "requests"), "sessions with start_ms and requests")
}

// freeSession is one line.
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

// ReadFreeInference counts requests, not lines: raw.arrivals.line is a request's
// place in the file. A session may be longer than the longest line of other
// formats, so sessions are decoded from the stream.
func ReadFreeInference(from io.Reader, out *read.Rows) error {
	t := newRequestTable(out)
	t.is(meaning{part: arrivesAt, unit: inMillis}, "start_ms")
	t.is(meaning{part: endsAt, unit: inMillis}, "end_ms")
	t.is(meaning{part: ttftFor, unit: inMillis}, "ttft_ms")
	t.is(meaning{part: thinksFor, unit: inMillis}, "start_ms")
	t.is(meaning{part: inputLength}, "provider_tokens.prompt")
	t.is(meaning{part: outputLength}, "provider_tokens.completion")
	source := read.Capped(from, maxObjectBytes)
	decoder := json.NewDecoder(source)
	place := int64(0)
	for number := 1; ; number++ {
		source.Next()
		var session freeSession
		err := decoder.Decode(&session)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("session %d: %w", number, read.WithoutText(err))
		}
		if err := t.freeSession(&session, &place); err != nil {
			return err
		}
	}
	t.end()
	return nil
}

// freeSession adds the requests of one session. The think time is from the end of
// an answer to the next request, where both are known.
func (t *requestTable) freeSession(session *freeSession, place *int64) error {
	ended := int64(-1) // the turn before, milliseconds
	for turn, from := range session.Requests {
		var r request
		r[arrivesAt], r[endsAt], r[ttftFor] = read.Unquoted(from.StartMs), read.Unquoted(from.EndMs), read.Unquoted(from.TTFTMs)
		r[inputLength], r[outputLength] = read.Unquoted(from.Tokens.Prompt), read.Unquoted(from.Tokens.Completion)
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
