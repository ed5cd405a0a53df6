//go:build duckdb_arrow

package ingest_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/ingest"
)

const byDistance = "select up_to_blocks, uses from raw.block_distances order by up_to_blocks nulls last"

// Four prompts, in order of time; the file has the last two the other way round. Blocks by last use, the latest first:
//
//	1 2 3    none was there                              -> 1 2 3
//	1 2 4    1 is the 1st, 2 the 2nd, 4 never            -> 1 2 4 3
//	5        never                                       -> 5 1 2 4 3
//	1 3 2    1 is the 2nd, 3 the 5th; 2 is the 3rd, but  -> of no use without the block before it: no nearer than 3
//
// So one within 1, two within 2 (2 and the second 1), none within 4, two within 8 (3, and 2 behind it), five never.
func TestReuseByHand(t *testing.T) {
	w := open(t)
	load(t, w, write(t, "m.jsonl", []byte(`{"timestamp": 0, "input_length": 1500, "output_length": 5, "hash_ids": [1, 2, 3]}
{"timestamp": 1000, "input_length": 1500, "output_length": 5, "hash_ids": [1, 2, 4]}
{"timestamp": 3000, "input_length": 1500, "output_length": 5, "hash_ids": [1, 3, 2]}
{"timestamp": 2000, "input_length": 500, "output_length": 5, "hash_ids": [5]}
`)), ingest.Options{})
	got, want := fmt.Sprint(table(t, w, byDistance)), "[[1 1] [2 2] [8 2] [ 5]]"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// cached is how many leading blocks a cache of so many blocks has, over all prompts: the plain way, a list with the
// block that was used last in front.
func cached(prompts [][]uint64, capacity int) (hits int64) {
	var held []uint64
	for _, prompt := range prompts {
		for _, block := range prompt {
			if !slices.Contains(held, block) {
				break
			}
			hits++
		}
		for _, block := range slices.Backward(prompt) {
			if i := slices.Index(held, block); i >= 0 {
				held = slices.Delete(held, i, i+1)
			}
			held = slices.Insert(held, 0, block)
		}
		held = held[:min(len(held), capacity)]
	}
	return hits
}

// Prompts that share beginnings and, as some tools write them, later blocks without the ones before.
func TestReuseIsThatOfACache(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	var prompts [][]uint64
	var file bytes.Buffer
	for i := range 600 {
		var prompt []uint64
		for range 1 + rnd.IntN(12) {
			prompt = append(prompt, uint64(rnd.ExpFloat64()*60))
		}
		if i > 20 && i%2 == 0 {
			before := prompts[i-1-rnd.IntN(20)]
			prompt = append(slices.Clone(before[:rnd.IntN(len(before)+1)]), prompt...)
		}
		prompts = append(prompts, prompt)
		fmt.Fprintf(&file, "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": 5, \"hash_ids\": %s}\n", i, 512*len(prompt),
			strings.ReplaceAll(fmt.Sprint(prompt), " ", ", "))
	}
	w := open(t)
	load(t, w, write(t, "m.jsonl", file.Bytes()), ingest.Options{})
	for capacity := 1; capacity <= 1024; capacity *= 2 {
		got := number(t, w, "select coalesce(sum(uses), 0)::bigint from raw.block_distances where up_to_blocks <= ?", capacity)
		if want := cached(prompts, capacity); got != want {
			t.Errorf("a cache of %d blocks: got %d uses found, want %d", capacity, got, want)
		}
	}
	all := number(t, w, "select sum(len(blocks))::bigint from raw.arrivals")
	if got := number(t, w, "select sum(uses)::bigint from raw.block_distances"); got != all {
		t.Errorf("uses: got %d, want all %d", got, all)
	}
}

// Figures of a least-recently-used cache written in Python over the file, apart from this code.
func TestReuseOfARealTrace(t *testing.T) {
	path := shared(t, "traces/mooncake/conversation_trace.jsonl")
	w := open(t)
	load(t, w, path, ingest.Options{})
	for capacity, want := range map[int]int64{256: 12092, 1024: 12916, 4096: 25350, 16384: 76632, 65536: 103701, 262144: 105710} {
		got := number(t, w, "select coalesce(sum(uses), 0)::bigint from raw.block_distances where up_to_blocks <= ?", capacity)
		if got != want {
			t.Errorf("%s: a cache of %d blocks: got %d uses found, want %d", filepath.Base(path), capacity, got, want)
		}
	}
}

func TestATraceWithoutBlocksHasNoDistances(t *testing.T) {
	w := open(t)
	load(t, w, filepath.Join("..", "fixtures", "traces", "azure-2023.csv"), ingest.Options{})
	answers(t, w, "select count(*) from raw.block_distances", "0")
}
