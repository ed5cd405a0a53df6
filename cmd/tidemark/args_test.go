package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/cli/commandline"
)

// Users write flags behind arguments; urfave/cli stops at the first argument.
func TestFlagsMayFollowArguments(t *testing.T) {
	app := newApp(nil, io.Discard, io.Discard)
	for _, verb := range app.Commands {
		got := commandline.FlagsFirst(app, slices.Concat([]string{"tidemark"}, strings.Fields(verb.Name), []string{"thing", "--quiet"}))
		want := []string{"tidemark", verb.Name, "--quiet", "--", "thing"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", verb.Name, got, want)
		}
	}
	for _, c := range []struct {
		sentence  string
		args, out []string
	}{
		{
			"a value stays with its flag",
			[]string{"replay", "azure", "--speed", "2", "--model", "m"},
			[]string{"replay", "--speed", "2", "--model", "m", "--", "azure"},
		},
		{
			"flags before the verb go behind it",
			[]string{"--warehouse", "w.duckdb", "sql", "from x", "--csv"},
			[]string{"sql", "--warehouse", "w.duckdb", "--csv", "--", "from x"},
		},
		{
			"a dash is stdin, not a flag",
			[]string{"ingest", "-", "--name=x"},
			[]string{"ingest", "--name=x", "--", "-"},
		},
		{
			"behind two dashes nothing is a flag",
			[]string{"ingest", "--csv", "--", "--odd-name.csv"},
			[]string{"ingest", "--csv", "--", "--odd-name.csv"},
		},
		{
			"a verb's name may be a flag's value",
			[]string{"ingest", "a.csv", "--name", "sql"},
			[]string{"ingest", "--name", "sql", "--", "a.csv"},
		},
		{
			"a flag without its value takes nothing for it",
			[]string{"ingest", "a.csv", "--name"},
			[]string{"ingest", "--name"},
		},
		{"no verb: left as it is", []string{"--version"}, []string{"--version"}},
	} {
		got := commandline.FlagsFirst(app, append([]string{"tidemark"}, c.args...))
		if want := append([]string{"tidemark"}, c.out...); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", c.sentence, got, want)
		}
	}
}
