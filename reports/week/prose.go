package week

import (
	"html/template"
	"strings"
	"unicode/utf8"
)

// prose is text of which some facts are bold.
type prose []phrase

type phrase struct {
	text   string
	isBold bool
	isCode bool // a command, which is kept as it is
}

func plain(text string) prose { return prose{{text: text}} }
func bold(text string) prose  { return prose{{text: text, isBold: true}} }

// join puts parts together: strings are plain, prose stays as it is.
func join(parts ...any) prose {
	var out prose
	for _, part := range parts {
		switch p := part.(type) {
		case string:
			out = append(out, phrase{text: p})
		case prose:
			out = append(out, p...)
		}
	}
	return out
}

func (p prose) length() int {
	n := 0
	for _, part := range p {
		n += utf8.RuneCountInString(part.text)
	}
	return n
}

// String is the text without its marks.
func (p prose) String() string {
	var out strings.Builder
	for _, part := range p {
		out.WriteString(part.text)
	}
	return out.String()
}

// written is the text with marks around what is bold and around commands. escape and inCode keep signs from being marks, outside of commands and in them.
func (p prose) written(escape, inCode func(text string) string, boldMarks, codeMarks [2]string) string {
	var out strings.Builder
	for _, part := range p {
		switch {
		case part.isCode:
			out.WriteString(codeMarks[0] + inCode(part.text) + codeMarks[1])
		case part.isBold:
			out.WriteString(boldMarks[0] + escape(part.text) + boldMarks[1])
		default:
			out.WriteString(escape(part.text))
		}
	}
	return out.String()
}

// HTML is for the page.
func (p prose) HTML() template.HTML {
	escape := template.HTMLEscapeString
	return template.HTML(p.written(escape, escape, [2]string{"<strong>", "</strong>"}, [2]string{"<code>", "</code>"})) // safe: every part is escaped
}

// Markdown is for summary.md.
func (p prose) Markdown() string {
	asItIs := func(text string) string { return text }
	return p.written(markdown, asItIs, [2]string{"**", "**"}, [2]string{"`", "`"})
}

var slackMarks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "`", "'")

// Slack is in the marks of a message in Slack, which knows no way to write a mark as it is.
func (p prose) Slack() string {
	return p.written(slackMarks.Replace, slackMarks.Replace, [2]string{"*", "*"}, [2]string{"`", "`"})
}

var markdownMarks = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "<", "&lt;", "#", `\#`, "|", `\|`, "\n", " ", "\r", " ")

// markdown writes text so that a chat or a pull request shows it as it is. It is never at the begin of a line, where > would be a mark.
func markdown(text string) string { return markdownMarks.Replace(text) }

// limitBold leaves at most so many bold facts, the first ones.
func limitBold(sentences []prose, most int) {
	for _, sentence := range sentences {
		for i := range sentence {
			if sentence[i].isBold {
				most--
				sentence[i].isBold = most >= 0
			}
		}
	}
}
