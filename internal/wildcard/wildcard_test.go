package wildcard

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"chat", "chat", true}, {"chat", "chats", false}, {"chat*", "chats", true}, {"*", "", true}, {"*", "a/b", true},
		{"chat [prod]", "chat [prod]", true}, {"chat [prod]*", "chat [prod] 2", true}, {`a\b`, `a\b`, true}, {"ch?t", "chat", false}, {"ch?t", "ch?t", true},
		{"a*b*c", "a-b-c", true}, {"a*b*c", "a-c-b", false}, {"a*a", "a", false}, {"a*a", "aa", true}, {"*x*", "axb", true}, {"*x*", "ab", false},
		{"a*bc*c", "abcc", true}, {"a*bc*c", "abc", false},
	} {
		if got := Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) is %t", c.pattern, c.name, got)
		}
	}
}
