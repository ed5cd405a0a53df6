package ingest

import (
	"regexp"
	"slices"
	"strings"
)

// A user's own rules for kernels: a CSV of category,pattern. The first pattern
// that is found in a kernel's name says its category; they come before those of
// queries/seeds/kernel_rules.csv.

var _ = register(format{
	name: "kernel-rules",
	sees: func(h *head) string {
		if len(h.columns) >= 2 && len(h.columns) <= 3 && h.columnsHave("category", "pattern") {
			return "rules for kernels: category, pattern"
		}
		return ""
	},
	read:  readKernelRules,
	wants: "the columns category, pattern",
	kind:  "kernel rules",
})

func readKernelRules(d *document, out *rows) error {
	category, pattern, width := -1, -1, 0
	seq := int32(0)
	return d.lines(out, func(_ int64, line []byte) (*reject, error) {
		fields, reason := csvFields(line)
		switch {
		case reason != "":
			return &reject{reason: reason}, nil
		case category < 0:
			category, pattern, width = slices.Index(fields, "category"), slices.Index(fields, "pattern"), len(fields)
			return nil, nil
		case len(fields) > width:
			return &reject{reason: tooManyColumns}, nil
		case len(fields) <= max(category, pattern) || word(fields[category]) == "" || fields[pattern] == "":
			return &reject{reason: isMissing}, nil
		}
		// DuckDB and Go read the same expressions: those of RE2.
		if _, err := regexp.Compile(fields[pattern]); err != nil || len(fields[pattern]) > maxKernelName {
			return &reject{column: "pattern", reason: notAPattern}, nil
		}
		seq++
		return nil, out.add(kernelRuleRow{Seq: seq - 1, Pattern: fields[pattern], Category: strings.ToLower(strings.TrimSpace(fields[category]))})
	})
}
