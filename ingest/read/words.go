package read

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"tidemark/internal/lazy"
	"tidemark/internal/maybe"
	"tidemark/internal/splitmix"
)

// Words: short texts that name something. A file's words are kept only where they
// cannot be a sentence, a person or a place; these functions decide that, in one
// place for all formats.

// Word is a short string that names something and cannot be a text: a model, a
// version, a flag. Anything else is "".
func Word(text string) string {
	if len(text) > 128 || strings.ContainsAny(text, "\n\r\t") || strings.Count(text, " ") > 3 {
		return ""
	}
	return text
}

// NamedOrHashed is an identifier as it is, or its hash where it might be a text:
// equal ones stay equal.
func NamedOrHashed(id string) string {
	if id == "" || Word(id) != "" {
		return id
	}
	return strconv.FormatUint(HashText(id), 16)
}

// WordOrNil is a word or null.
func WordOrNil(text string) *string { return maybe.Known(Word(text)) }

// ModelName is a model as it is called. Of a path on somebody's disk only the last
// part is kept: the folders before it may name a person. org/model is not a path.
func ModelName(text string) *string {
	text = strings.TrimRight(text, `/\`)
	isPath := strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~") || strings.HasPrefix(text, ".")
	if isPath || strings.Contains(text, `\`) || strings.Contains(text, ":/") {
		text = text[strings.LastIndexAny(text, `/\`)+1:]
	}
	return WordOrNil(text)
}

// IsNoPlace says that a word is neither a path nor an address.
func IsNoPlace(text string) bool {
	host, _, err := net.SplitHostPort(text)
	if err != nil {
		host = text
	}
	return Word(text) != "" && net.ParseIP(host) == nil &&
		!strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "~") && !strings.ContainsAny(text, `\@`) &&
		!strings.Contains(text, "://") && !strings.Contains(text, "object at 0x")
}

// PlainID matches an id that cannot be somebody's name with a blank or an @ in it.
var PlainID = lazy.Regexp(`^[A-Za-z0-9._:/#+-]{1,128}$`)

// Numbered gives each name a number, in the order of first use, so that equal names
// stay equal and none is kept.
type Numbered struct {
	Prefix string
	known  map[string]string
	bytes  int
}

// numberedBytes bounds the memory for names.
const numberedBytes = 32 << 20

// Of is the number of a name; false where the memory for names is full.
func (n *Numbered) Of(name string) (string, bool) {
	if number, ok := n.known[name]; ok {
		return number, true
	}
	if n.bytes += len(name) + 64; n.bytes > numberedBytes {
		return "", false
	}
	if n.known == nil {
		n.known = map[string]string{}
	}
	number := fmt.Sprintf("%s%d", n.Prefix, len(n.known)+1)
	n.known[strings.Clone(name)] = number
	return number, true
}

// HashText is FNV-1a with its bits mixed (the finalizer of splitmix64), so that the
// low bits are as good as the high ones. It is the same on every machine.
func HashText(text string) uint64 { return splitmix.Finish(splitmix.Hash(text)) }

// KeyName is a key where it looks like a name.
func KeyName(key string) string {
	if NameLike().MatchString(key) {
		return key
	}
	return "one that does not look like a name"
}
