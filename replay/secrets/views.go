// A view undoes one layer of escapes and remembers where each byte came from, so that what is found can be marked in the
// original. Layers are undone up to three deep: JSON in JSON in an error text is real.

package secrets

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is a text as something else may read it: without its escapes, or without what stands between letters. It knows
// where in the original each of its bytes comes from.
type view struct {
	text     []byte // folded
	from, to []int32
}

// newView is the text as it is.
func newView(s string) view {
	v := view{[]byte(s), make([]int32, len(s)), make([]int32, len(s))}
	for i := range v.text {
		v.from[i], v.to[i] = int32(i), int32(i+1)
	}
	return v
}

// put appends bytes that stand for those of another view.
func (v *view) put(bytes []byte, of view, from, to int) {
	for _, b := range bytes {
		v.text = append(v.text, b)
		v.from = append(v.from, of.from[from])
		v.to = append(v.to, of.to[to-1])
	}
}

// mark marks the bytes of the original that stand behind a piece of the view.
func (v view) mark(from, to int, marks []bool) {
	for i := v.from[from]; i < v.to[to-1]; i++ {
		marks[i] = true
	}
}

// isBorder says whether a word may begin or end at i: something else than letters and digits stands there, or did.
func (v view) isBorder(i int) bool {
	if i == 0 || i == len(v.text) || v.to[i-1] < v.from[i] {
		return true
	}
	return !isAlphanumeric(v.text[i-1]) || !isAlphanumeric(v.text[i])
}

// decoded is the view without one layer of escapes, of JSON, of addresses, of HTML and of C; ok is false where it has none.
func (v view) decoded() (out view, ok bool) {
	for i := 0; i < len(v.text); {
		if bytes, n := escapeAt(v.text[i:]); n > 0 {
			out.put(bytes, v, i, i+n)
			i += n
			ok = true
			continue
		}
		out.put(v.text[i:i+1], v, i, i+1)
		i++
	}
	return out, ok
}

// isOctal says whether three digits are a byte's, as in \163.
func isOctal(digits []byte) bool {
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' && digits[2] >= '0' && digits[2] <= '7'
}

// escapeAt reads the escape that a text begins with: what it stands for and how long it is, 0 where there is none.
func escapeAt(text []byte) (bytes []byte, length int) {
	switch {
	case len(text) < 2:
	case text[0] == '\\' && text[1] == 'u':
		if r, ok := hexAt(text, 2, 4); ok {
			return utf8.AppendRune(nil, rune(r)), 6
		}
	case text[0] == '\\' && text[1] == 'x':
		if b, ok := hexAt(text, 2, 2); ok {
			return []byte{byte(b)}, 4
		}
	case text[0] == '\\' && (text[1] == '"' || text[1] == '\\' || text[1] == '/'):
		return text[1:2], 2
	case text[0] == '\\' && strings.IndexByte("nrtbfv", text[1]) >= 0:
		return []byte{' '}, 2
	case text[0] == '\\' && len(text) >= 4 && isOctal(text[1:4]):
		return []byte{(text[1]-'0')<<6 | (text[2]-'0')<<3 | (text[3] - '0')}, 4
	case text[0] == '%':
		if b, ok := hexAt(text, 1, 2); ok {
			return []byte{byte(b)}, 3
		}
	case text[0] == '0' && (text[1] == 'x' || text[1] == 'X'):
		if b, ok := hexAt(text, 2, 2); ok && (len(text) == 4 || !isAlphanumeric(text[4])) {
			return []byte{byte(b)}, 4
		}
	case text[0] == '&':
		for end := 2; end < min(len(text), 12); end++ {
			if text[end] != ';' {
				continue
			}
			entity := string(text[:end+1])
			if plain := html.UnescapeString(entity); plain != entity {
				return []byte(plain), end + 1
			}
			break
		}
	}
	return nil, 0
}

func hexAt(text []byte, at, digits int) (uint64, bool) {
	if len(text) < at+digits {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[at:at+digits]), 16, 32)
	return n, err == nil
}

// asFolded is the view in lower case.
func (v view) asFolded() view {
	v.text = []byte(folded(string(v.text)))
	return v
}

// asBare is the view's letters and digits alone.
func (v view) asBare() (out view) {
	for i, b := range v.text {
		if isAlphanumeric(b) {
			out.put([]byte{foldedByte(b)}, v, i, i+1)
		}
	}
	return out
}
