package ingest

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
)

// Mooncake's traces, which aiperf calls mooncake_trace: JSON lines, milliseconds
// since the trace began, and one id per block of 512 prompt tokens. Ids are kept
// exactly, as 64-bit integers; they are chained, so that equal leading ids are
// an equal prefix.
//
// LMBench's trace replayer (GMI) has the same keys with other stamps: strings of
// Unix nanoseconds, too large for a float64, or of any unit. The unit is then
// seen by their magnitude, and said. Its ids stand for no fixed number of tokens.
var _ = register(format{
	name:  "mooncake",
	sees:  seesMooncake,
	open:  openMooncake,
	wants: `JSON lines with "timestamp" (ms), "input_length", "output_length" and "hash_ids"`,
})

// mooncakeBlock is how many tokens an id stands for. The file does not say; where
// the ids of its head fit another size better, that one is taken and said.
const mooncakeBlock = 512

func seesMooncake(h *head) string {
	// chat_id is Bailian's, whose times are seconds and whose blocks are of 16.
	if h.has("chat_id") || !h.isLines() || !h.has("input_length", "output_length", "timestamp") {
		return ""
	}
	return "JSON lines with " + listed(h.keys)
}

type mooncake struct {
	blockTokens int64
	hasBlocks   bool
	hasSessions bool
	unit        stampUnit
	origin      int64        // Unix nanoseconds of arrival_ns = 0; 0 for relative times
	foreign     atomic.Int64 // rows with keys that were passed over
}

func openMooncake(first block) (*trace, block, error) {
	first.data = bytes.TrimPrefix(first.data, utf8BOM)
	p := &mooncake{}
	p.look(first)
	t := &trace{parser: p, timeUnit: p.unit.name, columns: strings.Join(columnNames(p.schema()), ", ")}
	if p.unit.isUnix {
		t.originAt = new(time.Unix(0, p.origin).UTC())
	}
	if p.hasBlocks {
		t.blockTokens = int(p.blockTokens)
	}
	t.notes = func(sum tally) []string { return p.notes(sum) }
	return t, first, nil
}

func columnNames(schema *arrow.Schema) []string {
	var names []string
	for _, field := range schema.Fields() {
		names = append(names, field.Name)
	}
	return names
}

func (p *mooncake) notes(sum tally) []string {
	var notes []string
	if p.unit.isUnix {
		notes = append(notes, "stamps are Unix "+p.unit.name+", by their magnitude")
	}
	if p.hasBlocks && p.blockTokens == 0 {
		notes = append(notes, "block ids stand for no fixed number of tokens: they show what is reused, and no prompt can be made of them")
	} else if p.hasBlocks && p.blockTokens != mooncakeBlock {
		notes = append(notes, fmt.Sprintf("prefix blocks of %d tokens: the number of ids fits that better than %d", p.blockTokens, mooncakeBlock))
	}
	if p.blockTokens > 0 && sum.extra > 0 {
		notes = append(notes, fmt.Sprintf("%d rows have more block ids than their prompt has blocks of %d tokens", sum.extra, p.blockTokens))
	}
	if !p.unit.isUnix && looksLikeUnixSeconds(sum) {
		notes = append(notes, "stamps look like Unix seconds; read as milliseconds")
	}
	if rows := p.foreign.Load(); rows > 0 {
		notes = append(notes, fmt.Sprintf("%d rows have keys that were passed over", rows))
	}
	return notes
}

// looksLikeUnixSeconds doubts stamps that are read as milliseconds since the
// trace began: as such, the first would be eleven days in, and as Unix
// milliseconds they would be of 1970. As seconds they are of this century, with
// a request at least every quarter of an hour.
func looksLikeUnixSeconds(sum tally) bool {
	const stamp, least, most, meanGap = int64(1e6), int64(1e9), int64(1e10), int64(900)
	first, last := sum.first/stamp, sum.last/stamp
	return min(first, last) >= least && max(first, last) < most && last-first <= meanGap*sum.kept
}

// blockSizes are the usual ones; of two that fit as well, the one before.
var blockSizes = []int64{mooncakeBlock, 16, 32, 64, 128, 256, 1024}

// look decides from the first block which columns there are, what a stamp counts,
// and how long a prefix block is: the size that fits the most rows exactly. Where
// none fits half of many rows, the ids are of no fixed size.
func (p *mooncake) look(first block) {
	const many = 20
	fits := make([]int, len(blockSizes))
	rowsOfBlocks, isFirst := 0, true
	p.unit = unixUnits[len(unixUnits)-1]
	var r mooncakeRow
	first.rows(&batch{}, func(_ int64, line []byte) *reject {
		if unit, ok := stampUnitOf(line); isFirst && ok {
			p.unit = unit
		}
		r.unit = &p.unit
		if r.parse(line) != nil {
			return nil
		}
		if isFirst && p.unit.isUnix {
			p.origin = r.arrival / 1000 * 1000 // an SQL timestamp holds microseconds
		}
		isFirst = false
		if len(r.ids) > 0 {
			rowsOfBlocks++
		}
		p.hasBlocks = p.hasBlocks || len(r.ids) > 0
		p.hasSessions = p.hasSessions || r.session != nil
		for i, size := range blockSizes {
			if count := int64(len(r.ids)); count > 0 && (count-1)*size < r.input && r.input <= count*size {
				fits[i]++
			}
		}
		return nil
	})
	most := slices.Max(fits)
	if p.blockTokens = blockSizes[slices.Index(fits, most)]; rowsOfBlocks >= many && 2*most < rowsOfBlocks {
		p.blockTokens = 0
	}
}

func (p *mooncake) schema() *arrow.Schema {
	fields := slices.Clone(azureSchema.Fields())
	if p.hasBlocks {
		fields = append(fields, arrow.Field{Name: "blocks", Type: arrow.ListOf(arrow.PrimitiveTypes.Uint64), Nullable: true})
	}
	if p.hasSessions {
		fields = append(fields, arrow.Field{Name: "session_id", Type: arrow.BinaryTypes.String, Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

func (p *mooncake) parse(b block) *batch {
	capacity := b.ends + 1 // the last line may have no end
	lines, arrivals := newInt64s(capacity), newInt64s(capacity)
	inputs, outputs := newInt64s(capacity), newInt64s(capacity)
	ids := newBlockLists(capacity, len(b.data)/6)
	sessions := array.NewStringBuilder(outside)
	defer sessions.Release()
	made := &batch{}
	r := mooncakeRow{unit: &p.unit}
	b.rows(made, func(number int64, line []byte) *reject {
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
		made.keep(arrival)
		lines.append(number)
		arrivals.append(arrival)
		inputs.append(r.input)
		outputs.append(r.output)
		ids.append(r.ids)
		if r.session == nil {
			sessions.AppendNull()
		} else {
			sessions.Append(string(r.session))
		}
		return nil
	})
	kind := arrow.PrimitiveTypes.Int64
	columns := []arrow.Array{lines.array(kind), arrivals.array(kind), inputs.array(kind), outputs.array(kind)}
	if list := ids.array(); p.hasBlocks {
		columns = append(columns, list)
	} else {
		list.Release()
	}
	if p.hasSessions {
		columns = append(columns, sessions.NewArray())
	}
	made.record = record(p.schema(), columns...)
	return made
}

// check holds a row's ids against its length.
func (p *mooncake) check(r *mooncakeRow, made *batch) *reject {
	count := int64(len(r.ids))
	switch {
	case count == 0 || p.blockTokens == 0:
		return nil
	case count*p.blockTokens < r.input:
		return &reject{column: "hash_ids", reason: tooFewBlocks}
	case (count-1)*p.blockTokens >= r.input && r.input > 0:
		made.extra++
	}
	return nil
}

// mooncakeRow is one row; its memory is used again for the next.
type mooncakeRow struct {
	arrival, input, output int64
	ids                    []uint64
	session                []byte
	hasForeign             bool
	unit                   *stampUnit // nil: milliseconds
}

// parse reads a line by hand, and by encoding/json where it is written in some
// other way than usual.
func (r *mooncakeRow) parse(line []byte) *reject {
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
	r.ids, r.session, r.hasForeign = r.ids[:0], nil, false
}

// fast says false for everything that is not the usual line, right or wrong.
func (r *mooncakeRow) fast(line []byte) bool {
	r.reset()
	s := scanner{text: line}
	if !s.take('{') {
		return false
	}
	seen := 0
	for {
		key := s.key()
		var bit int
		var ok bool
		switch string(key) {
		case "timestamp":
			digits := r.digits()
			bit, ok = hasTimestamp, digits > 0 && s.number(&r.arrival, digits)
		case "input_length":
			bit, ok = hasInput, s.number(&r.input, 0)
		case "output_length":
			bit, ok = hasOutput, s.number(&r.output, 0)
		case "hash_ids":
			r.ids, ok = s.ids(r.ids)
			ok = ok && len(r.ids) > 0
		}
		if !ok || bit != 0 && seen&bit != 0 {
			return false
		}
		seen |= bit
		if s.take(',') {
			continue
		}
		return s.take('}') && s.atEnd() && seen == hasAll
	}
}

// scanner reads the plain parts of a JSON line.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) blanks() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

func (s *scanner) take(c byte) bool {
	s.blanks()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) atEnd() bool {
	s.blanks()
	return s.at == len(s.text)
}

// key reads "name": and returns nil where there is none.
func (s *scanner) key() []byte {
	if !s.take('"') {
		return nil
	}
	width := bytes.IndexByte(s.text[s.at:], '"')
	if width < 0 {
		return nil
	}
	name := s.text[s.at : s.at+width]
	s.at += width + 1
	if !s.take(':') {
		return nil
	}
	return name
}

// number reads a number times 10^digits; without digits it is a number of tokens.
func (s *scanner) number(into *int64, digits int) bool {
	s.blanks()
	rest := s.text[s.at:]
	if len(rest) > 1 && rest[0] == '0' && rest[1]-'0' <= 9 {
		return false // JSON has no leading zeros
	}
	value, used, reason := integer(rest)
	if reason != "" || used < len(rest) && !isEnd(rest[used]) || value > math.MaxInt64/powersOfTen[digits] || digits == 0 && value > maxTokens {
		return false
	}
	*into = value * powersOfTen[digits]
	s.at += used
	return true
}

func (s *scanner) ids(into []uint64) ([]uint64, bool) {
	if !s.take('[') {
		return into, false
	}
	for {
		s.blanks()
		start, value := s.at, uint64(0)
		for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
			value = value*10 + uint64(s.text[s.at]-'0')
			s.at++
		}
		width := s.at - start
		if width == 0 || width > 19 || width > 1 && s.text[start] == '0' { // 19 digits always fit 64 bits
			return into, false
		}
		into = append(into, value)
		if s.take(',') {
			continue
		}
		return into, s.take(']')
	}
}

// slow reads any JSON object and says what is wrong with it.
func (r *mooncakeRow) slow(line []byte) *reject {
	r.reset()
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil || object == nil {
		return &reject{reason: notJSON}
	}
	if reason := r.readStamp(object["timestamp"]); reason != "" {
		return &reject{column: "timestamp", reason: reason}
	}
	delete(object, "timestamp")
	for _, field := range []struct {
		key  string
		into *int64
	}{{"input_length", &r.input}, {"output_length", &r.output}} {
		value, reason := jsonNumber(object[field.key], 0)
		if reason != "" {
			return &reject{column: field.key, reason: reason}
		}
		*field.into = value
		delete(object, field.key)
	}
	if reason := r.readIDs(object["hash_ids"]); reason != "" {
		return &reject{column: "hash_ids", reason: reason}
	}
	r.session = jsonText(object["session_id"])
	delete(object, "hash_ids")
	delete(object, "session_id")
	r.hasForeign = len(object) > 0
	return nil
}

func jsonNumber(raw json.RawMessage, digits int) (int64, string) {
	if len(raw) == 0 || string(raw) == "null" {
		return 0, isMissing
	}
	if digits > 0 {
		value, used, reason := decimal(raw, digits)
		if reason == "" && used != len(raw) {
			reason = notANumber
		}
		return value, reason
	}
	value, used, reason := tokenCount(raw)
	if reason == "" && used != len(raw) {
		reason = notAnInteger
	}
	return value, reason
}

func (r *mooncakeRow) readIDs(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var ids []json.Number
	if json.Unmarshal(raw, &ids) != nil {
		return notAnInteger
	}
	for _, id := range ids {
		value, err := strconv.ParseUint(id.String(), 10, 64)
		if err != nil {
			r.ids = r.ids[:0]
			return notAnInteger
		}
		r.ids = append(r.ids, value)
	}
	return ""
}

// jsonText is a string's content or a number as it is written; nil for the rest.
func jsonText(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		return []byte(text)
	}
	if len(raw) > 0 && (raw[0] == '-' || raw[0]-'0' <= 9) {
		return raw
	}
	return nil
}
