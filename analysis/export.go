package analysis

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"tidemark/internal/escape"
	"tidemark/internal/hint"
)

// A run is exported as a results folder in the layout that other teams publish: hardware, flags, the result in the keys of "vllm bench
// serve", and an interpretation. export_bench.go makes the result file. The same run always gives the same bytes, and an exported folder can
// be ingested again like any other. Texts of users and servers become Markdown cells here, so they are put on one line and escaped.

// File is one file of a folder to be written. Its name is relative to the folder and has no folder of its own, so that writing it cannot lead
// out of the place that the user named.
type File struct {
	Name    string
	Content []byte
}

// Export makes the files of a results folder: an ingested folder byte for byte, or a run in the same layout. leftOut names files of an
// ingested folder whose content was not kept, because it held text of users. A trace is refused; it is exported under privacy rules.
func Export(ctx context.Context, db *sql.DB, name string) (files []File, leftOut []string, err error) {
	var kind string
	err = db.QueryRowContext(ctx, `
		select 'run' as kind
		from staging.runs
		where run_id = $1
		union all
		select kind
		from staging.sources
		where source_name = $1
			and kind <> 'run'
		limit 1`, name).Scan(&kind)
	switch {
	case err == sql.ErrNoRows:
		return nil, nil, unknown(ctx, db, "run or results folder", name, `
			select source_name as name
			from staging.sources
			where kind = 'folder'
			union all
			select run_id as name
			from staging.runs
			order by name`, "")
	case err != nil:
		return nil, nil, err
	case kind == "folder":
		return exportFolder(ctx, db, name)
	case kind == "run":
		files, err = exportRun(ctx, db, name)
		return files, nil, err
	}
	return nil, nil, hint.Errorf("%s holds %s", name, kind).
		Hint("a results folder or a run can be exported; for a trace there is \"tidemark privacy export\"")
}

// exportFolder gives the files as they were. Their names come from a warehouse that somebody else may have made, so a name that would
// lead out of the folder is an error.
func exportFolder(ctx context.Context, db *sql.DB, name string) (files []File, leftOut []string, err error) {
	query := "select path, content from staging.documents where source_name = ? order by path"
	err = each(ctx, db, query, []any{name}, func(scan func(...any) error) error {
		var file File
		if err := scan(&file.Name, &file.Content); err != nil {
			return err
		}
		if !fs.ValidPath(file.Name) || strings.ContainsAny(file.Name, `/\`) || strings.HasPrefix(file.Name, ".") {
			return fmt.Errorf("source %s: a file named %q would be written outside of the folder", name, file.Name)
		}
		if file.Content == nil {
			leftOut = append(leftOut, file.Name)
		} else {
			files = append(files, file)
		}
		return nil
	})
	return files, leftOut, err
}

// notInAName matches characters that are not safe in a file name on every system.
var notInAName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// exportRun makes the four files of a run.
func exportRun(ctx context.Context, db *sql.DB, runID string) ([]File, error) {
	run, err := oneRow(ctx, db, "from marts.runs where run_id = ?", runID)
	if err != nil {
		return nil, err
	}
	result, err := benchResult(ctx, db, runID)
	if err != nil {
		return nil, err
	}
	hardware := markdown("Hardware", [][]string{
		{"measured on", run.text("measured_on")}, {"GPU", run.text("gpu")}, {"GPUs that share the model", run.text("tensor_parallel_size")},
		{"simulated", run.text("is_simulated")},
	})
	flags, err := serverFlags(ctx, db, runID)
	if err != nil {
		return nil, err
	}
	meaning, err := interpretation(ctx, db, run)
	if err != nil {
		return nil, err
	}
	name := run.text("name")
	name = cmp.Or(name, runID)
	return []File{
		{"hardware.md", hardware},
		{"interpretation.md", meaning},
		{"row-" + strings.Trim(notInAName.ReplaceAllString(name, "-"), "-.") + ".json", result},
		{"server-flags.md", flags},
	}, nil
}

// record is one row by column, for a query whose columns are used by name.
type record map[string]any

// oneRow asks a question that must have exactly one row.
func oneRow(ctx context.Context, db *sql.DB, query string, args ...any) (record, error) {
	table, err := ask(ctx, db, query, args...)
	if err != nil {
		return nil, err
	}
	if len(table.Rows) != 1 {
		return nil, fmt.Errorf("%d rows, want one", len(table.Rows))
	}
	return table.Records()[0], nil
}

// text is a value as text; empty for null.
func (r record) text(column string) string {
	if r[column] == nil {
		return ""
	}
	return fmt.Sprint(r[column])
}

// serverFlags lists each setting as it was asked for and as the server reports it. A flag that had no effect shows in the difference.
func serverFlags(ctx context.Context, db *sql.DB, runID string) ([]byte, error) {
	table, err := ask(ctx, db, `
		select setting, coalesce(asked, ''), coalesce(effective, '')
		from staging.server_settings
		where run_id = ?
		order by setting`, runID)
	lines := [][]string{{"**flag**", "**asked for**", "**as the server says**"}}
	for _, row := range table.Rows {
		lines = append(lines, []string{row[0].(string), row[1].(string), row[2].(string)})
	}
	return markdown("Server flags", lines), err
}

// interpretation is the verdict, the user's note and the certificate, with the definitions of TTFT and TPOT that the numbers use: other tools
// mean other things by these words.
func interpretation(ctx context.Context, db *sql.DB, run record) ([]byte, error) {
	verdict, err := JudgeSLO(ctx, db, run.text("run_id"))
	if err != nil {
		return nil, err
	}
	certificate, err := Certificate(ctx, db, run.text("run_id"))
	if err != nil {
		return nil, err
	}
	lines := [][]string{{"**looked at**", "**outcome**", "**found**"}}
	for _, row := range certificate.Records() {
		lines = append(lines, []string{fmt.Sprint(row["subject"]), fmt.Sprint(row["outcome"]), fmt.Sprint(row["measured"])})
	}
	text := markdown("Interpretation", lines)
	said := fmt.Sprintf("\n%s\n", cell(verdict.FirstLine()))
	if note := run.text("note"); note != "" {
		said += fmt.Sprintf("\nNote: %s\n", cell(note))
	}
	said += "\nTTFT is from the request's first byte sent to its first token, TPOT the time after that divided by the other tokens,\nfailed requests left out of both. All of it is in the row's arrays.\n"
	return append(text, said...), nil
}

// markdown is a title and a table.
func markdown(title string, lines [][]string) []byte {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s\n\n", title)
	for i, line := range lines {
		for j, one := range line {
			line[j] = cell(one)
		}
		if i == 0 {
			fmt.Fprintf(&text, "%s|\n%s|\n", strings.Repeat("| ", len(line)), strings.Repeat("|---", len(line)))
		}
		fmt.Fprintf(&text, "| %s |\n", strings.Join(line, " | "))
	}
	return []byte(text.String())
}

// cell puts a text on one line and escapes what would end a table cell or control a terminal.
func cell(text string) string {
	return strings.ReplaceAll(escape.Controls(strings.Join(strings.Fields(text), " "), ""), "|", `\|`)
}
