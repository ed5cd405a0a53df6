package traces

import (
	"cmp"
	"encoding/json"
	"time"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
	"tidemark/internal/maybe"
	"tidemark/internal/splitmix"
)

// SwissAI reads the serving trace of eth-easl/swissai-serving-trace: JSON lines, a
// request each. trace.jsonl has the counts that the server reported, -1 where it did
// not; the files of buckets also have token_count, counted again with the model's
// tokenizer, and an id per 16 tokens of the prompt, the last one padded.
//
// A bucket's id says what its 16 tokens are, and not what came before them. A prefix
// cache needs both, so an id here is that of a bucket and of all before it.
var SwissAI = read.Format{
	Name:  "swissai",
	Sees:  seesSwissAI,
	Read:  readSwissAI,
	Wants: `JSON lines with "created_at", "reported_token_input", "reported_token_output", and "token_count" with "bucket_ids" where blocks are known`,
}

// swissBucket is how many tokens an id stands for.
const swissBucket = 16

func seesSwissAI(h *read.Head) string {
	switch {
	case !h.IsLines():
		return ""
	case h.Has("created_at", "reported_token_input", "reported_token_output"):
		return "requests with reported_token_input"
	case h.Has("created_at", "bucket_ids", "reused_buckets"):
		return "buckets and how many were reused"
	}
	return ""
}

type swissRow struct {
	Created  string      `json:"created_at"`
	Finished string      `json:"finished_at"`
	Model    string      `json:"model"`
	Input    json.Number `json:"reported_token_input"`
	Output   json.Number `json:"reported_token_output"`
	Counted  json.Number `json:"token_count"`
	Buckets  []uint64    `json:"bucket_ids"`
}

// swissAI reads one file.
type swissAI struct {
	out       *read.Rows
	clock     read.Clock
	origin    int64 // Unix nanoseconds of arrival_ns = 0
	otherwise int   // rows whose two counts of the prompt differ
}

func readSwissAI(d *read.Document, out *read.Rows) error {
	if h := read.NewHead(d.First.Data, d.Base()); !h.Has("reported_token_input") {
		return hint.Errorf("a table of buckets has no lengths: how long a prompt's last bucket and its answer are is not in it").
			Hint("take in qwen3-32b-buckets.jsonl, which has them beside the buckets")
	}
	out.About.TimeUnit = "datetime"
	t := &swissAI{out: out}
	err := d.Lines(out, func(number int64, line []byte) (*read.Reject, error) {
		var row swissRow
		if problem := read.JSONRow(line, &row); problem != nil {
			return problem, nil
		}
		return t.request(number, &row)
	})
	if t.otherwise > 0 {
		out.Note("%d rows have another reported_token_input than token_count, which is taken", t.otherwise)
	}
	return err
}

// request adds one row.
func (t *swissAI) request(number int64, row *swissRow) (*read.Reject, error) {
	arrival := read.Arrival{Line: number}
	problem := cmp.Or(row.lengths(&arrival, &t.otherwise), row.covers(arrival.InputTokens))
	if problem != nil {
		return problem, nil
	}
	created, problem := t.instant("created_at", row.Created)
	if problem != nil {
		return problem, nil
	}
	detail := read.ArrivalDetail{Model: maybe.Known(read.Word(row.Model))}
	if row.Finished != "" {
		finished, problem := t.instant("finished_at", row.Finished)
		if problem != nil {
			return problem, nil
		}
		if finished >= created {
			detail.E2ES = read.SinceNs(created, finished)
		}
	}
	if t.out.About.OriginAt == nil {
		at := time.Unix(0, created).UTC().Truncate(time.Microsecond)
		t.origin, t.out.About.OriginAt = at.UnixNano(), &at
	}
	arrival.ArrivalNs = created - t.origin
	if len(row.Buckets) > 0 {
		t.out.About.BlockTokens = swissBucket
		arrival.Blocks = chained(row.Model, row.Buckets)
	}
	return nil, t.out.AddRequest(arrival, detail)
}

// lengths prefers the prompt as it was counted again. -1 is a count that nobody made.
func (row *swissRow) lengths(arrival *read.Arrival, otherwise *int) *read.Reject {
	var reported int64
	hasReported := row.Input != "" && row.Input != "-1"
	if row.Output == "-1" {
		return &read.Reject{Column: "reported_token_output", Reason: read.Missing}
	}
	if !hasReported && row.Counted == "" {
		return &read.Reject{Column: "reported_token_input", Reason: read.Missing}
	}
	if problem := read.JSONWhole("reported_token_output", row.Output, &arrival.OutputTokens); problem != nil {
		return problem
	}
	if hasReported {
		if problem := read.JSONWhole("reported_token_input", row.Input, &reported); problem != nil {
			return problem
		}
	}
	if arrival.InputTokens = reported; row.Counted == "" {
		return nil
	}
	if problem := read.JSONWhole("token_count", row.Counted, &arrival.InputTokens); problem != nil {
		return problem
	}
	if hasReported && reported != arrival.InputTokens {
		*otherwise++
	}
	return nil
}

// covers rejects buckets that are not those of a prompt of that length.
func (row *swissRow) covers(input int64) *read.Reject {
	if covers(row.Buckets, swissBucket, input) && int64(len(row.Buckets)) <= (input+swissBucket-1)/swissBucket {
		return nil
	}
	return &read.Reject{Column: "bucket_ids", Reason: read.TooFewBlocks}
}

// instant is Unix nanoseconds; without a zone it is UTC.
func (t *swissAI) instant(column, text string) (at int64, problem *read.Reject) {
	if text == "" {
		return 0, &read.Reject{Column: column, Reason: read.Missing}
	}
	at, used, hasZone, reason := t.clock.Instant([]byte(text))
	if reason != "" || used != len(text) || at <= 0 {
		return 0, &read.Reject{Column: column, Reason: cmp.Or(reason, read.NotATime)}
	}
	if !hasZone {
		t.out.About.Zone = "no zone given, read as UTC"
	}
	return at, nil
}

// chained makes ids of blocks out of ids of their contents: equal where the block, all before it and the model are equal.
func chained(model string, contents []uint64) []uint64 {
	ids := make([]uint64, len(contents))
	before := read.HashText(model)
	for i, content := range contents {
		before = splitmix.Mix(before ^ splitmix.Mix(content))
		ids[i] = before
	}
	return ids
}
