package commandline

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/internal/terminal"

	"github.com/urfave/cli/v2"
)

// The help is laid out for the terminal that it is printed on, from 40 to 80 columns: urfave has no place to pass a width along.
var helpColumns = widest

const (
	widest, narrowest = 80, 40
	// From here on a flag and what it is for are side by side; below, they are under each other.
	sideBySide = 70
	// urfave indents flags by three, and flagLines puts six columns in front of a further line of a flag.
	flagIndent, furtherIndent = 3, 6
	flagColumns               = 31
)

// FitTo lays the help out for the terminal that w is. It is called before the verbs are made.
func FitTo(w io.Writer) { helpColumns = min(widest, max(narrowest, terminal.Width(w))) }

// The help leaves out defaults that say nothing.
func init() { cli.FlagStringer = flagHelp }

// verbHead is the part of a verb's help above its flags.
func verbHead(command *cli.Command) string {
	usage := fmt.Sprintf("tidemark %s [flags] %s", command.Name, command.ArgsUsage)
	return literal(wrapped("tidemark "+command.Name+" - "+command.Usage, 0) + "\n\nUSAGE:\n   " + wrapped(usage, 6) + "\n\n" + fitting(command.Description) + "\n\nFLAGS:\n")
}

// fitting fills the paragraphs of a description. An example that is too long goes on behind a backslash, so that it can be copied.
func fitting(description string) string {
	var lines []string
	paragraph := ""
	end := func() {
		if paragraph != "" {
			lines = append(lines, wrapped(paragraph, 0))
		}
		paragraph = ""
	}
	for line := range strings.SplitSeq(description, "\n") {
		text := strings.TrimLeft(line, " ")
		indent := strings.Repeat(" ", len(line)-len(text))
		switch {
		case text != "" && indent == "":
			paragraph = strings.TrimSpace(paragraph + " " + text)
			continue
		case utf8.RuneCountInString(line) > helpColumns:
			line = indent + strings.Join(terminal.Wrapped(text, helpColumns-len(indent)-4), " \\\n"+indent+"  ")
		}
		end()
		lines = append(lines, line)
	}
	end()
	return strings.Join(lines, "\n")
}

// wrapped is a text in lines, the further ones indented.
func wrapped(text string, indent int) string {
	return strings.Join(terminal.Wrapped(text, helpColumns-indent), "\n"+strings.Repeat(" ", indent))
}

// Overview is the help of the program: one line for each verb.
const Overview = `{{.Name}} - {{.Usage}}

USAGE:
   {{.Name}} VERB [flags]; {{.Name}} VERB --help says more

VERBS:{{range .VisibleCommands}}{{if ne .Name "help"}}
   {{printf "%-10s" .Name}}  {{.Usage}}{{end}}{{end}}
`

// ofEveryVerb are flags that the help of a verb leaves to --help-all: they are the same everywhere and rarely needed.
var ofEveryVerb = []string{"wait", "publish", "quiet"}

// ShortHelp puts the flags of a verb first that are used most. Its help shows these alone, so that it fits a screen; --help-all shows every flag.
// Without such flags it shows all that are the verb's own.
func ShortHelp(command *cli.Command, most ...string) {
	var first, rest []cli.Flag
	for _, name := range most {
		first = append(first, flagOf(command, name))
	}
	for _, flag := range command.Flags {
		name := flag.Names()[0]
		switch {
		case slices.Contains(most, name):
		case len(most) == 0 && !slices.Contains(ofEveryVerb, name):
			first = append(first, flag)
		default:
			rest = append(rest, flag)
		}
	}
	all := slices.Concat(first, rest)
	short := verbHead(command) + literal(flagLines(first))
	if len(rest) > 0 {
		short += fmt.Sprintf("\n%d more flags: tidemark %s --help-all\n", len(rest), command.Name)
	}
	command.CustomHelpTemplate = short
	command.Flags = append(all, &cli.BoolFlag{Name: helpAll, Usage: "show every flag", Hidden: true})
	action := command.Action
	command.Action = func(c *cli.Context) error {
		if c.Bool(helpAll) {
			cli.HelpPrinter(c.App.Writer, verbHead(command)+literal(flagLines(all)), command)
			return nil
		}
		return action(c)
	}
}

const helpAll = "help-all"

// flagLines are the flags as help shows them.
func flagLines(flags []cli.Flag) string {
	var b strings.Builder
	for _, flag := range flags {
		b.WriteString("   " + strings.ReplaceAll(flag.String(), "\n", "\n      ") + "\n")
	}
	return b.String()
}

// literal keeps a text as it is in a template.
func literal(text string) string { return strings.ReplaceAll(text, "{{", "{{`{{`}}") }

// flagHelp is the help of one flag: its name and value in one column, its usage in the
// next. urfave prints further lines with its own indent, so each carries the rest.
func flagHelp(flag cli.Flag) string {
	documented, ok := flag.(cli.DocGenerationFlag)
	if !ok {
		return ""
	}
	value, usage := valueName(documented)
	head := "--" + flag.Names()[0]
	if documented.TakesValue() {
		head += " " + value
	}
	column := flagColumns
	if helpColumns < sideBySide {
		column = flagIndent
	}
	lines := terminal.Wrapped(usage+defaultHelp(documented), helpColumns-flagIndent-column)
	further := "\n" + strings.Repeat(" ", flagIndent+column-furtherIndent)
	text := strings.Join(lines, further)
	if len(head) >= column {
		return head + further + text
	}
	return fmt.Sprintf("%-*s%s", column, head, text)
}

// valueName is the part of a flag's usage in back quotes.
func valueName(flag cli.DocGenerationFlag) (value, usage string) {
	usage = flag.GetUsage()
	before, rest, found := strings.Cut(usage, "`")
	if !found {
		return "N", usage
	}
	value, after, _ := strings.Cut(rest, "`")
	return value, before + value + after
}

// shortDuration writes 1m0s as 1m; other values stay as they are.
func shortDuration(value string) string {
	if _, err := time.ParseDuration(value); err != nil {
		return value
	}
	for _, zero := range []string{"m0s", "h0m"} {
		if short, has := strings.CutSuffix(value, zero); has {
			value = short + zero[:1]
		}
	}
	return value
}

// defaultHelp names the default and the environment variable. Zero, false and empty mean
// "not given" and are left out.
func defaultHelp(flag cli.DocGenerationFlag) string {
	text := ""
	switch value := flag.GetDefaultText(); value {
	case "", "0", "0s", "false", `""`:
	default:
		text = " (default " + shortDuration(strings.Trim(value, `"`)) + ")"
	}
	for _, name := range flag.GetEnvVars() {
		text += " [$" + name + "]"
	}
	return text
}
