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

// HTML is for the page.
func (p prose) HTML() template.HTML {
	var out strings.Builder
	for _, part := range p {
		text := template.HTMLEscapeString(part.text)
		if part.isBold {
			text = "<strong>" + text + "</strong>"
		}
		if part.isCode {
			text = "<code>" + text + "</code>"
		}
		out.WriteString(text)
	}
	return template.HTML(out.String()) // safe: every part is escaped
}

// Markdown is for summary.md.
func (p prose) Markdown() string {
	var out strings.Builder
	for _, part := range p {
		text := markdown(part.text)
		if part.isBold {
			text = "**" + text + "**"
		}
		if part.isCode {
			text = "`" + part.text + "`"
		}
		out.WriteString(text)
	}
	return out.String()
}

var slackMarks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "*", "∗", "`", "'")

// Slack is in the marks of a message in Slack, which knows no way to write a mark as it is.
func (p prose) Slack() string {
	var out strings.Builder
	for _, part := range p {
		text := slackMarks.Replace(part.text)
		if part.isBold {
			text = "*" + text + "*"
		}
		if part.isCode {
			text = "`" + text + "`"
		}
		out.WriteString(text)
	}
	return out.String()
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
