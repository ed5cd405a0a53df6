// Package escape shows characters that a terminal would obey. A server's answers, a trace's names and a query's
// columns can hold anything, including sequences that move the cursor or change the title. Whoever prints or writes
// them for people escapes them here. Markdown does the same for a page of Markdown.
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

// direction are the characters that turn the direction of a text round: a name with one reads otherwise than it is.
var direction = func() *strings.Replacer {
	var pairs []string
	for _, span := range [][2]rune{{0x202a, 0x202e}, {0x2066, 0x2069}, {0x200e, 0x200f}, {0x061c, 0x061c}} {
		for c := span[0]; c <= span[1]; c++ {
			quoted := strconv.QuoteRuneToASCII(c)
			pairs = append(pairs, string(c), quoted[1:len(quoted)-1])
		}
	}
	return strings.NewReplacer(pairs...)
}()

// Direction writes them by their codes, \u202e, for pages: everything else is left as it is.
func Direction(text string) string { return direction.Replace(text) }
