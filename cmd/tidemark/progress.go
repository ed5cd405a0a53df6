package main

import (
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"tidemark/internal/escape"
	"tidemark/internal/show"
	"tidemark/replay"
)

// progressLine rewrites one line on a terminal and is silent elsewhere.
func progressLine(w io.Writer) (redrawn func(replay.Progress), end func()) {
	if !isTerminal(w) {
		return func(replay.Progress) {}, func() {}
	}
	return func(p replay.Progress) { redraw(w, progressFields(p)) }, func() { redraw(w, nil) }
}

// redraw puts a line in the place of the one before.
func redraw(w io.Writer, fields []string) {
	// A line that wraps could not be rewritten.
	fmt.Fprint(redrawing(w), "\r\x1b[K"+escape.Controls(fitting(fields, terminalWidth(w)-1), ""))
}

// fitting are as many of the fields as fit, whole: a number that is cut is another
// number. The first ones matter most.
func fitting(fields []string, width int) string {
	line := ""
	for i, field := range fields {
		if i > 0 {
			field = "  " + field
		}
		if utf8.RuneCountInString(line)+utf8.RuneCountInString(field) > width {
			break
		}
		line += field
	}
	return line
}

// progressFields has what matters first: a narrow terminal shows the rest not at
// all. TPOT is that of the last second, "of" what is predicted for what is in flight
// now.
func progressFields(p replay.Progress) []string {
	fields := []string{
		fmt.Sprintf("%s/%s", p.Elapsed.Round(time.Second), p.PlanDuration.Round(time.Second)),
		fmt.Sprintf("sent %d/%d", p.Sent, p.Planned),
		fmt.Sprintf("failed %d", p.Failed),
		"late " + show.Duration(p.LateP99.Seconds()),
	}
	if p.TPOT > 0 && p.PredictedTPOT > 0 {
		fields = append(fields, fmt.Sprintf("TPOT %s of %s", show.Figures(1e3*p.TPOT.Seconds()), show.Duration(p.PredictedTPOT.Seconds())))
	} else if p.TPOT > 0 {
		fields = append(fields, "TPOT "+show.Duration(p.TPOT.Seconds()))
	}
	return append(fields, fmt.Sprintf("open %d", p.InFlight), show.Figures(p.OutputTokensPer)+" tok/s")
}
