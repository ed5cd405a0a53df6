package read

// The verb report writes one HTML file. Package reports asks the warehouse and fills the
// page; this file makes sure that the file is complete or absent, by writing a temporary
// file in the same folder and renaming it.
//
// Exit codes: 0; 2 for a run that does not exist; 4 where the file exists and --force is
// missing, or cannot be written.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/serve/pages"
	"tidemark/internal/show"
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
	force, open            bool
	index                  string
}

func ReportCommand() *cli.Command {
	f := &reportFlags{}
	return &cli.Command{
		Name:      "report",
		Usage:     "write one HTML file, of runs or of a service's week",
		ArgsUsage: "[RUN...]   (none: all runs; without runs, all results and searches)",
		Description: `Example:
  tidemark report --output week.html
  tidemark report --index .
  tidemark report --source 'serve-*' --output results.html
  tidemark report RUN --slo slo.yaml --output run.html
  tidemark report --service chat.yaml --week 2026-W47 --output chat.html`,
		Flags: f.WarehouseFlags(append(f.serviceFlags(),
			&cli.StringFlag{Name: "output", Usage: "write to `FILE`, which must not exist; - is stdout (default: named for what is in it)", Destination: &f.output},
			&cli.BoolFlag{Name: "open", Usage: "open the page in the browser ($BROWSER, else the system's)", Destination: &f.open},
			&cli.StringFlag{Name: "index", Usage: "write index.html in `DIR` instead: a list of the pages there", Destination: &f.index},
			&cli.StringSliceFlag{Name: "source", Usage: "chart the results of other tools in source `NAME`, the study of that name, or the searches for capacity on its traffic (or of that id); NAME may have * in it; again for each", Destination: &f.source},
			&cli.StringFlag{Name: "slo", Usage: "judge the runs by the SLO in this YAML `FILE`, whatever they were sent for", Destination: &f.slo},
			&cli.BoolFlag{Name: "force", Usage: "replace FILE", Destination: &f.force},
		)...),
		Action: f.Do(f.run),
	}
}

func (f *reportFlags) run() error {
	if f.index != "" {
		return f.writeIndex()
	}
	if f.open && f.output == "-" {
		return hint.Misuse("report: --open needs a file, and --output - is stdout").Hint("leave one of them out")
	}
	if f.service != "" {
		return f.ofService()
	}
	if flag := f.Given("week", "summary", "fail-below-headroom"); flag != "" {
		return hint.Misuse("report: --%s is of a service's report", flag).Hint("name the service file with --service FILE")
	}
	if f.slo != "" && len(f.source.Value()) > 0 {
		return hint.Misuse("report: --slo judges runs, and --source names results of other tools").Hint("judge such a result with tidemark runs NAME --slo FILE")
	}
	if f.output == "" {
		f.output = pageName(f.Args.Slice())
	}
	if err := f.write(f.Args.Slice()); err != nil {
		return err
	}
	if f.output != "-" {
		f.Tell("report in %s: %s", f.output, f.shown())
	}
	return nil
}

// pageName is that of a page that nobody named: the run's, where it is of one.
func pageName(runs []string) string {
	if len(runs) != 1 {
		return "report.html"
	}
	return filepath.Base(runs[0]) + ".html"
}

// shown opens the page where that is asked for; else, and where it cannot be opened, it says how.
func (f *reportFlags) shown() string {
	const byHand = "open it in any browser"
	if !f.open {
		return byHand
	}
	program := cmp.Or(os.Getenv("BROWSER"), map[string]string{"darwin": "open"}[runtime.GOOS], "xdg-open")
	if err := exec.CommandContext(context.WithoutCancel(f.Context), program, f.output).Start(); err != nil {
		return byHand + fmt.Sprintf(" (%s cannot: %v)", program, errors.Unwrap(err))
	}
	return "opened by " + program
}

// writeIndex needs no warehouse: what a page is stands in the page.
func (f *reportFlags) writeIndex() error {
	if flag := f.Given("output", "service", "week", "summary", "slo", "source", "fail-below-headroom"); flag != "" || f.Args.Present() {
		return hint.Misuse("report: --index lists pages that are there, and makes none").Hint("tidemark report --index %s", escape.Shell(f.index))
	}
	path := filepath.Join(f.index, "index.html")
	pages, err := reports.PagesIn(f.index)
	if err != nil {
		return fmt.Errorf("report: --index: %w", err)
	}
	if !reports.IsIndex(path) {
		if err := mayWrite(path, f.force); err != nil {
			return err
		}
	}
	if err := userfile.Whole(path, func(w io.Writer) error { return reports.WriteIndex(w, pages) }); err != nil {
		return err
	}
	f.output = path
	f.Tell("%s in %s: %s", show.Things(len(pages), "page", "pages"), path, f.shown())
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
