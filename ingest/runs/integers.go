package runs

import "encoding/json"

// integers is a JSON array of small integers. A large run has fifty million of them, and encoding/json takes each through reflection.
type integers []int32

// UnmarshalJSON leaves everything that replay does not write, such as spaces, exponents and numbers that are too large, to encoding/json.
func (all *integers) UnmarshalJSON(text []byte) error {
	parsed, ok := plainIntegers(text, make(integers, 0, len(text)/4+1))
	if !ok {
		return json.Unmarshal(text, (*[]int32)(all))
	}
	*all = parsed
	return nil
}

// plainIntegers appends a JSON array of up to nine digits each, without signs or spaces. It refuses every other text.
func plainIntegers(text []byte, into []int32) ([]int32, bool) {
	const mostDigits = 9 // always fit into 32 bits
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return into, false
	}
	if len(text) == 2 {
		return into, true
	}
	value, digits := int32(0), 0
	for _, c := range text[1:] {
		switch {
		case c-'0' <= 9 && digits < mostDigits && (value > 0 || digits == 0):
			value, digits = value*10+int32(c-'0'), digits+1
		case (c == ',' || c == ']') && digits > 0:
			into = append(into, value)
			value, digits = 0, 0
		default:
			return into, false
		}
	}
	return into, true
}
