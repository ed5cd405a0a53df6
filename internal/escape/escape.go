// Package escape shows characters that a terminal would obey. A server's answers, a trace's names and a query's
// columns can hold anything, including sequences that move the cursor or change the title. Whoever prints or writes
// them for people escapes them here.
package escape

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Controls writes control characters and broken UTF-8 by their codes, \x1b or \n, instead of letting a terminal obey
// them. Characters in kept stay as they are.
func Controls(text, kept string) string {
	if isPlain(text, kept) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		c, size := utf8.DecodeRuneInString(text)
		if isBroken := c == utf8.RuneError && size == 1; isBroken || !unicode.IsPrint(c) && !strings.ContainsRune(kept, c) {
			quoted := strconv.Quote(text[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// isPlain recognises quickly what nearly all text is.
func isPlain(text, kept string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && strings.IndexByte(kept, c) < 0 {
			return false
		}
	}
	return true
}
