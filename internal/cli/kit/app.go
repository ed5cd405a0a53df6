package kit

import (
	"io"

	"github.com/urfave/cli/v2"
)

// makesApps is where an app keeps the function that makes another one like it.
const makesApps = "makes apps"

// WithMaker has an app know how another one like it is made.
func WithMaker(app *cli.App, maker func(stdin io.Reader, stdout, stderr io.Writer) *cli.App) {
	app.Metadata = map[string]any{makesApps: maker}
}

// Another is a command line of its own for a verb that runs another verb inside this process, so that no value of the last call stays in a
// flag.
func (c *Call) Another(stdin io.Reader, stdout, stderr io.Writer) *cli.App {
	return c.App.Metadata[makesApps].(func(io.Reader, io.Writer, io.Writer) *cli.App)(stdin, stdout, stderr)
}
