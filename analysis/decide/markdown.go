//go:build duckdb_arrow

package decide

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/metric"
	"tidemark/internal/escape"
	"tidemark/internal/show"
)

var plain = escape.Markdown

// Headline says in a line what was decided, and where the path stopped.
func (d Decision) Headline() string {
	if len(d.Runs) == 0 {
		return "nothing is decided: " + d.Undecided[0].Rule
	}
	first := d.Runs[0]
	text := fmt.Sprintf("%s %s: %s", first.called(), first.Status, first.Rule)
	if d.IsEvenSo {
		text = fmt.Sprintf("%s accepted even so, by %s: %s", first.called(), d.By, first.Rule)
	}
	if rejected := d.rejected(); len(rejected) > 0 && d.IsAccepted() {
		text += fmt.Sprintf("; %s rejected", show.Things(len(rejected), "run", "runs"))
	}
	return text
}

// Markdown is the record. Of a path that stops without an answer it has the figures and the path alone.
func (d Decision) Markdown() []byte {
	var b bytes.Buffer
	subject, status := Judged{}, Open
	if len(d.Runs) > 0 {
		subject, status = d.Runs[0].Judged, d.Runs[0].Status
	} else {
		subject = d.Undecided[0]
	}
	if len(d.Runs) == 0 {
		fmt.Fprintf(&b, "# No decision on %s\n\n", plain(subject.called()))
	} else {
		fmt.Fprintf(&b, "# %s %s\n\nWhy: %s\n\n", plain(subject.called()), status, plain(d.Reason))
		fmt.Fprintf(&b, "- Decision %s, by %s, %s\n", d.ID, plain(d.By), d.At.UTC().Format(time.DateTime+" UTC"))
	}
	if d.IsEvenSo {
		b.WriteString("- **Accepted even so**: the path below does not say that it is met\n")
	}
	fmt.Fprintf(&b, "- Run %s, %s\n", plain(subject.RunID), plain(subject.on()))
	for _, run := range d.Runs[min(1, len(d.Runs)):] {
		if run.Status == Accepted {
			fmt.Fprintf(&b, "- Repeat %s, %s\n", plain(run.RunID), plain(run.FirstLine))
		}
	}
	d.target(&b, subject)
	d.writePath(&b, subject)
	d.writeRejected(&b)
	return b.Bytes()
}

func (j Judged) called() string {
	if j.Name != "" {
		return j.Name
	}
	return j.RunID
}

// on is the configuration in words.
func (j Judged) on() string {
	return strings.TrimSuffix(j.MeasuredOn+", "+j.settings, ", ")
}

// target is what was asked beside what was found.
func (d Decision) target(b *bytes.Buffer, j Judged) {
	if d.Contract != nil {
		fmt.Fprintf(b, "- Contract %s\n", plain(d.Contract.Name))
	}
	b.WriteString("\n| target | at most | found | 90 % interval | |\n|---|---:|---:|---|---|\n")
	for _, o := range j.Objectives {
		write := show.Duration
		if o.Metric == metric.FailureRatio {
			write = show.Percent
		}
		found, interval := "not known", "none"
		if o.Observed != nil {
			found = write(*o.Observed)
		}
		if o.Low != nil && o.High != nil {
			interval = show.Range(*o.Low, *o.High)
			if o.Metric == metric.FailureRatio {
				interval = write(*o.Low) + " to " + write(*o.High)
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", plain(o.called()), write(o.AtMost), found, interval, o.Outcome)
	}
	figure := func(value *float64) string {
		if value == nil {
			return "not known"
		}
		return show.Figures(*value)
	}
	if c := d.Contract; c != nil {
		fmt.Fprintf(b, "| distance of its lengths from %s | %s | %s | | |\n", plain(c.Shape.Source), show.Figures(c.Shape.DistanceAtMost), figure(j.Distance))
		fmt.Fprintf(b, "| $ per million accepted output tokens, at $%s a GPU-hour | %s | %s | | |\n", show.Figures(c.Cost.USDPerGPUHour), show.Figures(c.Cost.USDPerMillionAtMost), figure(j.Cost))
	} else if j.Cost != nil {
		fmt.Fprintf(b, "| cost of a million accepted output tokens, at %s a GPU-hour | | %s | | |\n", figure(j.Price), figure(j.Cost))
	}
	b.WriteString("\n")
	switch {
	case j.isRehearsed:
		b.WriteString("The run was rehearsed: what was found is what the model expects, and nothing was measured.\n")
	case j.Predicted != nil && j.TPOT != nil && j.Slowdown != nil:
		fmt.Fprintf(b, "The model expected a median time per token of %s; it was %s: %s times the prediction (median over requests).\n", show.Duration(*j.Predicted), show.Duration(*j.TPOT), show.Figures(*j.Slowdown))
	default:
		b.WriteString("The model expected nothing of it: there is no prediction.\n")
	}
}

func (o Objective) called() string {
	return analysis.Objective{Metric: o.Metric, Percentile: o.Percentile, Class: o.Class}.String()
}

func (d Decision) writePath(b *bytes.Buffer, j Judged) {
	b.WriteString("\n## Path\n\n")
	for i, step := range j.Path {
		fmt.Fprintf(b, "%d. %s %s\n", i+1, step.Question, step.Answer)
	}
	fmt.Fprintf(b, "\n**%s**\n", plain(j.Rule))
}

// rejected are the rulings that reject.
func (d Decision) rejected() []Ruling {
	return slices.DeleteFunc(slices.Clone(d.Runs), func(r Ruling) bool { return r.Status != Rejected })
}

func (d Decision) writeRejected(b *bytes.Buffer) {
	if rejected := d.rejected(); len(rejected) > 0 && len(d.Runs) > 1 {
		b.WriteString("\n## Rejected\n\n| run | on | why |\n|---|---|---|\n")
		for _, r := range rejected {
			fmt.Fprintf(b, "| %s | %s | %s |\n", plain(r.called()), plain(r.on()), plain(r.Why))
		}
	}
	if len(d.Runs) > 0 && len(d.Undecided) > 0 {
		b.WriteString("\nNothing was decided on:\n\n")
		for _, j := range d.Undecided {
			fmt.Fprintf(b, "- %s: %s\n", plain(j.called()), plain(strings.TrimSpace(j.Rule)))
		}
	}
}
