package main

import (
	"fmt"
	"io"
	"time"

	"tidemark/replay"
)

// progressLine rewrites one line on a terminal and is silent elsewhere.
func progressLine(w io.Writer) (show func(replay.Progress), end func()) {
	if !isTerminal(w) {
		return func(replay.Progress) {}, func() {}
	}
	return func(p replay.Progress) {
			// A line that wraps could not be rewritten.
			text := progressText(p)
			fmt.Fprintf(w, "\r\x1b[K%s", text[:min(len(text), terminalWidth(w)-1)])
		},
		func() { fmt.Fprint(w, "\r\x1b[K") }
}

// progressText has what matters first: a narrow terminal cuts the end off. TPOT
// is that of the last second, "of" what is predicted for what is in flight now.
func progressText(p replay.Progress) string {
	text := fmt.Sprintf("%s/%s  sent %d/%d  open %d  failed %d  late %s",
		p.Elapsed.Round(time.Second), p.PlanDuration.Round(time.Second), p.Sent, p.Planned, p.InFlight, p.Failed,
		readableNumber("_s", p.LateP99.Seconds()))
	if p.TPOT > 0 && p.PredictedTPOT > 0 {
		text += fmt.Sprintf("  TPOT %s of %s", digits(1e3*p.TPOT.Seconds()), readableNumber("_s", p.PredictedTPOT.Seconds()))
	} else if p.TPOT > 0 {
		text += "  TPOT " + readableNumber("_s", p.TPOT.Seconds())
	}
	return text + fmt.Sprintf("  %s tok/s", digits(p.OutputTokensPer))
}
