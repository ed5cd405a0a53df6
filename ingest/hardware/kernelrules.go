package hardware

import (
	"regexp"
	"slices"
	"strings"

	"tidemark/ingest/read"
)

// A user's own rules for kernels: a CSV of category,pattern. The first pattern
// that is found in a kernel's name says its category; they come before those of
// queries/seeds/kernel_rules.csv.

var KernelRules = read.Format{
	Name: "kernel-rules",
	Sees: func(h *read.Head) string {
		if len(h.Columns) >= 2 && len(h.Columns) <= 3 && h.ColumnsHave("category", "pattern") {
			return "rules for kernels: category, pattern"
		}
		return ""
	},
	Read:  readKernelRules,
	Wants: "the columns category, pattern",
	Kind:  "kernel rules",
}

func readKernelRules(d *read.Document, out *read.Rows) error {
	category, pattern, width := -1, -1, 0
	seq := int32(0)
	return d.Lines(out, func(_ int64, line []byte) (*read.Reject, error) {
		fields, reason := read.CSVFields(line)
		switch {
		case reason != "":
			return &read.Reject{Reason: reason}, nil
		case category < 0:
			category, pattern, width = slices.Index(fields, "category"), slices.Index(fields, "pattern"), len(fields)
			return nil, nil
		case len(fields) > width:
			return &read.Reject{Reason: read.TooManyColumns}, nil
		case len(fields) <= max(category, pattern) || read.Word(fields[category]) == "" || fields[pattern] == "":
			return &read.Reject{Reason: read.Missing}, nil
		}
		// DuckDB and Go read the same expressions: those of RE2.
		if _, err := regexp.Compile(fields[pattern]); err != nil || len(fields[pattern]) > maxKernelName {
			return &read.Reject{Column: "pattern", Reason: read.NotAPattern}, nil
		}
		seq++
		return nil, out.Add(kernelRuleRow{Seq: seq - 1, Pattern: fields[pattern], Category: strings.ToLower(strings.TrimSpace(fields[category]))})
	})
}
