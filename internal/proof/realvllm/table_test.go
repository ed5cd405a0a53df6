//go:build vllm

package realvllm

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// table is a small aligned table for the test's log.
type table struct {
	text   strings.Builder
	writer *tabwriter.Writer
}

func newTable(header ...any) *table {
	t := &table{}
	t.writer = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	t.row(header...)
	return t
}

func (t *table) row(cells ...any) {
	for _, cell := range cells {
		if f, ok := cell.(float64); ok && f != float64(int64(f)) {
			cell = fmt.Sprintf("%.3f", f)
		} else if ok {
			cell = fmt.Sprintf("%.0f", f)
		}
		fmt.Fprintf(t.writer, "%v\t", cell)
	}
	fmt.Fprintln(t.writer)
}

func (t *table) String() string {
	t.writer.Flush()
	return "\n" + t.text.String()
}

// show is a value that may be missing.
func show[T any](value *T) string {
	if value == nil {
		return "none"
	}
	return fmt.Sprint(*value)
}

// number is a value that may be missing, 0 then.
func number[T int | float64](value *T) float64 {
	if value == nil {
		return 0
	}
	return float64(*value)
}
