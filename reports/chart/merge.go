package chart

import (
	"regexp"
	"strings"
)

// stroke is a line without a filling: d, and all else that it says.
var stroke = regexp.MustCompile(`<path d="([^"]*)" fill="none"([^>]*)/>`)

// merge makes one path of strokes that follow each other and look the same, as the lines of a grid do: a third of a
// drawing's bytes. Marks where strokes cross stay as they were, because strokes are opaque; dashes would not.
func merge(drawn string) string {
	var out strings.Builder
	var places, look string // of the path that is still open
	end := 0
	flush := func() {
		if places != "" {
			out.WriteString(`<path d="` + places + `" fill="none"` + look + `/>`)
		}
		places = ""
	}
	for _, at := range stroke.FindAllStringSubmatchIndex(drawn, -1) {
		d, rest := drawn[at[2]:at[3]], drawn[at[4]:at[5]]
		isNext := at[0] == end && rest == look && places != "" && !strings.Contains(rest, "dash") && !strings.Contains(rest, "opacity")
		if !isNext {
			flush()
			out.WriteString(drawn[end:at[0]])
		}
		places += d
		look, end = rest, at[1]
	}
	flush()
	out.WriteString(drawn[end:])
	return out.String()
}
