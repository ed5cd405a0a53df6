// One request as a line of JSON. Reading uses encoding/json, which forgives; writing is by hand, since a plan of a million
// requests is written in seconds. Seconds are written exactly: a due time read back is the same nanosecond.

package plan

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// planLine is a request as the plan writes it.
type planLine struct {
	Seq          int64    `json:"seq"`
	DueS         float64  `json:"due_s"`
	InputTokens  int      `json:"input_tokens"`
	OutputTokens int      `json:"output_tokens"`
	Session      string   `json:"session"`
	Turn         int      `json:"turn"`
	ThinkS       *float64 `json:"think_s"`
	Blocks       []uint64 `json:"blocks"`
	BlockTokens  int      `json:"block_tokens"`
	SharedTokens int      `json:"shared_tokens"`
	Class        string   `json:"class"`
	History      int      `json:"history_tokens"`
}

// parseRequest refuses what could not be sent: no prompt, no output, a due time that is negative or not a number.
func parseRequest(line []byte) (Request, error) {
	var p planLine
	if err := json.Unmarshal(line, &p); err != nil {
		return Request{}, errors.New("not a planned request")
	}
	if p.InputTokens < 1 || p.OutputTokens < 1 || !(p.DueS >= 0 && p.DueS < 1e9) {
		return Request{}, errors.New("a planned request needs a prompt, an output and a due time")
	}
	req := Request{Seq: p.Seq, Due: FromSeconds(p.DueS), InputTokens: p.InputTokens, OutputTokens: p.OutputTokens,
		Session: p.Session, Turn: p.Turn, Blocks: p.Blocks, BlockTokens: p.BlockTokens,
		SharedTokens: p.SharedTokens, Class: p.Class, HistoryTokens: p.History}
	if p.ThinkS != nil {
		think := FromSeconds(*p.ThinkS)
		req.Think = &think
	}
	if req.HistoryTokens < 0 || req.HistoryTokens > req.InputTokens {
		return Request{}, errors.New("history_tokens beyond the prompt")
	}
	if len(req.Blocks) > 0 && req.BlockTokens < 1 {
		return Request{}, errors.New("blocks without block_tokens")
	}
	return req, nil
}

// appendRequest writes by hand what planLine reads: a million of these are written in one go.
func appendRequest(dst []byte, req Request) []byte {
	dst = strconv.AppendInt(append(dst, `{"seq":`...), req.Seq, 10)
	dst = AppendSeconds(append(dst, `,"due_s":`...), req.Due)
	dst = strconv.AppendInt(append(dst, `,"input_tokens":`...), int64(req.InputTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens":`...), int64(req.OutputTokens), 10)
	dst = AppendString(append(dst, `,"session":`...), req.Session)
	dst = strconv.AppendInt(append(dst, `,"turn":`...), int64(req.Turn), 10)
	dst = append(dst, `,"think_s":`...)
	if req.Think == nil {
		dst = append(dst, "null"...)
	} else {
		dst = AppendSeconds(dst, *req.Think)
	}
	dst = append(dst, `,"blocks":[`...)
	for i, id := range req.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, id, 10)
	}
	dst = strconv.AppendInt(append(dst, `],"block_tokens":`...), int64(req.BlockTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"shared_tokens":`...), int64(req.SharedTokens), 10)
	dst = AppendString(append(dst, `,"class":`...), req.Class)
	if req.HistoryTokens > 0 {
		dst = strconv.AppendInt(append(dst, `,"history_tokens":`...), int64(req.HistoryTokens), 10)
	}
	return append(dst, '}')
}

// FromSeconds rounds to the nanosecond, so that a time that was written exactly is read exactly.
func FromSeconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// AppendSeconds writes a duration in seconds, exact to the nanosecond, without trailing zeros.
func AppendSeconds(dst []byte, d time.Duration) []byte {
	if d < 0 {
		dst, d = append(dst, '-'), -d
	}
	dst = strconv.AppendInt(dst, int64(d/time.Second), 10)
	rest := int64(d % time.Second)
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := int64(1e8); rest > 0; unit /= 10 {
		dst = append(dst, byte('0'+rest/unit))
		rest %= unit
	}
	return dst
}

// AppendString writes a JSON string; anything but plain text goes through encoding/json.
func AppendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, _ := json.Marshal(s) // a string always marshals
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}
