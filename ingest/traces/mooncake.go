package traces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemark/ingest/read"
	"tidemark/internal/jsonscan"
)

// Mooncake reads Mooncake's traces, which aiperf calls mooncake_trace: JSON lines
// with milliseconds since the trace began, and one id per block of 512 prompt
// tokens. Ids are kept exactly, as 64-bit integers. They are chained: an id stands
// for its block and all blocks before it, so equal leading ids are an equal prefix.
//
// LMBench's trace replayer (GMI) has the same keys with other stamps: Unix
// nanoseconds as strings, too large for a float64, or any other unit. Others write
// seconds since the trace began. The unit is recognised by the size of the stamps
// and by the rate that it makes, and a note says which; where it is doubtful, the
// user must say it. Its ids stand for no fixed number of tokens. ART-Chat has hashes as
// hexadecimal strings.
var Mooncake = read.Format{
	Name:      "mooncake",
	Sees:      seesMooncake,
	Open:      openMooncake,
	TakesUnit: true,
	Wants:     `JSON lines with "timestamp" (ms), "input_length", "output_length" and "hash_ids"`,
}

// mooncakeBlock is how many tokens an id stands for. The file does not say; where
// the number of ids fits another size better, that one is used, and a note says so.
const mooncakeBlock = 512

// seesMooncake leaves files with chat_id to Bailian, whose times are seconds and
// whose blocks have 16 tokens.
func seesMooncake(h *read.Head) string {
	// chat_id is Bailian's, whose times are seconds and whose blocks are of 16.
	return read.If(!h.Has("chat_id") && h.IsLines() && h.Has("input_length", "output_length", "timestamp"), "JSON lines with "+read.ListNames(h.Keys))
}

// mooncake reads the rows of one file. Except for the counter it is not changed
// after openMooncake, so that workers can share it.
type mooncake struct {
	blockTokens int64
	hasBlocks   bool
	hasHashes   bool // ids in hexadecimal digits, of which no maker says the size of a block
	hasSessions bool
	unit        stampUnit
	unitNote    string
	origin      int64        // Unix nanoseconds of arrival_ns = 0; 0 for relative times
	foreign     atomic.Int64 // rows with keys that were passed over
}

// openMooncake looks at the first block: which columns there are, the unit of the
// stamps, and the size of a prefix block.
func openMooncake(first read.Block, unit string) (*read.Arrivals, read.Block, error) {
	first.Data = bytes.TrimPrefix(first.Data, read.ByteOrderMark)
	p := &mooncake{}
	if err := p.look(first, unit); err != nil {
		return nil, first, err
	}
	t := &read.Arrivals{Parser: p, About: read.About{TimeUnit: p.unit.name}, Columns: strings.Join(read.ColumnNames(p.Schema()), ", ")}
	if p.unit.isUnix {
		t.About.OriginAt = new(time.Unix(0, p.origin).UTC())
	}
	if p.hasBlocks {
		t.About.BlockTokens = int(p.blockTokens)
	}
	t.Notes = func(sum read.Counts) []string { return p.notes(sum) }
	return t, first, nil
}

// notes are what a reader of the numbers must know, once all rows have been read.
func (p *mooncake) notes(sum read.Counts) []string {
	var notes []string
	if p.unitNote != "" {
		notes = append(notes, p.unitNote)
	}
	if p.hasHashes && p.blockTokens > 0 {
		notes = append(notes, fmt.Sprintf("prefix blocks of %d tokens: the file does not say, and the number of ids of its first rows fits that", p.blockTokens))
	} else if p.hasBlocks && p.blockTokens == 0 {
		notes = append(notes, "block ids stand for no fixed number of tokens: they show what is reused, and no prompt can be made of them")
	} else if p.hasBlocks && p.blockTokens != mooncakeBlock {
		notes = append(notes, fmt.Sprintf("prefix blocks of %d tokens: the number of ids fits that better than %d", p.blockTokens, mooncakeBlock))
	}
	if p.blockTokens > 0 && sum.Extra > 0 {
		notes = append(notes, fmt.Sprintf("%d rows have more block ids than their prompt has blocks of %d tokens", sum.Extra, p.blockTokens))
	}
	if rows := p.foreign.Load(); rows > 0 {
		notes = append(notes, fmt.Sprintf("%d rows have keys that were passed over", rows))
	}
	return notes
}

// blockSizes are the usual ones. Of two that fit equally well, the first is used.
var blockSizes = []int64{mooncakeBlock, 16, 32, 64, 128, 256, 1024}

// look decides from the first block which columns there are, what a stamp counts,
// and how many tokens a prefix block has: the size that fits the most rows exactly.
// Where none fits half of at least twenty rows, ids are of no fixed size. Hashes have a size
// only where it fits all rows.
func (p *mooncake) look(first read.Block, saidUnit string) error {
	const many = 20
	fits := make([]int, len(blockSizes))
	rowsOfBlocks := 0
	var seen stamps
	p.unit = inMilliseconds
	var r mooncakeRow
	first.Rows(&read.Batch{}, func(_ int64, line []byte) *read.Reject {
		if unit, ok := stampUnitOf(line, saidUnit); seen.count == 0 && ok {
			p.unit = unit
		}
		r.unit = &p.unit
		if r.parse(line) != nil {
			return nil
		}
		seen.add(r.arrival)
		if len(r.ids) > 0 {
			rowsOfBlocks++
		}
		p.hasBlocks, p.hasHashes = p.hasBlocks || len(r.ids) > 0, p.hasHashes || r.hasHashes
		p.hasSessions = p.hasSessions || r.session != nil
		for i, size := range blockSizes {
			if count := int64(len(r.ids)); count > 0 && (count-1)*size < r.input && r.input <= count*size {
				fits[i]++
			}
		}
		return nil
	})
	most := slices.Max(fits)
	if p.blockTokens = blockSizes[slices.Index(fits, most)]; rowsOfBlocks >= many && 2*most < rowsOfBlocks || p.hasHashes && most < rowsOfBlocks {
		p.blockTokens = 0
	}
	if saidUnit == "" {
		if err := p.settle(&seen); err != nil {
			return err
		}
	}
	if p.unit.isUnix {
		p.origin = seen.first / 1000 * 1000 // an SQL timestamp holds microseconds
	}
	return nil
}

// Schema has columns for blocks and sessions only where the first block has any.
func (p *mooncake) Schema() *arrow.Schema {
	fields := slices.Clone(arrivalSchema.Fields())
	if p.hasBlocks {
		fields = append(fields, arrow.Field{Name: "blocks", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint64), Nullable: true})
	}
	if p.hasSessions {
		fields = append(fields, arrow.Field{Name: "session_id", Type: arrow.BinaryTypes.String, Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// Parse reads the rows of one block, in a worker of its own.
func (p *mooncake) Parse(b read.Block) *read.Batch {
	rows := newArrivalColumns(b)
	ids := read.NewBlockLists(b.Ends+1, len(b.Data)/6)
	sessions := array.NewStringBuilder(read.Memory)
	defer sessions.Release()
	made := &read.Batch{}
	r := mooncakeRow{unit: &p.unit}
	b.Rows(made, func(number int64, line []byte) *read.Reject {
		problem := r.parse(line)
		if problem == nil {
			problem = p.check(&r, made)
		}
		if problem != nil {
			return problem
		}
		if r.hasForeign {
			p.foreign.Add(1)
		}
		arrival := r.arrival - p.origin
		made.Keep(arrival)
		rows.add(number, arrival, r.input, r.output)
		ids.Append(r.ids)
		if r.session == nil {
			sessions.AppendNull()
		} else {
			sessions.Append(string(r.session))
		}
		return nil
	})
	columns := rows.arrays()
	if list := ids.Array(); p.hasBlocks {
		columns = append(columns, list)
	} else {
		list.Release()
	}
	if p.hasSessions {
		columns = append(columns, sessions.NewArray())
	}
	made.Record = read.NewRecord(p.Schema(), columns...)
	return made
}

// check compares a row's number of ids with its length. Too few cannot be; more
// than the prompt has blocks are counted.
func (p *mooncake) check(r *mooncakeRow, made *read.Batch) *read.Reject {
	count := int64(len(r.ids))
	switch {
	case count == 0 || p.blockTokens == 0:
		return nil
	case count*p.blockTokens < r.input:
		return &read.Reject{Column: "hash_ids", Reason: read.TooFewBlocks}
	case (count-1)*p.blockTokens >= r.input && r.input > 0:
		made.Extra++
	}
	return nil
}

// mooncakeRow is one row. Its memory is used again for the next row, so that a row
// costs no allocation.
type mooncakeRow struct {
	arrival, input, output int64
	ids                    []uint64
	session                []byte
	hasForeign             bool
	hasHashes              bool       // ids in hexadecimal digits
	unit                   *stampUnit // nil: milliseconds
}

// parse reads a line by hand, which is much faster, and by encoding/json where the
// line is written in another way than usual. FuzzMooncakeByHand checks that both
// read the same.
func (r *mooncakeRow) parse(line []byte) *read.Reject {
	if r.fast(line) {
		return nil
	}
	return r.slow(line)
}

// Which of the keys that must be there were there.
const (
	hasTimestamp = 1 << iota
	hasInput
	hasOutput
	hasAll = hasTimestamp | hasInput | hasOutput
)

func (r *mooncakeRow) reset() {
	r.ids, r.session, r.hasForeign, r.hasHashes = r.ids[:0], nil, false, false
}

// fast returns false for every line that is not the usual one, right or wrong.
func (r *mooncakeRow) fast(line []byte) bool {
	r.reset()
	s := jsonscan.On(line)
	if !s.Take('{') {
		return false
	}
	seen := 0
	for {
		key, _ := s.Key()
		var bit int
		var ok bool
		switch string(key) {
		case "timestamp":
			digits := r.digits()
			bit, ok = hasTimestamp, digits > 0 && scale(&s, &r.arrival, digits)
		case "input_length":
			bit, ok = hasInput, scale(&s, &r.input, 0)
		case "output_length":
			bit, ok = hasOutput, scale(&s, &r.output, 0)
		case "hash_ids":
			r.ids, ok = jsonscan.Integers(&s, r.ids)
			ok = ok && len(r.ids) > 0
		}
		if !ok || bit != 0 && seen&bit != 0 {
			return false
		}
		seen |= bit
		if s.Take(',') {
			continue
		}
		return s.Take('}') && s.AtEnd() && seen == hasAll
	}
}

// scale reads a number times 10^digits; with no digits it is a number of tokens. It refuses fractions and signs, which slow reads.
func scale(s *jsonscan.Scanner, into *int64, digits int) bool {
	value, ok := s.Whole()
	if !ok || value < 0 || value > math.MaxInt64/read.PowersOfTen[digits] || digits == 0 && value > read.MaxTokens {
		return false
	}
	*into = value * read.PowersOfTen[digits]
	return true
}

// slow reads any JSON object and says what is wrong with it.
func (r *mooncakeRow) slow(line []byte) *read.Reject {
	r.reset()
	var object map[string]json.RawMessage
	switch problem := read.JSONRow(line, &object); {
	case problem != nil && problem.Reason == read.KeyTwice:
		return problem
	case problem != nil || object == nil:
		return &read.Reject{Reason: read.NotJSON}
	}
	if reason := r.readStamp(object["timestamp"]); reason != "" {
		return &read.Reject{Column: "timestamp", Reason: reason}
	}
	delete(object, "timestamp")
	for _, field := range []struct {
		key  string
		into *int64
	}{{"input_length", &r.input}, {"output_length", &r.output}} {
		value, reason := read.JSONNumber(object[field.key], 0)
		if reason != "" {
			return &read.Reject{Column: field.key, Reason: reason}
		}
		*field.into = value
		delete(object, field.key)
	}
	if reason := r.readIDs(object["hash_ids"]); reason != "" {
		return &read.Reject{Column: "hash_ids", Reason: reason}
	}
	r.session = read.JSONText(object["session_id"])
	delete(object, "hash_ids")
	delete(object, "session_id")
	r.hasForeign = len(object) > 0
	return nil
}

// readIDs reads a list of 64-bit numbers; encoding/json's float64 would round those
// above 2^53.
func (r *mooncakeRow) readIDs(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var ids []json.RawMessage
	if json.Unmarshal(raw, &ids) != nil {
		return read.NotAnInteger
	}
	for _, id := range ids {
		value, ok := r.readID(read.Unquoted(id), id[0] == '"')
		if !ok {
			r.ids = r.ids[:0]
			return read.NotAnInteger
		}
		r.ids = append(r.ids, value)
	}
	return ""
}

// readID reads a number, or a hash as ART-Chat writes it: 24 hexadecimal digits in
// quotes, too long for 64 bits. Of such an id only its own hash is kept: equal ones stay
// equal.
func (r *mooncakeRow) readID(text []byte, isQuoted bool) (uint64, bool) {
	value, err := strconv.ParseUint(string(text), 10, 64)
	if err == nil {
		return value, true
	}
	if !isQuoted || len(text) < 8 || len(text) > 128 {
		return 0, false
	}
	for _, c := range text {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			return 0, false
		}
	}
	r.hasHashes = true
	return read.HashText(strings.ToLower(string(text))), true
}
