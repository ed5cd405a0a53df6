package plan

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"tidemark/internal/proof/must"
)

// Eight shards together are the plan to the byte, and neither a session nor a prefix that few share is torn apart.
func TestShardsTogetherAreThePlan(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "whole.jsonl.zst")
	source := func(yield func(Request, error) bool) {
		for i := range 4000 {
			req := Request{Due: time.Duration(i) * 7 * time.Millisecond, InputTokens: 64 + i%9, OutputTokens: 5, Class: "a"}
			switch {
			case i%2 == 0:
				req.Session, req.Turn = fmt.Sprint("s", i%300), i/300
			case i%4 == 1: // a system prompt of all, then a prefix of a few
				req.BlockTokens, req.Blocks = 16, []uint64{7, uint64(100 + i%150), uint64(10000 + i)}
			}
			if !yield(req, nil) {
				return
			}
		}
	}
	must.Get(Write(path, Header{Source: "made"}, Choices{Seed: 1}, source))(t)
	whole := must.Get(Open(path))(t)
	var shards []*Plan
	shardOfSession, shardOfPrefix := map[string]int{}, map[uint64]int{}
	for i := range 8 {
		path := filepath.Join(folder, fmt.Sprint(i, ".jsonl.zst"))
		header := must.Get(WriteShard(whole, path, Shard{i, 8}))(t)
		if header.Requests < 250 || header.Requests > 750 {
			t.Errorf("shard %d has %d of 4000 requests", i, header.Requests)
		}
		part := must.Get(Open(path))(t)
		for req := range part.Requests() {
			if had, isKnown := shardOfSession[req.Session]; req.Session != "" && isKnown && had != i {
				t.Fatalf("session %s is in shards %d and %d", req.Session, had, i)
			}
			shardOfSession[req.Session] = i
			if len(req.Blocks) > 1 {
				if had, isKnown := shardOfPrefix[req.Blocks[1]]; isKnown && had != i {
					t.Fatalf("prefix %d is in shards %d and %d", req.Blocks[1], had, i)
				}
				shardOfPrefix[req.Blocks[1]] = i
			}
		}
		shards = append(shards, part)
	}
	again := filepath.Join(folder, "again.jsonl.zst")
	must.Get(Join(again, shards))(t)
	joined, err := Open(again)
	if err != nil || joined.Fingerprint() != whole.Fingerprint() {
		t.Errorf("joined: %v\n%+v\n%+v", err, joined.Header(), whole.Header())
	}
}
