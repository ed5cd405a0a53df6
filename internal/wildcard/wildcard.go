// Package wildcard compares names with patterns. In a pattern * stands for any text, also for none; every other character stands for
// itself, so that a source named "chat [prod]" can be named.
//
// It refuses: character classes, escapes, and ? as a wildcard.
package wildcard

import "strings"

// Match says whether a name fits a pattern.
func Match(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return name == pattern
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	rest := name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return true
}
