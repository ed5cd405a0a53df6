package escape

import "strings"

// markdown's signs, which a run's name or a server's answer may hold.
var markdown = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`)

// Markdown writes text on one line so that none of it means anything in Markdown.
func Markdown(text string) string { return markdown.Replace(Controls(text, "")) }
