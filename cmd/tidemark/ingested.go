package main

// What ingest says about each file, and the table that it prints. --csv and --json list
// every file. People get a line per file up to a dozen, and beyond that a line per
// format.

import (
	"cmp"
	"slices"

	"github.com/urfave/cli/v2"

	"tidemark/analysis"
	"tidemark/ingest"
	"tidemark/internal/show"
)

// tellIngested says as which format a file was recognised, how many of its rows
// were kept, and what a reader of its numbers must know.
func tellIngested(c *cli.Context, r ingest.Result) {
	switch {
	case r.AlreadyKnown:
		tell(c, "%s: known already as %s, nothing changed", r.Path, r.Name)
		if name := c.String("name"); name != "" && name != r.Name {
			tell(c, "%s: the name %s is not used", r.Path, name)
		}
	case r.Format != "":
		tell(c, "%s: recognised as %s (%s): %d rows kept, %d rejected", r.Path, r.Format, r.FormatWhy, r.RowsKept, r.RowsRejected)
	}
	for _, note := range r.Notes {
		tell(c, "%s: %s", r.Path, note)
	}
}

// mostListed is the number of files up to which each has a line in the table for
// people. Beyond it there is a line per format.
const mostListed = 12

// printIngested leaves files out that no format recognises; a line on stderr counts them.
func printIngested(c *cli.Context, results []ingest.Result) error {
	taken := slices.DeleteFunc(slices.Clone(results), func(r ingest.Result) bool { return r.Format == "" })
	if passed := len(results) - len(taken); passed > 0 {
		defer tell(c, "%s ingested or known, %d skipped", show.Things(len(taken), "file", "files"), passed)
	}
	switch {
	case len(taken) == 0:
		return nil
	case isForPrograms(c):
		return printTable(c, ingestTable(taken, true))
	case len(taken) <= mostListed:
		return printTable(c, ingestTable(taken, false))
	}
	tell(c, "by format; --csv lists each file")
	return printTable(c, formatTable(taken))
}

func ingestTable(results []ingest.Result, withPath bool) analysis.Table {
	table := tableOf("name", "format", "rows_read", "rows_kept", "rows_rejected", "took_s")
	if withPath {
		table.Columns = append(table.Columns, analysis.Column{Name: "path"})
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

// formatTable sums the files of each format.
func formatTable(results []ingest.Result) analysis.Table {
	table := tableOf("format", "files", "rows_read", "rows_kept", "rows_rejected", "took_s")
	results = slices.SortedStableFunc(slices.Values(results), func(a, b ingest.Result) int { return cmp.Compare(a.Format, b.Format) })
	for len(results) > 0 {
		end := slices.IndexFunc(results, func(r ingest.Result) bool { return r.Format != results[0].Format })
		if end < 0 {
			end = len(results)
		}
		var read, kept, rejected int64
		var seconds float64
		for _, r := range results[:end] {
			read, kept, rejected, seconds = read+r.RowsRead, kept+r.RowsKept, rejected+r.RowsRejected, seconds+r.Seconds
		}
		table.Rows = append(table.Rows, []any{results[0].Format, int64(end), read, kept, rejected, seconds})
		results = results[end:]
	}
	return table
}
