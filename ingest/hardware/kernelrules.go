package hardware

import (
	"regexp"
	"strings"

	"tidemark/ingest/read"
)

// KernelRules reads a user's own rules for kernels: a CSV of category,pattern. The
// first pattern that is found in a kernel's name says its category. They are tried
// before those of queries/seeds/kernel_rules.csv.
var KernelRules = read.Format{
	Name: "kernel-rules",
	Sees: func(h *read.Head) string {
		return read.If(len(h.Columns) >= 2 && len(h.Columns) <= 3 && h.ColumnsHave("category", "pattern"), "rules for kernels: category, pattern")
	},
	Read:  readKernelRules,
	Wants: "the columns category, pattern",
	Kind:  "kernel rules",
}

func readKernelRules(d *read.Document, out *read.Rows) error {
	seq := int32(0)
	return d.Sheets(out, func(_ int64, s *read.Sheet) (*read.Reject, error) {
		row := kernelRuleRow{Seq: seq, Pattern: s.Text("pattern"), Category: strings.ToLower(s.Text("category"))}
		if read.Word(row.Category) == "" || row.Pattern == "" {
			return &read.Reject{Reason: read.Missing}, nil
		}
		// DuckDB and Go read the same expressions: those of RE2.
		if _, err := regexp.Compile(row.Pattern); err != nil || len(row.Pattern) > maxKernelName {
			return &read.Reject{Column: "pattern", Reason: read.NotAPattern}, nil
		}
		seq++
		return nil, out.Add(row)
	})
}
