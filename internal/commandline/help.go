package commandline

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/internal/terminal"

	"github.com/urfave/cli/v2"
)

// Columns of the help text: urfave indents flags by three.
const (
	helpColumns      = 80
	helpFlagColumns  = 31
	helpUsageColumns = helpColumns - 3 - helpFlagColumns
	// flagLines puts 6 columns in front of a further line of a flag.
	helpIndent = 3 + helpFlagColumns - 6
)

// The help fits 80 columns and leaves out defaults that say nothing.
func init() { cli.FlagStringer = flagHelp }

// verbHead is the part of a verb's help above its flags.
func verbHead(command *cli.Command) string {
	usage := fmt.Sprintf("tidemark %s [flags] %s", command.Name, command.ArgsUsage)
	return literal(wrapped("tidemark "+command.Name+" - "+command.Usage, 0) + "\n\nUSAGE:\n   " + wrapped(usage, 6) + "\n\n" + fitting(command.Description) + "\n\nFLAGS:\n")
}

// fitting breaks the lines of a description that are too long. An example goes on behind a backslash, so that it can be copied.
func fitting(description string) string {
	lines := strings.Split(description, "\n")
	for i, line := range lines {
		text := strings.TrimLeft(line, " ")
		indent := strings.Repeat(" ", len(line)-len(text))
		switch {
		case utf8.RuneCountInString(line) <= helpColumns:
		case indent == "":
			lines[i] = wrapped(text, 0)
		default:
			lines[i] = indent + strings.Join(terminal.Wrapped(text, helpColumns-len(indent)-4), " \\\n"+indent+"  ")
		}
	}
	return strings.Join(lines, "\n")
}

// wrapped is a text in lines of 80 columns, the further ones indented.
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

// ShortHelp puts the flags of a verb first that are used most. Its help shows these alone, so that it fits a screen; --help-all shows every flag.
// Without such flags it shows all.
func ShortHelp(command *cli.Command, most ...string) {
	var first, rest []cli.Flag
	for _, name := range most {
		first = append(first, flagOf(command, name))
	}
	for _, flag := range command.Flags {
		if !slices.Contains(most, flag.Names()[0]) {
			rest = append(rest, flag)
		}
	}
	all := slices.Concat(first, rest)
	short := verbHead(command) + literal(flagLines(first)) + fmt.Sprintf("\n%d more flags: tidemark %s --help-all\n", len(rest), command.Name)
	if len(first) == 0 {
		short = verbHead(command) + literal(flagLines(all))
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
	lines := terminal.Wrapped(usage+defaultHelp(documented), helpUsageColumns)
	text := fmt.Sprintf("%-*s%s", helpFlagColumns, head, lines[0])
	if len(head) >= helpFlagColumns {
		text = head + "\n" + strings.Repeat(" ", helpIndent) + lines[0]
	}
	for _, line := range lines[1:] {
		text += "\n" + strings.Repeat(" ", helpIndent) + line
	}
	return text
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
