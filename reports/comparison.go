package reports

import (
	"fmt"
	"math"

	"tidemark/analysis"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// comparison is the table of several runs, each compared with the first.
type comparison struct {
	Finding, Caption, Plans string
	First                   string // its run
	Heads                   []comparedHead
	Rows                    []comparedRow
}

type comparedHead struct{ Name, Unit, metric, column string }

type comparedRow struct {
	Run      Run
	Verdict  string
	IsMet    bool
	IsBroken bool
	Cells    []comparedCell
}

// comparedCell is a figure of a run, and its ratio to the first run's: ~ where the intervals do not tell them apart.
type comparedCell struct {
	Value, Ratio string
	told         told
}

// told is what an interval says of two runs.
type told int

const (
	cannotTell told = iota // there is no interval
	isAlike
	isDifferent
)

func (p *page) compared(s section) (comparison, error) {
	c := comparison{First: p.Runs[0].ID, Caption: "Ratios are to the first run, with their 90 % interval; ~ where it does not tell the two apart. Failed and unsent requests stay in every share."}
	c.Heads = []comparedHead{
		{"p99 TTFT", "", "ttft_s", "p99_ttft_s"}, {"p99 TPOT", "", "tpot_s", "p99_tpot_s"}, {"Output tokens", "/s", "output_token_per_s", "output_token_per_s"},
	}
	units := make([]show.Unit, len(c.Heads))
	for i, head := range c.Heads[:2] {
		var values []any
		for _, run := range p.Runs {
			values = append(values, run.Facts.At(0, head.column))
		}
		units[i] = show.UnitOf(greatest(values))
		c.Heads[i].Unit = units[i].Name
	}
	units[2] = show.Unit{Factor: 1}
	ids := make([]any, len(p.Runs))
	plans := map[any]bool{}
	for i, run := range p.Runs {
		ids[i] = run.ID
		plans[run.Facts.At(0, "plan_fingerprint")] = true
	}
	// A p99 without an interval says nothing of two runs: their medians may.
	pairs, err := ask(p.ctx, p.db, "marts.run_pairs", `select
    other_run_id || ' ' || metric as pair,
    case when statistic = 'p50' then 'median ' else '' end as words,
    ratio,
    low_ratio,
    high_ratio,
    is_different
from marts.run_pairs
where run_id = $1
    and list_contains($2, other_run_id)
    and statistic in ('p99', 'p50', 'mean')
    and (statistic = 'mean') = (metric = 'output_token_per_s')
qualify row_number() over (partition by other_run_id, metric order by is_different is null, statistic desc) = 1`, c.First, ids)
	if err != nil {
		return c, err
	}
	at := map[string]int{}
	for i, pair := range pairs.texts("pair") {
		at[pair] = i
	}
	valid := 0
	for i, run := range p.Runs {
		row := comparedRow{Run: run}
		row.judge()
		if run.counts() {
			valid++
		}
		for h, head := range c.Heads {
			cell := comparedCell{Value: withheld, Ratio: "–"}
			if v, isKnown := number(run.Facts.At(0, head.column)); isKnown {
				cell.Value = show.Figures(v * units[h].Factor)
			}
			if k, isThere := at[run.ID+" "+head.metric]; isThere && i > 0 && run.counts() && p.Runs[0].counts() {
				cell.Ratio, cell.told = ratioText(pairs, k)
			}
			row.Cells = append(row.Cells, cell)
		}
		c.Rows = append(c.Rows, row)
	}
	c.Finding = c.finding(valid)
	c.Plans = "each run was sent its own load: only runs of one plan are paired"
	if len(plans) == 1 {
		c.Plans = "all runs were sent the same plan, so they are paired by request"
	}
	return c, nil
}

// counts is false for a run whose figures are compared with nothing: of a draft nobody knows what it ran on.
func (run *Run) counts() bool { return run.IsValid && !run.HasFailed && !run.IsDraft }

// judge gives a run's verdict in a word or two.
func (r *comparedRow) judge() {
	switch {
	case !r.Run.IsValid:
		r.Verdict, r.IsBroken = "not valid", true
	case r.Run.HasFailed:
		r.Verdict, r.IsBroken = "failed", true
	case r.Run.Verdict.Outcome == analysis.Met:
		r.Verdict, r.IsMet = "met", true
	case r.Run.Verdict.Outcome == analysis.NotMet:
		r.Verdict, r.IsBroken = "not met", true
	case r.Run.HasSLO:
		r.Verdict = r.Run.Verdict.Outcome
	default:
		r.Verdict = "no SLO"
	}
}

// ratioText is a ratio with its interval, and what that says. A difference that does not show in three figures is none to act on.
func ratioText(pairs *Result, i int) (string, told) {
	ratio, isKnown := number(pairs.At(i, "ratio"))
	if !isKnown {
		return "–", cannotTell
	}
	words := pairs.texts("words")[i] + show.Figures(ratio) + "×"
	is, isTold := pairs.At(i, "is_different").(bool)
	low, _ := number(pairs.At(i, "low_ratio"))
	high, _ := number(pairs.At(i, "high_ratio"))
	switch {
	case !isTold:
		return words + ", no interval", cannotTell
	case !is || math.Abs(ratio-1) < 0.005:
		return "~ " + words, isAlike
	}
	return fmt.Sprintf("%s (%s to %s)", words, show.Figures(low), show.Figures(high)), isDifferent
}

// finding says how many runs differ from the first in a latency or in throughput, of those that have an interval.
func (c comparison) finding(valid int) string {
	if valid < 2 {
		return "Fewer than two of these runs are valid and no drafts: nothing is compared"
	}
	compared, differ := 0, 0
	for _, row := range c.Rows[1:] {
		most := cannotTell
		for _, cell := range row.Cells {
			most = max(most, cell.told)
		}
		if most == isDifferent {
			differ++
		}
		if most != cannotTell {
			compared++
		}
	}
	others := len(c.Rows) - 1
	switch {
	case compared == 0:
		return "Too few requests for an interval: no run can be told from the first"
	case others == 1 && differ == 1:
		return "The second run differs from the first by more than chance"
	case others == 1:
		return "Nothing shows that the second run differs from the first"
	case compared < others:
		return fmt.Sprintf("%d of %d runs differ from the first by more than chance; %d cannot be told", differ, others, others-compared)
	default:
		return fmt.Sprintf("%d of %d runs differ from the first by more than chance", differ, others)
	}
}

// scaled is the axis of a time: by its logarithm where the largest is more than thirty times the median, so that no run lies on the axis.
func scaled(r *Result, column string, unit show.Unit) (plot.Axis, error) {
	a := plot.Axis{Name: show.Words(column[:len(column)-2]) + ", " + unit.Name}
	high, err := r.Max(column)
	if err != nil {
		return a, err
	}
	low := math.Inf(1)
	for i := range r.Rows {
		if v, ok := number(r.At(i, column)); ok && v > 0 {
			low = math.Min(low, v)
		}
	}
	if most, ok := number(high); ok && most > 100*low {
		a.IsLog, a.Name = true, a.Name+", each power of ten in the same room"
	}
	return a, nil
}
