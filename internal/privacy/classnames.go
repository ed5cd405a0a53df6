package privacy

import (
	"slices"
	"strings"

	"tidemark/internal/lazy"
)

var (
	wordLike = lazy.Regexp(`^[A-Za-z0-9_.:/+#-]{1,48}$`)
	betweens = lazy.Regexp(`[\s_.:/+#,;-]+`)

	// What keys and passwords look like: known prefixes, a telling name in
	// front of the value, or a long run of letters and digits that is no word.
	knownKeys  = lazy.Regexp(`(^|[^A-Za-z0-9])(sk-[A-Za-z0-9_-]{6,}|gh[pousr]_[A-Za-z0-9]{8,}|github_pat_\w{8,}|hf_[A-Za-z0-9]{12,}|AKIA[0-9A-Z]{12,}|xox[abprs]-[A-Za-z0-9-]{8,}|glpat-[\w-]{8,}|AIza[\w-]{20,}|eyJ[\w-]{10,}\.|-----BEGIN )`)
	calledKeys = lazy.Regexp(`(?i)((api|access|secret|private|auth)[_-]?(key|token)|passw(or)?d|secret|authorization|bearer)["']?(\s*[:=]\s*["']?|\s+bearer\s+)[^\s"'<>${}*]{6,}|--api-key[ =][^\s"'<>${}*]{6,}|bearer\s+[A-Za-z0-9._-]{12,}`)
	longRun    = lazy.Regexp(`[A-Za-z0-9]{28,}`)
)

// looksSecret reports whether a text contains something that looks like a key
// or a password. It may be wrong in either direction; a false alarm costs a
// rename, so it prefers that.
func looksSecret(text string) bool {
	return knownKeys().MatchString(text) || calledKeys().MatchString(text)
}

// isRandom reports whether a word has a long run that mixes digits, lower-case
// and upper-case letters.
func isRandom(word string) bool {
	return slices.ContainsFunc(longRun().FindAllString(word, -1), func(run string) bool {
		return strings.ContainsAny(run, "0123456789") && strings.ToLower(run) != run && strings.ToUpper(run) != run
	})
}

// mostWords separates a name from a sentence.
const mostWords = 4

// wordsIn counts the words of a text, at spaces and at punctuation: a
// sentence-with-dashes is still a sentence.
func wordsIn(text string) (n int) {
	for _, part := range betweens().Split(text, -1) {
		if part != "" {
			n++
		}
	}
	return n
}

// isWord reports whether the name of a class may leave: short ASCII, no
// address, no key, and no sentence in disguise.
func isWord(class string) bool {
	return wordLike().MatchString(class) && !strings.Contains(class, "://") && !looksSecret(class) && !isRandom(class) && wordsIn(class) <= mostWords
}
