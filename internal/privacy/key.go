package privacy

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	random "math/rand/v2"
	"slices"
	"strings"

	"tidemark/internal/hint"
	"tidemark/internal/userfile"
)

// Key makes an export different from any other and is its only secret. It is
// shown once and never stored.
type Key []byte

const keyBytes = 32

// NewKey takes a key from the system's random source.
func NewKey() (Key, error) {
	key := make(Key, keyBytes)
	_, err := rand.Read(key)
	return key, err
}

// ReadKey reads a key from a file: 64 hexadecimal digits, as NewKey's is shown.
func ReadKey(path string) (Key, error) {
	text, err := userfile.ReadAll(path)
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keyBytes {
		return nil, hint.Errorf("key file %s: not %d hexadecimal digits", path, 2*keyBytes).Hint("make one: openssl rand -hex 32")
	}
	return key, nil
}

func (k Key) String() string { return hex.EncodeToString(k) }

// of derives 32 bytes for one purpose and thing (HMAC-SHA-256). The purpose
// separates the uses: a session and a tenant of the same name get unrelated
// pseudonyms.
func (k Key) of(purpose string, thing []byte) []byte {
	mac := hmac.New(sha256.New, k)
	fmt.Fprintf(mac, "%s\x00", purpose)
	mac.Write(thing)
	return mac.Sum(nil)
}

func (k Key) number(purpose string, thing []byte) uint64 {
	return binary.BigEndian.Uint64(k.of(purpose, thing))
}

// pseudonym replaces a name: 64 bits in hexadecimal. Two of a million names
// collide with a chance of 3 in 100 million.
func (k Key) pseudonym(purpose, name string) string {
	return fmt.Sprintf("%016x", k.number(purpose, []byte(name)))
}

// source is a stream of random numbers for one purpose, from ChaCha8 keyed by
// 32 derived bytes.
func (k Key) source(purpose string, seed uint64) *random.Rand {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], seed)
	return random.New(random.NewChaCha8([32]byte(k.of(purpose, number[:]))))
}

// dense numbers ids from 0, in the order of their keyed hashes. Numbers in the
// order of first use would be the same for every key and could be matched with
// the original trace.
func (k Key) dense(ids []uint64) map[uint64]uint64 {
	type keyed struct{ id, hash uint64 }
	list := make([]keyed, len(ids))
	for i, id := range ids {
		var number [8]byte
		binary.BigEndian.PutUint64(number[:], id)
		list[i] = keyed{id, k.number("block", number[:])}
	}
	slices.SortFunc(list, func(a, b keyed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.id, b.id)) })
	numbers := make(map[uint64]uint64, len(list))
	for i, entry := range list {
		numbers[entry.id] = uint64(i)
	}
	return numbers
}
