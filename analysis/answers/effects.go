package answers

import (
	"slices"
	"strings"
)

// effects are functions that change something though the statement that calls them only reads: of DuckDB's own, where it writes logs and
// profiles, and the file itself.
var effects = []string{
	"checkpoint", "force_checkpoint", "enable_logging", "disable_logging", "truncate_duckdb_logs", "write_log",
	"enable_profiling", "disable_profiling", "enable_profile", "disable_profile",
}

// Effect is a function in a query that changes something; empty: there is none. It looks at names before an opening parenthesis, also at
// those in texts, which the function query runs. Comments may stand anywhere.
func Effect(query string) string {
	last := "" // the name before, where nothing but blanks and comments followed
	for at := 0; at < len(query); {
		rest := query[at:]
		c := query[at]
		switch {
		case strings.HasPrefix(rest, "--"):
			at += lengthUntil(rest, "\n", 2)
		case strings.HasPrefix(rest, "/*"):
			at += lengthUntil(rest, "*/", 2)
		case c == '\'' || c == '"' || c == '$' && dollarTag(rest) != "":
			text, length := quoted(rest, strings.EqualFold(last, "e") && at > 0 && (query[at-1]|0x20) == 'e')
			at += length
			if last = text; c != '"' {
				if found := Effect(text); found != "" {
					return found
				}
				last = ""
			}
		case isNamePart(c):
			end := at
			for end < len(query) && isNamePart(query[end]) {
				end++
			}
			last, at = query[at:end], end
		case c == '(' && slices.Contains(effects, strings.ToLower(last)):
			return strings.ToLower(last)
		default:
			if c > ' ' {
				last = ""
			}
			at++
		}
	}
	return ""
}

func isNamePart(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c > '~'
}

// lengthUntil is how long a text is up to the end of a mark that is looked for from a place on.
func lengthUntil(text, mark string, from int) int {
	if end := strings.Index(text[from:], mark); end >= 0 {
		return from + end + len(mark)
	}
	return len(text)
}

// dollarTag is the $$ or $tag$ that a text begins with; empty: none.
func dollarTag(text string) string {
	end := strings.IndexByte(text[1:], '$')
	if end < 0 || strings.IndexFunc(text[1:1+end], func(r rune) bool { return r > '~' || !isNamePart(byte(r)) }) >= 0 {
		return ""
	}
	return text[:end+2]
}

// quoted is what stands between the quotes that a text begins with, and how long it is with them. A doubled quote is one, and in E'...' a
// backslash hides the next character.
func quoted(text string, hasBackslashes bool) (content string, length int) {
	if text[0] == '$' {
		tag := dollarTag(text)
		length = lengthUntil(text, tag, len(tag))
		return strings.TrimSuffix(text[len(tag):length], tag), length
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case hasBackslashes && text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case text[i] != text[0]:
			b.WriteByte(text[i])
		case i+1 < len(text) && text[i+1] == text[0]:
			i++
			b.WriteByte(text[i])
		default:
			return b.String(), i + 1
		}
	}
	return b.String(), len(text)
}
