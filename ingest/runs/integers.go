package runs

import "encoding/json"

// integers is a JSON array of small integers. A large run has fifty million of them, and encoding/json takes each through reflection.
type integers []int32

// UnmarshalJSON leaves everything that replay does not write, such as spaces, exponents and numbers that are too large, to encoding/json.
func (all *integers) UnmarshalJSON(text []byte) error {
	parsed, ok := plainIntegers(text)
	if !ok {
		return json.Unmarshal(text, (*[]int32)(all))
	}
	*all = parsed
	return nil
}

// plainIntegers reads a valid JSON array of up to nine digits each, without signs or spaces.
func plainIntegers(text []byte) (integers, bool) {
	const mostDigits = 9 // always fit into 32 bits
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return nil, false
	}
	text = text[1 : len(text)-1]
	all := make(integers, 0, len(text)/4+1)
	value, digits := int32(0), 0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9' && digits < mostDigits:
			value, digits = value*10+int32(c-'0'), digits+1
		case c == ',':
			all = append(all, value)
			value, digits = 0, 0
		default:
			return nil, false
		}
	}
	if len(text) > 0 {
		all = append(all, value)
	}
	return all, true
}
