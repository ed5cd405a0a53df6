package ingest

import (
	"slices"
	"strings"

	"tidemark/ingest/read"
	"tidemark/internal/hint"
)

// checkFormat refuses a --format that does not exist.
func checkFormat(name string) error {
	if name == "" || name == "run" || name == folderFormat || slices.ContainsFunc(formats, func(f read.Format) bool { return f.Name == name }) {
		return nil
	}
	return hint.Misuse("ingest: no format %q", name).
		Hint("%s", "known are "+strings.Join(Formats(), ", ")+"; without --format it is recognised from the content")
}

// Formats are the names that Options.Format takes.
func Formats() []string {
	names := []string{"run", folderFormat}
	for _, f := range formats {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

// recognise says which format the head of a file is: the first that sees itself in
// it, or the one that the user says. A user who says another format than the file
// has is told which one it is, because reading it as that would give wrong numbers.
func recognise(h *read.Head, told string) (read.Format, string, error) {
	for _, f := range formats {
		if len(h.Said) > 0 && !f.TakesColumns {
			continue
		}
		why := f.Sees(h)
		switch {
		case why == "":
			continue
		case told != "" && told != f.Name:
			return read.Format{}, "", hint.Errorf("--format says %s, but it is %s: %s", told, f.Name, why).
				Hint("%s", "leave --format out, or say --format "+f.Name)
		default:
			return f, why, nil
		}
	}
	if told == "run" {
		return read.Format{}, "", hint.Errorf("%s", "--format says run, but it is a file; saw "+read.DescribeHead(h.Data)).
			Hint("name the run's folder (it has a run.json)")
	}
	if told == folderFormat {
		return read.Format{}, "", hint.Errorf("%s", "--format says folder, but it is a file; saw "+read.DescribeHead(h.Data)).
			Hint("name the folder (it has row-*.json and hardware.md)")
	}
	if told != "" {
		f := formats[slices.IndexFunc(formats, func(f read.Format) bool { return f.Name == told })]
		return read.Format{}, "", hint.Errorf("--format says %s, but saw %s", told, read.DescribeHead(h.Data)).Hint("%s has %s", f.Name, f.Wants)
	}
	return read.Format{}, "", hint.Errorf("%s", "no known format; saw "+read.DescribeHead(h.Data)).
		Hint("\"tidemark ingest --help\" lists the formats; say which column is what with --column, as in --column input_tokens=prompt_len").Mark(read.ErrUnknownFormat)
}
