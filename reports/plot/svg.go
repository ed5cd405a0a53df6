package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// svg writes the sheet.
func (s *sheet) svg(label string) string {
	var out strings.Builder
	w, h := num(s.width), num(math.Ceil(s.height))
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%[1]s" height="%[2]s" role="img" aria-label="%s">`, w, h, escape(shorten(label, 1000)))
	out.WriteString(s.marks.String())
	for _, t := range s.texts {
		attributes := fmt.Sprintf(` x="%s" y="%s"`, num(t.X), num(t.Y))
		if t.Anchor != "" {
			attributes += ` text-anchor="` + escape(shorten(t.Anchor, 10)) + `"`
		}
		if t.Class != "" {
			attributes += ` class="` + escape(shorten(t.Class, 40)) + `"`
		}
		out.WriteString("<text" + attributes + ">" + escape(shorten(t.Text, 200)) + "</text>")
	}
	out.WriteString("</svg>")
	return out.String()
}

// stroke draws a line.
func (s *sheet) stroke(d string, colour string, width float64, dash []float64) {
	if d == "" || colour == "" {
		return
	}
	fmt.Fprintf(&s.marks, `<path d="%s" fill="none" stroke="%s"`, d, paint(colour))
	if width != 1 {
		fmt.Fprintf(&s.marks, ` stroke-width="%s"`, num2(width))
	}
	if len(dash) > 0 {
		texts := make([]string, len(dash))
		for i, v := range dash {
			texts[i] = num(v)
		}
		fmt.Fprintf(&s.marks, ` stroke-dasharray="%s"`, strings.Join(texts, " "))
	}
	s.marks.WriteString(` stroke-linejoin="round"/>`)
}

// fill draws an area; alpha 1 is opaque.
func (s *sheet) fill(d, colour string, alpha float64) {
	if d == "" || colour == "" || colour == "none" {
		return
	}
	fmt.Fprintf(&s.marks, `<path d="%s" fill="%s"`, d, paint(colour))
	if alpha < 1 {
		fmt.Fprintf(&s.marks, ` fill-opacity="%s"`, num2(alpha))
	}
	s.marks.WriteString(`/>`)
}

// dots draws round dots of one size as one path: lines of no length with round ends, a fifth of the bytes of circles.
func (s *sheet) dots(places []xy, radius float64, colour string, alpha float64) {
	if len(places) == 0 {
		return
	}
	var d strings.Builder
	for _, p := range places {
		d.WriteString("M" + num(p.x) + " " + num(p.y) + "h0")
	}
	fmt.Fprintf(&s.marks, `<path d="%s" fill="none" stroke="%s" stroke-width="%s" stroke-linecap="round"`, d.String(), paint(colour), num(2*radius))
	if alpha < 1 {
		fmt.Fprintf(&s.marks, ` stroke-opacity="%s"`, num2(alpha))
	}
	s.marks.WriteString(`/>`)
}

// circles draws round dots as circles, which every reader of SVG knows.
func (s *sheet) circles(places []xy, radius float64, colour string) {
	for _, p := range places {
		if isFinite(p.x) && isFinite(p.y) {
			fmt.Fprintf(&s.marks, `<circle cx="%s" cy="%s" r="%s" fill="%s"/>`, num(p.x), num(p.y), num(radius), paint(colour))
		}
	}
}

// rings draws dots of which only the outline is seen.
func (s *sheet) rings(places []xy, radius float64, colour string) {
	for _, p := range places {
		fmt.Fprintf(&s.marks, `<circle cx="%s" cy="%s" r="%s" fill="var(--ground)" stroke="%s" stroke-width="2"/>`, num(p.x), num(p.y), num(radius), paint(colour))
	}
}

func rectangle(left, top, right, bottom float64) string {
	return "M" + num(left) + " " + num(top) + "H" + num(right) + "V" + num(bottom) + "H" + num(left) + "Z"
}

// paint is a colour as an attribute. It loads nothing: of all that a drawing could refer to, only the page's own pattern, of what is missing, passes.
func paint(colour string) string {
	if strings.Contains(colour, "url(") && colour != "url(#hatch)" {
		return "none"
	}
	return escape(colour)
}

// path joins places; a place that is not finite begins anew. A level stretch is one line, however many places lie on it.
func path(places []xy) string {
	var d strings.Builder
	isOpen := false
	lastX, lastY := "", ""
	for i, p := range places {
		if !isFinite(p.x) || !isFinite(p.y) {
			isOpen = false
			continue
		}
		if 0 < i && i+1 < len(places) && isOnLevel(places[i-1], p, places[i+1]) {
			continue
		}
		x, y := num(p.x), num(p.y)
		switch {
		case !isOpen:
			d.WriteString("M" + x + " " + y)
		case y == lastY && x == lastX:
		case y == lastY:
			d.WriteString("H" + x)
		case x == lastX:
			d.WriteString("V" + y)
		default:
			d.WriteString("L" + x + " " + y)
		}
		isOpen, lastX, lastY = true, x, y
	}
	return d.String()
}

// isOnLevel says that p lies on a level line between its neighbours.
func isOnLevel(before, p, after xy) bool {
	y := tenth(p.y)
	return tenth(before.y) == y && tenth(after.y) == y && (p.x-before.x)*(after.x-p.x) >= 0
}

// num writes a coordinate to a tenth of a pixel, which nobody sees and which keeps a page small.
func num(v float64) string { return trimmed(strconv.FormatFloat(tenth(v), 'f', 1, 64)) }

func tenth(v float64) float64 { return math.Round(v*10) / 10 }

func num2(v float64) string { return trimmed(strconv.FormatFloat(v, 'f', 2, 64)) }

func trimmed(text string) string {
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")

// escape makes text safe in content and in double-quoted attributes, of XML and of HTML.
func escape(text string) string { return escaper.Replace(text) }

// shorten keeps at most n characters of text. Control characters, which XML cannot hold, become spaces.
func shorten(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
