//go:build duckdb_arrow

package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/internal/show"
)

// What a step ends with.
const (
	Held     = "held"
	NotHeld  = "not held"
	NotShown = "not shown"
)

// NoDifference is what is said of two configurations whose intervals overlap.
const NoDifference = "no difference shown"

// Verdict is what a step ends with, and by how much.
type Verdict struct {
	Step       string      `json:"step"`
	Hypothesis *Hypothesis `json:"hypothesis,omitempty"` // nil: of a control
	Outcome    string      `json:"outcome"`
	By         string      `json:"by"`             // the configuration that decides
	Change     *float64    `json:"change_ratio"`   // of it against the other
	Low        *float64    `json:"change_low"`     // at least
	High       *float64    `json:"change_high"`    // at most; nil: no limit
	Words      string      `json:"words"`          // in a sentence
	Next       string      `json:"next,omitempty"` // what if_refuted says, where the step is refuted
}

// Judge is the verdict of a step by the rows of the study so far. A step holds by its best configuration; the more it has, the wider is the
// interval that each has to clear, so that one of many does not hold by chance.
func (s Step) Judge(rows []Row) Verdict {
	if s.IsControl {
		return s.judgeControl(rows)
	}
	h, v := *s.Hypothesis, Verdict{Step: s.Name, Hypothesis: s.Hypothesis, Outcome: NotShown}
	level := 1 - 0.05/float64(len(s.Configurations))
	against, _ := find(rows, h.Against)
	best := math.Inf(-1)
	outcomes := map[string]int{}
	for _, c := range s.Configurations {
		row, _ := find(rows, c.Name)
		change, isShown, isKnown := row.change(h.Metric, against, level)
		if !isKnown {
			outcomes[NotShown]++
			continue
		}
		outcome, toward := h.judge(change), change.Value
		if h.Direction == "down" {
			toward = -toward
		}
		outcomes[outcome]++
		if isBetter := outcome == Held && v.Outcome != Held; isBetter || toward > best && (outcome == Held) == (v.Outcome == Held) {
			best = toward
			v.Outcome, v.By, v.Change, v.Low, v.High = outcome, c.Name, finite(change.Value), finite(change.Low), finite(change.High)
			v.Words = fmt.Sprintf("%s of %s %s against %s", metricWords(h.Metric), c.Name, changeWords(change), h.Against)
			if !isShown {
				v.Words += ": " + NoDifference
			}
		}
	}
	if v.Outcome != Held {
		if v.Outcome = NotHeld; outcomes[NotShown] > 0 {
			v.Outcome = NotShown
		}
	}
	if v.Words == "" {
		v.Words = fmt.Sprintf("%s is not known of both", metricWords(h.Metric))
	}
	return v.follow(s)
}

// judge one change: it holds where even its end that is nearer to no change is far enough, and does not where not even the other one is.
func (h Hypothesis) judge(change Interval) string {
	near, far := change.Low, change.High
	if h.Direction == "down" {
		near, far = -change.High, -change.Low
	}
	switch {
	case near >= h.AtLeast:
		return Held
	case far < h.AtLeast:
		return NotHeld
	}
	return NotShown
}

// judgeControl: the same configuration on other traffic must show no difference, or the intervals of the study are too narrow.
func (s Step) judgeControl(rows []Row) Verdict {
	v := Verdict{Step: s.Name, Outcome: NotShown, By: s.Name, Words: "the largest rate is not known of both"}
	again, _ := find(rows, s.Name)
	base, _ := find(rows, Baseline)
	change, isShown, isKnown := again.change("rate", base, 0.95)
	if !isKnown {
		return v
	}
	v.Change, v.Low, v.High = finite(change.Value), finite(change.Low), finite(change.High)
	if v.Outcome = Held; isShown {
		v.Outcome = NotHeld
		v.Words = "the same configuration differs by " + changeWords(change) + ": what the study shows may be chance; take more repeats"
		return v.follow(s)
	}
	if math.IsInf(change.High, 1) {
		v.Outcome = NotShown // too few repeats to show anything
	}
	v.Words = "the same configuration again " + changeWords(change) + ": " + NoDifference
	return v
}

func (v Verdict) follow(s Step) Verdict {
	if v.Outcome == NotHeld {
		v.Next = s.IfRefuted
	}
	return v
}

func find(rows []Row, name string) (Row, bool) {
	if at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name }); at >= 0 {
		return rows[at], true
	}
	return Row{}, false
}

func metricWords(metric string) string {
	if metric == "rate" {
		return "the largest rate within the SLO"
	}
	if metric == "cost" {
		return "cost per million accepted tokens"
	}
	return "p99 " + show.Words(strings.TrimPrefix(metric, "p99_"))
}

// Signed is a change in percent.
func Signed(ratio float64) string { return fmt.Sprintf("%+.0f %%", 100*ratio) }

func changeWords(c Interval) string {
	switch {
	case math.IsInf(c.High, 1) && c.Low <= -1:
		return Signed(c.Value) + " (no interval: one repeat, or no limit found)"
	case math.IsInf(c.High, 1):
		return Signed(c.Low) + " or more"
	case c.Low <= -1:
		return Signed(c.High) + " or less"
	}
	return fmt.Sprintf("%s (%s to %s)", Signed(c.Value), Signed(c.Low), Signed(c.High))
}

// Headline is what the best configuration brings, in a sentence.
func Headline(rows []Row, slo analysis.SLO) string {
	if len(rows) == 0 {
		return "Nothing was measured."
	}
	if rows[0].Rate == nil {
		return noRate(rows[0])
	}
	base, best := rows[0], rows[0]
	for _, r := range rows[1:] {
		if r.Rate != nil && !r.IsControl && *r.PerGPU > *best.PerGPU {
			best = r
		}
	}
	if best.Name == base.Name {
		text := "No configuration takes more requests/s per GPU within the SLO than the baseline: " + rateWords(base)
		if base.Binding != "" {
			text += "; " + base.Binding + " binds"
		}
		return text + "."
	}
	change, isShown, _ := best.change("rate", base, 0.95)
	perGPU := ""
	if best.GPUs != base.GPUs {
		perGPU = " per GPU"
		change = change.times(float64(base.GPUs) / float64(best.GPUs))
		isShown = change.Low > 0 || change.High < 0
	}
	text := fmt.Sprintf("%.0f %% more requests/s%s within the SLO (%s to %s, 90 %%) with %s: %s, %s as the baseline is", 100*change.Value, perGPU,
		Signed(change.Low), Signed(change.High), best.Name, rateWords(best), rateWords(base))
	if math.IsInf(change.High, 1) {
		text = fmt.Sprintf("%s or more requests/s%s within the SLO with %s: %s, %s as the baseline is", Signed(change.Low), perGPU, best.Name, rateWords(best), rateWords(base))
	}
	if best.Users != nil && base.Users != nil {
		text += fmt.Sprintf("; %s users at a time, %s", show.Figures(*best.Users), show.Figures(*base.Users))
	}
	if best.Binding != "" {
		text += "; " + best.Binding + " binds"
	}
	if !isShown {
		text = fmt.Sprintf("%s between the best, %s, and the baseline: %s and %s", strings.ToUpper(NoDifference[:1])+NoDifference[1:], best.Name, rateWords(best), rateWords(base))
		if base.Binding != "" {
			text += "; " + base.Binding + " binds"
		}
	}
	return text + "."
}

// noRate is why a baseline has no rate. That it keeps the SLO at none is said only where the smallest one was measured and missed.
func noRate(base Row) string {
	missed := 0
	for _, m := range base.Repeats {
		if m.Low == 0 && m.High != nil {
			missed++
		}
	}
	switch {
	case missed == 0:
		return "The baseline has no answer, so nothing is beside it."
	case missed < len(base.answered()):
		return fmt.Sprintf("In %d of %d repeats the baseline keeps the SLO at no rate that was measured.", missed, len(base.answered()))
	}
	return "The baseline keeps the SLO at no rate that was measured."
}

// Interval of the largest rate, in words without a unit.
func (r Row) Interval() string {
	switch {
	case r.RateLow == nil && len(r.Repeats) > 0:
		return "no answer"
	case r.RateLow == nil:
		return "none"
	case r.RateHigh == nil:
		return show.Figures(*r.RateLow) + " or more"
	}
	return show.Figures(*r.RateLow) + " to " + show.Figures(*r.RateHigh)
}

func rateWords(r Row) string {
	if r.RateHigh == nil {
		return show.Figures(*r.RateLow) + " requests/s or more"
	}
	return r.Interval() + " requests/s"
}
