//go:build vllm

package realvllm

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"tidemark/internal/proof/must"
)

const traceBlock = 512 // tokens of a block id in Mooncake's format

// traceRow is one line of a trace in Mooncake's format.
type traceRow struct {
	Input  int      `json:"input_length"`
	Blocks []uint64 `json:"hash_ids"`
}

// sharedLeading reads a trace and says of each row how many leading tokens an
// earlier row had already, worked out from the file alone.
func sharedLeading(t *testing.T, path string) []int {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	var rows []traceRow
	var shared []int
	for line := range bytes.Lines(text) {
		var row traceRow
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: line %d: %v", path, len(rows)+1, err)
		}
		longest := 0
		for _, earlier := range rows {
			longest = max(longest, min(commonBlocks(row, earlier)*traceBlock, row.Input, earlier.Input))
		}
		rows, shared = append(rows, row), append(shared, longest)
	}
	return shared
}

func commonBlocks(a, b traceRow) int {
	n := 0
	for n < min(len(a.Blocks), len(b.Blocks)) && a.Blocks[n] == b.Blocks[n] {
		n++
	}
	return n
}

// cachedAsPlanned: what the trace shares is what the server's prefix cache gave,
// in whole blocks of the server, and never the last token of a prompt.
func (r replay) cachedAsPlanned(t *testing.T, shared []int) {
	t.Helper()
	if len(shared) != len(r.requests) {
		t.Fatalf("%d requests, %d rows in the trace", len(r.requests), len(shared))
	}
	block := blockTokens(t, r.server.after)
	table := newTable("seq", "prompt", "shared", "cached: want", "cached: server")
	sum := 0
	for i, q := range r.requests {
		want := min(shared[i], q.Input-1) / block * block
		sum += want
		table.row(q.Seq, q.Input, shared[i], want, show(q.Cached))
		if q.Cached == nil || *q.Cached != want {
			t.Errorf("seq %d: cached tokens: server %s, want %d", q.Seq, show(q.Cached), want)
		}
		if q.Shared == nil || *q.Shared != shared[i] {
			t.Errorf("seq %d: shared tokens: plan %s, trace %d", q.Seq, show(q.Shared), shared[i])
		}
	}
	t.Logf("server blocks of %d tokens; %d cached tokens wanted in all\n%s", block, sum, table)
	if got := r.server.counter("vllm:prefix_cache_hits_total"); got != float64(sum) {
		t.Errorf("vllm:prefix_cache_hits_total grew by %v, want %d", got, sum)
	}
}
