package traces

import (
	"encoding/json"

	"tidemark/ingest/read"
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
// of seconds could as well be milliseconds since the trace began and is read as
// that; a string of seconds is a Unix time.
var unixUnits = []stampUnit{
	{"ns", 0, true, 1e17, false, false},
	{"us", 3, true, 1e14, false, false},
	{"ms", 6, true, 1e11, false, false},
	{"s", 9, true, 1e8, true, false},
	{"ms", 6, false, 0, false, false},
}

// stampUnitOf tells what the stamp of a row counts, by its magnitude.
func stampUnitOf(line []byte) (unit stampUnit, ok bool) {
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
	for _, unit := range unixUnits {
		unit.isText = row.Timestamp[0] == '"'
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
