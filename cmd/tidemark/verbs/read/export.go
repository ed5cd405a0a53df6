package read

// The verb export writes a results folder: one that was ingested, byte for byte, or a
// run in the layout of "vllm bench serve". analysis.Export makes the files in
// memory; this file writes all of them or none.
//
// Exit codes: 4 where a file of that name exists with other contents and --force is
// missing; 2 where nothing in the warehouse has that name.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
)

type exportFlags struct {
	kit.Call
	output string
	force  bool
}

func ExportCommand() *cli.Command {
	f := &exportFlags{}
	return &cli.Command{
		Name:      "export",
		Usage:     "write a results folder, as ingested or made from a run",
		ArgsUsage: "SOURCE | RUN",
		Description: `The folder has hardware.md, server-flags.md, row-NAME.json in the keys of
"vllm bench serve", and interpretation.md. One that was ingested
is written byte for byte.

Example:
  tidemark export week-47 --output week-47-again`,
		Flags: f.WarehouseFlags(
			&cli.StringFlag{Name: "output", Usage: "write into `DIR`, which is made if it is missing", Destination: &f.output},
			&cli.BoolFlag{Name: "force", Usage: "replace files of these names in DIR", Destination: &f.force},
		),
		Action: f.Do(f.run),
	}
}

func (f *exportFlags) run() error {
	name, err := f.OneArgument("a results folder or a run")
	if err != nil {
		return err
	}
	if err := f.Require("output"); err != nil {
		return err
	}
	var files []analysis.File
	var leftOut []string
	err = f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) (err error) {
		subject, err := analysis.Subject(ctx, w.DB(), name)
		if err != nil {
			return err
		}
		files, leftOut, err = analysis.Export(ctx, w.DB(), subject)
		return err
	})
	if err != nil {
		return err
	}
	if err := writeFolder(f.output, files, f.force); err != nil {
		return err
	}
	if len(leftOut) > 0 {
		f.Tell("not written, because they held text: %s", strings.Join(leftOut, ", "))
	}
	f.Tell("%d files in %s", len(files), f.output)
	return nil
}

// writeFolder writes all files, or none if a file of that name exists with other
// content.
func writeFolder(folder string, files []analysis.File, replace bool) error {
	for _, file := range files {
		there, err := userfile.ReadAll(filepath.Join(folder, file.Name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("export: %w", err)
		case !replace && !bytes.Equal(there, file.Content):
			return hint.Errorf("export: %s is there already, with other contents", filepath.Join(folder, file.Name)).
				Hint("name another folder, or give --force")
		}
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	for _, file := range files {
		if err := userfile.WholeBytes(filepath.Join(folder, file.Name), file.Content); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	return nil
}
