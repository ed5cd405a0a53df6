package read

// The verb report writes one HTML file. Package reports asks the warehouse and fills the
// page; this file makes sure that the file is complete or absent, by writing a temporary
// file in the same folder and renaming it.
//
// Exit codes: 0; 2 for a run that does not exist; 4 where the file exists and --force is
// missing, or cannot be written.

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/hint"
	"tidemark/internal/store/warehouse"
	"tidemark/reports"
)

func ReportCommand() *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "write one HTML file that opens anywhere",
		ArgsUsage: "[RUN...]   (none: all runs; without runs, all results and searches)",
		Description: `Example:
  tidemark report --output week.html
  tidemark report --source 'serve-*' --output results.html
  tidemark report RUN --slo slo.yaml --output run.html
  tidemark report --service chat.yaml --week 2026-W47 --output chat.html`,
		Flags: kit.WithWarehouseFlags(append(serviceReportFlags(),
			&cli.StringFlag{Name: "output", Usage: "write to `FILE`, which must not exist; - is stdout"},
			&cli.StringSliceFlag{Name: "source", Usage: "chart the results of other tools in source `NAME`, or the searches for capacity on its traffic (or of that id); NAME may have * in it; again for each"},
			&cli.StringFlag{Name: "slo", Usage: "judge the runs by the SLO in this YAML `FILE`, whatever they were sent for"},
			&cli.BoolFlag{Name: "force", Usage: "replace FILE"},
		)...),
		Action: runReport,
	}
}

func runReport(c *cli.Context) error {
	if err := kit.RequireFlags(c, "output"); err != nil {
		return err
	}
	if c.IsSet("service") {
		return runServiceReport(c)
	}
	for _, flag := range []string{"week", "summary", "fail-below-headroom"} {
		if c.IsSet(flag) {
			return hint.Misuse("report: --%s is of a service's report", flag).Hint("name the service file with --service FILE")
		}
	}
	if c.IsSet("slo") && c.IsSet("source") {
		return hint.Misuse("report: --slo judges runs, and --source names results of other tools").Hint("judge such a result with tidemark judge NAME --slo FILE")
	}
	if err := writeReport(c, c.Args().Slice(), c.String("output"), c.Bool("force")); err != nil {
		return err
	}
	if c.String("output") != "-" {
		kit.Tell(c, "report in %s: open it in any browser", c.String("output"))
	}
	return nil
}

// writeReport writes a temporary file and renames it, so that a report is complete
// or does not exist.
func writeReport(c *cli.Context, runs []string, path string, replace bool) error {
	if err := mayWrite(path, replace); err != nil {
		return err
	}
	// Drawing makes much garbage from little that stays: collecting it less often saves a sixth of the CPU for 70 MB.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	return kit.WithWarehouse(c.Context, c, warehouse.ReadOnly, func(ctx context.Context, w *warehouse.Warehouse) error {
		runs, err := analysis.RunIDs(ctx, w.DB(), runs)
		if err != nil {
			return err
		}
		options := reports.Options{RunIDs: runs, Sources: c.StringSlice("source"), Version: kit.Version, GeneratedAt: now()}
		write := func(out io.Writer) error { return reports.Write(ctx, w.DB(), options, out) }
		if c.IsSet("slo") {
			slo, err := analysis.ReadSLO(c.String("slo"))
			if err != nil {
				return err
			}
			write = func(out io.Writer) error { return writeJudged(ctx, c, w.DB(), options, slo, out) }
		}
		if path == "-" {
			return write(terminal.Product(c.App.Writer))
		}
		file, err := os.CreateTemp(filepath.Dir(path), ".report-*")
		if err != nil {
			return err
		}
		defer os.Remove(file.Name())
		if err := write(file); err != nil {
			file.Close()
			return err
		}
		if err := errors.Join(file.Chmod(0o644), file.Close()); err != nil {
			return err
		}
		return os.Rename(file.Name(), path)
	})
}

// writeJudged writes the report of runs as if they had been sent for this SLO.
func writeJudged(ctx context.Context, c *cli.Context, db *sql.DB, options reports.Options, slo analysis.SLO, out io.Writer) error {
	var err error
	if len(options.RunIDs) == 0 {
		if options.RunIDs, err = reports.Runs(ctx, db); err != nil {
			return err
		}
	}
	return analysis.WithSLO(ctx, c.String("warehouse"), options.RunIDs, slo, func(db *sql.DB) error {
		return reports.Write(ctx, db, options, out)
	})
}

// mayWrite finds out what is wrong with a path before the work is done.
func mayWrite(path string, replace bool) error {
	if path == "-" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return hint.Errorf("report: %s is a folder", path).Hint("name a file in it")
	case err == nil && !replace:
		return hint.Errorf("report: %s is there already", path).Hint("name another file, or give --force")
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return hint.Errorf("report: no folder %s", filepath.Dir(path)).Hint("make the folder, or name another file")
	}
	return nil
}

// now is the date on a report. SOURCE_DATE_EPOCH fixes it, so that the same data
// give the same bytes.
func now() time.Time {
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Now().UTC()
}
