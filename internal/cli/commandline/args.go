package commandline

import (
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
	if len(args) < 2 {
		return args
	}
	verbAt := slices.IndexFunc(args[1:], func(arg string) bool {
		return slices.ContainsFunc(app.Commands, func(c *cli.Command) bool { return c.HasName(arg) })
	}) + 1
	if verbAt == 0 {
		return args
	}
	verb := args[verbAt]
	command := app.Commands[slices.IndexFunc(app.Commands, func(c *cli.Command) bool { return c.HasName(verb) })]
	flags, rest := splitFlags(command, slices.Concat(args[1:verbAt], args[verbAt+1:]))
	if n := len(flags); n > 0 && n == lastWithoutValue(command, flags) {
		// Nothing may follow it that could be mistaken for its value.
		return slices.Concat(args[:1], []string{verb}, flags)
	}
	return slices.Concat(args[:1], []string{verb}, flags, []string{"--"}, rest)
}

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
