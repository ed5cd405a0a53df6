package commandline

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"tidemark/internal/proof/must"
)

// Help fills a terminal of 40, 80 and 120 columns, and no more.
func TestHelpFillsTheTerminal(t *testing.T) {
	defer func(before int) { helpColumns = before }(helpColumns)
	for _, columns := range []int{narrowest, usual, widest} {
		helpColumns = columns
		words := strings.Repeat("some words ", 40)
		verb := &cli.Command{Name: "send", Usage: words, Description: words + ".\n\nExample:\n  tidemark send " + words, Flags: []cli.Flag{&cli.StringFlag{Name: "to", Usage: words}},
			Action: func(*cli.Context) error { return nil }}
		app := &cli.App{Name: "tidemark", Usage: words, Commands: Under("Send", verb)}
		app.Setup()
		ShortHelp(verb)()
		for _, text := range []string{Overview(app), verb.CustomHelpTemplate} {
			longest := 0
			for line := range strings.SplitSeq(text, "\n") {
				longest = max(longest, utf8.RuneCountInString(line))
			}
			if longest > columns || longest < columns-6 {
				t.Errorf("at %d columns the longest line has %d:\n%s", columns, longest, text)
			}
		}
	}
}

// On a terminal of 40 columns a flag stands above what it is for, and paragraphs are filled anew.
func TestHelpFitsANarrowTerminal(t *testing.T) {
	defer func(before int) { helpColumns = before }(helpColumns)
	helpColumns = narrowest
	app := &cli.App{Commands: []*cli.Command{{
		Name: "send", Usage: "send a trace to a server, on time; keep what came back", ArgsUsage: "SOURCE | PLAN",
		Description: "Each request is sent at its due time,\nwhether or not others have ended.\n\nExample:\n  tidemark send azure --duration 10m --base-url http://gpu1:8000",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "prometheus-auth-file", Usage: "`FILE` with a token, or with lines of user: and password:"}},
	}}}
	ShortHelp(app.Commands[0])()
	text := app.Commands[0].CustomHelpTemplate
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) > narrowest {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	must.Say(t, text, "Each request is sent at its due time,\nwhether or not others have ended.\n", "   --prometheus-auth-file FILE\n      FILE with a token")
}

// What does not fit a screen is left to --help-all: further flags, parts of a flag's usage, and whole sentences, never the examples.
func TestHelpKeepsWhatFitsAScreen(t *testing.T) {
	long := strings.Repeat("a word ", 8)
	command := &cli.Command{
		Name: "send", Usage: "send a trace",
		Description: "It sends on time. " + strings.Repeat(long, 12) + "ends here. It keeps all.\n\nExample:\n  tidemark send azure",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "the server as `URL` (a name will do); again for each replica, which take turns", Value: "here"},
			&cli.StringFlag{Name: "rest", Usage: long},
		},
		Action: func(*cli.Context) error { return nil },
	}
	for i := range 11 {
		command.Flags = append(command.Flags, &cli.IntFlag{Name: "flag" + string(rune('a'+i)), Usage: "a number"})
	}
	var most []string
	for _, flag := range command.Flags {
		if name := flag.Names()[0]; name != "rest" {
			most = append(most, name)
		}
	}
	ShortHelp(command, most...)()
	want := `tidemark send - send a trace
USAGE: tidemark send [flags]

It sends on time.

Example:
  tidemark send azure

FLAGS:
   --to URL                       the server as URL (default here)
` + strings.Repeat("   --flag? N                      a number\n", 11) + `
All of this and 1 more flag: tidemark send --help-all
`
	for i := range 11 {
		want = strings.Replace(want, "?", string(rune('a'+i)), 1)
	}
	if got := command.CustomHelpTemplate; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
