package read

import (
	"math"
	"strings"
	"testing"
)

// A tree holds finite numbers alone, and is no deeper than it may be.
func FuzzTree(f *testing.F) {
	for _, seed := range []string{
		`{"a": 1e999, "b": [NaN, -Infinity, "Infinity", "a\"NaN"], "c": {"d": null}}`, "a: .inf\nb: [1, 2.5, x]\n1: {2: y}\n", "a: &x [1]\nb: [*x, *x]\n",
		strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), "? [a]\n: b\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		root, err := ParseTree(content)
		if err == nil {
			sound(t, root, 0)
			Flatten(map[string]any{}, "", root)
		}
	})
}

func sound(t *testing.T, value any, depth int) {
	if depth > 65 {
		t.Fatal("too deep")
	}
	switch value := value.(type) {
	case map[string]any:
		for _, inner := range value {
			sound(t, inner, depth+1)
		}
	case []any:
		for _, inner := range value {
			sound(t, inner, depth+1)
		}
	case float64:
		if math.IsInf(value, 0) || math.IsNaN(value) {
			t.Fatalf("%v in a tree", value)
		}
	case nil, string, bool:
	default:
		t.Fatalf("a %T in a tree", value)
	}
}

// What Python writes for no number does not break the JSON around it, and texts
// that say the same stay.
func TestWithoutNaN(t *testing.T) {
	got := string(WithoutNaN([]byte(`{"a":NaN,"b":[-Infinity,Infinity],"c":"NaN Infinity \"NaN","d":1}`)))
	if want := `{"a":"" ,"b":[""       ,""      ],"c":"NaN Infinity \"NaN","d":1}`; got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}
