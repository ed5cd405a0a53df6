// Package progress is the line that a verb rewrites on a terminal while it works. A log file or a pipe gets a line of its own
// every ten seconds, without control characters. It refuses to know how the work is done: it is handed figures.
package progress

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/show"
	"tidemark/replay"
)

// every is how often a file or a pipe gets a line.
const every = 10 * time.Second

// Replay rewrites one line on a terminal, and elsewhere prints one from time to time. mode is how requests are sent: only an open
// loop ends when its plan says. judge says how the SLO stands.
func Replay(w io.Writer, mode string, judge *Judge) (redrawn func(replay.Progress), end func()) {
	if terminal.Is(w) {
		return func(p replay.Progress) { terminal.Redraw(w, replayForms(p, mode, judge.Words())...) }, func() { terminal.Redraw(w, nil) }
	}
	next := every
	return func(p replay.Progress) {
		if p.Elapsed >= next {
			next = p.Elapsed.Truncate(every) + every
			fmt.Fprintln(w, strings.Join(replayForms(p, mode, judge.Words())[0], "  "))
		}
	}, func() {}
}

// replayForms are the same figures in more and in fewer words, and in each the most important first: a terminal shows the first form that fits
// it. TPOT and requests/s are those of the last second; the prediction is for the requests in flight now. TTFT and late are 99th percentiles since
// the start. slo is how the SLO stands; empty: nothing is known. Clocks of GPUs that are held down come right after it.
func replayForms(p replay.Progress, mode, slo string) [][]string {
	left := timeLeft(p, mode)
	late := show.Duration(p.LateP99.Seconds())
	failed, failedIfAny := fmt.Sprintf("failed %s", show.Count(p.Failed)), []string(nil)
	if p.Failed > 0 {
		failedIfAny = []string{failed}
	}
	tokens, open := show.Figures(p.OutputTokensPer)+" tokens/s", show.Count(p.InFlight)
	rate, ttft, briefTTFT := show.Figures(p.SentPerS)+"/s", "", ""
	throttled, briefThrottled := "", ""
	if p.Throttled != "" {
		throttled, briefThrottled = "clocks held down: "+p.Throttled, "clocks held down"
	}
	met, _, _ := strings.Cut(strings.TrimSuffix(slo, " so far"), ":") // the objectives that are missed have no room
	if p.TTFTP99 > 0 {
		ttft, briefTTFT = "p99 TTFT "+show.Duration(p.TTFTP99.Seconds()), "TTFT "+briefTime(p.TTFTP99)
	}
	form := func(head []string, rest ...string) []string {
		var fields []string
		for _, field := range append(head, rest...) {
			if field != "" {
				fields = append(fields, field)
			}
		}
		return fields
	}
	counts := show.Count(p.Sent) + "/" + show.Count(p.Planned) + " sent"
	head := append([]string{left}, append(failedIfAny, met, briefThrottled)...)
	return [][]string{
		form([]string{shortTime(p.Elapsed) + " passed", left, failed, slo, throttled}, tpot(p, "TPOT %s (predicted %s)", " "), ttft, counts, rate, "p99 late "+late, open+" in flight", tokens),
		form(head, rate, open+" in flight", ttft, tpot(p, "TPOT %s (predicted %s)", " "), "p99 late "+late, counts),
		form(head, rate, open+" in flight", ttft, tpot(p, "TPOT %s (predicted %s)", ""), "p99 late "+late),
		form(head, brief(p.SentPerS)+"/s", open+" open", briefTTFT, tpot(p, "TPOT %s (pred. %s)", ""), "late "+briefTime(p.LateP99)),
		form(head, brief(p.SentPerS)+"/s", briefTTFT, tpot(p, "TPOT %s (pred. %s)", ""), "late "+briefTime(p.LateP99)),
		form(head, briefTTFT, tpot(p, "TPOT %s (pred. %s)", ""), "late "+late),
		form(head, tpot(p, "TPOT %s (pred. %s)", ""), share(p), "late "+late),
	}
}

// brief is a number of two digits, where there is room for no more.
func brief(x float64) string {
	if x >= 100 {
		return show.Count(math.Round(x))
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

func briefTime(d time.Duration) string {
	unit := show.UnitOf(d.Seconds())
	return brief(d.Seconds()*unit.Factor) + " " + unit.Name
}

// tpot is the measured time per token, next to the prediction where there is one.
func tpot(p replay.Progress, words, space string) string {
	switch {
	case p.TPOT == 0:
		return ""
	case p.PredictedTPOT == 0:
		return ofModel(p, "TPOT "+show.Duration(p.TPOT.Seconds()))
	}
	words = ofModel(p, words)
	unit := show.UnitOf(max(p.TPOT, p.PredictedTPOT).Seconds())
	measured, predicted := show.Figures(p.TPOT.Seconds()*unit.Factor), show.Figures(p.PredictedTPOT.Seconds()*unit.Factor)
	if space == "" {
		return fmt.Sprintf(words, measured, predicted+" "+unit.Name)
	}
	return fmt.Sprintf(words, measured+" "+unit.Name, predicted+" "+unit.Name)
}

// ofModel names the model that a TPOT is of, where the requests ask for several.
func ofModel(p replay.Progress, words string) string {
	if p.Model == "" {
		return words
	}
	return strings.Replace(words, "TPOT ", "TPOT of "+strings.ReplaceAll(p.Model, "%", "%%")+" ", 1)
}

func share(p replay.Progress) string {
	if p.Planned == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %% sent", 100*float64(p.Sent)/float64(p.Planned))
}

// timeLeft is what the plan leaves of an open loop. Other modes send when answers have come: there the requests so far tell how long the rest
// takes, but for sessions whose think times alone take longer.
func timeLeft(p replay.Progress, mode string) string {
	left := p.PlanDuration - p.Elapsed
	if mode == "closed" || mode == "sessions" && left <= 0 {
		left = 0
		if p.Sent > 0 && p.Planned > p.Sent {
			left = time.Duration(float64(p.Elapsed) * float64(p.Planned-p.Sent) / float64(p.Sent))
		}
	}
	switch {
	case p.Sent >= p.Planned:
		return "all sent"
	case left <= 0:
		return ""
	}
	return shortTime(left) + " left"
}

// shortTime is a time in at most two units: 8m55s, 1h23m.
func shortTime(d time.Duration) string {
	if d >= time.Hour {
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return d.Round(time.Second).String()
}

// Ingest rewrites one line on a terminal, a few times per second, and elsewhere prints one from time to time.
func Ingest(w io.Writer) (shown func(ingest.Progress), end func()) {
	began, last := time.Now(), time.Time{}
	if !terminal.Is(w) {
		last = began
		return func(p ingest.Progress) {
			if now := time.Now(); now.Sub(last) >= every {
				last = now
				fmt.Fprintln(w, strings.Join(ingestFields(p, now.Sub(began)), "  "))
			}
		}, func() {}
	}
	// A redraw for each row would cost more than reading it: five a second are enough.
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
		fields = append(fields, fmt.Sprintf("%.0f %% of %s", 100*share, show.Scaled(float64(p.Size), "B")))
		if elapsed >= time.Second {
			fields = append(fields, shortTime(left)+" left")
		}
	}
	return fields
}

// Count shortens a number for a line that must fit the terminal. Requests are counted in millions at most, so that they stay comparable.
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
