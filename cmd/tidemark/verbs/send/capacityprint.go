package send

// The answer of a search in words: the table of its runs, and one sentence.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/capacity"
	"tidemark/analysis/metric"
	"tidemark/internal/cli/kit"
	"tidemark/internal/cli/tables"
	"tidemark/internal/cli/terminal"
	"tidemark/internal/show"
)

// say prints the answer: the table of runs, and one sentence.
func (s *search) say(a capacity.Answer) error {
	if s.JSON {
		text, err := json.MarshalIndent(a, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintln(terminal.Product(s.App.Writer), string(text))
		return capacityExit(a)
	}
	if len(a.Table) > 0 {
		if err := s.PrintForms(s.runForms(a.Table)...); err != nil {
			return err
		}
		fmt.Fprintln(s.App.Writer)
	}
	for _, note := range a.Notes {
		s.Remark("%s", s.spoken(note))
	}
	s.Remark("%s", s.spoken(s.sentence(a)))
	return capacityExit(a)
}

// spoken writes objectives as people say them: p90 TTFT from due.
func (s *search) spoken(text string) string {
	for _, o := range s.question.Objectives {
		said := analysis.Objective{Metric: o.Metric, Percentile: 100 * o.Quantile, Class: o.Class}.String()
		if o.Quantile > 0 || o.Metric == metric.FailureRatio {
			text = strings.ReplaceAll(text, o.String(), said)
		}
	}
	return text
}

// runForms are the runs of a search, the widest first. Their ids would not fit in a line: --json has them.
func (s *search) runForms(runs []capacity.Row) []analysis.Table {
	full := kit.TableOf("run", "multiple", "requests/s", "missed", "by", "share", "load")
	short, least := kit.TableOf("run", "multiple", "requests/s", "missed", "share"), kit.TableOf("run", "multiple", "requests/s", "share")
	for i, r := range runs {
		run, multiple, missed := i+1, tables.Figure(show.Figures(r.Scale)), tables.Figure(fmt.Sprintf("%.2f %%", 100*r.MissedRatio))
		verdict := verdictInWords(r.Verdict)
		rate := tables.Figure(show.Figures(r.RatePerS))
		full.Rows = append(full.Rows, []any{run, multiple, rate, missed, s.spoken(r.Objective), verdict, tables.Figure(show.Duration(r.Seconds))})
		short.Rows = append(short.Rows, []any{run, multiple, rate, missed, verdict})
		least.Rows = append(least.Rows, []any{run, multiple, rate, verdict})
	}
	return []analysis.Table{full, short, least}
}

// verdictInWords says what a run's verdict means to those who do not know the search's own words.
func verdictInWords(verdict string) string {
	switch verdict {
	case "hopeless":
		return "beyond, stopped early"
	case "late":
		return "client late, not counted"
	}
	return verdict
}

// sentence is the answer in words.
func (s *search) sentence(a capacity.Answer) string {
	origin := "measured on " + strings.Join(s.header.BaseURLs, ", ")
	if s.header.Origin == "simulated" {
		origin += ", a simulator"
	}
	if !s.isLive() {
		origin = fmt.Sprintf("rehearsed on %d x %s with %s, nothing was sent", s.named.GPUsOf(s.header.Replicas), s.named.GPU, s.named.ModelName())
	}
	load := func(scale, rate *float64) string {
		switch {
		case s.question.Mode == "closed":
			return show.Figures(*scale) + " in flight"
		case rate != nil && s.window.BusiestPerS > 0:
			return fmt.Sprintf("%s times the sessions that begin in the window, %s times its %s requests/s: %s requests/s", show.Figures(*scale),
				show.Figures(s.window.TimesBusiest(*rate)), show.Figures(s.window.BusiestPerS), show.Figures(*rate))
		case rate != nil:
			return fmt.Sprintf("%s times the window's traffic, %s requests/s", show.Figures(*scale), show.Figures(*rate))
		}
		return show.Figures(*scale) + " times the window's traffic"
	}
	binds := ""
	if a.BindingObjective != nil {
		binds = "; " + *a.BindingObjective + " binds"
	}
	switch a.Outcome {
	case capacity.Found:
		text := load(a.Scale, a.RatePerS)
		low, high := a.ScaleLow, a.ScaleHigh
		if a.RatePerS != nil {
			low, high = a.RateLowPerS, a.RateHighPerS
		}
		switch {
		case low != nil && high != nil:
			text += fmt.Sprintf(" (%s to %s, 90 %%)", show.Figures(*low), show.Figures(*high))
		case low != nil:
			text += fmt.Sprintf(" (%s or more, 90 %%)", show.Figures(*low))
		case high != nil:
			text += fmt.Sprintf(" (%s or less, 90 %%)", show.Figures(*high))
		}
		if a.Users != nil && s.question.Mode == "sessions" {
			text += fmt.Sprintf(", %s users", show.Figures(*a.Users))
			if a.ThinkS != nil {
				text += fmt.Sprintf(" who think for %s s on average", show.Figures(*a.ThinkS))
			}
		}
		text += binds
		text += s.confirmation(a)
		if a.IsWeak {
			text += "; weak: the model does not fit this server"
		}
		return text + "; " + origin + "."
	case capacity.AboveMax:
		return fmt.Sprintf("At least %s, the largest that was asked about; %s.", load(a.ScaleLow, a.RateLowPerS), origin)
	case capacity.BelowMin:
		least := cmp.Or(s.question.MinScale, 0.05)
		return fmt.Sprintf("Below %s, the smallest that was asked about%s; %s.", load(&least, s.rateAt(least)), binds, origin)
	}
	text := map[string]string{capacity.NotPossible: "Not possible at any load: ", capacity.Undecided: "Undecided: ", capacity.Invalid: "Invalid: "}[a.Outcome] + a.Why
	if a.ScaleLow != nil && a.ScaleHigh != nil {
		text += fmt.Sprintf("; between %s and %s so far", load(a.ScaleLow, s.rateAt(*a.ScaleLow)), load(a.ScaleHigh, s.rateAt(*a.ScaleHigh)))
	}
	if a.MinutesEnough != nil {
		text += fmt.Sprintf("; about %s of load in all would be enough: --budget %.0fm goes on", loadTime(60**a.MinutesEnough), *a.MinutesEnough+1)
	}
	return text + "; " + origin + "."
}

// confirmation says whether the run at the low end confirmed the answer, and what it showed where it did not.
func (s *search) confirmation(a capacity.Answer) string {
	switch {
	case a.Confirmed == nil && !(s.isLive() && s.question.Confirm):
		return ""
	case a.Confirmed != nil && *a.Confirmed:
		return "; confirmed by a run at the low end"
	case len(a.Table) == 0:
		return "; not confirmed"
	}
	last := a.Table[len(a.Table)-1]
	showed := fmt.Sprintf("the last run, at %s requests/s, missed %s in %.2f %% of its requests", show.Figures(last.RatePerS), last.Objective, 100*last.MissedRatio)
	if a.Confirmed == nil {
		return "; not confirmed: " + showed + ", which cannot tell"
	}
	return "; NOT confirmed: " + showed
}

// rateAt is what a multiple of the window sends, requests/s.
func (s *search) rateAt(scale float64) *float64 {
	return new(s.header.Window.At(scale))
}

// loadTime is in minutes where a budget would be.
func loadTime(seconds float64) string {
	if seconds < 120 {
		return show.Duration(seconds)
	}
	return fmt.Sprintf("%.3g minutes", seconds/60)
}

func capacityExit(a capacity.Answer) error {
	switch a.Outcome {
	case capacity.Found, capacity.AboveMax:
		return nil
	case capacity.Invalid:
		return kit.ExitError{Code: kit.ExitInvalid}
	}
	return kit.ExitError{Code: kit.ExitNotMet}
}
