//go:build duckdb_arrow

package ingest

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// parsed opens the content as the format and parses all of it in one block, and
// sees that what must always hold does: rows read = kept + rejected, every kept
// row is in the record, and no reject carries a piece of the text.
func parsed(t *testing.T, f format, content []byte) (*batch, bool) {
	t.Helper()
	lines := newBlocks(bytes.NewReader(content), 1<<20, 1<<18)
	first, err := lines.next()
	if err != nil || f.sees(newHead(first.data, "")) == "" {
		return nil, false
	}
	trace, first, err := f.open(first)
	if err != nil {
		return nil, false
	}
	made := trace.parser.parse(first)
	t.Cleanup(made.record.Release)
	if made.read != made.kept+int64(len(made.rejects)) || made.record.NumRows() != made.kept {
		t.Fatalf("%d read, %d kept, %d rejected, %d in the record", made.read, made.kept, len(made.rejects), made.record.NumRows())
	}
	columns := append(headerNames(firstLine(content)), "", "timestamp", "input_length", "output_length", "hash_ids")
	for _, r := range made.rejects {
		if !slices.Contains(columns, r.column) || !slices.Contains(reasons, r.reason) {
			t.Fatalf("a reject says %q, %q", r.column, r.reason)
		}
	}
	return made, true
}

// readAll lets a reader of whole documents take the content, without a warehouse,
// and sees that what must always hold does. It is nil where the format refuses.
func readAll(t *testing.T, f format, content []byte) *rows {
	t.Helper()
	lines := newBlocks(bytes.NewReader(content), 1<<20, 1<<18)
	first, err := lines.next()
	if err != nil || f.sees(newHead(first.data, "")) == "" {
		return nil
	}
	doc := &document{path: "-", first: first, rest: lines}
	out := newRows(t.Context(), nil, 1, doc)
	defer out.close()
	if f.read(doc, out) != nil {
		return nil
	}
	if err := out.end(); err != nil {
		t.Fatal(err)
	}
	if out.sum.read != out.sum.kept+out.sum.rejected || out.sum.rejected != int64(len(out.sum.rejects)) {
		t.Fatalf("%d read, %d kept, %d rejected", out.sum.read, out.sum.kept, out.sum.rejected)
	}
	for _, r := range out.sum.rejects {
		if !slices.Contains(reasons, r.reason) {
			t.Fatalf("a reject says %q", r.reason)
		}
	}
	return out
}

var reasons = []string{notAnInteger, notATime, notANumber, notFinite, negative, outOfRange, tooLarge, isMissing, tooManyColumns, openQuote, strayQuote, tooLong, notJSON, tooFewBlocks, notAKnownWord, notADictionary, "not of the kind that it has to be"}

func named(name string) format {
	return formats[slices.IndexFunc(formats, func(f format) bool { return f.name == name })]
}

func FuzzAzure(f *testing.F) {
	const head = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
	for _, seed := range []string{
		head + "2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:04.0319600,3180,8",
		head + "2024-05-10 00:00:00.009930+00:00,2162,5\n",
		head + "2024-05-10T00:00:00Z,\"1\", 2 \n",
		head + "\"2024-05-10T00:00:00Z\",1,\"2\n3\"\n",
		"\"a,\"\"b\"\"\",TIMESTAMP,ContextTokens,GeneratedTokens\n\"x,\"\"y\"\"\",2024-05-10 00:00:00,1,2\nx\",2024-05-10 00:00:00,1,2\n",
		"TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n2025-01-05 10:00:00.1+0530,0,350,20\n",
		"arrived_at,num_prefill_tokens,num_decode_tokens\n0.052,1,2\n1e3,1,2\nNaN,1,2\n-1,2,3\n9e99,1,1\n",
		"request_id,arrival_timestamp,prompt_size,token_size\nx,0.5,1,9223372036854775808\n",
	} {
		f.Add([]byte(seed))
	}
	azure := named("azure")
	f.Fuzz(func(t *testing.T, content []byte) {
		made, ok := parsed(t, azure, content)
		if !ok {
			return
		}
		for i := 2; i < 4; i++ {
			for _, tokens := range made.record.Column(i).(*array.Int64).Int64Values() {
				if tokens < 0 || tokens > maxTokens {
					t.Fatalf("tokens: %d", tokens)
				}
			}
		}
	})
}

func FuzzMooncake(f *testing.F) {
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
	mooncake := named("mooncake")
	f.Fuzz(func(t *testing.T, content []byte) {
		parsed(t, mooncake, content)
	})
}

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

// Instants are what the standard library reads.
func TestInstantsAgainstTheStandardLibrary(t *testing.T) {
	layouts := []string{
		"2006-01-02 15:04:05", "2006-01-02 15:04:05.0000000", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.000000-07:00",
		"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05-0700",
	}
	zones := []*time.Location{time.UTC, time.FixedZone("", 5*3600+1800), time.FixedZone("", -8*3600)}
	at := time.Date(1999, 12, 31, 23, 59, 58, 987654321, time.UTC)
	var c clock
	for range 3000 {
		at = at.Add(97*time.Hour + 13*time.Minute + 1234567891)
		for i, layout := range layouts {
			text := at.In(zones[i%len(zones)]).Format(layout)
			want, err := time.Parse(layout, text)
			if err != nil {
				t.Fatal(err)
			}
			got, used, _, reason := c.instant([]byte(text))
			if reason != "" || got != want.UnixNano() || used != len(text) {
				t.Fatalf("instant(%s): got %d, %d used, %q; want %d", text, got, used, reason, want.UnixNano())
			}
		}
	}
}

// Decimals are exact, which float64 is not.
func TestDecimalsAreExact(t *testing.T) {
	for _, text := range []string{"0", "0.052", "1753694362.340138614", "3600.000000001", "9007199.254740993", "1e3", "2.5E-3"} {
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatal(text)
		}
		want := new(big.Rat).Mul(exact, big.NewRat(1e9, 1))
		got, used, reason := decimal([]byte(text+","), 9)
		if reason != "" || used != len(text) || new(big.Rat).SetInt64(got).Cmp(want) != 0 {
			t.Errorf("decimal(%s): got %d, %d used, %q; want %s", text, got, used, reason, want)
		}
	}
	if _, used, _ := decimal([]byte(strings.Repeat("9", 400)), 9); used != 0 {
		t.Error("a number of 400 digits was read")
	}
}
