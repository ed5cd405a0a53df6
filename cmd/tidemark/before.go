package main

import (
	"context"
	"os/exec"
	"strings"

	"tidemark/internal/hint"

	"github.com/urfave/cli/v2"
)

// runBefore runs the program that an experiment's author wants before a row,
// and waits for its end. It speaks to the person, never into the product.
func runBefore(ctx context.Context, c *cli.Context, before []string, value string) error {
	args := make([]string, len(before))
	for i, arg := range before {
		args[i] = strings.ReplaceAll(arg, "{value}", value)
	}
	tell(c, "$ %s", strings.Join(args, " "))
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	if talks := fileOf(talk(c)); talks != nil {
		// The file itself: through a pipe of ours, a server that it starts in the background would be waited for.
		command.Stdout, command.Stderr = talks, talks
	}
	if err := command.Run(); err != nil {
		return hint.Errorf("experiment: before: %s: %w", args[0], err).
			Hint("the row was not begun; mend it and give the same command again")
	}
	return nil
}
