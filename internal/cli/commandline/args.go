package commandline

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// FlagsFirst moves the flags of a verb in front of its arguments: users write
// "replay azure --speed 2", but urfave/cli stops reading flags at the first
// argument. Flags in front of the verb move behind it, because every verb has the
// common ones.
//
// The result has "--" between flags and arguments: an argument that starts with a
// hyphen, such as a query in SQL, must not be read as a flag.
func FlagsFirst(app *cli.App, args []string) []string {
	command, _, others := called(app, args)
	if command == nil {
		return args
	}
	verb := command.Name
	flags, rest := splitFlags(command, others)
	if n := len(flags); n > 0 && n == lastWithoutValue(command, flags) {
		// Nothing may follow it that could be mistaken for its value.
		return slices.Concat(args[:1], []string{verb}, flags)
	}
	return slices.Concat(args[:1], []string{verb}, flags, []string{"--"}, rest)
}

// called is the verb that these arguments call, the name that was typed for it, and the arguments without that name. A verb below
// another, such as "predict fit", is a command of its own whose name has two words. nil: no verb is called.
func called(app *cli.App, args []string) (command *cli.Command, typed string, others []string) {
	for i := 1; i < len(args) && command == nil; i++ {
		if command = commandOf(app, args[i]); command != nil {
			typed, others = args[i], slices.Concat(args[1:i], args[i+1:])
		}
	}
	if command == nil {
		return nil, "", nil
	}
	if _, words := splitFlags(command, others); len(words) > 0 {
		if below := commandOf(app, command.Name+" "+words[0]); below != nil {
			at := slices.Index(others, words[0])
			return below, below.Name, slices.Delete(others, at, at+1)
		}
	}
	return command, typed, others
}

func commandOf(app *cli.App, name string) *cli.Command {
	at := slices.IndexFunc(app.Commands, func(c *cli.Command) bool { return c.HasName(name) })
	if at < 0 {
		return nil
	}
	return app.Commands[at]
}

// TellNewName says how a verb and its flags are called now that were called by their names of the version before. Such a name is
// an alias; help lists none.
func TellNewName(w io.Writer, app *cli.App, args []string) {
	command, typed, others := called(app, args)
	if command == nil || slices.Contains(others, "--quiet") {
		return
	}
	tell := func(old, now string) {
		fmt.Fprintf(w, "tidemark: %s is now %s; the next version no longer knows the old name\n", old, now)
	}
	if typed != command.Name {
		tell(typed, fmt.Sprintf("%q", "tidemark "+command.Name))
	}
	given, _ := splitFlags(command, others)
	for _, flag := range given {
		name, _, _ := strings.Cut(strings.TrimLeft(flag, "-"), "=")
		if is := flagOf(command, name); is != nil && strings.HasPrefix(flag, "-") && is.Names()[0] != name {
			tell(command.Name+" --"+name, "--"+is.Names()[0])
		}
	}
}

// isBelow reports whether a verb is below another one.
func isBelow(command *cli.Command) bool { return strings.Contains(command.Name, " ") }

// lastWithoutValue is the number of flags if the last of them lacks its value,
// otherwise 0.
func lastWithoutValue(command *cli.Command, flags []string) int {
	for i := 0; i < len(flags); i++ {
		if strings.HasPrefix(flags[i], "-") && !strings.Contains(flags[i], "=") && takesValue(command, flags[i]) {
			i++
			if i == len(flags) {
				return len(flags)
			}
		}
	}
	return 0
}

// splitFlags separates the flags, each with its value, from the arguments.
func splitFlags(command *cli.Command, args []string) (flags, rest []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return flags, append(rest, args[i+1:]...)
		case arg == "-" || !strings.HasPrefix(arg, "-"):
			rest = append(rest, arg)
		case strings.Contains(arg, "=") || !takesValue(command, arg) || i+1 == len(args):
			flags = append(flags, arg)
		default:
			flags = append(flags, arg, args[i+1])
			i++
		}
	}
	return flags, rest
}

// takesValue reports whether the flag is followed by its value. An unknown flag is
// left for urfave to report.
func takesValue(command *cli.Command, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	for _, flag := range command.Flags {
		if slices.Contains(flag.Names(), name) {
			_, isBool := flag.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false
}
