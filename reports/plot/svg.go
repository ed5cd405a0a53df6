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
	for _, m := range s.marks {
		m.svg(&out)
	}
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

func (l line) svg(out *strings.Builder) {
	fmt.Fprintf(out, `<path d="%s" fill="none" stroke="%s"`, l.path, paint(l.colour))
	if l.width != 1 {
		fmt.Fprintf(out, ` stroke-width="%s"`, num2(l.width))
	}
	if len(l.dash) > 0 {
		texts := make([]string, len(l.dash))
		for i, v := range l.dash {
			texts[i] = num(v)
		}
		fmt.Fprintf(out, ` stroke-dasharray="%s"`, strings.Join(texts, " "))
	}
	out.WriteString(` stroke-linejoin="round"/>`)
}

func (a area) svg(out *strings.Builder) {
	fmt.Fprintf(out, `<path d="%s" fill="%s"`, a.path, paint(a.colour))
	if a.alpha < 1 {
		fmt.Fprintf(out, ` fill-opacity="%s"`, num2(a.alpha))
	}
	out.WriteString(`/>`)
}

func (d dots) svg(out *strings.Builder) {
	if d.isPath {
		d.path(out)
		return
	}
	for _, p := range d.places {
		if !isFinite(p.x) || !isFinite(p.y) {
			continue
		}
		fmt.Fprintf(out, `<circle cx="%s" cy="%s" r="%s" fill="%s"`, num(p.x), num(p.y), num(d.radius), paint(d.fill))
		if d.edge != "" {
			fmt.Fprintf(out, ` stroke="%s" stroke-width="2"`, paint(d.edge))
		}
		out.WriteString("/>")
	}
}

// path writes dots as lines of no length with round ends.
func (d dots) path(out *strings.Builder) {
	out.WriteString(`<path d="`)
	for _, p := range d.places {
		out.WriteString("M" + num(p.x) + " " + num(p.y) + "h0")
	}
	fmt.Fprintf(out, `" fill="none" stroke="%s" stroke-width="%s" stroke-linecap="round"`, paint(d.fill), num(2*d.radius))
	if d.alpha < 1 {
		fmt.Fprintf(out, ` stroke-opacity="%s"`, num2(d.alpha))
	}
	out.WriteString(`/>`)
}

func (d path) String() string {
	var out strings.Builder
	for _, s := range d {
		out.WriteByte(s.command)
		switch s.command {
		case 'H', 'h':
			out.WriteString(num(s.x))
		case 'V', 'v':
			out.WriteString(num(s.y))
		case 'M', 'L':
			out.WriteString(num(s.x) + " " + num(s.y))
		}
	}
	return out.String()
}

// paint is a colour as an attribute. It loads nothing: of all that a drawing could refer to, only the page's own pattern, of what is missing, passes.
func paint(colour string) string {
	if strings.Contains(colour, "url(") && colour != "url(#hatch)" {
		return "none"
	}
	return escape(colour)
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
