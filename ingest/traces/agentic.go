package traces

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/maybe"
)

// Agentic reads sessions of coding agents as callanjfox/kv-cache-tester publishes
// them; aiperf calls the format a WEKA trace. One JSON document is one session:
// requests with seconds since it began, and sub-agents that hold requests of their
// own, with seconds since they began. There is no absolute start, so the sessions
// of a folder are a collection, and whoever replays it says at which rate they
// start. Data sets also have many sessions in one file, a line each.
//
// Block ids mean nothing outside their file, and stand only for whole blocks: the
// last, partial block of a prompt has none.
var Agentic = read.Format{
	Name:  "agentic",
	Sees:  seesAgentic,
	Read:  readAgentic,
	Wants: `one JSON object, or one a line, with "id", "block_size" and "requests", each with "t", "in", "out" and "hash_ids"`,
}

// seesAgentic asks for the three keys that make a session of it.
func seesAgentic(h *read.Head) string {
	return read.If(h.Has("block_size", "hash_id_scope", "requests"), "a session with "+read.ListNames(h.Keys))
}

// agenticSession is the whole document. Totals are the publisher's own sums, which
// are compared with what was read.
type agenticSession struct {
	ID        string           `json:"id"`
	BlockSize int              `json:"block_size"`
	Scope     string           `json:"hash_id_scope"`
	Requests  []agenticRequest `json:"requests"`
	Totals    struct {
		Combined struct {
			Input  *int64 `json:"input"`
			Output *int64 `json:"output"`
		} `json:"combined_tokens"`
	} `json:"totals"`
}

// agenticRequest is a request or, with requests in it, a sub-agent.
type agenticRequest struct {
	T         json.Number `json:"t"` // seconds; of a sub-agent, when it ended
	Type      string      `json:"type"`
	Model     string      `json:"model"`
	In        json.Number `json:"in"`
	Out       json.Number `json:"out"`
	HashIDs   []uint64    `json:"hash_ids"`
	APITime   *float64    `json:"api_time"`   // whole answer, seconds
	ThinkTime *float64    `json:"think_time"` // since the last answer whose end is known, seconds
	TTFT      *float64    `json:"ttft"`       // seconds

	AgentID      string           `json:"agent_id"`
	SubagentType string           `json:"subagent_type"`
	DurationMs   float64          `json:"duration_ms"`
	Requests     []agenticRequest `json:"requests"`
}

// readAgentic holds a whole session at a time, because its requests and those of its
// sub-agents are interleaved in time and rows are wanted in that order.
func readAgentic(d *read.Document, out *read.Rows) error {
	out.About.TimeUnit = "s"
	r := &agenticFile{agentic: &agentic{out: out}, path: d.Path, ids: map[string]bool{}, contents: map[uint64]bool{}}
	line, _, isWhole := bytes.Cut(bytes.TrimPrefix(d.First.Data, read.ByteOrderMark), []byte("\n"))
	if isWhole && !json.Valid(line) { // one session over many lines
		text, err := d.Whole()
		if err == nil {
			err = r.take(text, read.SourceName(d.Path))
		}
		out.About.Collection = d.Collection()
		return err
	}
	// A session is longer than the lines of other formats.
	lines := bufio.NewScanner(d.Reader())
	lines.Buffer(nil, read.MaxWholeBytes)
	for number := int64(1); lines.Scan(); number++ {
		if text := bytes.TrimSpace(lines.Bytes()); len(text) > 0 {
			if err := r.line(number, text); err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return hint.Errorf("one session of more than %d MB", read.MaxWholeBytes>>20).Hint("split it")
	}
	if len(r.ids) < 2 {
		out.About.Collection = d.Collection()
	} else {
		out.Note("%d sessions count from their own begin, and all begin together here; a folder with a file for each can be started at a --session-rate", len(r.ids))
	}
	if r.copies > 0 {
		out.Note("%d sessions are copies of an earlier one under another id; left out", r.copies)
	}
	return lines.Err()
}

// agenticFile reads a session a line. A session that is there again under another id is
// one: published sets have such copies.
type agenticFile struct {
	*agentic
	path     string
	ids      map[string]bool
	contents map[uint64]bool // hashes of the sessions without their ids
	copies   int
}

// line takes a line that is not blank.
func (r *agenticFile) line(number int64, text []byte) error {
	var session struct {
		ID       string          `json:"id"`
		Requests json.RawMessage `json:"requests"`
	}
	if problem := read.JSONRow(text, &session); problem != nil {
		if len(r.ids) == 0 {
			return hint.Errorf("%s", "not a session: "+problem.Reason).Hint("check where it came from")
		}
		return r.out.Reject(number, problem.Column, problem.Reason)
	}
	name := read.SourceName(r.path)
	if len(r.ids) > 0 {
		name += "-" + strconv.FormatInt(number, 10)
	}
	content := read.HashText(string(session.Requests))
	id := cmp.Or(session.ID, name)
	switch {
	case r.contents[content]:
		r.copies++
		return nil
	case r.ids[id]:
		return r.out.Reject(number, "id", read.KeyTwice)
	}
	r.contents[content], r.ids[id] = true, true
	return r.take(text, name)
}

// take reads one session, which is called id where it has no name.
func (a *agentic) take(text []byte, id string) error {
	a.session, a.made, a.input, a.output, a.cut = agenticSession{}, a.made[:0], 0, 0, 0
	if err := json.Unmarshal(text, &a.session); err != nil {
		return hint.Errorf("%s", "not a session: "+read.JSONReject(err).Reason).Hint("check where it came from")
	}
	if a.session.BlockSize < 1 || a.session.BlockSize > math.MaxInt16 {
		return hint.Errorf("block_size is not a number of tokens").Hint("check where it came from")
	}
	about := &a.out.About
	about.BlockTokens = cmp.Or(about.BlockTokens, a.session.BlockSize)
	if about.BlockTokens != a.session.BlockSize {
		return hint.Errorf("block_size is %d, and that of the session before is %d", a.session.BlockSize, about.BlockTokens).Hint("put sessions of unlike blocks into files of their own")
	}
	a.session.ID = cmp.Or(a.session.ID, id)
	if err := a.read(agentThread{id: a.session.ID, class: "main", requests: a.session.Requests}); err != nil {
		return err
	}
	a.compare()
	a.end()
	return nil
}

// end adds the requests of all agents in order of time.
func (a *agentic) end() {
	slices.SortStableFunc(a.made, func(x, y agenticRow) int { return cmp.Compare(x.arrival.ArrivalNs, y.arrival.ArrivalNs) })
	for _, row := range a.made {
		a.out.AddRequest(row.arrival, row.detail)
	}
}

// agentic reads one session and the sub-agents in it.
type agentic struct {
	out           *read.Rows
	session       agenticSession
	made          []agenticRow
	line          int64 // requests so far, of all sessions
	input, output int64 // tokens so far
	cut           int   // think times that reach past the request before them
}

// agenticRow is one request on its way.
type agenticRow struct {
	arrival read.Arrival
	detail  read.ArrivalDetail
}

// agentThread is the requests of one agent, one after the other.
type agentThread struct {
	id, class  string
	beginNs    int64
	requests   []agenticRequest
	parent     string // session that began it; "" for none
	parentTurn *int32
	depth      int
}

// deepest is how far sub-agents of sub-agents are followed. Published sessions have
// one level.
const deepest = 8

// read takes the requests of one agent, then those of its sub-agents.
func (a *agentic) read(t agentThread) error {
	var starts []int64 // when this agent's own requests came
	var before agenticRequest
	var agents []agenticRequest
	for _, r := range t.requests {
		if r.Requests != nil || r.Type == "subagent" {
			agents = append(agents, r)
			continue
		}
		a.line++
		arrival := read.Arrival{Line: a.line, SessionID: &t.id, Class: &t.class, Turn: new(int32(len(starts))), Blocks: a.blocks(r.HashIDs)}
		problem := a.lengths(r, &arrival)
		if problem == nil {
			problem = read.NanosOf("t", r.T.String(), 9, &arrival.ArrivalNs)
		}
		if problem == nil && arrival.ArrivalNs > math.MaxInt64/2 {
			problem = &read.Reject{Column: "t", Reason: read.OutOfRange}
		}
		if problem != nil {
			a.out.Reject(a.line, problem.Column, problem.Reason)
			continue
		}
		arrival.ArrivalNs += t.beginNs
		detail := read.ArrivalDetail{Model: maybe.Known(read.Word(r.Model)), E2ES: measured(r.APITime), TTFTS: measured(r.TTFT)}
		if len(starts) > 0 {
			detail.ThinkS = a.think(r, before, arrival.ArrivalNs-starts[len(starts)-1])
		} else if t.parent != "" {
			detail.ParentSessionID, detail.ParentTurn = &t.parent, t.parentTurn
		}
		starts, before = append(starts, arrival.ArrivalNs), r
		a.input, a.output = a.input+arrival.InputTokens, a.output+arrival.OutputTokens
		a.made = append(a.made, agenticRow{arrival, detail})
	}
	return a.readAgents(t, agents, starts)
}

// lengths reads the tokens of a request and checks them against its block ids.
func (a *agentic) lengths(r agenticRequest, arrival *read.Arrival) *read.Reject {
	if problem := read.JSONWhole("in", r.In, &arrival.InputTokens); problem != nil {
		return problem
	}
	if !covers(r.HashIDs, a.session.BlockSize, arrival.InputTokens) {
		return &read.Reject{Column: "hash_ids", Reason: read.TooFewBlocks}
	}
	return read.JSONWhole("out", r.Out, &arrival.OutputTokens)
}

// readAgents reads the sub-agents of a thread, whose own requests came at the
// instants of starts. The time written for a sub-agent is when it ended, so its
// start is that less its duration: two that were started together differ in their
// times by as much as in how long they took.
func (a *agentic) readAgents(t agentThread, agents []agenticRequest, starts []int64) error {
	if t.depth == deepest && len(agents) > 0 {
		return hint.Errorf("sub-agents of sub-agents, too deep").Hint("check where it came from")
	}
	for _, agent := range agents {
		var endNs int64
		if read.NanosOf("t", agent.T.String(), 9, &endNs) != nil || !(agent.DurationMs >= 0 && agent.DurationMs < 1e12) || endNs > math.MaxInt64/2 {
			a.line++
			a.out.Reject(a.line, "t", read.NotATime)
			continue
		}
		beginNs := t.beginNs + endNs - int64(agent.DurationMs*1e6)
		turn := int32(max(0, lastUpTo(starts, beginNs)))
		err := a.read(agentThread{id: t.id + "/" + read.Word(agent.AgentID), class: kindOf(agent), beginNs: beginNs,
			requests: agent.Requests, parent: t.id, parentTurn: &turn, depth: t.depth + 1})
		if err != nil {
			return err
		}
	}
	return nil
}

// kindOf is the class of a sub-agent's requests.
func kindOf(agent agenticRequest) string {
	if kind := read.Word(agent.SubagentType); kind != "" {
		return kind
	}
	return "subagent"
}

// lastUpTo is the place of the last instant that is not after the given one.
func lastUpTo(instants []int64, at int64) int {
	for i, instant := range slices.Backward(instants) {
		if instant <= at {
			return i
		}
	}
	return -1
}

// think is how long the agent and its user took before a request. The file's own
// figure counts from the last answer whose end is known. Where that is not the
// answer just before, it reaches back past a request, and is cut to the gap since
// that request.
func (a *agentic) think(r, before agenticRequest, gapNs int64) *float64 {
	gap := float64(gapNs) / 1e9
	switch {
	case gap < 0:
		return nil
	case r.ThinkTime != nil && *r.ThinkTime > gap:
		a.cut++
		return &gap
	case r.ThinkTime != nil:
		return orNone(*r.ThinkTime)
	case before.APITime != nil:
		return orNone(gap - *before.APITime)
	}
	return nil
}

// measured is a time that the trace took; null where it is below zero.
func measured(seconds *float64) *float64 {
	if seconds == nil {
		return nil
	}
	return orNone(*seconds)
}

// orNone is null for a time below zero.
func orNone(seconds float64) *float64 {
	if seconds < 0 {
		return nil
	}
	return &seconds
}

// blocks makes ids of a session distinct from those of every other one, unless the
// file says that they are global.
func (a *agentic) blocks(ids []uint64) []uint64 {
	if a.session.Scope == "global" || ids == nil {
		return ids
	}
	return ownBlocks(a.session.ID, ids)
}

// compare notes where the session's own totals differ from what was read.
func (a *agentic) compare() {
	totals := a.session.Totals.Combined
	if totals.Input != nil && totals.Output != nil && (*totals.Input != a.input || *totals.Output != a.output) {
		a.out.Note("its totals say %d input and %d output tokens, its requests have %d and %d", *totals.Input, *totals.Output, a.input, a.output)
	}
	if a.cut > 0 {
		a.out.Note("%d think times reach past the request before them; cut to the gap since it", a.cut)
	}
}
