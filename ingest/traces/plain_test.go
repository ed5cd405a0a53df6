package traces

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"tidemark/ingest/read"
)

// The values of an object are what encoding/json finds.
func FuzzEachValue(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":{"c":"x\"}","d":[{"e":1}],"f":null}, "g" : true }`, `{}`, `{"a":{}}`, `{"\u0061\\":"\n"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		var object map[string]json.RawMessage
		if !utf8.Valid(content) || !json.Valid(content) || json.Unmarshal(content, &object) != nil || object == nil {
			return
		}
		got := map[string]string{}
		eachValue(bytes.TrimSpace(content), nil, 0, func(path, value []byte) { got[string(path)] = string(value) })
		for key, value := range object {
			if value[0] == '{' || bytes.ContainsAny(content, ".\\") { // a path, or a key, that is written in two ways
				continue
			}
			if text, ok := got[key]; !ok || text != string(bytes.TrimSpace(read.Unquoted(value))) {
				t.Fatalf("%q: got %q, want %q", key, text, value)
			}
		}
	})
}
