//go:build peers

package peers

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/internal/stat"
)

// cell is what stands in the table for one client and row, and the footnotes to it.
type cell struct {
	text  string
	notes []string
}

func (c *cell) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// outcome is a run and what the client said of it.
type outcome struct {
	load   load
	run    run
	saying saying
	why    string // there is none: why
}

// checked adds what a reader must know of any figure from this run.
func (o outcome) checked(c cell) cell {
	asked, came := o.load.count, len(o.run.truths)
	switch {
	case o.run.isKilled && !o.load.untilFirst:
		c.note("ended by us %.0f s after its first request: %d of %d requests had come", o.load.limit.Seconds(), came, asked)
	case !o.load.untilFirst && came != asked:
		c.note("%d requests came, %d were asked for", came, asked)
	}
	if o.saying.failed > 0 {
		c.note("it counts %d of its requests as failed", o.saying.failed)
	}
	return c
}

// window is from the first request's arrival to where the client says that its last
// answer ended, Unix seconds.
func (o outcome) window() (from, to float64) {
	from, _ = o.run.firstArrival()
	return from, from + o.saying.took
}

func (o outcome) tokens() (n int) {
	for _, t := range o.run.truths {
		n += t.Tokens
	}
	return n
}

func (o outcome) cpuPerToken() cell {
	from, to := o.window()
	return o.checked(cell{text: fmt.Sprintf("%.0f", o.run.cpuBetween(from, to)/float64(o.tokens())*1e6)})
}

func (o outcome) takenIn() cell {
	from, to := o.window()
	return o.checked(cell{text: fmt.Sprintf("%s, %.0f %%", thousands(float64(o.tokens())/o.saying.took), 100*o.run.cpuBetween(from, to)/(to-from))})
}

func (o outcome) ttft() cell {
	return o.checked(cell{text: fmt.Sprintf("%s / %s", milli(quantile(o.saying.ttft, 0.5)), milli(quantile(o.saying.ttft, 0.99)))})
}

func (o outcome) trueTTFT() []float64 {
	var all []float64
	for _, t := range o.run.truths {
		all = append(all, t.Body+t.First)
	}
	return all
}

func (o outcome) trueTPOT() []float64 {
	var all []float64
	for _, t := range o.run.truths {
		if t.Tokens > 1 {
			all = append(all, (t.Last-t.First)/float64(t.Tokens-1))
		}
	}
	return all
}

// tpot compares a quantile said with the same quantile of the truth.
func (o outcome) tpot() cell {
	off := func(q float64) float64 { return 100 * (quantile(o.saying.tpot, q)/quantile(o.trueTPOT(), q) - 1) }
	return o.checked(cell{text: fmt.Sprintf("%s / %s %%", percent(off(0.5)), percent(off(0.99)))})
}

// lateness is by the server's clock: the n-th request to come against the n-th to be
// due. When the client meant to begin only it knows, so its most punctual request
// counts as on time. Requests that had not come at the end are as late as they were then.
func (o outcome) lateness() []float64 {
	arrived := make([]float64, 0, o.load.count)
	for _, t := range o.run.truths {
		arrived = append(arrived, t.Arrived)
	}
	slices.Sort(arrived)
	dues := o.load.dues()
	slices.Sort(dues)
	if len(arrived) == 0 {
		return nil
	}
	first := arrived[0]
	arrived = arrived[:min(len(arrived), len(dues))]
	for len(arrived) < len(dues) {
		arrived = append(arrived, first+o.load.limit.Seconds())
	}
	var late []float64
	least := math.Inf(1)
	for i := range dues {
		late = append(late, arrived[i]-first-dues[i])
		least = min(least, late[i])
	}
	for i := range late {
		late[i] -= least
	}
	return late
}

func (o outcome) late() cell {
	late := o.lateness()
	return o.checked(cell{text: fmt.Sprintf("%s / %s, max %s", milli(quantile(late, 0.5)), milli(quantile(late, 0.99)), milli(quantile(late, 1)))})
}

func (o outcome) lateP99() cell { return o.checked(cell{text: milli(quantile(o.lateness(), 0.99))}) }

func (o outcome) firstRequest() cell { return cell{text: fmt.Sprintf("%.2f", o.run.firstIn)} }

func (o outcome) memory() cell {
	from, to := o.window()
	c := cell{text: fmt.Sprintf("%.0f", float64(o.run.peakMemory(from, to))/1e6)}
	c.note("%.0f MB from its start to its end", float64(o.run.peakMemory(0, math.Inf(1)))/1e6)
	return o.checked(c)
}

// confession is what a client prints when it knows that it was the bottleneck.
var confession = regexp.MustCompile(`(?i)\b(late|lateness|behind|bottleneck(ed)?|overload(ed)?|saturat\w*|starv\w*|lag(s|ged|ging)?|cannot keep up|keep(ing)? up|too slow|stood still|is invalid|event loop)\b`)

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// confessions are the lines of its output that say so.
func (o outcome) confessions() (lines []string) {
	for line := range strings.Lines(o.run.output) {
		line = strings.TrimSpace(escapes.ReplaceAllString(line, ""))
		if len(line) < 400 && confession.MatchString(line) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// notices is of the run in which the client had a seventh of its core.
func (o outcome) notices() cell {
	lines := o.confessions()
	var c cell
	switch {
	case o.run.exit != 0 && !o.run.isKilled:
		c.text = fmt.Sprintf("exit %d", o.run.exit)
	case len(lines) > 0:
		c.text = "says so"
	default:
		c.text = "no"
	}
	c.note("lateness then, by the server: %s ms; exit code %d", o.late().text, o.run.exit)
	for _, line := range lines[:min(len(lines), 3)] {
		c.note("`%s`", strings.ReplaceAll(line, "`", "'"))
	}
	return c
}

func quantile(values []float64, q float64) float64 {
	return stat.Quantile(slices.Sorted(slices.Values(values)), q)
}

// milli writes seconds as milliseconds with three figures and no more than two places.
func milli(s float64) string {
	switch ms := s * 1000; {
	case math.IsNaN(ms):
		return "?"
	case ms < 100:
		return fmt.Sprintf("%.2f", ms)
	default:
		return thousands(ms)
	}
}

func percent(p float64) string {
	if math.IsNaN(p) {
		return "?"
	}
	if math.Abs(p) < 1 {
		return fmt.Sprintf("%+.2f", p)
	}
	return fmt.Sprintf("%+.1f", p)
}

func thousands(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func seconds(d time.Duration) string { return fmt.Sprintf("%g", d.Seconds()) }
