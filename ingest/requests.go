package ingest

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// addRequest puts in a request and, where the trace says more of it, its details.
func (r *rows) addRequest(arrival arrivalRow, detail arrivalDetailRow) error {
	if err := r.add(arrival); err != nil || detail == (arrivalDetailRow{}) {
		return err
	}
	detail.Line = arrival.Line
	return r.add(detail)
}

// collection is what the files of one folder are called together: the folder's
// name.
func (d *document) collection() string {
	path, err := filepath.Abs(d.path)
	if d.path == "-" || err != nil {
		return ""
	}
	return kebabCase(filepath.Base(filepath.Dir(path)))
}

// csvTable reads lines of CSV by the names in the first one, in any case.
type csvTable struct {
	columns map[string]int // by name, as written and in lower case
	width   int
	fields  []string
}

// take reads one line. isHeader says that it was the first one.
func (t *csvTable) take(line []byte) (isHeader bool, problem *reject) {
	fields, reason := csvFields(line)
	if t.columns == nil {
		t.columns, t.width = map[string]int{}, len(fields)
		for i, name := range slices.Backward(fields) { // of two with one name the first counts
			t.columns[name], t.columns[strings.ToLower(name)] = i, i
		}
		return true, nil
	}
	if t.fields = fields; reason != "" {
		return false, &reject{reason: reason}
	}
	if len(fields) > t.width {
		return false, &reject{reason: tooManyColumns}
	}
	return false, nil
}

// text is a cell; "" where there is none.
func (t *csvTable) text(column string) string {
	i, ok := t.columns[column]
	if !ok {
		i, ok = t.columns[strings.ToLower(column)]
	}
	if !ok || i >= len(t.fields) {
		return ""
	}
	return t.fields[i]
}

// tokens is a cell that must hold a number of tokens.
func (t *csvTable) tokens(column string, into *int64) *reject {
	return whole(column, t.text(column), into)
}

// nanos is a cell that must hold seconds.
func (t *csvTable) nanos(column string, into *int64) *reject {
	return instantOf(column, t.text(column), 9, into)
}

// whole reads a number of tokens that is all of a text; 12.0 is one too.
func whole(column, text string, into *int64) *reject {
	text = strings.TrimSuffix(text, ".0")
	value, used, reason := tokenCount([]byte(text))
	if reason == "" && used != len(text) {
		reason = notAnInteger
	}
	if reason != "" {
		return &reject{column: column, reason: reason}
	}
	*into = value
	return nil
}

// instantOf reads a number of units of time that is all of a text, in nanoseconds;
// a unit is 10^digits of them.
func instantOf(column, text string, digits int, into *int64) *reject {
	value, used, reason := decimal([]byte(text), digits)
	if reason == "" && used != len(text) {
		reason = notANumber
	}
	if reason != "" {
		return &reject{column: column, reason: reason}
	}
	*into = value
	return nil
}

// jsonWhole reads a number of tokens of a JSON document.
func jsonWhole(column string, number json.Number, into *int64) *reject {
	return whole(column, number.String(), into)
}

// seconds is a measured time of a trace, in seconds when scaled; nil where there
// is none, or no time at all.
func seconds(text string, scale float64) *float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || value < 0 || math.IsInf(value, 0) || math.IsNaN(value) {
		return nil
	}
	return new(value * scale)
}

// sinceNs is a think time: from one instant to another, in seconds; nil where the
// other is not after it.
func sinceNs(from, to int64) *float64 {
	if to < from {
		return nil
	}
	return new(float64(to-from) / 1e9)
}

// ownBlocks makes the ids of one scope distinct from those of every other: two
// sessions that count from 1 share nothing. Small ids keep their order, so that
// prompts of one session differ from their first tokens on.
func ownBlocks(scope string, ids []uint64) []uint64 {
	const bits = 24
	space := hashText(scope) << bits
	own := make([]uint64, len(ids))
	for i, id := range ids {
		if own[i] = space | id; id >= 1<<bits {
			own[i] = hashText(scope + "/" + strconv.FormatUint(id, 10))
		}
	}
	return own
}

// hashText is FNV-1a with its bits mixed: the same on every machine.
func hashText(text string) uint64 {
	h := uint64(0xcbf29ce484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// covers says whether block ids reach to the end of a prompt, but for a last block
// that some traces leave out because it is not whole.
func covers(blocks []uint64, size int, inputTokens int64) bool {
	return len(blocks) == 0 || int64(len(blocks)+1)*int64(size) > inputTokens
}
