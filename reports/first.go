package reports

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"

	"tidemark/analysis"
	"tidemark/analysis/metric"
	"tidemark/internal/escape"
	"tidemark/internal/show"
)

// first is the first screen: the decision in a sentence, why in three lines, six figures with their limits, and what to do first.
type first struct {
	Headline string
	Lede     template.HTML
	Tiles    []tile
	Key      string
	Do       string
	Command  string // part of what to do, as it is typed
}

// longestHeadline is as many characters as a headline may have.
const longestHeadline = 60

// runFirst is the first screen of one run.
func (p *page) runFirst(run *Run) (first, error) {
	f := first{Headline: run.headline()}
	if err := run.findBurst(p.ctx, p.db); err != nil {
		return f, err
	}
	lede, err := p.lede(run)
	if err != nil {
		return f, err
	}
	f.Lede = lede
	if f.Tiles, err = p.tiles(run); err != nil {
		return f, err
	}
	f.Key = keyOf(f.Tiles)
	if f.Do, f.Command, err = p.doFirst(run); f.Command != "" {
		f.Command += p.options.Warehouse
	}
	return f, err
}

// headline is the decision with its margin; without an SLO it is how far decoding was from its floor.
func (run *Run) headline() string {
	v := run.Verdict
	decision := map[string]string{analysis.Met: "Met", analysis.NotMet: "Not met", analysis.Undecided: "Undecided"}[v.Outcome]
	switch {
	case !run.IsValid:
		return tight("Not valid: " + run.whyInvalid())
	case run.HasFailed:
		return tight(fmt.Sprintf("Failed: %s of %s requests did not come back whole", count(run.fact("planned")-run.fact("completed")), count(run.fact("planned"))))
	case decision != "" && len(v.Objectives) > 0:
		o := run.binding()
		for _, text := range []string{o.Objective.String(), short(o.Objective)} {
			if line := decision + ": " + text + " " + observed(o); len([]rune(line)) <= longestHeadline {
				return tight(line)
			}
		}
		return tight(decision + ": " + short(o.Objective))
	}
	slowdown, isCompared := number(run.Facts.At(0, "slowdown_ratio"))
	if floor, hasFloor := number(run.Facts.At(0, "floor_ratio")); isCompared && hasFloor {
		return fmt.Sprintf("No SLO: time per token%s %s the floor, %s as predicted", run.ofPredictedModel(), times(floor), times(slowdown))
	}
	if ttft, isKnown := number(run.Facts.At(0, "p99_ttft_s")); isKnown {
		return tight(fmt.Sprintf("No SLO: p99 TTFT was %s, p99 TPOT %s", show.Duration(ttft), duration(run.Facts.At(0, "p99_tpot_s"))))
	}
	return tight(fmt.Sprintf("No SLO: median TTFT was %s, median TPOT %s", duration(run.Facts.At(0, "p50_ttft_s")), duration(run.Facts.At(0, "p50_tpot_s"))))
}

// observed is what an objective saw beside its limit: was 1.12 s, limit 1 s.
func observed(o analysis.ObjectiveVerdict) string {
	if o.Observed == nil {
		return fmt.Sprintf("above %s in %s of %s", limitOf(o.Objective), show.Count(o.Above), show.Count(o.Samples))
	}
	return "was " + valueOf(o.Objective, *o.Observed) + ", limit " + limitOf(o.Objective)
}

func isShare(o analysis.Objective) bool { return o.Metric == metric.FailureRatio }

func valueOf(o analysis.Objective, v float64) string {
	if isShare(o) {
		return show.Percent(v)
	}
	return show.Duration(v)
}

// limitOf writes a bound as it was chosen: 1 s, 50 ms, 1 %.
func limitOf(o analysis.Objective) string {
	if isShare(o) {
		return show.Plain(o.AtMost*100) + " %"
	}
	return show.Setting(o.AtMost)
}

// short is an objective without its class.
func short(o analysis.Objective) string {
	o.Class = ""
	return o.String()
}

// binding is the objective that decided: of those with the run's outcome the one that is farthest beyond its limit, or nearest to it.
func (run *Run) binding() analysis.ObjectiveVerdict {
	best, most := run.Verdict.Objectives[0], math.Inf(-1)
	for _, o := range run.Verdict.Objectives {
		of := float64(o.Above) / math.Max(float64(o.Samples), 1)
		if o.Observed != nil && o.AtMost > 0 {
			of = *o.Observed / o.AtMost
		}
		if o.Outcome == run.Verdict.Outcome {
			of += 1e9
		}
		if of > most {
			best, most = o, of
		}
	}
	return best
}

// whyInvalid is the first line of the certificate that breaks, in few words.
func (run *Run) whyInvalid() string {
	statistic, lateness, _ := run.lateness()
	ended, isKnown := run.Facts.At(0, "has_ended").(bool)
	switch {
	case isKnown && !ended:
		return "the run never ended"
	case run.isLate() && statistic == "p99":
		return fmt.Sprintf("p99 lateness was %s, limit %s", show.Duration(lateness), show.Setting(run.fact("lateness_limit_s")))
	case run.isLate():
		return fmt.Sprintf("a request went out %s late, limit %s", show.Duration(lateness), show.Setting(run.fact("lateness_limit_s")))
	}
	reason, _ := run.Facts.At(0, "invalid_reason").(string)
	reason, _, _ = strings.Cut(reason, ":")
	reason, _, _ = strings.Cut(reason, ";")
	if reason == "" || len([]rune(reason)) > longestHeadline-len("Not valid: ") {
		return "its certificate has a line that breaks"
	}
	return reason
}

func (run *Run) fact(column string) float64 {
	v, _ := number(run.Facts.At(0, column))
	return v
}

// ofPredictedModel is " of MODEL" where the prediction is of some of the requests only.
func (run *Run) ofPredictedModel() string {
	if run.Verdict.PredictedModel == "" {
		return ""
	}
	return " of " + run.Verdict.PredictedModel
}

// lede says in three lines at which rate was sent, what was missed and when, whether the time per token is as predicted, and what the run is worth.
func (p *page) lede(run *Run) (template.HTML, error) {
	fidelity, err := ask(p.ctx, p.db, "marts.fidelity", `select sent_per_s from marts.fidelity where run_id = $1`, run.ID)
	if err != nil {
		return "", err
	}
	load := "All at once"
	if sent, isKnown := number(fidelity.At(0, "sent_per_s")); isKnown {
		load = "At " + strong(show.Figures(sent)+" requests/s")
	}
	if mode, _ := run.Facts.At(0, "mode").(string); mode == "closed" {
		load = "With " + strong(count(run.Facts.At(0, "max_concurrency"))+" in flight")
	}
	parts := []string{load + ", " + run.missed() + "."}
	if slowdown, isKnown := number(run.Facts.At(0, "slowdown_ratio")); isKnown {
		parts = append(parts, "Time per token"+esc(run.ofPredictedModel())+" is "+strong(times(slowdown))+" its prediction.")
	}
	certificate, err := p.certificate(run.ID)
	if err != nil {
		return "", err
	}
	parts = append(parts, run.worth(certificate))
	slice, err := p.slice(run)
	if err != nil {
		return "", err
	}
	if slice.Line != "" {
		parts = append(parts, esc(slice.Line))
	}
	return template.HTML(tight(strings.Join(parts, " "))), nil // safe: every value is escaped
}

func esc(text string) string    { return template.HTMLEscapeString(text) }
func strong(text string) string { return "<strong>" + esc(text) + "</strong>" }

// missed says how many requests missed the objective that decided, or how the tails are.
func (run *Run) missed() string {
	if !run.HasSLO {
		said, column := "p99", "p99"
		if run.Facts.At(0, "p99_ttft_s") == nil { // too few requests
			said, column = "median", "p50"
		}
		return fmt.Sprintf("%s of %s requests came back whole; %s TTFT was %s, %[3]s TPOT %[5]s", count(run.fact("completed")), count(run.fact("planned")), said,
			strong(duration(run.Facts.At(0, column+"_ttft_s"))), strong(duration(run.Facts.At(0, column+"_tpot_s"))))
	}
	o := run.binding()
	share := 0.0
	if o.Samples > 0 {
		share = float64(o.Above) / float64(o.Samples)
	}
	things := "requests"
	if o.Metric == "itl" {
		things = "gaps between tokens"
	}
	allowed := show.Plain(100-o.Percentile) + " % is allowed"
	what := "were beyond " + limitOf(o.Objective) + " of " + show.Words(o.Metric)
	if isShare(o.Objective) {
		what, allowed = "failed", limitOf(o.Objective)+" is allowed"
	}
	text := strong(fmt.Sprintf("%s of %s %s", show.Count(o.Above), show.Count(o.Samples), things)) + " " + esc(what)
	if o.Class != "" {
		text += ", class " + esc(o.Class)
	}
	text += fmt.Sprintf(" (%s; %s)", percent(share), allowed)
	if b := run.Burst; b != nil {
		text += fmt.Sprintf(", %s of them between %s and %s", show.Count(b.Misses), clock(b.From), clock(b.To))
	}
	return text
}

// clock writes an instant of a run: 5:30.
func clock(s float64) string {
	whole := int64(math.Round(s))
	if whole >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", whole/3600, whole/60%60, whole%60)
	}
	return fmt.Sprintf("%d:%02d", whole/60, whole%60)
}

// worth is what the certificate says in a sentence.
func (run *Run) worth(c *Result) string {
	tell := map[string]int{}
	for _, outcome := range c.texts("outcome") {
		tell[outcome]++
	}
	is := "valid"
	switch {
	case !run.IsValid:
		is = "not valid"
	case run.HasFailed:
		is = "a failure"
	}
	text := fmt.Sprintf("The run is %s: %d of %d lines of its certificate hold", strong(is), tell["ok"], c.Len())
	if tell["breaks"] > 0 {
		text += fmt.Sprintf(", %d %s", tell["breaks"], show.Verb(tell["breaks"], "breaks", "break"))
	}
	if tell["note"] > 0 {
		text += fmt.Sprintf(", %d %s to know", tell["note"], show.Verb(tell["note"], "is", "are"))
	}
	return text + "."
}

func (p *page) certificate(runID string) (*Result, error) {
	return ask(p.ctx, p.db, "marts.certificate", `select
    subject,
    measured,
    bound,
    outcome,
    meaning
from marts.certificate
where run_id = $1
order by seq`, runID)
}

// doFirst is the one thing to do: what the first symptom asks for, else the next step of somebody whose run went well.
func (p *page) doFirst(run *Run) (do, command string, err error) {
	symptoms, err := ask(p.ctx, p.db, "marts.symptoms", `select
    title,
    first_response
from marts.symptoms
where subject = $1 and subject_kind = 'run' and kind <> 'by design' and first_response is not null
order by seq
limit 1`, run.ID)
	if err != nil {
		return "", "", err
	}
	source, _ := run.Facts.At(0, "source_name").(string)
	switch {
	case !run.IsValid:
		return "mend what broke in the certificate, then send the same plan again: no number of this page counts until then. What its evidence says:", "tidemark diagnose " + escape.Shell(run.ID), nil
	case symptoms.Len() > 0 && (run.Verdict.Outcome == analysis.NotMet || run.HasFailed):
		return fmt.Sprintf("%s. %s.", symptoms.texts("first_response")[0], symptoms.texts("title")[0]), "", nil
	case run.Verdict.Outcome == analysis.Undecided:
		return "send more of the same: " + moreRequests(run.Verdict) + " would decide.", "", nil
	case !run.HasSLO:
		return "say what is good enough, and this run is judged by it:", "tidemark report " + escape.Shell(run.ID) + " --slo FILE --output judged.html", nil
	case run.Verdict.Outcome == analysis.NotMet:
		return "find the largest load that meets the SLO:", "tidemark capacity " + escape.Shell(source) + " --slo FILE --base-url URL --model MODEL", nil
	}
	return "find out how much more it takes:", "tidemark capacity " + escape.Shell(source) + " --slo FILE --base-url URL --model MODEL", nil
}

func moreRequests(v analysis.SLOVerdict) string {
	most := int64(0)
	for _, o := range v.Objectives {
		if o.MoreRequests != nil {
			most = max(most, *o.MoreRequests)
		}
	}
	if most == 0 {
		return "a longer run"
	}
	return "about " + show.Count(most) + " requests"
}

// When is the start of a run in words, and how long it took.
func (run Run) When() string {
	started, isKnown := run.Facts.At(0, "started_at").(time.Time)
	text := ""
	if isKnown {
		text = show.Instant(started.UTC())
	}
	if length, hasLength := number(run.Facts.At(0, "duration_s")); hasLength {
		text += ", " + lengthOf(length)
	}
	return strings.TrimPrefix(text, ", ")
}

// lengthOf writes how long something took, to the minute where it is longer than two.
func lengthOf(s float64) string {
	if s >= 120 {
		return fmt.Sprintf("%.0f min", s/60)
	}
	return tight(show.Duration(s))
}
