package take

// The verb ingest reads traces, results, metrics, hardware tables and runs into the
// warehouse. Package ingest recognises the format and does the work; this file reads the
// flags, shows progress and reports per file.
//
// What a file gives is reported on stderr even when a later file fails: the files before
// it are in the warehouse. The table on stdout is the product and has a row per
// file that was ingested or known already.
//
// Exit codes: 0 all files are in; 4 some file could not be read or had too many rejected
// rows; 2 for flags that make no sense.

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/ingest"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/progress"
	"tidemark/internal/deployment"
	"tidemark/internal/escape"
	"tidemark/internal/hint"
	"tidemark/internal/show"
	"tidemark/internal/store/objects"
	"tidemark/internal/store/warehouse"
)

type ingestFlags struct {
	kit.Call
	format, name, licence, text, environment, runs, timeUnit string
	column, ofRun                                            cli.StringSlice
	maxRejected                                              float64
}

func IngestCommand() *cli.Command {
	f := &ingestFlags{}
	return &cli.Command{
		Name:      "ingest",
		Usage:     "read traces, results and runs into the warehouse",
		ArgsUsage: "PATH...",
		Description: `The format is recognised from the content and named. gzip, zstd and xz are
unpacked. A row that cannot be read is a reject with line, column and
reason. --column maps a table of requests whose columns have other names.

Examples:
  tidemark ingest AzureLLMInferenceTrace_code.csv --name azure-code
  tidemark ingest log.csv --column arrival_ms=when --column input_tokens=in --column output_tokens=out`,
		Flags: f.TableFlags(
			&cli.StringFlag{Name: "format", Usage: "insist on a `FORMAT`: " + strings.Join(ingest.Formats(), ", "), Destination: &f.format},
			&cli.StringFlag{Name: "name", Usage: "call the source `NAME` (one file only)", Destination: &f.name},
			&cli.StringFlag{Name: "licence", Usage: "`WORDS` that name the licence of the data, for reports", Destination: &f.licence},
			&cli.StringSliceFlag{Name: "column", Usage: "of a plain table: `OURS=THEIRS` says which of its columns is which of ours, as in input_tokens=prompt_len; again for each", Destination: &f.column},
			&cli.StringFlag{Name: "time-unit", Usage: "`UNIT` of stamps without one: s, ms, us or ns (default: told by their size, or asked for)", Destination: &f.timeUnit, Action: kit.OneOf("time-unit", "s", "ms", "us", "ns")},
			&cli.StringFlag{Name: "text", Usage: "of files that hold prompts or answers: `strip` keeps lengths and times alone, refuse leaves the file out", Value: "strip", Destination: &f.text, Action: kit.OneOf("text", "strip", "refuse")},
			&cli.StringSliceFlag{Name: "run", Usage: "of the log of a server, or of several: the engine steps of `RUN`'s time are that run's, again for each run that the log covers; of a profile of kernels: it is the run's", Destination: &f.ofRun},
			&cli.StringFlag{Name: "environment", Usage: "of results of another tool: JSON `FILE` that names what they were measured on, for floor and prediction", Destination: &f.environment},
			&cli.StringFlag{Name: "runs", Usage: "keep run folders of s3://bucket/prefix/RUN* in `DIR`", Value: "runs", Destination: &f.runs},
			&cli.Float64Flag{Name: "max-rejected", Usage: "refuse a file with a larger `SHARE` of rejected rows", Value: 0.001, Destination: &f.maxRejected},
		),
		Action: f.Do(f.run),
	}
}

// run prints a result for each file even if a later one fails: what came before is
// in the warehouse.
func (f *ingestFlags) run() error {
	if f.Args.Len() == 0 {
		return hint.Misuse("ingest: no file given").Hint("tidemark ingest PATH...")
	}
	if share := f.maxRejected; !(share >= 0 && share <= 1) {
		return hint.Misuse("ingest: --max-rejected %v is not a share", share).Hint("a share lies between 0 and 1")
	}
	columns, err := columnsSaid(f.column.Value())
	if err != nil {
		return err
	}
	var environment deployment.Deployment
	if path := f.environment; path != "" {
		if environment, err = kit.EnvironmentFile(path); err != nil {
			return fmt.Errorf("environment %s: %w", path, err)
		}
	}
	paths, err := f.fetchedFolders(f.Args.Slice())
	if err != nil {
		return err
	}
	return f.WithWarehouse(f.Context, warehouse.ReadWrite, func(ctx context.Context, w *warehouse.Warehouse) error {
		options := ingest.Options{
			Format: f.format, Name: f.name, MaxRejectedRatio: f.maxRejected,
			Stdin: f.App.Reader, Licence: f.licence,
			Columns: columns, TimeUnit: f.timeUnit, RefuseText: f.text == "refuse",
		}
		show, end := progress.Ingest(f.Messages())
		options.Progress = show
		if options.MaxRejectedRatio == 0 {
			options.MaxRejectedRatio = -1 // none at all; 0 would mean the default
		}
		runs, err := f.namedRuns(ctx, w, paths)
		if err != nil {
			return err
		}
		if len(runs) == 1 {
			options.OfRun = runs[0]
		}
		results, err := ingest.Load(ctx, w, paths, options)
		end()
		for _, result := range results {
			tellIngested(&f.Call, result, f.name)
		}
		if printErr := printIngested(&f.Call, results); printErr != nil {
			return printErr
		}
		if err == nil {
			err = f.joinSteps(ctx, w, results, runs)
		}
		if err == nil {
			err = f.tellProfiles(ctx, w, results)
		}
		if err != nil || f.environment == "" {
			return err
		}
		return nameDeployment(ctx, &f.Call, w, results, environment)
	})
}

// namedRuns are the ids of --run. One that no run has is refused, unless a path brings that run.
func (f *ingestFlags) namedRuns(ctx context.Context, w *warehouse.Warehouse, paths []string) ([]string, error) {
	runs, err := analysis.RunIDs(ctx, w.DB(), f.ofRun.Value())
	for _, run := range runs {
		if err == nil && !slices.ContainsFunc(paths, func(path string) bool { return filepath.Base(path) == run }) {
			err = analysis.RefuseUnknownRun(ctx, w.DB(), run)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ingest: --run: %w", err)
	}
	return runs, nil
}

// tellProfiles says whose the profiles of kernels are by their names.
func (f *ingestFlags) tellProfiles(ctx context.Context, w *warehouse.Warehouse, results []ingest.Result) error {
	for _, r := range results {
		if r.Format != "nsys" {
			continue
		}
		run, err := analysis.RunOfProfile(ctx, w.DB(), r.Name)
		switch {
		case err != nil:
			return fmt.Errorf("ingest: %w", err)
		case run != "":
			f.Tell("%s is the profile of run %s", r.Name, run)
		default:
			f.Tell("%s is the profile of no run: none is named so, or several are; ingest FILE --run RUN makes it that run's", r.Name)
		}
	}
	return nil
}

// joinSteps gives the steps of the logs, which are those of the runs' servers, to the runs of --run.
func (f *ingestFlags) joinSteps(ctx context.Context, w *warehouse.Warehouse, results []ingest.Result, runs []string) error {
	if len(runs) == 0 {
		return nil
	}
	logs := slices.DeleteFunc(slices.Clone(results), func(r ingest.Result) bool { return r.Format == "" || r.Format == "run" || r.Format == "nsys" })
	if slices.ContainsFunc(results, func(r ingest.Result) bool { return r.Format == "nsys" }) {
		if len(runs) > 1 {
			return hint.Misuse("ingest: a profile of kernels is of one run, and %d are named", len(runs)).Hint("say --run once")
		}
		for _, r := range results {
			if r.Format == "nsys" && !strings.HasPrefix(r.Name, runs[0]) {
				f.Tell("%s keeps its name; to give it to %s: tidemark warehouse purge %s, and ingest it again", r.Name, runs[0], escape.Shell(r.Name))
			}
		}
		if len(logs) == 0 {
			return nil
		}
	}
	if len(logs) == 0 {
		return hint.Misuse("ingest: --run %s, and no log of its server", runs[0]).Hint("tidemark ingest server.log --run %s", runs[0])
	}
	var names []string
	for _, log := range logs {
		names = append(names, log.Name)
	}
	joins, err := ingest.JoinSteps(ctx, w, names, runs)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	for _, join := range joins {
		f.Tell("%s: %s", strings.Join(names, ", "), join)
	}
	return nil
}

// nameDeployment stores what the results were measured on, also of files that are known already.
func nameDeployment(ctx context.Context, c *kit.Call, w *warehouse.Warehouse, results []ingest.Result, d deployment.Deployment) error {
	var sources []string
	for _, result := range results {
		if result.Format != "" {
			sources = append(sources, result.Name)
		}
	}
	points, err := analysis.NameDeployment(ctx, w.DB(), sources, d)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	c.Tell("%s measured on %s, %s", show.Things(points, "result", "results"), d.GPU, d.ModelName())
	return nil
}

// columnsSaid reads --column into a map from our column to theirs.
func columnsSaid(said []string) (map[string]string, error) {
	columns := map[string]string{}
	for _, one := range said {
		ours, theirs, ok := strings.Cut(one, "=")
		switch _, twice := columns[ours]; {
		case !ok || ours == "" || theirs == "":
			return nil, hint.Misuse("ingest: --column %q is not OURS=THEIRS", one).Hint("as in --column input_tokens=prompt_len")
		case twice:
			return nil, hint.Misuse("ingest: --column %s is said twice", ours).Hint("name one column for each thing")
		}
		columns[ours] = theirs
	}
	return columns, nil
}

// What ingest says about each file, and the table that it prints. --csv and --json list
// every file. People get a line per file up to a dozen, and beyond that a line per
// format.

// tellIngested says as which format a file was recognised, how many of its rows
// were kept, and what a reader of its numbers must know. name is the one that it was to have.
func tellIngested(c *kit.Call, r ingest.Result, name string) {
	switch {
	case r.AlreadyKnown:
		c.Tell("%s: known already as %s, nothing changed", r.Path, r.Name)
		if name != "" && name != r.Name {
			c.Tell("%s: the name %s is not used", r.Path, name)
		}
	case r.Format != "":
		c.Tell("%s: recognised as %s (%s): %d rows kept, %d rejected", r.Path, r.Format, r.FormatWhy, r.RowsKept, r.RowsRejected)
	}
	for _, note := range r.Notes {
		c.Tell("%s: %s", r.Path, note)
	}
}

// mostListed is the number of files up to which each has a line in the table for
// people. Beyond it there is a line per format.
const mostListed = 12

// printIngested leaves files out that no format recognises; a line on stderr counts them.
func printIngested(c *kit.Call, results []ingest.Result) error {
	taken := slices.DeleteFunc(slices.Clone(results), func(r ingest.Result) bool { return r.Format == "" })
	if passed := len(results) - len(taken); passed > 0 {
		defer c.Tell("%s ingested or known, %d skipped", show.Things(len(taken), "file", "files"), passed)
	}
	switch {
	case len(taken) == 0:
		return nil
	case c.IsForPrograms():
		return c.PrintTable(ingestTable(taken, true))
	case len(taken) <= mostListed:
		return c.PrintTable(ingestTable(taken, false))
	}
	c.Tell("by format; --csv lists each file")
	return c.PrintTable(formatTable(taken))
}

func ingestTable(results []ingest.Result, withPath bool) analysis.Table {
	table := kit.TableOf("name", "format", "rows_read", "rows_kept", "rows_rejected", "took_s")
	if withPath {
		table.Columns = append(table.Columns, "path")
	}
	for _, r := range results {
		row := []any{r.Name, r.Format, r.RowsRead, r.RowsKept, r.RowsRejected, r.Seconds}
		if withPath {
			row = append(row, r.Path)
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// formatTable sums the files of each format. Several are read at a time: took_s is from the begin of the first to the end of the last.
func formatTable(results []ingest.Result) analysis.Table {
	table := kit.TableOf("format", "files", "rows_read", "rows_kept", "rows_rejected", "took_s")
	results = slices.SortedStableFunc(slices.Values(results), func(a, b ingest.Result) int { return cmp.Compare(a.Format, b.Format) })
	for len(results) > 0 {
		end := slices.IndexFunc(results, func(r ingest.Result) bool { return r.Format != results[0].Format })
		if end < 0 {
			end = len(results)
		}
		var read, kept, rejected int64
		began, ended := results[0].Began, results[0].Began
		for _, r := range results[:end] {
			read, kept, rejected = read+r.RowsRead, kept+r.RowsKept, rejected+r.RowsRejected
			if r.Began.Before(began) {
				began = r.Began
			}
			if until := r.Began.Add(time.Duration(r.Seconds * float64(time.Second))); until.After(ended) {
				ended = until
			}
		}
		table.Rows = append(table.Rows, []any{results[0].Format, int64(end), read, kept, rejected, ended.Sub(began).Seconds()})
		results = results[end:]
	}
	return table
}

// fetchedFolders are the paths with the folders in their place that an address of a bucket names, fetched into --runs.
func (f *ingestFlags) fetchedFolders(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		if !objects.IsAddress(path) {
			all = append(all, path)
			continue
		}
		folders, err := objects.FetchFolders(f.Context, path, f.runs)
		if err != nil {
			return nil, err
		}
		f.Tell("%s: %s in %s", path, show.Things(len(folders), "folder", "folders"), f.runs)
		all = append(all, folders...)
	}
	return all, nil
}
