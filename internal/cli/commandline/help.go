package commandline

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/internal/cli/terminal"
	"tidemark/internal/show"

	"github.com/urfave/cli/v2"
)

// The help is laid out for the terminal that it is printed on, from 40 to 120 columns: urfave has no place to pass a width along.
var helpColumns = usual

const (
	widest, usual, narrowest = 120, 80, 40
	// From here on a flag and what it is for are side by side; below, they are under each other.
	sideBySide = 70
	// urfave indents flags by three, and flagLines puts six columns in front of a further line of a flag.
	flagIndent, furtherIndent = 3, 6
	flagColumns               = 31
	// A terminal has 24 lines where nobody made it larger, and one of them is the prompt's.
	screenLines = 23
)

// FitTo lays the help out for the terminal that w is. It is called before the verbs are made.
func FitTo(w io.Writer) { helpColumns = min(widest, max(narrowest, terminal.Width(w))) }

// The help leaves out defaults that say nothing.
func init() { cli.FlagStringer = flagHelp }

// Under puts verbs under what one wants of them.
func Under(category string, verbs ...*cli.Command) []*cli.Command {
	for _, verb := range verbs {
		verb.Category = category
	}
	return verbs
}

// verbName is the first lines of a verb's help: what it is for and how it is called.
func verbName(command *cli.Command) string {
	usage := fmt.Sprintf("USAGE: tidemark %s [flags] %s", command.Name, command.ArgsUsage)
	return wrapped("tidemark "+command.Name+" - "+command.Usage, 0) + "\n" + wrapped(usage, 7)
}

// wholeHelp is all that there is to say of a verb.
func wholeHelp(command *cli.Command, flags []cli.Flag) string {
	return literal(verbName(command) + "\n\n" + fitting(command.Description) + "\n\nFLAGS:\n" + flagLines(flags, flagHelp))
}

// screenHelp is the help of a verb that fits a screen: its examples, the flags that are used most, and what is said of it. Where that is too long,
// a flag gets one line, and the text ends with the last sentence that there is room for. A narrow terminal gets more lines, because a text
// takes more of them there.
func screenHelp(command *cli.Command, flags []cli.Flag, others int) string {
	prose, examples := proseAndExamples(command.Description)
	room := screenLines*usual/min(usual, helpColumns) - lines(verbName(command)) - lines(fitting(examples)) - 4 // the last line, and three blank ones
	as := flagHelp
	if room < lines(flagLines(flags, as))+1+lines(fitting(prose))+1 {
		as = briefFlag
	}
	for len(flags) > 0 && lines(flagLines(flags, as))+1 > room {
		flags, others = flags[:len(flags)-1], others+1
	}
	parts := []string{verbName(command), "", fitting(examples)}
	if len(flags) > 0 {
		listed := "FLAGS:\n" + strings.TrimSuffix(flagLines(flags, as), "\n")
		parts, room = append(parts, listed), room-lines(listed)
	}
	parts[1] = beginning(prose, room-1)
	parts = append(parts, seeAll(command.Name, parts[1] != fitting(prose), others))
	return literal(strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "\n\n") + "\n")
}

// seeAll says how to see what the screen has no room for; nothing where it has everything.
func seeAll(name string, isCut bool, others int) string {
	var what []string
	if isCut {
		what = append(what, "All of this")
	}
	if others > 0 {
		what = append(what, show.Things(others, "more flag", "more flags"))
	}
	if len(what) == 0 {
		return ""
	}
	said, command := strings.Join(what, " and ")+":", "tidemark "+name+" --help-all"
	if line := said + " " + command; len(line) <= helpColumns {
		return line
	}
	return said + "\n  " + command
}

func lines(text string) int { return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1 }

// proseAndExamples are the two parts of a description.
func proseAndExamples(description string) (prose, examples string) {
	var said, shown []string
	for block := range strings.SplitSeq(description, "\n\n") {
		if strings.HasPrefix(block, "Example") {
			shown = append(shown, block)
		} else {
			said = append(said, block)
		}
	}
	return strings.Join(said, "\n\n"), strings.Join(shown, "\n\n")
}

// beginning is as many whole sentences of a text as fit so many lines.
func beginning(prose string, room int) string {
	text := fitting(prose)
	if lines(text) <= room {
		return text
	}
	text = ""
	for i := range prose {
		if prose[i] != '.' || i+1 < len(prose) && prose[i+1] != ' ' && prose[i+1] != '\n' {
			continue
		}
		more := fitting(prose[:i+1])
		if lines(more) > room {
			break
		}
		text = more
	}
	return text
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

// Overview is the help of the program: under what one wants, which is the category of a verb, a line for each verb, or more on a
// narrow terminal. Verbs without a category are named at the end: few people need them, and those know what for.
func Overview(app *cli.App) string {
	text := wrapped(app.Name+" - "+app.Usage, 0) + "\n\n" + wrapped("USAGE: "+app.Name+" VERB [flags]; "+app.Name+" VERB --help says more; "+app.Name+" demo shows the whole journey", 7) + "\n"
	category, others := "", []string{}
	for _, verb := range app.VisibleCommands() {
		switch {
		case isBelow(verb): // the help of the verb above it names it
			continue
		case verb.Category == "":
			others = append(others, verb.Name)
			continue
		case verb.Category != category:
			category = verb.Category
			text += "\n" + category + "\n"
		}
		text += fmt.Sprintf("   %-10s  %s\n", verb.Name, wrapped(verb.Usage, 15))
	}
	return literal(text + "\n" + wrapped("Also: "+strings.Join(others, ", "), 3) + "\n")
}

// ofEveryVerb are flags that the help of a verb leaves to --help-all: they are the same everywhere and rarely needed.
var ofEveryVerb = []string{"wait", "publish", "quiet"}

// ShortHelp puts the flags of a verb first that are used most. Its help shows these alone, so that it fits a screen; --help-all shows every flag.
// Without such flags it shows all that are the verb's own. The help is laid out by the function that is returned, before it is shown: for all
// verbs it takes longer than to start the program.
func ShortHelp(command *cli.Command, most ...string) (layOut func()) {
	var first, rest []cli.Flag
	names := make([]string, len(command.Flags)) // asked once: urfave's Names is slow
	for i, flag := range command.Flags {
		names[i] = flag.Names()[0]
	}
	for _, name := range most {
		first = append(first, command.Flags[slices.Index(names, name)])
	}
	for i, flag := range command.Flags {
		name := names[i]
		switch {
		case slices.Contains(most, name):
		case len(most) == 0 && !slices.Contains(ofEveryVerb, name):
			first = append(first, flag)
		default:
			rest = append(rest, flag)
		}
	}
	all := slices.Concat(first, rest)
	command.Flags = append(all, &cli.BoolFlag{Name: helpAll, Usage: "show every flag", Hidden: true})
	action := command.Action
	command.Action = func(c *cli.Context) error {
		if c.Bool(helpAll) {
			cli.HelpPrinter(c.App.Writer, wholeHelp(command, all), command)
			return nil
		}
		return action(c)
	}
	return func() { command.CustomHelpTemplate = screenHelp(command, first, len(rest)) }
}

const helpAll = "help-all"

// flagLines are the flags as help shows them.
func flagLines(flags []cli.Flag, as func(cli.Flag) string) string {
	var b strings.Builder
	for _, flag := range flags {
		b.WriteString("   " + strings.ReplaceAll(as(flag), "\n", "\n      ") + "\n")
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
	_, usage := valueName(documented)
	return flagWith(documented, usage+defaultHelp(documented))
}

// briefFlag is the help of one flag in one line, where it has parts that can be left out.
func briefFlag(flag cli.Flag) string {
	documented := flag.(cli.DocGenerationFlag)
	_, usage := valueName(documented)
	text := usage + defaultHelp(documented)
	for utf8.RuneCountInString(text) > max(usual, helpColumns)-flagIndent-flagColumns && lastPart(usage) > 0 {
		usage = usage[:lastPart(usage)]
		text = usage + defaultHelp(documented)
	}
	return flagWith(documented, text)
}

// lastPart is where the last part of a usage begins that the rest can do without; 0 where there is none.
func lastPart(usage string) int {
	for end := len(usage) - 1; end > 0; end-- {
		before, after := usage[:end], usage[end:]
		isWhole := strings.Count(before, "(") == strings.Count(before, ")")
		if isWhole && (strings.HasPrefix(after, "; ") || strings.HasPrefix(after, ", ") || strings.HasPrefix(after, " (")) {
			return end
		}
	}
	return 0
}

// flagWith sets a flag and what is said of it side by side, or on a narrow terminal under each other.
func flagWith(flag cli.DocGenerationFlag, said string) string {
	head := "--" + flag.(cli.Flag).Names()[0]
	if flag.TakesValue() {
		value, _ := valueName(flag)
		head += " " + value
	}
	column := flagColumns
	if helpColumns < sideBySide {
		column = flagIndent
	}
	further := "\n" + strings.Repeat(" ", flagIndent+column-furtherIndent)
	text := strings.Join(terminal.Wrapped(said, helpColumns-flagIndent-column), further)
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
