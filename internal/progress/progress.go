// Package progress is the line that a verb rewrites on a terminal while it works. A log
// file or a pipe gets none of it: control characters would make it unreadable. It
// refuses to know how the work is done: it is handed figures.
package progress

import (
	"fmt"
	"io"
	"time"

	"tidemark/ingest"
	"tidemark/internal/show"
	"tidemark/internal/terminal"
	"tidemark/replay"
)

// Replay rewrites one line on a terminal. It prints nothing elsewhere.
func Replay(w io.Writer) (redrawn func(replay.Progress), end func()) {
	if !terminal.Is(w) {
		return func(replay.Progress) {}, func() {}
	}
	return func(p replay.Progress) { terminal.Redraw(w, replayFields(p)) }, func() { terminal.Redraw(w, nil) }
}

// replayFields lists the most important figures first, since a narrow terminal
// does not show the rest. TPOT is that of the last second; "of" is the prediction
// for the requests in flight now.
func replayFields(p replay.Progress) []string {
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

// Ingest rewrites one line on a terminal, a few times per second. It prints
// nothing elsewhere.
func Ingest(w io.Writer) (show func(ingest.Progress), end func()) {
	if !terminal.Is(w) {
		return nil, func() {}
	}
	// A redraw for each row would cost more than reading it: five a second are enough.
	began, last := time.Now(), time.Time{}
	return func(p ingest.Progress) {
			if now := time.Now(); now.Sub(last) >= 200*time.Millisecond {
				last = now
				terminal.Redraw(w, ingestFields(p, now.Sub(began)))
			}
		},
		func() { terminal.Redraw(w, nil) }
}

// ingestFields lists the most important figures first. The remaining time is
// estimated from bytes, because nobody knows the number of rows beforehand.
func ingestFields(p ingest.Progress, elapsed time.Duration) []string {
	fields := []string{fmt.Sprintf("%d rows", p.Rows), Count(float64(p.Rows)/max(elapsed.Seconds(), 1e-3)) + "/s"}
	if p.Files > 1 {
		fields = append(fields, fmt.Sprintf("%d of %d files", p.FilesDone, p.Files))
	}
	if p.Size > 0 && p.Bytes > 0 {
		share := min(float64(p.Bytes)/float64(p.Size), 1)
		left := time.Duration(float64(elapsed) * (1 - share) / share)
		fields = append(fields, fmt.Sprintf("%.0f %% of %s", 100*share, bytesText(p.Size)))
		if elapsed >= time.Second {
			fields = append(fields, fmt.Sprintf("%s left", left.Round(time.Second)))
		}
	}
	return fields
}

// bytesText writes a size in powers of ten.
func bytesText(size int64) string {
	if size >= 1e9 {
		return show.Figures(float64(size)/1e9) + " GB"
	}
	if size >= 1e6 {
		return show.Figures(float64(size)/1e6) + " MB"
	}
	return show.Figures(float64(size)/1e3) + " kB"
}

// Count shortens a number for a line that must fit the terminal.
func Count(n float64) string {
	switch {
	case n >= 1e6:
		return show.Figures(n/1e6) + " M"
	case n >= 1e3:
		return show.Figures(n/1e3) + " k"
	default:
		return show.Figures(n)
	}
}
