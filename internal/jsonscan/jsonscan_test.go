package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"tidemark/internal/jsonscan"
)

// A value that is read is what encoding/json reads; one that is usual is read.
var values = []struct {
	text    string
	isUsual bool
}{
	{`0`, true}, {`7`, true}, {`-7`, true}, {`999999999999999999`, true}, {`0.000805202`, true}, {`-0.5E+3`, true}, {`1e-7`, true}, {`4.9e-324`, true},
	{`"a b"`, true}, {`""`, true}, {`true`, true}, {`false`, true}, {`[]`, true}, {`[0,1,2147483647]`, true}, {`[ 1 , 2 ]`, true}, {`[ ]`, true},
	{`[9999999999999999999]`, true}, {`{"a":[1,{"b":null}],"c":"d"}`, true}, {`"\u00e9\n\\"`, true}, {"\"\xff\"", true}, {`"ü"`, true},
	{`-0`, false}, {`9223372036854775807`, false}, {`18446744073709551616`, false}, {`1e999`, false}, {`01`, false}, {`-`, false}, {`.5`, false}, {`5.`, false},
	{`1e`, false}, {`NaN`, false}, {`0x1p3`, false}, {`1_0`, false}, {"\"a\tb\"", false}, {`"\u00g1"`, false}, {`"\x"`, false}, {`"\"`, false}, {`"\u00"`, false}, {`"a`, false},
	{`tru`, false}, {`[1,]`, false}, {`[01]`, false}, {`[-1]`, false}, {`[99999999999999999999]`, false}, {`[2147483648]`, false}, {`[1`, false}, {`[1 2]`, false}, {`[`, false},
	{`{"a"}`, false}, {`{"a":1,}`, false}, {`[[[[[[[[[[[[]]]]]]]]]]]]`, false}, {``, false},
}

// reads are the ways to read a value.
var reads = []func(*jsonscan.Scanner) (any, bool){
	func(s *jsonscan.Scanner) (any, bool) { v, ok := s.Whole(); return v, ok },
	func(s *jsonscan.Scanner) (any, bool) { v, ok := s.Real(); return v, ok },
	func(s *jsonscan.Scanner) (any, bool) { v, ok := s.Text(); return string(v), ok },
	func(s *jsonscan.Scanner) (any, bool) { v, ok := jsonscan.Integers(s, []int64{}); return v, ok },
	func(s *jsonscan.Scanner) (any, bool) { v, ok := jsonscan.Integers(s, []uint64{}); return v, ok },
	func(s *jsonscan.Scanner) (any, bool) { return nil, s.Skip() },
	func(s *jsonscan.Scanner) (any, bool) { v, ok := s.Raw(); return json.RawMessage(v), ok },
	func(s *jsonscan.Scanner) (any, bool) { v := s.Word("true"); return v, v || s.Word("false") },
}

// check reads a value in each way and says whether one of them took it.
func check(t *testing.T, text []byte) (isRead bool) {
	t.Helper()
	line := append(append([]byte(`{ "key" : `), text...), " } "...)
	for i, read := range reads {
		s := jsonscan.On(line)
		if !s.Take('{') {
			t.Fatalf("%s: no object", line)
		}
		key, ok := s.Key()
		if !ok || string(key) != "key" {
			t.Fatalf("%s: key %q", line, key)
		}
		got, ok := read(&s)
		if !ok || !s.Take('}') || !s.AtEnd() {
			continue
		}
		isRead = true
		want := reflect.New(reflect.TypeFor[json.RawMessage]()) // of what is skipped only the grammar counts
		if got != nil {
			want = reflect.New(reflect.TypeOf(got))
		}
		if err := json.Unmarshal(bytes.TrimSpace(text), want.Interface()); err != nil {
			t.Errorf("%s: way %d reads it, encoding/json says %v", text, i, err)
		} else if got != nil && !reflect.DeepEqual(got, want.Elem().Interface()) {
			t.Errorf("%s: way %d: got %v, want %v", text, i, got, want.Elem())
		}
	}
	return isRead
}

func TestUsualValuesAreRead(t *testing.T) {
	for _, v := range values {
		if isRead := check(t, []byte(v.text)); v.isUsual && !isRead {
			t.Errorf("%s: not read", v.text)
		}
	}
}

func FuzzValuesAreThoseOfEncodingJSON(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !bytes.ContainsAny(text, "\r\n") && json.Valid(append(append([]byte(`{"key":`), text...), '}')) == json.Valid(text) {
			check(t, text)
		}
	})
}

func BenchmarkScanner(b *testing.B) {
	line := []byte(`{"seq":12345,"due_s":0.000805202,"session":"a b","ids":[50166,62668,70082,80001,90233,100477,110682,120933],"new":{"a":[1,2]}}`)
	var numbers []int64
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		s := jsonscan.On(line)
		ok := s.Take('{')
		for more := true; more; more = s.Take(',') {
			key, _ := s.Key()
			switch string(key) {
			case "seq":
				_, ok = s.Whole()
			case "due_s":
				_, ok = s.Real()
			case "session":
				_, ok = s.Text()
			case "ids":
				numbers, ok = jsonscan.Integers(&s, numbers[:0])
			default:
				ok = s.Skip()
			}
		}
		if !ok || !s.Take('}') || !s.AtEnd() {
			b.Fatal("not read")
		}
	}
}
