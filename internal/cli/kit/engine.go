package kit

import (
	"github.com/urfave/cli/v2"

	"tidemark/internal/engine"
)

// Engine are the settings of a modelled engine that no deployment has.
type Engine struct {
	BlockSize       int
	NoPrefixCaching bool
}

// Flags are those of simulate and rehearse.
func (e *Engine) Flags() []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "block-size", Usage: "`TOKENS` of a KV block", Value: 16, Destination: &e.BlockSize, Action: AtLeastOne[int]("block-size")},
		&cli.BoolFlag{Name: "no-prefix-caching", Usage: "switch the prefix cache off", Destination: &e.NoPrefixCaching},
	}
}

// Set has an engine work with these settings; its KV cache stays as large as it is.
func (e *Engine) Set(config *engine.Config) {
	config.SetBlockSize(e.BlockSize)
	config.EnablePrefixCaching = !e.NoPrefixCaching
}
