package traces

import (
	"cmp"
	"slices"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/show"
)

// TraceLabSessions reads the tables that TraceLab's replayer takes: a row per round,
// prefix_len of its prompt from before, input_len of it new (the prompt is both), and the
// wait after its answer in milliseconds. Only the first round of a session has a begin;
// later ones are placed as if answers took no time, as aiperf's turns are.
var TraceLabSessions = read.Format{
	Name:  "tracelab-sessions",
	Sees:  seesTraceLabSessions,
	Read:  readTraceLabSessions,
	Wants: `CSV with session_id (or id), round_idx, prefix_len, input_len, output_len, and arrival_time and tool_wait_after_ms (ms)`,
}

// sessionTableBlock is how many tokens an id stands for: such tables also have prompts of
// some hundred tokens.
const sessionTableBlock = 64

// seesTraceLabSessions asks for the split of the prompt.
func seesTraceLabSessions(h *read.Head) string {
	isSeen := (h.ColumnsHave("session_id") || h.ColumnsHave("id")) && h.ColumnsHave("round_idx", "prefix_len", "input_len", "output_len")
	return read.If(isSeen, "rounds with prefix_len and input_len")
}

// sessionTable reads one file.
type sessionTable struct {
	out      *read.Rows
	columns  map[string]int
	sessions map[string]*tableSession

	unbegun, foreign, gaps int // sessions without a begin; rounds with a prefix from elsewhere; rounds that do not follow the one before
}

// tableSession is a session so far, and the wait after its latest answer.
type tableSession struct {
	*roundSession
	waitNs int64
	hasNo  bool // wait
}

// readTraceLabSessions reads the header, then a round per line.
func readTraceLabSessions(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit, out.About.BlockTokens = "ms", sessionTableBlock
	t := &sessionTable{out: out, sessions: map[string]*tableSession{}}
	var fields [][]byte
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var reason string
		if fields, reason = splitFields(line, ',', fields); reason != "" {
			return &read.Reject{Reason: reason}, nil
		}
		if t.columns == nil {
			return nil, t.header(fieldNames(fields))
		}
		if len(fields) > len(t.columns) {
			return &read.Reject{Reason: read.TooManyColumns}, nil
		}
		return t.round(number, fields)
	})
	t.end()
	return err
}

// header says which column is where. A name that is there twice may mean either.
func (t *sessionTable) header(names []string) error {
	t.columns = map[string]int{}
	for i, name := range names {
		if _, isTwice := t.columns[name]; isTwice {
			return hint.Errorf("two columns are called %s", read.KeyName(name)).Hint("leave one out")
		}
		t.columns[name] = i
	}
	return nil
}

// field is what a row has in a column; "" where there is none.
func (t *sessionTable) field(fields [][]byte, name string) string {
	if i, ok := t.columns[name]; ok && i < len(fields) && !isNull(fields[i]) {
		return string(fields[i])
	}
	return ""
}

// round adds one row.
func (t *sessionTable) round(number int64, fields [][]byte) (*read.Reject, error) {
	var index, prefix, appended int64
	arrival := read.Arrival{Line: number}
	for _, column := range []struct {
		name string
		into *int64
	}{{"round_idx", &index}, {"prefix_len", &prefix}, {"input_len", &appended}, {"output_len", &arrival.OutputTokens}} {
		text := t.field(fields, column.name)
		if text == "" {
			return &read.Reject{Column: column.name, Reason: read.Missing}, nil
		}
		if problem := read.WholeTokens(column.name, text, column.into); problem != nil {
			return problem, nil
		}
	}
	if arrival.InputTokens = prefix + appended; arrival.InputTokens > mostRoundTokens || arrival.OutputTokens > mostRoundTokens {
		return &read.Reject{Column: "prefix_len", Reason: read.TooLarge}, nil
	}
	id := read.NamedOrHashed(cmp.Or(t.field(fields, "session_id"), t.field(fields, "id")))
	if id == "" {
		return &read.Reject{Column: "session_id", Reason: read.Missing}, nil
	}
	var waitNs int64
	wait := t.field(fields, "tool_wait_after_ms")
	if wait != "" {
		if problem := read.NanosOf("tool_wait_after_ms", wait, 6, &waitNs); problem != nil {
			return problem, nil
		}
	}
	s, isFirst := t.sessions[id], false
	if s == nil {
		s, isFirst = &tableSession{roundSession: newRoundSession(id, sessionTableBlock)}, true
	}
	detail, problem := t.place(s, isFirst, t.field(fields, "arrival_time"), &arrival)
	if problem != nil {
		return problem, nil
	}
	t.sessions[id] = s
	detail.CachedTokens = &prefix
	t.follow(s, index, prefix, &arrival)
	s.waitNs, s.hasNo = waitNs, wait == ""
	return nil, t.out.AddRequest(arrival, detail)
}

// place says when a round comes: the first when its session begins, a later one after the
// wait of the round before it.
func (t *sessionTable) place(s *tableSession, isFirst bool, begin string, arrival *read.Arrival) (detail read.ArrivalDetail, problem *read.Reject) {
	const late = 1 << 62
	lane := s.lanes[0]
	switch {
	case isFirst && begin == "":
		t.unbegun++
	case isFirst:
		problem = read.NanosOf("arrival_time", begin, 6, &arrival.ArrivalNs)
	default:
		arrival.ArrivalNs = lane.endNs + s.waitNs
		if !s.hasNo {
			detail.ThinkS = read.SinceNs(0, s.waitNs)
		}
	}
	if problem == nil && (arrival.ArrivalNs > late || arrival.ArrivalNs < 0) {
		problem = &read.Reject{Column: "tool_wait_after_ms", Reason: read.OutOfRange}
	}
	return detail, problem
}

// follow makes a round the next one of its session.
func (t *sessionTable) follow(s *tableSession, index, prefix int64, arrival *read.Arrival) {
	lane := s.lanes[0]
	if lane.turns > 0 && index != s.index+1 {
		t.gaps++
	}
	s.index = index
	arrival.SessionID, arrival.Turn = &lane.id, new(lane.turns)
	var beyond int64
	if arrival.Blocks, beyond = s.prompt(lane, prefix, arrival.InputTokens, arrival.OutputTokens); beyond > 0 {
		t.foreign++
	}
	lane.sessionSoFar = sessionSoFar{turns: lane.turns + 1, endNs: arrival.ArrivalNs}
}

// end notes what a reader of the numbers must know.
func (t *sessionTable) end() {
	if len(t.sessions) > t.unbegun {
		t.out.Note("only sessions have a begin: a later round is placed after the wait before it, as if answers took no time")
	}
	if t.unbegun > 0 {
		t.out.Note("%d of %d sessions have no arrival_time: they begin with the trace, and --request-rate says otherwise", t.unbegun, len(t.sessions))
	}
	if t.foreign > 0 {
		t.out.Note("%s with a prefix that is longer than what the session had sent: no other session shares it here", show.Things(t.foreign, "round", "rounds"))
	}
	if t.gaps > 0 {
		t.out.Note("%s with another round_idx than that of the round before and one; taken in the order of the file", show.Things(t.gaps, "round", "rounds"))
	}
	if unknown := t.passedOver(); len(unknown) > 0 {
		t.out.Note("columns passed over: %s", read.ListNames(unknown))
	}
}

// passedOver are the columns that are not read.
func (t *sessionTable) passedOver() (names []string) {
	known := []string{"session_id", "id", "round_idx", "prefix_len", "input_len", "output_len", "arrival_time", "tool_wait_after_ms"}
	for name := range t.columns {
		if !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
