// Addresses are shown without user, query and fragment, and without segments of the path that look like tokens: some
// gateways put the key into the path. A model's name or a version is no token, so what decides is how random a segment
// looks.

package secrets

import (
	"net/url"
	"strings"
)

// ShownURL is an address as it is written down and printed: what follows the path may be a secret, and a part of the
// path too.
func ShownURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	segments := strings.Split(u.EscapedPath(), "/")
	for i, segment := range segments {
		if plain, err := url.PathUnescape(segment); err != nil || isToken(plain) {
			segments[i] = Redacted
		}
	}
	return u.Scheme + "://" + u.Host + strings.Join(segments, "/")
}

// isToken says whether a segment of a path is long and looks random, as a token does and a model's name does not: a long
// piece of letters and digits, or letters and digits that take turns.
func isToken(segment string) bool {
	alone := bareCase(segment)
	if len(alone) < longSecret || strings.ContainsAny(segment, " \t") {
		return false
	}
	turns := 0
	for i := 1; i < len(alone); i++ {
		if kindOf(alone[i]) != kindOf(alone[i-1]) {
			turns++
		}
	}
	if turns*20 >= 7*(len(alone)-1) { // of random letters and digits about 0.6 take turns, of names about 0.2
		return true
	}
	if len(alone) >= 24 && strings.Trim(alone, "0123456789abcdefABCDEF") == "" { // an id, which may be a key
		return true
	}
	for _, piece := range strings.FieldsFunc(segment, func(r rune) bool { return r > 0x7f || !isAlphanumeric(byte(r)) }) {
		if len(piece) >= longSecret && strings.ContainsAny(piece, "0123456789") || len(piece) >= 2*longSecret {
			return true
		}
	}
	return false
}

// bareCase are the letters and digits of a text.
func bareCase(s string) string {
	return strings.Map(func(r rune) rune {
		if r > 0x7f || !isAlphanumeric(byte(r)) {
			return -1
		}
		return r
	}, s)
}

// kindOf tells digits, small letters and capitals apart.
func kindOf(b byte) int {
	switch {
	case b <= '9':
		return 0
	case b <= 'Z':
		return 1
	}
	return 2
}
