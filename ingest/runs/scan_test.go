package runs

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
)

var lines = []string{
	`{"seq":0,"turn":0,"is_warm_up":false,"input_tokens":100,"output_tokens":512,"due_s":0,"sent_s":0.000805202,"held_s":1e-7,"finish_reason":"length","chunk_offsets_us":[50166,62668,70082],"reads":null}`,
	`{"seq":1,"due_s":-0.5E+3,"input_tokens":-7,"is_warm_up":true,"session":"a b","class":"","chunk_offsets_us":[],"new":{"a":[1,{"b":null}],"c":"d"}}`,
	` { "seq" : 2 , "due_s" : 3 , "blocks":[18446744073709551615],"think_s":null,"list":[] ,"object":{ } } `,
	`{"seq":1,"seq":2}`, `{"seq":null,"seq":2}`, `{"seq":2,"seq":null}`, `{"SEQ":3}`, `{"ſeq":3}`, `{"x":1,"x":2}`,
	`{"seq":1.0}`, `{"seq":1e3}`, `{"seq":01}`, `{"seq":9223372036854775807}`, `{"seq":9223372036854775808}`, `{"seq":-0}`, `{"seq":-}`, `{"seq":"1"}`,
	`{"due_s":1e999}`, `{"due_s":.5}`, `{"due_s":5.}`, `{"due_s":1e}`, `{"due_s":NaN}`, `{"due_s":0x1p3}`, `{"due_s":1_0}`, `{"due_s":4.9e-324}`,
	`{"session":"\u0041"}`, "{\"session\":\"\xff\"}", "{\"session\":\"a\tb\"}", `{"session":"ü"}`, `{"session":5}`,
	`{"chunk_offsets_us":[1,]}`, `{"chunk_offsets_us":[01]}`, `{"chunk_offsets_us":[ 1 ]}`, `{"chunk_offsets_us":[-1]}`, `{"chunk_offsets_us":[2147483648]}`, `{"chunk_offsets_us":[9223372036854775808]}`,
	`{"chunk_offsets_us":[1][2]}`, `{"chunk_offsets_us":1]}`, `{"is_warm_up":tru}`, `{"is_warm_up":truefalse}`, `{"is_warm_up":nullnull}`,
	`{"x":[1,]}`, `{"x":[}`, `{"x":{"a"}}`, `{"x":{"a":1,}}`, `{"x":01}`, `{"x":[[[[[[[[[[[[]]]]]]]]]]]]}`, `{"x":"a`,
	``, `{`, `{}`, `{} `, `null`, `[]`, `{"seq":1}x`, `{"seq":1},`, `{"seq":1,}`, `{,}`, `{"seq"}`, `{"seq":}`,
}

// A line that is read by hand is read as encoding/json reads it, and none is that this refuses.
func FuzzLinesByHand(f *testing.F) {
	for _, line := range lines {
		f.Add([]byte(line))
	}
	requests, planned := newJSONLines[requestLine](), newJSONLines[planLine]()
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.ContainsAny(line, "\r\n") {
			t.Skip() // Rows hands out none of them
		}
		byHand(t, requests, line)
		byHand(t, planned, line)
	})
}

func byHand[T any](t *testing.T, p *jsonLines[T], line []byte) {
	t.Helper()
	got, want := make([]value, len(p.columns)), make([]value, len(p.columns))
	for i := range got { // of the line before
		got[i] = value{true, 7, 7, []byte("7"), []int64{7}, true}
	}
	if !scan(line, p.places, p.columns, got) {
		return
	}
	if err := p.decode(line, want); err != nil {
		t.Fatalf("%s: read by hand, but: %v", line, err)
	}
	for i, column := range p.columns {
		if got, want := shown(column, got[i]), shown(column, want[i]); got != want {
			t.Errorf("%s: %s: got %s, want %s", line, column.key, got, want)
		}
	}
}

// shown is the value as JSON; a float exactly.
func shown(c jsonColumn, v value) string {
	if !v.isSet {
		return "null"
	}
	text, _ := json.Marshal(map[columnKind]any{wholeColumn: v.whole, realColumn: v.real, textColumn: string(v.text), boolColumn: v.is, numbersColumn: append([]int64{}, v.numbers...)}[c.kind])
	return string(text)
}

// The lines that replay writes are read by hand, or the reader would be slow.
func TestUsualLinesAreReadByHand(t *testing.T) {
	p := newJSONLines[requestLine]()
	for _, line := range lines[:3] {
		if !scan([]byte(line), p.places, p.columns, make([]value, len(p.columns))) {
			t.Errorf("left to encoding/json: %s", line)
		}
	}
}

// Each column has a kind of its own type.
func TestEveryColumnHasAKind(t *testing.T) {
	for _, kind := range []reflect.Type{reflect.TypeFor[requestLine](), reflect.TypeFor[planLine]()} {
		for i := range kind.NumField() {
			if _, is := columnKinds[kind.Field(i).Type]; !is {
				t.Errorf("%s: no column for a %s", kind.Field(i).Name, kind.Field(i).Type)
			}
		}
	}
}
