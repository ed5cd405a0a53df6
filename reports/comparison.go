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

	pairs, tellable, apart int      // of all pairs of runs: how many there are, how many have an interval, and how many differ
	alike                  []string // pairs that have intervals, of which none shows a difference
}

type comparedHead struct{ Name, Unit, metric, column string }

type comparedRow struct {
	Run      Run
	Verdict  string
	IsMet    bool
	IsBroken bool
	Cells    []comparedCell
}

// comparedCell is a figure of a run, and its ratio to the first run's with the interval: ~ where that does not tell them apart.
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

// pairsQuery has the ratios of all pairs of runs in their order: later over earlier. A p99 without an interval says nothing of two runs: their medians
// may. Where the numbers of GPUs differ, throughput is that of one GPU.
const pairsQuery = `select
    pairs.run_id,
    pairs.other_run_id,
    pairs.run_id || ' ' || pairs.other_run_id || ' ' || metric as pair,
    case when statistic = 'p50' then 'median ' else '' end as words,
    case when metric = 'output_token_per_s' then coalesce(one.gpus / two.gpus, 1) else 1 end as per_gpu,
    ratio * per_gpu as ratio,
    low_ratio * per_gpu as low_ratio,
    high_ratio * per_gpu as high_ratio,
    low_ratio * per_gpu > 1 or high_ratio * per_gpu < 1 as is_different
from marts.run_pairs as pairs
inner join staging.runs as one on one.run_id = pairs.run_id
inner join staging.runs as two on two.run_id = pairs.other_run_id
where list_contains($1, pairs.run_id)
    and list_contains($1, pairs.other_run_id)
    and list_position($1, pairs.run_id) < list_position($1, pairs.other_run_id)
    and metric in ('ttft_s', 'tpot_s', 'output_token_per_s')
    and statistic in ('p99', 'p50', 'mean')
    and (statistic = 'mean') = (metric = 'output_token_per_s')
qualify row_number() over (partition by pairs.run_id, pairs.other_run_id, metric order by pairs.is_different is null, statistic desc) = 1`

func (p *page) compared(section) (comparison, error) {
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
	gpus, err := p.gpusOfRuns()
	if err != nil {
		return c, err
	}
	pairs, err := ask(p.ctx, p.db, "marts.run_pairs", pairsQuery, ids)
	if err != nil {
		return c, err
	}
	at := map[string]int{}
	for i, pair := range pairs.texts("pair") {
		at[pair] = i
	}
	if gpus != nil {
		c.Heads[2].Unit = "/s a GPU"
		c.Caption += " The numbers of GPUs differ: output tokens are those of one GPU."
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
				if h == 2 && gpus != nil {
					v /= gpus[i]
				}
				cell.Value = show.Figures(v * units[h].Factor)
			}
			if k, isThere := at[c.First+" "+run.ID+" "+head.metric]; isThere && i > 0 && run.counts() && p.Runs[0].counts() {
				cell.Ratio, cell.told = ratioText(pairs, k)
			}
			row.Cells = append(row.Cells, cell)
		}
		c.Rows = append(c.Rows, row)
	}
	c.tellPairs(p.Runs, pairs, at)
	c.Finding = c.finding(valid)
	if valid > 2 {
		c.Caption += c.ofAllPairs()
	}
	c.Plans = "each run was sent its own load: only runs of one plan are paired"
	if len(plans) == 1 {
		c.Plans = "all runs were sent the same plan, so they are paired by request"
	}
	return c, nil
}

// gpusOfRuns are the numbers of GPUs of the runs; nil where they are all alike, or one is not known.
func (p *page) gpusOfRuns() (gpus []float64, err error) {
	differ := false
	for _, run := range p.Runs {
		r, err := ask(p.ctx, p.db, "staging.runs", "select gpus from staging.runs where run_id = $1", run.ID)
		if err != nil {
			return nil, err
		}
		n, isKnown := number(r.At(0, "gpus"))
		if !isKnown {
			return nil, nil
		}
		gpus = append(gpus, n)
		differ = differ || n != gpus[0]
	}
	if !differ {
		return nil, nil
	}
	return gpus, nil
}

// tellPairs looks at every pair of runs, by the metric that tells most.
func (c *comparison) tellPairs(runs []Run, pairs *Result, at map[string]int) {
	for i := range runs {
		for j := i + 1; j < len(runs); j++ {
			if !runs[i].counts() || !runs[j].counts() {
				continue
			}
			c.pairs++
			most := cannotTell
			for _, head := range c.Heads {
				if k, isThere := at[runs[i].ID+" "+runs[j].ID+" "+head.metric]; isThere {
					_, is := ratioText(pairs, k)
					most = max(most, is)
				}
			}
			switch most {
			case isDifferent:
				c.apart++
				c.tellable++
			case isAlike:
				c.tellable++
				c.alike = append(c.alike, shortened(runs[i].Name, 14)+" and "+shortened(runs[j].Name, 14))
			}
		}
	}
}

// headline is about every pair of more than two runs.
func (c comparison) headline() string {
	switch {
	case c.pairs == 0:
		return "Nothing to compare: fewer than two valid runs on a known GPU"
	case c.tellable == 0:
		return fmt.Sprintf("Too few requests to tell %d runs apart", len(c.Rows))
	}
	return fmt.Sprintf("%d of %d pairs of runs differ by more than chance", c.apart, c.pairs)
}

// ofAllPairs is a sentence on every pair, not those with the first run alone.
func (c comparison) ofAllPairs() string {
	text := fmt.Sprintf(" Of all %d pairs %d have an interval, and %d differ by more than chance; one interval in ten misses.", c.pairs, c.tellable, c.apart)
	if len(c.alike) > 0 {
		text += " Not told apart: " + strings.Join(c.alike[:min(len(c.alike), 6)], "; ")
		if more := len(c.alike) - 6; more > 0 {
			text += fmt.Sprintf("; and %d more", more)
		}
		text += "."
	}
	return text
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
	}
	words += fmt.Sprintf(" (%s to %s)", show.Figures(low), show.Figures(high))
	if !is || math.Abs(ratio-1) < 0.005 {
		return "~ " + words, isAlike
	}
	return words, isDifferent
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
