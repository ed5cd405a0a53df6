package commandline

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// On a terminal of 40 columns a flag stands above what it is for, and paragraphs are filled anew.
func TestHelpFitsANarrowTerminal(t *testing.T) {
	defer func(before int) { helpColumns = before }(helpColumns)
	helpColumns = narrowest
	app := &cli.App{Commands: []*cli.Command{{
		Name: "send", Usage: "send a trace to a server, on time; keep what came back", ArgsUsage: "SOURCE | PLAN",
		Description: "Each request is sent at its due time,\nwhether or not others have ended.\n\nExample:\n  tidemark send azure --duration 10m --base-url http://gpu1:8000",
		Flags:       []cli.Flag{&cli.StringFlag{Name: "prometheus-auth-file", Usage: "`FILE` with a token, or with lines of user: and password:"}},
	}}}
	ShortHelp(app.Commands[0])
	text := app.Commands[0].CustomHelpTemplate
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) > narrowest {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	for _, want := range []string{"Each request is sent at its due time,\nwhether or not others have ended.\n", "   --prometheus-auth-file FILE\n      FILE with a token"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
