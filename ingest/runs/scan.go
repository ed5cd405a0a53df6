package runs

import "tidemark/internal/jsonscan"

// value is a field of a line. Its memory is used again for the next line.
type value struct {
	isSet   bool
	whole   int64
	real    float64
	text    []byte
	numbers []int64
	is      bool
}

// scan reads a line as replay writes it, from left to right and without allocating: with fifty million chunks this is what taking a run in costs.
// It is either sure, or leaves the line to encoding/json, right or wrong. FuzzLinesByHand holds both to the same answer.
func scan(line []byte, places map[string]int, columns []jsonColumn, into []value) bool {
	for i := range into {
		into[i].isSet = false
	}
	s := jsonscan.On(line)
	if !s.Take('{') {
		return false
	}
	for {
		key, ok := s.Key()
		if !ok {
			return false
		}
		place, isOurs := places[string(key)]
		switch {
		case !isOurs:
			// encoding/json takes SEQ for seq.
			ok = isLower(key) && s.Skip()
		case into[place].isSet: // given twice
			return false
		default:
			ok = into[place].read(&s, columns[place].kind)
		}
		if !ok {
			return false
		}
		if s.Take(',') {
			continue
		}
		return s.Take('}') && s.AtEnd()
	}
}

func isLower(key []byte) bool {
	for _, c := range key {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_') {
			return false
		}
	}
	return true
}

// read reads a value of a column. An absent value and null are the same.
func (v *value) read(s *jsonscan.Scanner, kind columnKind) (ok bool) {
	if s.Word("null") {
		return true
	}
	v.isSet = true
	switch kind {
	case wholeColumn:
		v.whole, ok = s.Whole()
	case realColumn:
		v.real, ok = s.Real()
	case textColumn:
		v.text, ok = s.Text()
	case boolColumn:
		v.is = s.Word("true")
		ok = v.is || s.Word("false")
	default:
		v.numbers, ok = jsonscan.Integers(s, v.numbers[:0])
	}
	return ok
}
