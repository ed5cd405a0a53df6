//go:build duckdb_arrow

package accuracy_test

import (
	"bytes"
	"strings"
	"testing"

	"tidemark/internal/proof/accuracy"
)

// 130 for 100 ms is a miss of 30 %, 110 is none; their median is 20 %. A class named like a tag stays a text.
func TestThePageOfEvidenceShowsTheMisses(t *testing.T) {
	var page bytes.Buffer
	err := accuracy.WriteEvidence(&page, []accuracy.PlayedFigure{{Name: "TTFT p50", Groups: []accuracy.PlayedGroup{{Name: "unseen", Runs: []accuracy.Played{
		{Run: "m/off", Class: "<script>", Measured: 0.1, Played: 0.13}, {Run: "m/right", Measured: 0.1, Played: 0.11},
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, want := range []string{"<td>m/off</td>", "&#43;30 %", "1 of 2", "Off by 20.0 % (unseen) in the median", "&lt;script&gt;", "TTFT p50 measured, ms"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, not := range []string{"<script", "m/right", "src=", "@import"} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %q", not)
		}
	}
}
