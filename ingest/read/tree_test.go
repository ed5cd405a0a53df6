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
			sound(t, map[string]any(root), 0)
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

// Versions of a tool write one value in several ways, and leave it out.
func TestObject(t *testing.T) {
	var o Object
	if err := o.UnmarshalJSON([]byte(`{"n": "8", "v": "0.10", "w": 0.2, "inf": 1e999, "name": " a ", "path": "/home/me/model", "day": "2024_11_29", "id": "007",
		"list": [{"n": 1}, 2], "in": {"deep": {"n": 3}}, "no": null, "is": true}`)); err != nil {
		t.Fatal(err)
	}
	for what, is := range map[string][2]any{
		"a number in quotes":             {o.Number("n"), Number{8, true}},
		"a setting in quotes":            {o.Scalar("n"), 8.0},
		"a day is no number":             {o.Scalar("day"), "2024_11_29"},
		"an id is no number":             {o.Scalar("id"), "007"},
		"a version is not cut":           {o.Version("v"), "0.10"},
		"a version that is a number":     {o.Version("w"), "0.2"},
		"no finite number":               {o.Number("inf"), Number{}},
		"a word has no blanks around it": {*o.Word("name"), "a"},
		"a model has no folders":         {*o.ModelName("path"), "model"},
		"an element that is no object":   {len(o.Objects("list")[1]), 0},
		"a path":                         {*o.Int32("in", "deep", "n"), int32(3)},
		"a path through no object":       {o.At("name", "deep", "n"), nil},
		"null is there":                  {o.HasAny("nothing", "no"), true},
		"null is no setting":             {o.Scalar("no"), nil},
		"a truth value":                  {o.Scalar("is"), true},
		"a missing count":                {o.Count("nothing") == nil, true},
	} {
		if is[0] != is[1] {
			t.Errorf("%s: got %v, want %v", what, is[0], is[1])
		}
	}
	if _ = o.UnmarshalJSON([]byte(`"text"`)); o != nil {
		t.Errorf("a text as an object: got %v", o)
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

func TestANumberThatNoFloatHoldsIsNone(t *testing.T) {
	got, err := NewJSONStream(strings.NewReader(`[1e400, -1e400, 1e-400, -2]`)).Value(nil, 0)
	if want := `["inf","-inf",1e-400,-2]`; string(got) != want || err != nil {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}
