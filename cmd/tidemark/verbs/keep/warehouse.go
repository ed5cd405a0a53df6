package keep

// The verb warehouse names the verbs below it. Exit codes: 0; 2 for one that does not exist.

import (
	"github.com/urfave/cli/v2"

	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
)

func WarehouseCommand() *cli.Command {
	c := &kit.Call{}
	return &cli.Command{
		Name:      "warehouse",
		Usage:     "check, upgrade, publish or purge the file with the data",
		ArgsUsage: "check | upgrade | publish | purge",
		Description: `The warehouse is one DuckDB file, tidemark.duckdb unless --warehouse names
another. What is done to it as a whole:
  tidemark warehouse check     run every check of its data
  tidemark warehouse upgrade   bring it to this version of tidemark
  tidemark warehouse publish   bring the published copy up to date
  tidemark warehouse purge     remove sources and runs, and shrink the file

Example:
  tidemark warehouse check`,
		Flags: c.WarehouseFlags(),
		Action: c.Do(func() error {
			if c.Args.Present() {
				return hint.Misuse("warehouse: there is no %q", c.Args.First()).Hint("check, upgrade, publish or purge")
			}
			c.ShowHelp()
			return nil
		}),
	}
}
