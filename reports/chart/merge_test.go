package chart

import "testing"

func TestMergeJoinsOnlyWhatLooksTheSame(t *testing.T) {
	for _, c := range []struct{ why, drawn, want string }{
		{"two lines of a grid become one path", `<path d="M0 1L9 1" fill="none" stroke="#eee"/><path d="M0 2L9 2" fill="none" stroke="#eee"/><text>a</text>`,
			`<path d="M0 1L9 1M0 2L9 2" fill="none" stroke="#eee"/><text>a</text>`},
		{"another colour stays apart", `<path d="M0 1L9 1" fill="none" stroke="#eee"/><path d="M0 2L9 2" fill="none" stroke="#aaa"/>`,
			`<path d="M0 1L9 1" fill="none" stroke="#eee"/><path d="M0 2L9 2" fill="none" stroke="#aaa"/>`},
		{"so does what has something between", `<path d="M0 1" fill="none"/><g><path d="M0 2" fill="none"/></g>`,
			`<path d="M0 1" fill="none"/><g><path d="M0 2" fill="none"/></g>`},
		{"and what is dashed", `<path d="M0 1" fill="none" stroke-dasharray="4"/><path d="M0 2" fill="none" stroke-dasharray="4"/>`,
			`<path d="M0 1" fill="none" stroke-dasharray="4"/><path d="M0 2" fill="none" stroke-dasharray="4"/>`},
		{"an area is no line", `<path d="M0 1Z" fill="#eee"/><path d="M0 2Z" fill="#eee"/>`, `<path d="M0 1Z" fill="#eee"/><path d="M0 2Z" fill="#eee"/>`},
	} {
		if got := merge(c.drawn); got != c.want {
			t.Errorf("%s: got\n%s, want\n%s", c.why, got, c.want)
		}
	}
}
