package read

// The verb report writes one HTML file. Package reports asks the warehouse and fills the
// page; this file makes sure that the file is complete or absent, by writing a temporary
// file in the same folder and renaming it.
//
// Exit codes: 0; 2 for a run that does not exist; 4 where the file exists and --force is
// missing, or cannot be written.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/serve/pages"
	"tidemark/internal/store/warehouse"
	"tidemark/internal/userfile"
	"tidemark/reports"
)

type reportFlags struct {
	kit.Call
	service, week, summary string // of a service
	failBelow              *float64
	output, slo            string
	source                 cli.StringSlice
	force                  bool
}

func ReportCommand() *cli.Command {
	f := &reportFlags{}
	return &cli.Command{
		Name:      "report",
		Usage:     "write one HTML file that opens anywhere",
		ArgsUsage: "[RUN...]   (none: all runs; without runs, all results and searches)",
		Description: `Example:
  tidemark report --output week.html
  tidemark report --source 'serve-*' --output results.html
  tidemark report RUN --slo slo.yaml --output run.html
  tidemark report --service chat.yaml --week 2026-W47 --output chat.html`,
		Flags: f.WarehouseFlags(append(f.serviceFlags(),
			&cli.StringFlag{Name: "output", Usage: "write to `FILE`, which must not exist; - is stdout", Destination: &f.output},
			&cli.StringSliceFlag{Name: "source", Usage: "chart the results of other tools in source `NAME`, the study of that name, or the searches for capacity on its traffic (or of that id); NAME may have * in it; again for each", Destination: &f.source},
			&cli.StringFlag{Name: "slo", Usage: "judge the runs by the SLO in this YAML `FILE`, whatever they were sent for", Destination: &f.slo},
			&cli.BoolFlag{Name: "force", Usage: "replace FILE", Destination: &f.force},
		)...),
		Action: f.Do(f.run),
	}
}

func (f *reportFlags) run() error {
	if err := f.Require("output"); err != nil {
		return err
	}
	if f.service != "" {
		return f.ofService()
	}
	if flag := f.Given("week", "summary", "fail-below-headroom"); flag != "" {
		return hint.Misuse("report: --%s is of a service's report", flag).Hint("name the service file with --service FILE")
	}
	if f.slo != "" && len(f.source.Value()) > 0 {
		return hint.Misuse("report: --slo judges runs, and --source names results of other tools").Hint("judge such a result with tidemark judge NAME --slo FILE")
	}
	if err := f.write(f.Args.Slice()); err != nil {
		return err
	}
	if f.output != "-" {
		f.Tell("report in %s: open it in any browser", f.output)
	}
	return nil
}

// write writes a temporary file and renames it, so that a report is complete
// or does not exist.
func (f *reportFlags) write(runs []string) error {
	if err := mayWrite(f.output, f.force); err != nil {
		return err
	}
	// Drawing makes much garbage from little that stays: collecting it less often saves a sixth of the CPU for 70 MB.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	return f.WithWarehouse(f.Context, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		runs, err := analysis.RunIDs(ctx, w.DB(), runs)
		if err != nil {
			return err
		}
		options := reports.Options{RunIDs: runs, Sources: f.source.Value(), Version: kit.Version, GeneratedAt: pages.Now(), Warehouse: f.WarehouseWords()}
		write := func(out io.Writer) error { return reports.Write(ctx, w.DB(), options, out) }
		if f.slo != "" {
			slo, err := analysis.ReadSLO(f.slo)
			if err != nil {
				return err
			}
			write = func(out io.Writer) error { return reports.WriteJudged(ctx, w.DB(), f.Warehouse, options, slo, out) }
		}
		if f.output == "-" {
			return write(terminal.Product(f.App.Writer))
		}
		return userfile.Whole(f.output, write)
	})
}

// mayWrite finds out what is wrong with a path before the work is done.
func mayWrite(path string, replace bool) error {
	if path == "-" {
		return nil
	}
	if err := userfile.MayReplace(path); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if _, err := os.Stat(path); err == nil && !replace {
		return hint.Errorf("report: %s is there already", path).Hint("name another file, or give --force")
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return hint.Errorf("report: no folder %s", filepath.Dir(path)).Hint("make the folder, or name another file")
	}
	return nil
}
