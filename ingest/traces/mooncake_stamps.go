package traces

import (
	"encoding/json"
	"fmt"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// The stamps of Mooncake's keys. Mooncake writes milliseconds since the trace
// began; replayers of other makers write Unix times of any unit under the same key.

// stampUnit is what a stamp counts: 10^digits nanoseconds.
type stampUnit struct {
	name   string
	digits int
	isUnix bool  // since 1970, and not since the trace began
	from   int64 // the least stamp that is one; of strings alone where ofText is set
	ofText bool
	isText bool // written as a string
}

// unixUnits are tried in order; as Unix times they all begin in 1973. A bare number
// of seconds could as well be milliseconds since the trace began: settle looks at
// more rows. A string of seconds is a Unix time.
var unixUnits = []stampUnit{
	{"ns", 0, true, 1e17, false, false},
	{"us", 3, true, 1e14, false, false},
	{"ms", 6, true, 1e11, false, false},
	{"s", 9, true, 1e8, true, false},
	inMilliseconds,
}

var inMilliseconds = stampUnit{"ms", 6, false, 0, false, false}

// stamps are what is known of those of the first rows, nanoseconds.
type stamps struct {
	count              int64
	first, least, most int64
	hasFraction        bool // of a millisecond
}

func (s *stamps) add(ns int64) {
	if s.count == 0 {
		s.first, s.least, s.most = ns, ns, ns
	}
	s.count++
	s.least, s.most = min(s.least, ns), max(s.most, ns)
	s.hasFraction = s.hasFraction || ns%1e6 != 0
}

// rate is of requests per second; 0 where all come at one instant.
func (s *stamps) rate() float64 {
	if s.most == s.least {
		return 0
	}
	return float64(s.count-1) / (float64(s.most-s.least) / 1e9)
}

// settle doubts stamps that could be milliseconds since the trace began. Unix seconds would put the first request eleven days into the
// trace, and as seconds they have one at least every quarter of an hour. Milliseconds that make more requests a second than any service has
// are seconds where they have fractions; otherwise both can be meant. A few rows, and fractions that span less than a second, get a note.
func (p *mooncake) settle(seen *stamps) error {
	const (
		isUnixFrom, isUnixUntil, meanGapS = int64(1e15), int64(1e16), int64(900) // 1e9 to 1e10, read as milliseconds
		mostRate                          = 1000.0
		many                              = 50 // rows that are no mere burst
	)
	rate := seen.rate()
	switch {
	case p.unit.isUnix:
		p.unitNote = "stamps are Unix " + p.unit.name + ", by their magnitude"
	case seen.count == 0:
	case seen.least >= isUnixFrom && seen.most < isUnixUntil && (seen.most-seen.least)/1e6 <= meanGapS*seen.count:
		p.unit = stampUnit{name: "s", digits: 9, isUnix: true}
		seen.first *= 1000
		p.unitNote = "stamps are Unix s, by their magnitude; --time-unit ms reads them as milliseconds since the trace began"
	case seen.hasFraction && rate > mostRate && rate < 1000*mostRate:
		p.unit = stampUnit{name: "s", digits: 9}
		p.unitNote = fmt.Sprintf("stamps are read as seconds, %.3g requests/s: milliseconds would make %.0f; --time-unit ms says otherwise", rate/1000, rate)
	case rate > mostRate && seen.count >= many:
		return hint.Errorf("timestamp: seconds would make %.3g requests/s, milliseconds %.0f, and the file does not say which it has", rate/1000, rate).
			Hint("say it: --time-unit s, or --time-unit ms")
	case rate > mostRate, seen.count > 1 && seen.hasFraction && seen.most-seen.least < 1e9:
		p.unitNote = fmt.Sprintf("stamps are read as milliseconds, %.0f requests/s; --time-unit s says otherwise", rate)
	}
	return nil
}

// unitDigits are the units that a user can say, as powers of ten of nanoseconds.
var unitDigits = map[string]int{"s": 9, "ms": 6, "us": 3, "ns": 0}

// stampUnitOf tells what the stamp of a row counts: what the user says, else by its magnitude.
func stampUnitOf(line []byte, said string) (unit stampUnit, ok bool) {
	var row struct {
		Timestamp json.RawMessage `json:"timestamp"`
	}
	if json.Unmarshal(line, &row) != nil || len(row.Timestamp) == 0 {
		return unit, false
	}
	text := read.JSONText(row.Timestamp)
	stamp, _, reason := read.Integer(text)
	if reason != "" {
		return unit, false
	}
	isText := row.Timestamp[0] == '"'
	if said != "" {
		unit = stampUnit{name: said, digits: unitDigits[said], isText: isText}
		unit.isUnix = stamp >= 1e17/read.PowersOfTen[unit.digits]
		return unit, true
	}
	for _, unit := range unixUnits {
		unit.isText = isText
		if stamp >= unit.from && (!unit.ofText || unit.isText) {
			return unit, true
		}
	}
	return unit, false
}

// digits is the unit of the row's stamps as a power of ten of nanoseconds.
func (r *mooncakeRow) digits() int {
	if r.unit == nil {
		return 6
	}
	return r.unit.digits
}

// readStamp reads a number or, in a file that has them, a string of one.
func (r *mooncakeRow) readStamp(raw json.RawMessage) string {
	text := []byte(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return read.Missing
	}
	if r.unit != nil && r.unit.isText && raw[0] == '"' {
		text = read.JSONText(raw)
	}
	value, reason := read.WholeDecimal(text, r.digits(), read.NotANumber)
	r.arrival = value
	return reason
}
