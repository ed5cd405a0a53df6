// Package lazy makes what few verbs need, at its first use: dozens of patterns that are compiled before main cost every verb its start.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp is a pattern that is compiled when it is first asked for.
func Regexp(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
