package traces

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/jsonscan"
	"tidemark/internal/maybe"
	"tidemark/internal/show"
)

// TraceLab reads the rounds of coding agents as uw-syfi/TraceLab publishes them: JSON
// lines, one per call of a model, with the instants of what went in and what came out.
// A round is sent with the last input before its first output (a user's message, or the
// last of several tool results) and ends with its last output; TraceLab's own analysis
// measures it so. What passes between an answer and the next round, tools and people, is
// its think time.
//
// Rounds of one session that overlap in time become sessions that branch off it, as
// sub-agents do. The file does not say which later round waits for them.
//
// Neither round_id nor (session_id, round_index) is unique in the published traces; all
// rows are kept, as TraceLab keeps them.
var TraceLab = read.Format{
	Name:  "tracelab",
	Sees:  seesTraceLab,
	Read:  readTraceLab,
	Wants: `JSON lines with "session_id", "round_index", "prefix_tokens", "newly_append_tokens", "output_tokens" and "timing_events"`,
}

// traceLabBlock is how many tokens an id stands for. Prompts are of tens of thousands: in
// blocks of 64 the published rounds would have a thousand million ids.
const traceLabBlock = 512

// seesTraceLab asks for the split of the prompt, which no other format has.
func seesTraceLab(h *read.Head) string {
	return read.If(h.IsLines() && h.Has("session_id", "round_index", "prefix_tokens", "newly_append_tokens", "timing_events"), "rounds with prefix_tokens and timing_events")
}

// roundRow is one line. Tools are not read: their latencies lie between the events.
type roundRow struct {
	Session  string       `json:"session_id"`
	Index    json.Number  `json:"round_index"`
	RoundID  string       `json:"round_id"`
	Provider string       `json:"provider"`
	Model    string       `json:"model"`
	Total    json.Number  `json:"input_tokens_total"`
	Prefix   json.Number  `json:"prefix_tokens"`
	Appended json.Number  `json:"newly_append_tokens"`
	Output   json.Number  `json:"output_tokens"`
	Events   []roundEvent `json:"timing_events"`
}

// roundEvent is something that went into a round or came out of it.
type roundEvent struct {
	Type string `json:"event_type"`
	At   string `json:"timestamp"`
}

// traceLab reads one file.
type traceLab struct {
	out      *read.Rows
	clock    read.Clock
	origin   int64 // Unix nanoseconds of arrival_ns = 0
	sessions map[string]*roundSession
	rounds   map[uint64]struct{} // hashes of round ids
	row      roundRow            // the latest; its events' memory is used again

	foreign, foreignTokens              int64 // first rounds, and prefixes beyond their session
	twice, branches, backwards, endless int
}

// readTraceLab reads the rounds in the order of the file.
func readTraceLab(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit, out.About.BlockTokens = "datetime", traceLabBlock
	t := &traceLab{out: out, sessions: map[string]*roundSession{}, rounds: map[uint64]struct{}{}}
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		if !t.row.scan(line) {
			t.row = roundRow{}
			if problem := read.JSONRow(line, &t.row); problem != nil {
				return problem, nil
			}
		}
		return t.round(number, &t.row)
	})
	t.end()
	return err
}

// ReadTraceLabRounds reads them as another process writes them out of TraceLab's database.
func ReadTraceLabRounds(d *read.Document, lines io.Reader, out *read.Rows) error {
	rows, err := d.WithLines(lines)
	if err == io.EOF { // a database without rounds
		return nil
	}
	if err != nil {
		return err
	}
	return readTraceLab(rows, out)
}

// scan reads a line as TraceLab writes it, in a third of encoding/json's time; it says no to any other, right or wrong.
func (row *roundRow) scan(line []byte) bool {
	*row = roundRow{Events: row.Events[:0]}
	s := jsonscan.On(line)
	if !s.Take('{') {
		return false
	}
	var keys [48][]byte
	count := 0
	for more := true; more; more = s.Take(',') {
		key, ok := s.Key()
		if !ok || count == len(keys) || slices.ContainsFunc(keys[:count], func(known []byte) bool { return bytes.EqualFold(known, key) }) {
			return false
		}
		keys[count] = key
		count++
		if !row.value(&s, string(key)) {
			return false
		}
	}
	return s.Take('}') && s.AtEnd()
}

// value reads what stands behind a key. encoding/json also takes keys in other letters: those are left to it.
func (row *roundRow) value(s *jsonscan.Scanner, key string) bool {
	switch key {
	case "session_id":
		return scanText(s, &row.Session)
	case "round_id":
		return scanText(s, &row.RoundID)
	case "provider":
		return scanText(s, &row.Provider)
	case "model":
		return scanText(s, &row.Model)
	case "round_index":
		return scanWhole(s, &row.Index)
	case "input_tokens_total":
		return scanWhole(s, &row.Total)
	case "prefix_tokens":
		return scanWhole(s, &row.Prefix)
	case "newly_append_tokens":
		return scanWhole(s, &row.Appended)
	case "output_tokens":
		return scanWhole(s, &row.Output)
	case "timing_events":
		return row.events(s)
	}
	return key == strings.ToLower(key) && s.Skip()
}

func scanText(s *jsonscan.Scanner, into *string) bool {
	text, ok := s.Text()
	*into = string(text)
	return ok
}

func scanWhole(s *jsonscan.Scanner, into *json.Number) bool {
	value, ok := s.Whole()
	*into = json.Number(strconv.FormatInt(value, 10))
	return ok
}

// events reads the list of them, into memory that the row before had.
func (row *roundRow) events(s *jsonscan.Scanner) bool {
	if !s.Take('[') {
		return false
	}
	if s.Take(']') {
		return true
	}
	for more := true; more; more = s.Take(',') {
		var event roundEvent
		if !s.Take('{') {
			return false
		}
		for more := true; more; more = s.Take(',') {
			key, ok := s.Key()
			switch {
			case !ok:
				return false
			case string(key) == "event_type":
				ok = scanText(s, &event.Type)
			case string(key) == "timestamp":
				ok = scanText(s, &event.At)
			default:
				ok = string(key) == strings.ToLower(string(key)) && s.Skip()
			}
			if !ok {
				return false
			}
		}
		if !s.Take('}') {
			return false
		}
		row.Events = append(row.Events, event)
	}
	return s.Take(']')
}

// round adds one row.
func (t *traceLab) round(number int64, row *roundRow) (*read.Reject, error) {
	arrival := read.Arrival{Line: number, Class: t.out.Class(row.Provider)}
	var prefix, index int64
	problem := cmp.Or(row.lengths(&arrival, &prefix), read.JSONWhole("round_index", row.Index, &index))
	if problem != nil {
		return problem, nil
	}
	if row.Session == "" {
		return &read.Reject{Column: "session_id", Reason: read.Missing}, nil
	}
	sent, ended, problem := t.span(row.Events)
	if problem != nil {
		return problem, nil
	}
	if t.out.About.OriginAt == nil {
		at := time.Unix(0, sent).UTC().Truncate(time.Microsecond)
		t.origin, t.out.About.OriginAt = at.UnixNano(), &at
	}
	t.count(row)
	detail := read.ArrivalDetail{Model: maybe.Known(read.Word(row.Model)), CachedTokens: &prefix}
	if ended > 0 {
		detail.E2ES = read.SinceNs(sent, ended)
	} else {
		t.endless++
		ended = sent
	}
	t.place(read.NamedOrHashed(row.Session), index, sent, ended, prefix, &arrival, &detail)
	arrival.ArrivalNs = sent - t.origin
	return nil, t.out.AddRequest(arrival, detail)
}

// lengths reads the tokens. The prompt is its prefix and what is new; where the file's
// own sum differs, one of the three is wrong.
func (row *roundRow) lengths(arrival *read.Arrival, prefix *int64) *read.Reject {
	var appended, total int64
	problem := cmp.Or(
		read.JSONWhole("prefix_tokens", row.Prefix, prefix),
		read.JSONWhole("newly_append_tokens", row.Appended, &appended),
		read.JSONWhole("output_tokens", row.Output, &arrival.OutputTokens),
	)
	if problem != nil {
		return problem
	}
	arrival.InputTokens = *prefix + appended
	if arrival.InputTokens > mostRoundTokens || arrival.OutputTokens > mostRoundTokens {
		return &read.Reject{Column: "prefix_tokens", Reason: read.TooLarge}
	}
	if row.Total == "" {
		return nil
	}
	if problem := read.JSONWhole("input_tokens_total", row.Total, &total); problem != nil {
		return problem
	}
	if total != arrival.InputTokens {
		return &read.Reject{Column: "input_tokens_total", Reason: read.NotTheSum}
	}
	return nil
}

// span is when a round was sent and when its answer ended, Unix nanoseconds; an end of 0
// is not known.
func (t *traceLab) span(events []roundEvent) (sent, ended int64, problem *read.Reject) {
	var inputs []int64
	first := int64(0) // output
	for _, event := range events {
		isInput := event.Type == "user_message" || event.Type == "tool_result"
		if !isInput && event.Type != "reasoning" && event.Type != "text" && event.Type != "tool_call" {
			continue
		}
		at, used, _, reason := t.clock.Instant([]byte(event.At))
		if reason != "" || used != len(event.At) || at <= 0 {
			return 0, 0, &read.Reject{Column: "timing_events", Reason: cmp.Or(reason, read.NotATime)}
		}
		switch {
		case isInput:
			inputs = append(inputs, at)
		case first == 0:
			first, ended = at, at
		default:
			first, ended = min(first, at), max(ended, at)
		}
	}
	slices.Sort(inputs)
	for _, at := range slices.Backward(inputs) {
		if first == 0 || at <= first {
			return at, ended, nil
		}
	}
	return 0, 0, &read.Reject{Column: "timing_events", Reason: read.Missing}
}

// place puts a round into the first lane of its session whose answer had ended. Where none
// had, the round is a branch.
func (t *traceLab) place(id string, index, sent, ended, prefix int64, arrival *read.Arrival, detail *read.ArrivalDetail) {
	s := t.sessions[id]
	if s == nil {
		s = newRoundSession(id, traceLabBlock)
		t.sessions[id] = s
	}
	if index < s.index {
		t.backwards++
	}
	s.index = index
	lane, isBranch := s.laneAt(sent)
	if isBranch {
		t.branches++
		detail.ParentSessionID, detail.ParentTurn = &s.lanes[0].id, new(max(0, s.lanes[0].turns-2))
	}
	if lane.turns > 0 {
		detail.ThinkS = read.SinceNs(lane.endNs, sent)
	}
	arrival.SessionID, arrival.Turn = &lane.id, new(lane.turns)
	var beyond int64
	arrival.Blocks, beyond = s.prompt(lane, prefix, arrival.InputTokens, arrival.OutputTokens)
	if beyond > 0 {
		t.foreign, t.foreignTokens = t.foreign+1, t.foreignTokens+beyond
	}
	lane.sessionSoFar = sessionSoFar{turns: lane.turns + 1, endNs: ended}
}

// laneAt is the first lane that waits for nothing at an instant, or a new one. A new lane
// knows what the first one does: it is a second call in the same conversation.
func (s *roundSession) laneAt(sent int64) (lane *roundLane, isBranch bool) {
	for _, lane := range s.lanes {
		if lane.turns == 0 || lane.endNs <= sent {
			return lane, false
		}
	}
	main := s.lanes[0]
	lane = &roundLane{id: fmt.Sprintf("%s/parallel-%d", main.id, len(s.lanes)), known: slices.Clone(main.known)}
	s.lanes = append(s.lanes, lane)
	return lane, true
}

// count notices rounds that are there twice.
func (t *traceLab) count(row *roundRow) {
	if row.RoundID == "" {
		return
	}
	id := read.HashText(row.RoundID)
	if _, isKnown := t.rounds[id]; isKnown {
		t.twice++
	}
	t.rounds[id] = struct{}{}
}

// end notes what a reader of the numbers must know.
func (t *traceLab) end() {
	note := func(count int, format string) {
		if count > 0 {
			t.out.Note(format, show.Things(count, "round", "rounds"))
		}
	}
	if t.foreign > 0 {
		t.out.Note("%s with a prefix that the session had not sent, of %d tokens together: another session had, and the file does not say which, so no other session shares it here", show.Things(t.foreign, "round", "rounds"), t.foreignTokens)
	}
	note(t.branches, "%s sent before the answer ahead had ended: a session that branches off each time; which round waits for it the file does not say")
	note(t.twice, "%s with the round_id of an earlier row; kept")
	note(t.backwards, "%s with a lower round_index than the row before; taken in the order of the file")
	note(t.endless, "%s without an output event: when the answer ended is not known")
}
