package commandline

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
)

// About says which program this is, for bug reports and for scripts that upgrade.
type About struct {
	Version string `json:"version"`
	Stamp   string `json:"stamp"` // fingerprint of its SQL: warehouses of the same one need no upgrade
	DuckDB  string `json:"duckdb"`
	Go      string `json:"go"`
	System  string `json:"system"` // linux/amd64
	Commit  string `json:"commit,omitempty"`
}

// VersionCommand prints what the program is, which takes a moment to find out.
func VersionCommand(ask func() About) *cli.Command {
	var isJSON bool
	return &cli.Command{
		Name:  "version",
		Usage: "which version this is, and of what it is made",
		Description: `The stamp is the fingerprint of its SQL: a warehouse of another stamp is
brought to this version by the first verb that writes.

Example:
  tidemark version --json`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "as JSON", Destination: &isJSON},
			&cli.BoolFlag{Name: "quiet", Usage: "no messages on stderr"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return hint.Misuse("version: takes no arguments, got %q", c.Args().First()).Hint("tidemark version --json")
			}
			about := ask()
			about.Go, about.System, about.Commit = runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH, commit()
			out := terminal.Product(c.App.Writer)
			if isJSON {
				text, err := json.MarshalIndent(about, "", "  ")
				if err == nil {
					_, err = fmt.Fprintf(out, "%s\n", text)
				}
				return err
			}
			_, err := fmt.Fprintf(out, "tidemark %s, DuckDB %s, %s, %s, stamp %.12s\n", about.Version, about.DuckDB, about.Go, about.System, about.Stamp)
			return err
		},
	}
}

// commit is known where the program was built in a clone.
func commit() string {
	info, is := debug.ReadBuildInfo()
	if !is {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}

// ManualCommand prints the manual page.
func ManualCommand() *cli.Command {
	return &cli.Command{
		Name:   "manual",
		Hidden: true, // for those who make packages
		Usage:  "print the manual page, for man",
		Description: `Packages put it in place. By hand it goes into a folder that man knows, such as
~/.local/share/man/man1/tidemark.1.

Example:
  tidemark manual`,
		Flags: []cli.Flag{&cli.BoolFlag{Name: "quiet", Usage: "no messages on stderr"}},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return hint.Misuse("manual: takes no arguments, got %q", c.Args().First()).Hint("tidemark manual > tidemark.1")
			}
			_, err := fmt.Fprint(terminal.Product(c.App.Writer), Manual(c.App))
			return err
		},
	}
}

// Manual is the manual page in roff: each verb with its description and all its flags. urfave's own takes a description for
// Markdown, in which the lines of an example run together.
func Manual(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH TIDEMARK 1 \"\" \"tidemark %s\"\n.SH NAME\ntidemark \\- %s\n.SH SYNOPSIS\n.B tidemark\n.I VERB\n[\\fIFLAGS\\fR] [\\fIARGUMENTS\\fR]\n.SH VERBS\n", roff(app.Version), roff(app.Usage))
	for _, command := range app.Commands {
		if command.Name == "help" {
			continue
		}
		manualOf(&b, command, "")
	}
	b.WriteString(".SH EXIT STATUS\n0: done, and met. 1: an SLO or a check was not met. 2: a flag, value or name that makes no sense. 3: the measurement cannot be trusted. 4: anything else failed. 130: interrupted.\n")
	return b.String()
}

func manualOf(b *strings.Builder, command *cli.Command, under string) {
	name := strings.TrimSpace(under + " " + command.Name)
	fmt.Fprintf(b, ".SS \"%s %s\"\n%s.\n", roff(name), roff(command.ArgsUsage), roff(command.Usage))
	if command.Description != "" {
		fmt.Fprintf(b, ".PP\n.nf\n%s\n.fi\n", roff(command.Description))
	}
	for _, flag := range command.Flags {
		documented, is := flag.(cli.DocGenerationFlag)
		if !is || flag.Names()[0] == "help" {
			continue
		}
		value, usage := valueOf(documented)
		fmt.Fprintf(b, ".TP\n\\fB\\-\\-%s\\fR%s\n%s\n", roff(flag.Names()[0]), roff(value), roff(usage))
	}
	for _, sub := range command.Subcommands {
		if sub.Name != "help" {
			manualOf(b, sub, name)
		}
	}
}

// valueOf takes the name of a flag's value out of its usage, where it stands in backquotes.
func valueOf(flag cli.DocGenerationFlag) (value, usage string) {
	usage = flag.GetUsage()
	if !flag.TakesValue() {
		return "", usage
	}
	value = " VALUE"
	if parts := strings.SplitN(usage, "`", 3); len(parts) == 3 {
		value, usage = " "+parts[1], parts[0]+parts[1]+parts[2]
	}
	return value, usage
}

// roff writes text so that nothing of it is a request to the formatter.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
