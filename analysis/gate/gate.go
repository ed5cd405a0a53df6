// Package gate decides whether a comparison of runs shows a regression, and writes the decision as CI systems read it: JUnit XML and Markdown.
//
// A gate is red where the interval of one metric's ratio lies wholly beyond the bound on its bad side. Noise has a chance with each metric: a
// 90 % interval lies beyond the truth on its bad side in one case of twenty, so that with seven metrics up to a third of the gates of an
// unchanged server would be red. Therefore the intervals here hold for all metrics together: each misses on its bad side with a chance of 1 in
// 20 divided by the number of metrics (Bonferroni), however the metrics depend on one another. Of repeats, at most one gate in twenty of an
// unchanged server is red, and far fewer where its noise is small beside the bound.
//
// An interval that holds the bound decides nothing: the gate says how many repeats would tell, and stays green if it can tell of another time
// or throughput. If it can of none, nothing is decided.
package gate

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"tidemark/analysis"
	"tidemark/analysis/regression"
	"tidemark/internal/show"
)

// falseAlarms is how often a gate may be red of a server that has not changed.
const falseAlarms = 0.05

// What a gate says of a metric.
const (
	Worse      = "worse"       // the interval lies beyond the bound
	NotWorse   = "not worse"   // all of it is within the bound, or better than before
	CannotTell = "cannot tell" // it holds the bound, or there is none
)

// Judged is what the gate says of one metric. What is not known is NaN.
type Judged struct {
	Metric
	Before, After    float64
	Ratio, Low, High float64 // the interval is that of all metrics together
	Outcome          string
	Why              string // why it cannot tell, and what would

	freedom float64 // degrees of freedom of the interval
}

// Gate is the decision.
type Gate struct {
	Question
	Comparison analysis.Comparison
	Judged     []Judged
	Spoilt     string // why no metric is judged: a run is invalid, or too many of its requests failed
	isRed      bool
	isOpen     bool // it is asked about times or throughput, and can tell of none of them
}

// IsRed says that the comparison shows a regression: a metric is worse, or a run from after has failed, and no run is invalid.
func (g Gate) IsRed() bool { return g.isRed }

// Judge decides. A failed run from after is a regression by the limit that it was sent with. A failed run from before, or an invalid one,
// leaves nothing to compare with: then no metric is judged.
func Judge(ctx context.Context, db *sql.DB, c analysis.Comparison, q Question) (Gate, error) {
	g := Gate{Question: q, Comparison: c, Spoilt: strings.Join(c.Unusable, "; ")}
	isValid := len(c.Failed) == len(c.Unusable)
	g.isRed = isValid && g.haveFailed(c.After) && !g.haveFailed(c.Before)
	for _, m := range q.Metrics {
		j, err := g.compared(ctx, db, m)
		if err != nil {
			return g, err
		}
		g.settle(&j)
		g.isRed = g.isRed || j.Outcome == Worse
		g.Judged = append(g.Judged, j)
	}
	isSpeed := func(j Judged) bool { return j.Name != answered }
	isTold := func(j Judged) bool { return isSpeed(j) && j.Outcome != CannotTell }
	g.isOpen = g.Spoilt == "" && !g.isRed && slices.ContainsFunc(g.Judged, isSpeed) && !slices.ContainsFunc(g.Judged, isTold)
	return g, nil
}

// IsDecided says that the gate is red or green: a run that is invalid, or runs too few and too short to tell of any time, decide nothing.
func (g Gate) IsDecided() bool { return g.isRed || g.Spoilt == "" && !g.isOpen }

// haveFailed says whether one of the runs has.
func (g Gate) haveFailed(runs []string) bool {
	return slices.ContainsFunc(runs, func(run string) bool { return slices.Contains(g.Comparison.Failed, run) })
}

// chance is that of one interval to miss on one side.
func (g Gate) chance() float64 { return falseAlarms / float64(len(g.Metrics)) }

// compared has the values of a metric and their interval, or says why there is none.
func (g Gate) compared(ctx context.Context, db *sql.DB, m Metric) (Judged, error) {
	j := Judged{Metric: m, Before: math.NaN(), After: math.NaN(), Ratio: math.NaN(), Low: math.NaN(), High: math.NaN(), Why: "it has no value in both"}
	if m.Name == answered {
		return g.comparedAnswers(ctx, db, j)
	}
	for i, row := range g.Comparison.Results.Records() {
		if row["metric"] != m.metric || row["statistic"] != m.statistic {
			continue
		}
		number := func(column string) float64 {
			if x, isNumber := row[column].(float64); isNumber {
				return x
			}
			return math.NaN()
		}
		j.Before, j.After, j.Ratio, j.Why = number("value"), number("other_value"), number("ratio"), ""
		if why, isText := row["reason"].(string); isText {
			j.Why = why + ": longer runs, or repeats, would tell"
			return j, nil
		}
		j.Low, j.High, j.freedom = g.Comparison.Interval(i, g.chance())
	}
	return j, nil
}

// comparedAnswers compares the shares that were answered. Of repeats the unit is the run, of one run the block of time; and no share is known
// better than that many independent answers would tell.
func (g Gate) comparedAnswers(ctx context.Context, db *sql.DB, j Judged) (Judged, error) {
	before, err := answeredShare(ctx, db, g.Comparison.Before)
	if err != nil {
		return j, err
	}
	after, err := answeredShare(ctx, db, g.Comparison.After)
	if err != nil || before.mean == 0 || before.isEmpty || after.isEmpty {
		return j, err
	}
	j.Before, j.After, j.Ratio, j.Low, j.High, j.Why = before.mean, after.mean, after.mean/before.mean, 0, 0, ""
	if after.mean == 0 {
		return j, nil
	}
	a, b := math.Pow(before.se/before.mean, 2), math.Pow(after.se/after.mean, 2)
	width := 0.0
	if a+b > 0 {
		j.freedom = (a + b) * (a + b) / (a*a/before.freedom + b*b/after.freedom)
		width = regression.StudentT(1-g.chance(), j.freedom) * math.Sqrt(a+b)
	}
	j.Low, j.High = j.Ratio*math.Exp(-width), j.Ratio*math.Exp(width)
	return j, nil
}

// share of the requests of one side that were answered, with its standard error.
type share struct {
	mean, se, freedom float64
	isEmpty           bool
}

func answeredShare(ctx context.Context, db *sql.DB, runs []string) (share, error) {
	counts, err := analysis.AnsweredOf(ctx, db, runs)
	if err != nil {
		return share{}, err
	}
	var s share
	requests, n := 0.0, float64(len(runs))
	for _, c := range counts {
		if c.Requests == 0 {
			return share{isEmpty: true}, nil
		}
		s.mean += 1 - c.Failed/c.Requests
		requests += c.Requests
	}
	s.mean /= n // after the sum, so that all of all is exactly 1
	s.se, s.freedom = counts[0].SE, counts[0].Blocks-1
	if len(runs) > 1 {
		squares := 0.0
		for _, c := range counts {
			squares += math.Pow(1-c.Failed/c.Requests-s.mean, 2)
		}
		s.se, s.freedom = math.Sqrt(squares/(n-1)/n), n-1
	}
	s.se = max(s.se, math.Sqrt(s.mean*(1-s.mean)/requests))
	return s, nil
}

// isPair says that there is one run on each side.
func (g Gate) isPair() bool { return len(g.Comparison.Before)+len(g.Comparison.After) == 2 }

// edge is the ratio beyond which the metric is worse.
func (g Gate) edge(m Metric) float64 {
	if m.isMoreBetter {
		return 1 - g.Bound
	}
	return 1 + g.Bound
}

// edgeInWords is that change: +5 % of a latency, -5 % of a throughput.
func (g Gate) edgeInWords(m Metric) string {
	if m.isMoreBetter {
		return "-" + g.bound()
	}
	return "+" + g.bound()
}

// bound is as it was asked for.
func (g Gate) bound() string { return show.Plain(100*g.Bound) + " %" }

// wanted is how many runs on each side would tell, if the ratio is truly as it was found and runs scatter as they did.
func (g Gate) wanted(j Judged) string {
	if g.isPair() {
		return "three runs on each side would tell more"
	}
	const most = 30
	runs := float64(min(len(g.Comparison.Before), len(g.Comparison.After)))
	distance := math.Abs(math.Log(j.Ratio / g.edge(j.Metric)))
	se := math.Log(j.High/j.Ratio) / regression.StudentT(1-g.chance(), j.freedom) * math.Sqrt(runs)
	for n := runs + 1; n <= most; n++ {
		if regression.StudentT(1-g.chance(), 2*n-2)*se/math.Sqrt(n) < distance {
			return fmt.Sprintf("about %.0f runs on each side would tell", n)
		}
	}
	return fmt.Sprintf("more than %d runs on each side would tell", most)
}

// settle says what the interval shows.
func (g Gate) settle(j *Judged) {
	edge := g.edge(j.Metric)
	good, bad := j.Low, j.High // the ends of the interval, the better one first
	isBeyond := func(x float64) bool { return x > edge }
	if j.isMoreBetter {
		good, bad = j.High, j.Low
		isBeyond = func(x float64) bool { return x < edge }
	}
	switch {
	case g.Spoilt != "":
		j.Outcome, j.Why = CannotTell, "a run is invalid or failed"
	case math.IsNaN(j.Low):
		j.Outcome = CannotTell
	case isBeyond(good):
		j.Outcome, j.Why = Worse, ""
	case !isBeyond(bad):
		j.Outcome, j.Why = NotWorse, ""
	default:
		j.Outcome = CannotTell
		j.Why = fmt.Sprintf("the interval holds %s; %s", g.edgeInWords(j.Metric), g.wanted(*j))
	}
}

// these are the metrics of an outcome, in words.
func (g Gate) these(outcome string, words func(Judged) string) (all []string) {
	for _, j := range g.Judged {
		if j.Outcome == outcome {
			all = append(all, words(j))
		}
	}
	return all
}

// FirstLine begins with red or green, or says that no decision can be made.
func (g Gate) FirstLine() string {
	bound := g.bound()
	unknown := g.these(CannotTell, func(j Judged) string { return j.words() })
	open := ""
	if len(unknown) > 0 {
		open = fmt.Sprintf("; cannot tell of %s: more repeats", strings.Join(unknown, ", "))
	}
	known := len(g.Judged) - len(unknown)
	switch {
	case g.Spoilt != "" && g.isRed:
		return "red: after the change too many requests failed: " + g.Spoilt
	case g.Spoilt != "":
		return "no decision, runs are invalid or failed: " + g.Spoilt
	case g.isRed:
		worse := g.these(Worse, func(j Judged) string {
			return fmt.Sprintf("%s %s (%s)", j.words(), analysis.Change(j.Ratio), j.interval())
		})
		return fmt.Sprintf("red: worse by more than %s: %s%s", bound, strings.Join(worse, ", "), open)
	case g.isOpen:
		return fmt.Sprintf("no decision: of no time and no throughput can it tell whether it is worse by more than %s: longer runs, or more repeats", bound)
	case open == "":
		return fmt.Sprintf("green: %s worse by more than %s", show.Things(known, "metric is not", "metrics are not"), bound)
	}
	return fmt.Sprintf("green: %d of %d metrics are not worse by more than %s%s", known, len(g.Judged), bound, open)
}

// interval in words: +6.9 % to +9.3 %.
func (j Judged) interval() string {
	if math.IsNaN(j.Low) {
		return "-"
	}
	return analysis.Change(j.Low) + " to " + analysis.Change(j.High)
}

// Remarks say why it cannot tell of some metrics, once for each reason.
func (g Gate) Remarks() (remarks []string) {
	var reasons []string
	of := map[string][]string{}
	for _, j := range g.Judged {
		if j.Outcome == CannotTell {
			if of[j.Why] == nil {
				reasons = append(reasons, j.Why)
			}
			of[j.Why] = append(of[j.Why], j.words())
		}
	}
	for _, why := range reasons {
		remarks = append(remarks, fmt.Sprintf("cannot tell of %s: %s", strings.Join(of[why], ", "), why))
	}
	return remarks
}

// Basis says what the intervals are.
func (g Gate) Basis() string {
	if g.isPair() {
		return fmt.Sprintf("the intervals are for all %d metrics together, from blocks of time in one run on each side: they know nothing of what differs from start to start", len(g.Metrics))
	}
	return fmt.Sprintf("the intervals hold for all %d metrics together at 90 %%, so that noise alone makes at most 1 gate in 20 red", len(g.Metrics))
}
