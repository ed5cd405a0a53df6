package reports

import (
	"fmt"
	"math"
	"strings"

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
type comparedCell struct{ Value, Ratio string }

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
	pairs, err := ask(p.ctx, p.db, "marts.run_pairs", `select
    other_run_id || ' ' || metric as pair,
    ratio,
    low_ratio,
    high_ratio,
    is_different
from marts.run_pairs
where run_id = $1
    and list_contains($2, other_run_id)
    and statistic = case when metric = 'output_token_per_s' then 'mean' else 'p99' end`, c.First, ids)
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
				cell.Ratio = ratioText(pairs, k)
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

// counts is false for a run whose figures are compared with nothing.
func (run *Run) counts() bool { return run.IsValid && !run.HasFailed }

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

func ratioText(pairs *Result, i int) string {
	ratio, isKnown := number(pairs.At(i, "ratio"))
	if !isKnown {
		return "–"
	}
	is, isTold := pairs.At(i, "is_different").(bool)
	low, hasLow := number(pairs.At(i, "low_ratio"))
	high, hasHigh := number(pairs.At(i, "high_ratio"))
	switch {
	case isTold && !is:
		return "~ " + show.Figures(ratio) + "×"
	case hasLow && hasHigh:
		return fmt.Sprintf("%s× (%s to %s)", show.Figures(ratio), show.Figures(low), show.Figures(high))
	}
	return show.Figures(ratio) + "×, no interval"
}

// finding says how many runs differ from the first in a p99 or in throughput, of those that have an interval.
func (c comparison) finding(valid int) string {
	if valid < 2 {
		return "Fewer than two of these runs are valid: nothing is compared"
	}
	compared, differ := 0, 0
	for _, row := range c.Rows[1:] {
		ratios := strings.Builder{}
		for _, cell := range row.Cells {
			ratios.WriteString(cell.Ratio)
		}
		isTold, isAlike := strings.Contains(ratios.String(), ")"), strings.Contains(ratios.String(), "~")
		if isTold {
			differ++
		}
		if isTold || isAlike {
			compared++
		}
	}
	others := len(c.Rows) - 1
	switch {
	case compared == 0:
		return "Too few requests for the interval of a p99: no run can be told from the first"
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
