// Runs of eight bytes are packed into a uint64 and looked up in a set, behind a small bit filter that answers most lookups:
// a text of metrics of some megabytes is scanned each second.

package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// A server, or a proxy before it, may give back any piece of a key, in any coat: without its begin, reversed, in hex or
// in base64 behind a word of its own. So of a long secret every run of eight characters is looked for, in each coat.

const (
	longSecret = 16 // characters of a secret of which each run is a secret too
	gramSize   = 8  // characters of such a run; as many as a uint64 has bytes
	hexHits    = 9  // runs of hex one after the other that are eight characters of the secret: ids are hex too
)

// gram is a run of eight bytes.
type gram = uint64

// gramSet are the runs of all secrets in some coats.
type gramSet struct {
	grams  map[gram]struct{}
	needed int // runs one after the other that count as a find
}

// publicPrefix is the public beginning of a key, which says whose key it is.
var publicPrefix = regexp.MustCompile(`^(?i:(bearer|basic|token|apikey|key|sk|pk|rk|hf|gsk|ghp|glpat|nvapi|proj|ant|live|test|svcacct|api\d\d|v\d)[-_ ]+)+`)

// addRuns notes the runs of a long secret in every coat.
func (c *Scrubber) addRuns(secret string) {
	secret = strings.TrimSpace(secret)
	if len(secret) < longSecret {
		return
	}
	secret = secret[len(publicPrefix.FindString(secret)):]
	coats := []string{secret, reversed(secret)}
	for shift := range 3 { // what stands before the secret shifts its bits
		coats = append(coats, base64Inside(base64.RawStdEncoding, secret, shift), base64Inside(base64.RawURLEncoding, secret, shift))
	}
	for _, coat := range coats {
		c.runs.add(coat)
	}
	c.hexRuns.add(hex.EncodeToString([]byte(secret)))
	c.hexRuns.add(hex.EncodeToString([]byte(reversed(secret))))
}

// base64Inside are the characters of base64 that hold nothing but the secret, when shift bytes stand before it.
func base64Inside(encoding *base64.Encoding, secret string, shift int) string {
	text := encoding.EncodeToString(append(make([]byte, shift), secret...))
	if (shift+len(secret))%3 != 0 {
		text = text[:len(text)-1]
	}
	return text[[]int{0, 2, 3}[shift]:]
}

// add takes a coat as it is, and once more with letters and digits only, for a server that puts blanks in between.
func (g *gramSet) add(coat string) {
	if g.grams == nil {
		g.grams = map[gram]struct{}{}
	}
	for _, text := range []string{folded(coat), bare(coat)} {
		var last gram
		for i := range len(text) {
			last = last<<8 | gram(text[i])
			if i >= gramSize-1 {
				g.grams[last] = struct{}{}
			}
		}
	}
}

// foldedByte is a byte as texts are compared: upper case is lower case.
func foldedByte(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// isAlphanumeric says which bytes of a key survive when a server puts blanks or dashes between them.
func isAlphanumeric(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

func folded(s string) string {
	out := []byte(s)
	for i, b := range out {
		out[i] = foldedByte(b)
	}
	return string(out)
}

// bare are the letters and digits of a text, folded.
func bare(s string) string {
	out := make([]byte, 0, len(s))
	for i := range len(s) {
		if isAlphanumeric(s[i]) {
			out = append(out, foldedByte(s[i]))
		}
	}
	return string(out)
}

// reversed is by bytes: keys are ASCII.
func reversed(s string) string {
	out := []byte(s)
	slices.Reverse(out)
	return string(out)
}

// mayHold says quickly whether a text needs the long look. Most have no such run, and no escape that could hide one.
func (c Scrubber) mayHold(s string) bool {
	var raw, alone gram
	for i := range len(s) {
		b := foldedByte(s[i])
		if b == '\\' || b == '%' || b == '&' || b == 'x' && i > 0 && s[i-1] == '0' {
			return true
		}
		raw = raw<<8 | gram(b)
		if c.sieve.has(raw) && c.isRun(raw) {
			return true
		}
		if !isAlphanumeric(b) {
			continue
		}
		alone = alone<<8 | gram(b)
		if c.sieve.has(alone) && c.isRun(alone) {
			return true
		}
	}
	return false
}

func (c Scrubber) isRun(g gram) bool {
	_, isShort := c.runs.grams[g]
	_, isHex := c.hexRuns.grams[g]
	return isShort || isHex
}

// sieve holds a bit for each run, so that a text is looked through at a few nanoseconds a byte.
type sieve struct{ bits []uint64 }

// newSieve is a Bloom filter with one hash: a miss is certain, a hit is looked up.
func newSieve(sets ...gramSet) *sieve {
	s := &sieve{make([]uint64, 1<<10)}
	for _, set := range sets {
		for g := range set.grams {
			word, bit := place(g)
			s.bits[word] |= bit
		}
	}
	return s
}

func place(g gram) (word, bit uint64) {
	h := g * 0x9e3779b97f4a7c15 >> 48
	return h >> 6, 1 << (h & 63)
}

func (s *sieve) has(g gram) bool {
	word, bit := place(g)
	return s.bits[word]&bit != 0
}

// markRuns marks what of the original text stands behind runs of a view.
func (c Scrubber) markRuns(v view, marks []bool) {
	for _, set := range []gramSet{c.runs, c.hexRuns} {
		var last gram
		began := -1 // of the runs one after the other
		for i := 0; i <= len(v.text); i++ {
			isRun := false
			if i < len(v.text) {
				last = last<<8 | gram(v.text[i])
				_, isRun = set.grams[last]
			}
			switch {
			case isRun && began < 0:
				began = i
			case !isRun && began >= 0:
				if i-began >= set.needed && !c.isPublic(v, began-gramSize+1, i) {
					v.mark(began-gramSize+1, i, marks)
				}
				began = -1
			}
		}
	}
}

// ordinary are words that stand in keys and in what servers say.
var ordinary = []string{"anthropic", "assistant", "authorization", "benchmark", "completion", "completions", "customer", "deployment",
	"development", "engineering", "forbidden", "inference", "instruct", "internal", "password", "platform", "production", "research",
	"services", "simulated", "tidemark", "unauthorized"}

// isPublic says that a run is no secret: a part of the model's name or of a server's, or a whole ordinary word.
func (c Scrubber) isPublic(v view, from, to int) bool {
	word := bare(string(v.text[from:to]))
	for _, public := range c.public {
		if strings.Contains(public, word) {
			return true
		}
	}
	return v.isBorder(from) && v.isBorder(to) && slices.Contains(ordinary, word)
}
