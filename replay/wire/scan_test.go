package wire

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/proof/must"
)

// The scanner may give up on any input; where it does not, it says what encoding/json says.
func FuzzScanChunk(f *testing.F) {
	files, _ := filepath.Glob("../testdata/streams/*.txt")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range bytes.Lines(text) {
			f.Add(bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:"))))
		}
	}
	for _, text := range []string{
		`{}`, ` { } `, `{"choices":null,"usage":{}}`, `{"choices":[{"text":"\ud800","token_ids":[1,"x",{"a":[]}]}]}`,
		`{"usage":{"completion_tokens":16.0,"prompt_tokens":1e3}}`, `{"usage":{"completion_tokens":007}}`,
		`{"choices":[{"delta":{"role":null,"content":"x","tool_calls":[]}}]}`, `{"a":-0.5e+7,"b":true,"c":[[]],"d":"\u00e9"}`,
		`{"choices":[{"finish_reason":"étrange"}]}`, `{"error":null,"choices":[]}`, `{"choices":[null]}`, `[]`, `null`,
		`{"Choices":[{"text":"x"}]}`, `{"choices":[{"token_ids":[01]}]}`,
		`{"choices":[{"token_ids":[ 7 , -1, 2147483648, 1.0, "x", null ]}],"metrics":{"time_to_first_token_ms":1.5,"queue_time_ms":null}}`,
		`{"metrics":{"generation_time_ms":-1,"mean_itl_ms":1e-3,"time_to_first_token_ms":"5"}}`, `{"metrics":[]}`, `{"metrics":null,"usage":null}`, "{\"a\":\"\xff\"}", "{\"a\":\"\x01\"}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var fastIDs, slowIDs []int32
		fast, sure := scanChunk(data, &fastIDs)
		if !sure {
			return
		}
		slow, err := decodeChunk(data, &slowIDs)
		if err != nil || !reflect.DeepEqual(fast, slow) || !slices.Equal(fastIDs, slowIDs) {
			t.Errorf("%q: scanned %+v %v, decoded %+v %v, %v", data, fast, fastIDs, slow, slowIDs, err)
		}
		if plain, sure := scanChunk(data, nil); !sure || plain != fast {
			t.Errorf("%q: %+v, and %+v where ids are kept", data, plain, fast)
		}
	})
}

func TestTheScannerIsSureOfWhatServersSend(t *testing.T) {
	for _, name := range []string{"python-token-ids", "rust-token-ids", "running-usage", "held-back", "chat", "usage-with-finish"} {
		text := must.Get(os.ReadFile("../testdata/streams/" + name + ".txt"))(t)
		for line := range strings.Lines(string(text)) {
			data := strings.TrimPrefix(strings.TrimSpace(line), "data: ")
			if data == "" || data == "[DONE]" {
				continue
			}
			if _, sure := scanChunk([]byte(data), nil); !sure {
				t.Errorf("%s: gave up on %s", name, data)
			}
		}
	}
}
