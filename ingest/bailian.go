package ingest

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// Qwen-Bailian's anonymous traces, which aiperf calls bailian_trace: JSON lines,
// seconds since the trace began, one id per 16 prompt tokens, and chats that are
// chained turn by turn through parent_chat_id; -1 begins one. A turn may lack tokens of
// the answer before it, because what the model thought was stripped.
var _ = register(format{
	name:  "bailian",
	sees:  seesBailian,
	read:  readBailian,
	wants: `JSON lines with "chat_id", "parent_chat_id", "timestamp" (s), "input_length" and "output_length"`,
})

// bailianBlock is how many tokens an id stands for where the file's name does not
// say, as in qwen_traceA_blksz_16.jsonl.
const bailianBlock = 16

var blockInName = regexp.MustCompile(`blksz_([1-9][0-9]{0,4})`)

func seesBailian(h *head) string {
	if !h.isLines() || !h.has("chat_id", "timestamp", "input_length", "output_length") {
		return ""
	}
	return "JSON lines with " + listed(h.keys)
}

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

// chains follows chats from parent to child.
type chains struct {
	turns            map[string]turnOf
	lost, misordered int // rows whose parent is not there; whose turn is not its parent's and one
}

func readBailian(d *document, out *rows) error {
	size := bailianBlock
	if match := blockInName.FindStringSubmatch(d.base()); match != nil {
		size, _ = strconv.Atoi(match[1])
	}
	out.about.timeUnit = "s"
	c := &chains{turns: map[string]turnOf{}}
	err := d.lines(out, func(number int64, line []byte) (*reject, error) {
		var row bailianRow
		if err := json.Unmarshal(line, &row); err != nil {
			return jsonReject(err), nil
		}
		arrival := arrivalRow{Line: number, Class: out.class(row.Type), Blocks: row.HashIDs}
		for _, problem := range []*reject{
			instantOf("timestamp", row.Timestamp.String(), 9, &arrival.ArrivalNs),
			jsonWhole("input_length", row.Input, &arrival.InputTokens),
			jsonWhole("output_length", row.Output, &arrival.OutputTokens),
		} {
			if problem != nil {
				return problem, nil
			}
		}
		if !covers(row.HashIDs, size, arrival.InputTokens) {
			return &reject{column: "hash_ids", reason: tooFewBlocks}, nil
		}
		if len(row.HashIDs) > 0 {
			out.about.blockTokens = size
		}
		return nil, out.addRequest(c.place(&arrival, row))
	})
	if c.lost > 0 {
		out.note("%d rows name a parent that no earlier row is: each begins a session", c.lost)
	}
	if c.misordered > 0 {
		out.note("%d rows have another turn than their parent's and one; they are counted by their place", c.misordered)
	}
	return err
}

// place finds a chat's session. The first child of a chat goes on with its
// session; every other one is a branch, a session of its own that began there.
func (c *chains) place(arrival *arrivalRow, row bailianRow) (arrivalRow, arrivalDetailRow) {
	var detail arrivalDetailRow
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
