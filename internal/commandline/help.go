package commandline

import (
	"fmt"
	"strings"

	"tidemark/internal/terminal"

	"github.com/urfave/cli/v2"
)

// Columns of the help text: urfave indents flags by three.
const (
	helpFlagColumns  = 31
	helpUsageColumns = 80 - 3 - helpFlagColumns
	// urfave puts 6 columns in front of a further line of a flag.
	helpIndent = 3 + helpFlagColumns - 6
)

// The help fits 80 columns and leaves out defaults that say nothing.
func init() { cli.FlagStringer = flagHelp }

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

// defaultHelp names the default and the environment variable. Zero, false and empty mean
// "not given" and are left out.
func defaultHelp(flag cli.DocGenerationFlag) string {
	text := ""
	switch value := flag.GetDefaultText(); value {
	case "", "0", "0s", "false", `""`:
	default:
		text = " (default " + strings.Trim(value, `"`) + ")"
	}
	for _, name := range flag.GetEnvVars() {
		text += " [$" + name + "]"
	}
	return text
}
