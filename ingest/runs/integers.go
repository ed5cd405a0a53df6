package runs

import (
	"encoding/json"

	"tidemark/internal/jsonscan"
)

// integers is a JSON array of integers. A large run has fifty million of them, and encoding/json takes each through reflection.
type integers []int64

// UnmarshalJSON leaves everything that replay does not write, such as signs, exponents and numbers that are too large, to encoding/json.
func (all *integers) UnmarshalJSON(text []byte) error {
	s := jsonscan.On(text)
	parsed, ok := jsonscan.Integers(&s, make(integers, 0, len(text)/4+1))
	if !ok || !s.AtEnd() {
		return json.Unmarshal(text, (*[]int64)(all))
	}
	*all = parsed
	return nil
}
