package traces

import (
	"bytes"
	"slices"
	"testing"
)

// What is read by hand is what encoding/json reads.
func FuzzMooncakeByHand(f *testing.F) {
	for _, seed := range []string{
		`{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]}`,
		`{"timestamp":1.5,"input_length":1,"output_length":1,"hash_ids":[18446744073709551615],"session_id":"a"}`,
		`{"timestamp":"1753694362340138614","input_length":2101,"output_length":84,"hash_ids":[2843241808]}` + "\n" + `{"timestamp":1753694362340138614,"input_length":1,"output_length":1}`,
		`{"hash_ids":[],"timestamp":3e3,"input_length":1,"output_length":1,"session_id":7}`,
		`{"timestamp":1,"timestamp":2,"input_length":01,"output_length":1}`,
		`{"timestamp":1,"input_length":1,"output_length":1,"text_input":"\u0041"}` + "\n" + `{"timestamp":`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for line := range bytes.Lines(content) {
			line = bytes.TrimRight(line, "\r\n")
			var fast, slow mooncakeRow
			if !fast.fast(line) {
				continue
			}
			if problem := slow.slow(line); problem != nil {
				t.Fatalf("by hand it is a row, by encoding/json %+v: %s", *problem, line)
			}
			if fast.arrival != slow.arrival || fast.input != slow.input || fast.output != slow.output || !slices.Equal(fast.ids, slow.ids) {
				t.Fatalf("by hand %+v, by encoding/json %+v: %s", fast, slow, line)
			}
		}
	})
}
