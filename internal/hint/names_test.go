package hint_test

import (
	"strings"
	"testing"

	"tidemark/internal/hint"
)

func TestDidYouMean(t *testing.T) {
	models := []string{"llama-2-7b", "llama-3-8b", "llama-3.1-8b", "llama-3.1-70b", "qwen2-72b", "qwen2.5-72b", "qwen3-8b", "gpt-oss-20b", "mixtral-8x7b"}
	for _, test := range []struct{ wanted, want string }{
		{"meta-llama/Meta-Llama-3-9B", "did you mean llama-3-8b, llama-3.1-8b or llama-2-7b?"},
		{"lama-3.1-8b", "did you mean llama-3.1-8b or llama-3-8b?"},
		{"Qwen/Qwen1.5-72B", "did you mean qwen2.5-72b or qwen2-72b?"},
		{"gpt-oss-21b", "did you mean gpt-oss-20b?"},
		{"mistral-7b", "did you mean mixtral-8x7b?"},
		{"bert-base", ""},
		{"", ""},
	} {
		if got := hint.DidYouMean(models, test.wanted); got != test.want {
			t.Errorf("%s: got %q, want %q", test.wanted, got, test.want)
		}
	}
}

// A hint listed ten ids of 34 characters, or one name of 5,000.
func TestAListOfNamesIsShort(t *testing.T) {
	long := strings.Repeat("n", 5000)
	ids := []string{}
	for range 10 {
		ids = append(ids, "20261116T000000Z-mooncake-conv-abcd")
	}
	for want, got := range map[string]string{
		"known runs are " + long[:80] + "...":       hint.Known("run", []string{long}, "x"),
		"did you mean " + long[:80] + "...?":        hint.DidYouMean([]string{long}, long[:4990]),
		strings.Join(ids[:6], ", ") + " and 4 more": strings.TrimPrefix(hint.Known("run", ids, "x"), "known runs are "),
		"there is no run yet":                       hint.Known("run", nil, "x"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
