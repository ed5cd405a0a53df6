package chart

import (
	"regexp"
	"strings"
)

// What ECharts writes around and into the marks of a plate, and that nobody sees: groups and clips (a plate's marks lie
// in their grid by themselves), lines of no width, and the corners of a legend that is not shown.
var (
	unseen     = regexp.MustCompile(`<defs>.*?</defs>|<g[^>]*>|</g>|</polygon>`)
	drawnShape = regexp.MustCompile(`<(path|polygon|rect)([^>]*?)/?>`)
	noWidth    = regexp.MustCompile(` stroke="[^"]*" stroke-width="0"`)
	attribute  = regexp.MustCompile(` ([a-z-]+)="([^"]*)"`)
)

// flatten keeps of a drawing what is seen, in few bytes: corners become H and V where they are straight, and shapes that
// follow each other and look the same become one.
func flatten(inside string) string {
	inside = unseen.ReplaceAllString(inside, "")
	var out strings.Builder
	var places, look string // of the path that is still open
	flush := func() {
		if places != "" {
			out.WriteString(`<path d="` + places + `"` + look + `/>`)
		}
		places = ""
	}
	end := 0
	for _, at := range drawnShape.FindAllStringSubmatchIndex(inside, -1) {
		if between := inside[end:at[0]]; between != "" {
			flush()
			out.WriteString(between)
		}
		end = at[1]
		d, rest := shapeOf(inside[at[2]:at[3]], inside[at[4]:at[5]])
		if d == "" {
			continue
		}
		// Places that are half transparent or dashed look different where two of one path cross.
		if rest != look || strings.Contains(rest, "opacity") || strings.Contains(rest, "dash") {
			flush()
			look = rest
		}
		places += d
	}
	flush()
	out.WriteString(inside[end:])
	return out.String()
}

// shapeOf is the path of a shape and how it looks. What cannot be seen has no path.
func shapeOf(name, attributes string) (d, look string) {
	attributes = noWidth.ReplaceAllString(attributes, "")
	isSeen := false
	for _, a := range attribute.FindAllStringSubmatch(attributes, -1) {
		key, value := a[1], a[2]
		switch {
		case key == "d":
			d = value
		case key == "points":
			d = "M" + strings.Join(inPairs(value), "L") + "Z"
		case key == "stroke-linejoin" && value == "bevel":
		case key == "fill-opacity" && value == "0", key == "fill" && value == "none" && name == "polygon":
			return "", ""
		default:
			if (key == "fill" || key == "stroke") && value != "none" {
				isSeen = true
			}
			look += a[0]
		}
	}
	if !isSeen || name == "rect" {
		return "", ""
	}
	return corners(d), look
}

// inPairs splits "1 2 3 4" into "1 2" and "3 4".
func inPairs(points string) []string {
	fields := strings.Fields(points)
	var out []string
	for i := 0; i+1 < len(fields); i += 2 {
		out = append(out, fields[i]+" "+fields[i+1])
	}
	return out
}

// straight is what corners understands: moves, lines and closings with absolute places.
var straight = regexp.MustCompile(`^(?:[ML]-?[\d.]+ -?[\d.]+|Z)+$`)

var step = regexp.MustCompile(`[ML]-?[\d.]+ -?[\d.]+|Z`)

// corners writes level and upright lines with one number, and leaves out the places in the middle of them.
func corners(d string) string {
	if !straight.MatchString(d) {
		return d
	}
	var out []string
	var lastX, lastY string
	for _, s := range step.FindAllString(d, -1) {
		x, y, _ := strings.Cut(s[1:], " ")
		last := ""
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		switch {
		case s == "Z" || s[0] == 'M':
			out = append(out, s)
		case x == lastX && y == lastY:
		case y == lastY && last[0] == 'H':
			out[len(out)-1] = "H" + x
		case y == lastY:
			out = append(out, "H"+x)
		case x == lastX:
			out = append(out, "V"+y)
		default:
			out = append(out, s)
		}
		if s != "Z" {
			lastX, lastY = x, y
		}
	}
	return strings.Join(out, "")
}
