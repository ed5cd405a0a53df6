package chart

import "testing"

func TestFlattenKeepsWhatIsSeen(t *testing.T) {
	for _, c := range []struct{ why, drawn, want string }{
		{"the ground and its group go", `<rect width="9" height="9" fill="none"/><g clip-path="url(#a)"><path d="M0 0L1 1" fill="none" stroke="red"/></g>`, `<path d="M0 0L1 1" fill="none" stroke="red"/>`},
		{"a line of no width goes", `<path d="M0 0L1 1" fill="none" stroke="red" stroke-width="0"/>`, ``},
		{"an area keeps its filling alone", `<path d="M0 0L1 1Z" fill="blue" stroke="red" stroke-width="0"/>`, `<path d="M0 0L1 1Z" fill="blue"/>`},
		{"a box is a path", `<polygon points="0 2 4 2 4 0 0 0" fill="blue"></polygon>`, `<path d="M0 2H4V0H0Z" fill="blue"/>`},
		{"what looks the same is one path", `<path d="M0 0L1 1" fill="none" stroke="red"/><path d="M2 0L3 1" fill="none" stroke="red"/>`, `<path d="M0 0L1 1M2 0L3 1" fill="none" stroke="red"/>`},
		{"but not what is half transparent", `<path d="M0 0Z" fill="red" fill-opacity="0.1"/><path d="M1 1Z" fill="red" fill-opacity="0.1"/>`, `<path d="M0 0Z" fill="red" fill-opacity="0.1"/><path d="M1 1Z" fill="red" fill-opacity="0.1"/>`},
		{"and not what has something between", `<path d="M0 0Z" fill="red"/><circle r="1"/><path d="M1 1Z" fill="red"/>`, `<path d="M0 0Z" fill="red"/><circle r="1"/><path d="M1 1Z" fill="red"/>`},
	} {
		if got := flatten(c.drawn); got != c.want {
			t.Errorf("%s: got %s, want %s", c.why, got, c.want)
		}
	}
}

func TestCorners(t *testing.T) {
	for d, want := range map[string]string{
		"M0 0L5 0L9 0L9 4L9 4L12 8Z": "M0 0H9V4L12 8Z",
		"M0 0L5 0M5 0L5 3":           "M0 0H5M5 0V3",
		"M0 0C1 1 2 2 3 3":           "M0 0C1 1 2 2 3 3",
		"M-5 -5l10 0l0 10l-10 0Z":    "M-5 -5l10 0l0 10l-10 0Z",
	} {
		if got := corners(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}
