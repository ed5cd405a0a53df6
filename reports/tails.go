package reports

import (
	"fmt"
	"math"
	"strings"

	"tidemark/analysis/metric"
	"tidemark/internal/show"
	"tidemark/reports/plot"
)

// The first chart: how the tails of TTFT and TPOT moved, over how many requests were in flight.

// enoughForTails is how many requests a run needs for a p99 over time; with fewer, each request is a dot under the p90.
const enoughForTails = 600

// perTailBin is how many requests a bin has on average: more than the hundred that a p99 needs in the emptier ones too.
const perTailBin = 160

// Tails is the first chart of a run.
type Tails struct {
	Figure Figure
	IsDots bool
}

// tailColumns are what is drawn in the two upper strips: the metric that the run is judged by, then the other.
func (run *Run) tailColumns() [2]string {
	if run.HasSLO {
		switch column := metric.Column(run.binding().Metric); {
		case column == "tpot_s", run.binding().Metric == metric.ITL:
			return [2]string{"tpot_s", "ttft_s"}
		case column != "" && column != "ttft_s":
			return [2]string{column, "tpot_s"}
		}
	}
	return [2]string{"ttft_s", "tpot_s"}
}

// tails draws the first chart of a run; nil where no request came back.
func (p *page) tails(s section) (*Figure, error) {
	run := s.Run
	columns := run.tailColumns()
	samples, err := ask(p.ctx, p.db, "staging.requests", `select
    count(*) filter (where is_success and ttft_s is not null) as requests
from staging.requests
where run_id = $1`, run.ID)
	if err != nil {
		return nil, err
	}
	n, _ := number(samples.At(0, "requests"))
	if n == 0 {
		return nil, nil
	}
	bins, isDots := math.Min(40, math.Floor(n/perTailBin)), n < enoughForTails
	if isDots {
		bins = math.Max(1, math.Min(12, math.Floor(n/10)))
	}
	r, err := p.askTails(run, columns, bins)
	if err != nil {
		return nil, err
	}
	flight, err := ask(p.ctx, p.db, "marts.timeline", `select
    least(bin_s + bin_width_s / 2, $2::double) as at_s,
    mean_in_flight,
    mean_running
from marts.timeline
where run_id = $1 and bin_s < $2::double
order by bin_s`, run.ID, fmt.Sprint(run.EndS))
	if err != nil {
		return nil, err
	}
	var dots *Result
	if isDots {
		if dots, err = ask(p.ctx, p.db, "staging.requests", fmt.Sprintf(`select
    sent_s,
    %s as upper_s,
    %s as lower_s
from staging.requests
where run_id = $1 and is_success
order by sent_s`, columns[0], columns[1]), run.ID); err != nil {
			return nil, err
		}
	}
	c, err := run.drawTails(columns, r, flight, dots)
	if err != nil {
		return nil, err
	}
	soft := fmt.Sprintf("By %s of sending, n = %s to %s a bin; band: 90 %% interval of p99", duration(r.At(0, "width_s")), count(least(r, "requests")), count(most(r, "requests")))
	if isDots {
		soft = fmt.Sprintf("Each dot is a request, n = %s: too few for a p99 over time, so the line is the p90 of %d stretches", count(n), int(bins))
	}
	f := p.figure(s, "tails", c, run.tailsFinding(columns[0], r, isDots), soft, r, flight)
	return &f, nil
}

func least(r *Result, column string) any { v, _ := r.Min(column); return v }
func most(r *Result, column string) any  { v, _ := r.Max(column); return v }

// askTails asks for the quantiles of both metrics by stretches of equal length. Of independent requests the interval of a quantile q lies
// between those of q less and plus 1.645 standard errors.
func (p *page) askTails(run Run, columns [2]string, bins float64) (*Result, error) {
	var metrics []string
	for i, prefix := range []string{"upper", "lower"} {
		metrics = append(metrics, strings.ReplaceAll(fmt.Sprintf(`    quantile_cont(%[1]s, 0.5e0) as p50_%[2]s_s,
    quantile_cont(%[1]s, 0.9e0) as p90_%[2]s_s,
    quantile_cont(%[1]s, 0.95e0) as p95_%[2]s_s,
    case when count(%[1]s) >= 100 then quantile_cont(%[1]s, 0.99e0) end as p99_%[2]s_s,
    case when count(%[1]s) >= 100 then macros.interpolated(list(%[1]s order by %[1]s), 0.99e0 - 1.645e0 * sqrt(0.99e0 * 0.01e0 / count(%[1]s))) end as low_p99_%[2]s_s,
    case when count(%[1]s) >= 100 then macros.interpolated(list(%[1]s order by %[1]s), least(1e0, 0.99e0 + 1.645e0 * sqrt(0.99e0 * 0.01e0 / count(%[1]s)))) end as high_p99_%[2]s_s`,
			columns[i], prefix), "_"+prefix+"_s", "_"+columns[i]))
	}
	return ask(p.ctx, p.db, "staging.requests", fmt.Sprintf(`select
    (floor(sent_s / width_s) + 0.5e0) * width_s as at_s,
    any_value(width_s) as width_s,
    count(*) as requests,
%s
from staging.requests
cross join (select max(sent_s) * 1.000001e0 / %g as width_s from staging.requests where run_id = $1) as widths
where run_id = $1 and is_success
group by at_s
order by at_s`, strings.Join(metrics, ",\n"), bins), run.ID)
}

// drawTails lays out the three strips.
func (run Run) drawTails(columns [2]string, r, flight, dots *Result) (plot.Chart, error) {
	c := plot.Chart{X: since(run.EndS)}
	if run.Burst != nil {
		c.Shades = append(c.Shades, plot.Shade{From: run.Burst.From, To: run.Burst.To, Text: fmt.Sprintf("✕ %s to %s, %s of the %s that missed",
			clock(run.Burst.From), clock(run.Burst.To), show.Count(run.Burst.Misses), show.Count(run.Burst.All))})
	}
	for i, column := range columns {
		strip, err := run.tailStrip(column, i, r, dots)
		if err != nil {
			return c, err
		}
		c.Strips = append(c.Strips, strip)
	}
	inFlight, err := flight.Points("at_s", "mean_in_flight", 1)
	if err != nil {
		return c, err
	}
	running, err := flight.Points("at_s", "mean_running", 1)
	c.Strips = append(c.Strips, plot.Strip{Y: plot.Axis{Name: "requests in flight, and of these decoding"}, Height: 64, Series: []plot.Series{
		{Name: "in flight", Kind: plot.Hill, Look: colours["planned"], Points: inFlight}, // filled, because decoding often covers its line
		{Name: "decoding", Look: colours["measured"], Points: running},
	}})
	return c, err
}

func (run Run) tailStrip(column string, i int, r, dots *Result) (plot.Strip, error) {
	name, unit := strings.TrimSuffix(column, "_s"), show.UnitOf(greatest([]any{most(r, "p99_"+column), most(r, "p90_"+column)}))
	strip := plot.Strip{Y: plot.Axis{Name: show.Words(name) + ", " + unit.Name}, Height: []float64{190, 104}[i]}
	points := func(prefix string) []plot.Point {
		out, _ := r.Points("at_s", prefix+column, unit.Factor)
		return out
	}
	if dots != nil {
		cloud, err := dots.Points("sent_s", []string{"upper_s", "lower_s"}[i], unit.Factor)
		if err != nil {
			return strip, err
		}
		strip.Series = append(strip.Series, plot.Series{Name: "a request", Kind: plot.Dots, Look: colours["measured"], Points: cloud},
			plot.Series{Name: "p90", Look: colours["ink"], Points: points("p90_")})
	} else {
		strip.Bands = []plot.Band{{Look: plot.Look{Colour: "var(--measured-band)"}, Low: points("low_p99_"), High: points("high_p99_")}}
		strip.Series = []plot.Series{
			{Name: "p50", Look: plot.Look{Colour: "var(--measured)", Class: "m", Dash: dashes["dotted"]}, Points: points("p50_")},
			{Name: "p95", Look: plot.Look{Colour: "var(--measured)", Class: "m", Dash: dashes["dashed"]}, Points: points("p95_")},
			{Name: "p99", Look: plot.Look{Colour: "var(--measured)", Class: "m"}, Points: points("p99_")},
		}
	}
	for _, o := range run.Verdict.Objectives {
		if metric.Column(o.Metric) == column && o.Class == "" {
			strip.Limits = append(strip.Limits, plot.Limit{At: o.AtMost * unit.Factor, Text: tight("limit " + limitOf(o.Objective)), Look: colours["limit"]})
		}
	}
	return strip, nil
}

// tailsFinding says where the limit broke, or how far the tail moved.
func (run Run) tailsFinding(column string, r *Result, isDots bool) string {
	name, statistic := show.Words(strings.TrimSuffix(column, "_s")), "p99"
	if isDots {
		statistic = "p90"
	}
	low, high := least(r, statistic+"_"+column), most(r, statistic+"_"+column)
	if b := run.Burst; b != nil {
		return fmt.Sprintf("The limit broke in one stretch: %s of %s misses between %s and %s", show.Count(b.Misses), show.Count(b.All), clock(b.From), clock(b.To))
	}
	if run.HasSLO && metric.Column(run.binding().Metric) == column {
		limit := run.binding().AtMost
		beyond, known := 0, 0
		for i := range r.Rows {
			if v, isKnown := number(r.At(i, statistic+"_"+column)); isKnown {
				known++
				if v > limit {
					beyond++
				}
			}
		}
		switch {
		case known == 0:
		case beyond == 0:
			return fmt.Sprintf("%s of %s stayed within its limit in %s of time, %s at most", statistic, name, all(known), duration(high))
		default:
			return fmt.Sprintf("%s of %s was above its limit in %d of %d stretches of time, up to %s", statistic, name, beyond, known, duration(high))
		}
	}
	if low == nil {
		return fmt.Sprintf("%s of %s over the run", statistic, name)
	}
	return fmt.Sprintf("%s of %s lay %s", statistic, name, between(low, high))
}

func all(n int) string {
	if n == 1 {
		return "the one stretch"
	}
	return fmt.Sprintf("all %d stretches", n)
}
