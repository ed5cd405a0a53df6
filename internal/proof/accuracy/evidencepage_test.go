//go:build duckdb_arrow

package accuracy_test

import (
	"bytes"
	"testing"

	"tidemark/internal/proof/accuracy"
	"tidemark/internal/proof/must"
)

// 130 for 100 ms is a miss of 30 %, 110 is none; their median is 20 %. A class named like a tag stays a text.
func TestThePageOfEvidenceShowsTheMisses(t *testing.T) {
	var page bytes.Buffer
	must.Do(t, accuracy.WriteEvidence(&page, []accuracy.PlayedFigure{{Name: "TTFT p50", Groups: []accuracy.PlayedGroup{{Name: "unseen", Runs: []accuracy.Played{
		{Run: "m/off", Class: "<script>", Measured: 0.1, Played: 0.13}, {Run: "m/right", Measured: 0.1, Played: 0.11},
	}}}}}))
	text := page.String()
	must.Say(t, text, "<td>m/off</td>", "&#43;30 %", "1 of 2", "Off by 20.0 % (unseen) in the median", "&lt;script&gt;", "TTFT p50 measured, ms")
	must.NotSay(t, text, "<script", "m/right", "src=", "@import")
}
