package traces

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"

	"tidemark/ingest/read"
)

// Bailian reads Qwen-Bailian's anonymous traces, which aiperf calls bailian_trace:
// JSON lines, seconds since the trace began, one id per 16 prompt tokens, and chats
// that are chained turn by turn through parent_chat_id; -1 starts one. A turn may
// lack tokens of the answer before it, because the model's reasoning was stripped
// from the history.
var Bailian = read.Format{
	Name:  "bailian",
	Sees:  seesBailian,
	Read:  readBailian,
	Wants: `JSON lines with "chat_id", "parent_chat_id", "timestamp" (s), "input_length" and "output_length"`,
}

// bailianBlock is how many tokens an id stands for where the file's name does not
// say, as in qwen_traceA_blksz_16.jsonl.
const bailianBlock = 16

// blockInName finds the size of a block in a file's name.
var blockInName = regexp.MustCompile(`blksz_([1-9][0-9]{0,4})`)

// seesBailian asks for chat_id, which Mooncake does not have.
func seesBailian(h *read.Head) string {
	return read.If(h.IsLines() && h.Has("chat_id", "timestamp", "input_length", "output_length"), "JSON lines with "+read.ListNames(h.Keys))
}

// bailianRow is one turn of a chat.
type bailianRow struct {
	ChatID    json.Number `json:"chat_id"`
	Parent    json.Number `json:"parent_chat_id"`
	Timestamp json.Number `json:"timestamp"`
	Input     json.Number `json:"input_length"`
	Output    json.Number `json:"output_length"`
	Type      string      `json:"type"`
	Turn      json.Number `json:"turn"`
	HashIDs   []uint64    `json:"hash_ids"`
}

// turnOf is where a chat stands: in which session, and which turn of it.
type turnOf struct {
	session  string
	turn     int32
	depth    int64 // turns since the chain began, itself included
	hasChild bool
}

// bailianChains follows chats from parent to child.
type bailianChains struct {
	turns            map[string]turnOf
	lost, misordered int // rows whose parent is not there; whose turn is not its parent's and one
}

// readBailian reads the file in one pass: a parent always stands before its children.
func readBailian(d *read.Document, out *read.Rows) error {
	size := bailianBlock
	if match := blockInName.FindStringSubmatch(d.Base()); match != nil {
		size, _ = strconv.Atoi(match[1])
	}
	out.About.TimeUnit = "s"
	c := &bailianChains{turns: map[string]turnOf{}}
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var row bailianRow
		if problem := read.JSONRow(line, &row); problem != nil {
			return problem, nil
		}
		arrival := read.Arrival{Line: number, Class: out.Class(row.Type), Blocks: row.HashIDs}
		problem := cmp.Or(
			read.NanosOf("timestamp", row.Timestamp.String(), 9, &arrival.ArrivalNs),
			read.JSONWhole("input_length", row.Input, &arrival.InputTokens),
			read.JSONWhole("output_length", row.Output, &arrival.OutputTokens),
		)
		if problem != nil {
			return problem, nil
		}
		if !covers(row.HashIDs, size, arrival.InputTokens) {
			return &read.Reject{Column: "hash_ids", Reason: read.TooFewBlocks}, nil
		}
		if len(row.HashIDs) > 0 {
			out.About.BlockTokens = size
		}
		return nil, out.AddRequest(c.place(&arrival, row))
	})
	if c.lost > 0 {
		out.Note("%d rows name a parent that is not an earlier row: each starts a session", c.lost)
	}
	if c.misordered > 0 {
		out.Note("%d rows have another turn than their parent's and one; they are counted by their place", c.misordered)
	}
	return err
}

// place finds a chat's session. The first child of a chat continues its session;
// every other child is a branch, a session of its own that began there.
func (c *bailianChains) place(arrival *read.Arrival, row bailianRow) (read.Arrival, read.ArrivalDetail) {
	var detail read.ArrivalDetail
	id := row.ChatID.String()
	at := turnOf{session: id, depth: 1}
	parent, known := c.turns[row.Parent.String()]
	switch isRoot := row.Parent == "" || row.Parent == "-1"; {
	case isRoot:
	case !known:
		c.lost++
		at.depth = 0 // not known
	default:
		at.depth = parent.depth + 1
		if parent.hasChild {
			detail.ParentSessionID, detail.ParentTurn = new(parent.session), new(parent.turn)
		} else {
			at.session, at.turn = parent.session, parent.turn+1
		}
		parent.hasChild = true
		c.turns[row.Parent.String()] = parent
	}
	if turn, err := row.Turn.Int64(); err == nil {
		if at.depth > 0 && turn != at.depth {
			c.misordered++
		}
		at.depth = turn
	}
	if id != "" {
		c.turns[id] = at
		arrival.SessionID, arrival.Turn = new(at.session), new(at.turn)
	}
	return *arrival, detail
}
