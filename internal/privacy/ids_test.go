//go:build duckdb_arrow

package privacy

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"tidemark/internal/proof/must"
)

// hashOf a known prompt, as an engine or a gateway makes it without a key.
func hashOf(prompt int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "You are a helpful assistant number %d", prompt))
	return binary.BigEndian.Uint64(sum[:]) >> 1 // the reader takes 63 bits
}

// Two exports of one trace name blocks so that nobody can tell which is which, and
// say the same of what is equal to what.
func TestTwoExportsCannotBeLinked(t *testing.T) {
	w := holding(t, mooncakeFile(t, 2000, hashOf))
	_, one := exported(t, w, "one.jsonl.zst", optionsOf(1))
	_, two := exported(t, w, "two.jsonl.gz", optionsOf(2))
	_, again := exported(t, w, "again.jsonl.zst", optionsOf(1))
	if !bytes.Equal(content(t, one), content(t, again)) {
		t.Error("the same key and seed made another file")
	}

	// The rows of a second are mixed by each key; which row is which is known by
	// the lengths and the number of blocks, and of those that are alike only one
	// each is looked at.
	alone := func(trace *Trace) map[string]Row {
		count, rows := map[string]int{}, map[string]Row{}
		for _, row := range trace.Rows {
			like := fmt.Sprint(floorTo(row.At, second), row.Input, row.Output)
			count[like]++
			rows[like] = row
		}
		for like, n := range count {
			if n > 1 {
				delete(rows, like)
			}
		}
		return rows
	}
	a, b := alone(rowsOf(t, one)), alone(rowsOf(t, two))
	if len(a) < 1500 || len(a) != len(b) {
		t.Fatalf("%d and %d rows can be told apart, want most of 2000, and as many", len(a), len(b))
	}
	to, from := map[uint64]uint64{}, map[uint64]uint64{}
	same := 0
	for like, row := range a {
		other := b[like]
		if len(row.Blocks) != len(other.Blocks) {
			t.Fatalf("row %s has %d blocks, then %d", like, len(row.Blocks), len(other.Blocks))
		}
		for i, id := range row.Blocks {
			if mapped, known := to[id]; known && mapped != other.Blocks[i] {
				t.Fatalf("block %d is %d and %d: what was equal is not", id, mapped, other.Blocks[i])
			}
			if mapped, known := from[other.Blocks[i]]; known && mapped != id {
				t.Fatalf("block %d was %d and %d: what was different is equal", other.Blocks[i], mapped, id)
			}
			to[id], from[other.Blocks[i]] = other.Blocks[i], id
		}
	}
	// With one export in hand, the ids of the other are in an order of chance.
	ids := make([]uint64, 0, len(to))
	for id := range to {
		ids = append(ids, id)
		if to[id] == id {
			same++
		}
	}
	slices.Sort(ids)
	for i, id := range ids {
		ids[i] = to[id]
	}
	if r, chance := rankCorrelation(ids), 5/math.Sqrt(float64(len(ids))); math.Abs(r) > chance {
		t.Errorf("rank correlation %v of the ids of two exports, by chance up to %v", r, chance)
	}
	if same > 6 { // one is expected, seven come once in 10,000
		t.Errorf("%d of %d ids are the same in both", same, len(ids))
	}
}

// Who knows a million prompts, those of the trace among them, and every way to hash
// them, finds none of the ids.
func TestDictionaryRecoversNoId(t *testing.T) {
	w := holding(t, mooncakeFile(t, 2000, hashOf))
	_, path := exported(t, w, "out.jsonl", optionsOf(3))
	there := map[uint64]bool{}
	for _, id := range rowsOf(t, path).firstUses() {
		there[id] = true
	}
	guess := func(prompt int) (ids []uint64) {
		hash := hashOf(prompt)
		var number [8]byte
		binary.BigEndian.PutUint64(number[:], hash)
		ids = append(ids, hash, hash&math.MaxUint32, binary.LittleEndian.Uint64(number[:]))
		for _, key := range []string{"", "tidemark", "trace", string(make([]byte, keyBytes))} {
			ids = append(ids, Key(key).number("block", number[:]))
			mac := hmac.New(sha256.New, []byte(key))
			mac.Write(number[:])
			ids = append(ids, binary.BigEndian.Uint64(mac.Sum(nil)))
		}
		return ids
	}
	const ofTheTrace = 2010 // prompts; a guess from another one that is an id is one by chance
	found, byChance := 0, 0
	for prompt := range dictionaryEntries {
		for _, id := range guess(prompt) {
			switch {
			case !there[id]:
			case prompt < ofTheTrace:
				found++
			default:
				byChance++
			}
		}
	}
	if found > 0 || byChance > 5 { // half a one is expected of the guesses of 32 bits, because the ids are small numbers; six come once in 100,000
		t.Errorf("%d ids of %d were recovered from a dictionary of %d prompts, and %d by chance", found, len(there), dictionaryEntries, byChance)
	}
	// The dictionary does hold them: without a key, it finds all.
	unkeyed := 0
	raw := must.Get(read(t.Context(), w, "trace"))(t)
	for _, id := range raw.firstUses() {
		there[id] = true
	}
	for prompt := range ofTheTrace {
		if there[hashOf(prompt)] {
			unkeyed++
		}
	}
	if unkeyed < 2000 {
		t.Errorf("the dictionary finds %d of the source's own ids, want at least 2000", unkeyed)
	}
}

// A numbering in the order of first use is the same for every key, and is refused.
func TestIdsInTheOrderOfTheirUseAreSeen(t *testing.T) {
	counting := make([]uint64, 100)
	for i := range counting {
		counting[i] = uint64(i)
	}
	if _, problem := orderOf(counting); problem == "" {
		t.Error("0, 1, 2, ... passed for mixed by a key")
	}
	if _, problem := orderOf([]uint64{1 << 60, 5}); problem == "" {
		t.Error("hashes passed for numbers without gaps")
	}
}
