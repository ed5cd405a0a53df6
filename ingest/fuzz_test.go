//go:build duckdb_arrow

package ingest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"tidemark/ingest/read"
	"tidemark/internal/proof/must"
)

// parsed opens the content as the format and parses all of it in one block, and
// sees that what must always hold does: rows read = kept + rejected, every kept
// row is in the record, and no reject carries a piece of the text.
func parsed(t *testing.T, f read.Format, content []byte) (*read.Batch, bool) {
	t.Helper()
	lines := read.NewBlocks(bytes.NewReader(content), 1<<20, 1<<18)
	first, err := lines.Next()
	if err != nil || f.Sees(read.NewHead(first.Data, "")) == "" {
		return nil, false
	}
	trace, first, err := f.Open(first, "")
	if err != nil {
		return nil, false
	}
	made := trace.Parser.Parse(first)
	t.Cleanup(made.Record.Release)
	if made.Read != made.Kept+int64(len(made.Rejects)) || made.Record.NumRows() != made.Kept {
		t.Fatalf("%d read, %d kept, %d rejected, %d in the record", made.Read, made.Kept, len(made.Rejects), made.Record.NumRows())
	}
	columns := append(read.HeaderNames(read.FirstLine(content)), "", "timestamp", "input_length", "output_length", "hash_ids")
	for _, r := range made.Rejects {
		if !slices.Contains(columns, r.Column) || !slices.Contains(reasons, r.Reason) {
			t.Fatalf("a reject says %q, %q", r.Column, r.Reason)
		}
	}
	return made, true
}

// readAll lets a reader of whole documents take the content, without a warehouse,
// and sees that what must always hold does. It is nil where the format refuses.
func readAll(t *testing.T, f read.Format, content []byte) *read.Rows {
	t.Helper()
	lines := read.NewBlocks(bytes.NewReader(content), 1<<20, 1<<18)
	first, err := lines.Next()
	if err != nil || f.Sees(read.NewHead(first.Data, "")) == "" {
		return nil
	}
	doc := &read.Document{Path: "-", First: first, Rest: lines}
	out := read.NewRows(t.Context(), nil, 1, doc)
	defer out.Close()
	if f.Read(doc, out) != nil {
		return nil
	}
	must.Do(t, out.End())
	if out.Sum.Read != out.Sum.Kept+out.Sum.Rejected || out.Sum.Rejected != int64(len(out.Sum.Rejects)) {
		t.Fatalf("%d read, %d kept, %d rejected", out.Sum.Read, out.Sum.Kept, out.Sum.Rejected)
	}
	for _, r := range out.Sum.Rejects {
		if !slices.Contains(reasons, r.Reason) {
			t.Fatalf("a reject says %q", r.Reason)
		}
	}
	return out
}

var reasons = []string{read.NotAnInteger, read.NotATime, read.NotANumber, read.NotFinite, read.Negative, read.OutOfRange, read.TooLarge, read.Missing, read.TooManyColumns, read.OpenQuote, read.StrayQuote, read.TooLong, read.NotJSON, read.KeyTwice, read.TooFewBlocks, read.NotAKnownWord, read.NotADictionary, read.NotAStep, read.NotTheSum, "not of the expected type"}

func named(name string) read.Format {
	return formats[slices.IndexFunc(formats, func(f read.Format) bool { return f.Name == name })]
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
			for _, tokens := range made.Record.Column(i).(*array.Int64).Int64Values() {
				if tokens < 0 || tokens > read.MaxTokens {
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
