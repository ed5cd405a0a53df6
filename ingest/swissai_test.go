//go:build duckdb_arrow

package ingest_test

import (
	"os"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/hint"
	"tidemark/internal/proof/must"
)

// A bucket's id is of its text. Blocks are shared only where all before them is the same too, and by one model.
func TestBucketsBecomePrefixes(t *testing.T) {
	w := open(t)
	notes := strings.Join(load(t, w, "../fixtures/traces/swissai.jsonl", ingest.Options{}).Notes, "\n")
	got := table(t, w, `
		select a.line, b.line, len(list_intersect(a.blocks, b.blocks))
		from raw.arrivals a join raw.arrivals b on a.line < b.line
		where len(list_intersect(a.blocks, b.blocks)) > 0 order by 1, 2`)
	if len(got) != 1 || strings.Join(got[0], " ") != "1 2 2" { // rows 1 and 2 begin with 7, 8; row 3 has 8, 7; row 4 is another model
		t.Errorf("shared: %v", got)
	}
	must.Say(t, notes, "1 rows have another reported_token_input than token_count")
}

// What cannot be true of a row is said with its column.
func TestBucketsThatCannotBe(t *testing.T) {
	good := must.Get(os.ReadFile("../fixtures/traces/swissai.jsonl"))(t)
	first, _, _ := strings.Cut(string(good), "\n")
	for _, c := range []struct{ why, from, to, want string }{
		{"no answer was counted", `"reported_token_output":12`, `"reported_token_output":-1`, "reported_token_output: missing"},
		{"nobody counted the prompt", `"reported_token_input":40,"reported_token_output":12,"model_parameters":{"temperature":0.7},"token_count":40`,
			`"reported_token_input":-1,"reported_token_output":12`, "reported_token_input: missing"},
		{"too few buckets", `"token_count":40`, `"token_count":400`, "bucket_ids: blocks cover less than the prompt"},
		{"too many buckets", `"bucket_ids":[7,8,9]`, `"bucket_ids":[7,8,9,10]`, "bucket_ids: blocks cover less than the prompt"},
		{"no instant", `2025-10-01T08:00:00.250000`, `yesterday`, "created_at: not a time"},
		{"a prompt below zero", `"token_count":40`, `"token_count":-4`, "token_count: negative"},
	} {
		t.Run(c.why, func(t *testing.T) {
			changed := strings.Replace(first, c.from, c.to, 1)
			if changed == first {
				t.Fatal("nothing was changed")
			}
			refused(t, open(t), write(t, "a.jsonl", []byte(string(good)+changed+"\n")), ingest.Options{}, "1 of ", c.want)
		})
	}
}

// Files of reuse alone are refused by name, with the file to give.
func TestBucketsWithoutLengths(t *testing.T) {
	err := refused(t, open(t), write(t, "reuse.jsonl", []byte(`{"id":"a","created_at":"2025-10-01T08:00:00","bucket_ids":[1,2],"total_buckets":2,"reused_buckets":1,"reuse_percentage":50.0}`+"\n")),
		ingest.Options{}, "a table of buckets has no lengths")
	must.Say(t, hint.Of(err), "qwen3-32b-buckets.jsonl")
}

// The main file has no buckets, and the counts that were reported.
func TestRequestsWithoutBuckets(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "trace.jsonl", []byte(
		`{"id":"a","status":"DEFAULT","created_at":"2025-10-01T08:00:00Z","finished_at":"2025-10-01T08:00:02Z","model":"m","reported_token_input":9,"reported_token_output":4,"model_parameters":{}}`+"\n")), ingest.Options{})
	got := table(t, w, "select input_tokens, output_tokens, blocks, e2e_s from raw.arrivals join raw.arrival_details using (source_id, line)")
	if len(got) != 1 || strings.Join(got[0], " ") != "9 4  2.0" {
		t.Errorf("got %v", got)
	}
}
